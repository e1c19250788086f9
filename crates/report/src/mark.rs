//! The mark of emulated times in the heading of every titled section.
//!
//! A section is quoted alone, so the head of the report is not enough. The mark is put in where a format is
//! done rather than where each section is printed: a section that comes later cannot forget it. Only
//! the mail has no headings that could be told from text; there each section is added by
//! [`section`].

use record::Run;
use serde_json::Value;

use crate::facts;

/// `times emulated (User-mode Linux)`; none where times are of hardware.
pub(crate) fn of(run: &Run) -> Option<String> {
    let what = if facts::virtual_time(run) {
        "virtual"
    } else {
        "emulated"
    };
    facts::emulated(run).map(|by| format!("times {what} ({by})"))
}

/// Adds a section of a mail, a line apart, the mark above its title. What is empty adds nothing.
pub(crate) fn section(out: &mut String, mark: Option<&str>, text: &str) {
    if text.is_empty() {
        return;
    }
    out.push_str("\n\n");
    if let Some(mark) = mark {
        out.push_str(&format!("[{mark}]\n"));
    }
    out.push_str(text);
}

/// Marks the headings of Markdown, but for the document's own, whose facts say it.
pub(crate) fn markdown(text: &str, mark: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match line.strip_suffix('\n') {
            Some(heading) if heading.starts_with("##") => {
                out.push_str(&format!("{heading} [{mark}]\n"));
            }
            _ => out.push_str(line),
        }
    }
    out
}

/// Marks the headings of the page.
pub(crate) fn html(text: &str, mark: &str) -> String {
    let safe = mark
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    ["</h2>", "</h3>"]
        .iter()
        .fold(text.to_owned(), |text, end| {
            text.replace(end, &format!(" <small>[{safe}]</small>{end}"))
        })
}

/// Adds `times` to everything that has a title.
pub(crate) fn json(value: &mut Value, mark: &str) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(|value| json(value, mark));
            if map.get("title").is_some_and(Value::is_string) {
                map.insert("times".to_owned(), mark.into());
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| json(value, mark)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use fixtures::example;

    use super::*;
    use crate::{FormatName, Options, render};

    fn run(timing: &str) -> Run {
        let mut run = Run::fold(&example::entries()).unwrap();
        let items = serde_json::json!({"items": {
            "run.timing": {"value": timing, "source": "the lab"},
            "run.executor": {"value": "uml", "source": "the lab"},
        }});
        run.contexts.insert("start".into(), items);
        run
    }

    fn report(timing: &str, format: FormatName) -> String {
        let options = Options {
            format,
            ..Options::default()
        };
        render(&run(timing), None, &options).unwrap()
    }

    const MARK: &str = "times emulated (User-mode Linux)";

    #[test]
    fn no_heading_is_without_it() {
        let text = report("emulated", FormatName::Md);
        let headings: Vec<&str> = text.lines().filter(|l| l.starts_with("##")).collect();
        assert!(headings.len() > 2, "{text}");
        assert!(headings.iter().all(|l| l.contains(MARK)), "{headings:?}");

        let page = report("emulated", FormatName::Html);
        for end in ["</h2>", "</h3>"] {
            let marked = format!("[{MARK}]</small>{end}");
            assert_eq!(page.matches(end).count(), page.matches(&marked).count());
        }
        assert!(page.matches("</h2>").count() > 1);

        let json: Value = serde_json::from_str(&report("emulated", FormatName::Json)).unwrap();
        let mut titled = 0;
        each(&json, &mut |map| {
            if map.get("title").is_some_and(Value::is_string) {
                titled += 1;
                assert_eq!(map["times"], MARK, "{map:?}");
            }
        });
        assert!(titled > 1);

        let mail = report("emulated", FormatName::Text);
        let why = mail.lines().position(|l| l.starts_with("Why")).unwrap();
        let lines: Vec<&str> = mail.lines().collect();
        assert_eq!(lines[why - 1], format!("[{MARK}]"), "{mail}");
    }

    #[test]
    fn times_of_hardware_have_none() {
        for format in [
            FormatName::Text,
            FormatName::Md,
            FormatName::Html,
            FormatName::Json,
        ] {
            assert!(!report("real", format).contains("times emulated"));
        }
    }

    fn each(value: &Value, see: &mut dyn FnMut(&serde_json::Map<String, Value>)) {
        match value {
            Value::Object(map) => {
                see(map);
                map.values().for_each(|value| each(value, see));
            }
            Value::Array(list) => list.iter().for_each(|value| each(value, see)),
            _ => {}
        }
    }
}
