//! What must be known of times that are not of hardware, in the heading of every section.
//!
//! A section is quoted alone, so the head of the report is not enough. The tag is a field of
//! [`crate::doc::Section`], which every format prints in all headings; in JSON it is beside every title.

use record::Run;

use crate::facts;

/// `times emulated (User-mode Linux)`, `times modelled (7k500)`, of a guest on a modelled disk `times modelled, virtual
/// (7k500; qemu, tcg-icount)`; none where times are of hardware.
pub(crate) fn of(run: &Run) -> Option<String> {
    if let Some(disks) = facts::modelled(run) {
        return Some(format!("times modelled ({disks})"));
    }
    let by = facts::emulated(run)?;
    let what = if facts::virtual_time(run) {
        "virtual"
    } else {
        "emulated"
    };
    let disks = run.modelled_disks();
    Some(if disks.is_empty() {
        format!("times {what} ({by})")
    } else {
        format!("times modelled, {what} ({disks}; {by})")
    })
}

#[cfg(test)]
mod tests {
    use fixtures::example;

    use serde_json::Value;

    use super::*;
    use crate::{Format, Options, render};

    fn run(timing: &str) -> Run {
        let mut run = Run::fold(&example::entries()).unwrap();
        let items = serde_json::json!({"items": {
            "run.timing": {"value": timing, "source": "the lab"},
            "run.executor": {"value": "uml", "source": "the lab"},
        }});
        run.contexts.insert("start".into(), items);
        run
    }

    fn report(timing: &str, format: Format) -> String {
        let options = Options {
            format,
            ..Options::default()
        };
        render(&run(timing), None, &options).unwrap()
    }

    const MARK: &str = "times emulated (User-mode Linux)";

    #[test]
    fn no_heading_is_without_it() {
        let text = report("emulated", Format::Md);
        let headings: Vec<&str> = text.lines().filter(|l| l.starts_with("##")).collect();
        assert!(headings.len() > 2, "{text}");
        assert!(headings.iter().all(|l| l.contains(MARK)), "{headings:?}");

        let page = report("emulated", Format::Html);
        for end in ["</h2>", "</h3>"] {
            let marked = format!("[{MARK}]</small>{end}");
            assert_eq!(page.matches(end).count(), page.matches(&marked).count());
        }
        assert!(page.matches("</h2>").count() > 1);

        let json: Value = serde_json::from_str(&report("emulated", Format::Json)).unwrap();
        let mut titled = 0;
        each(&json, &mut |map| {
            if map.get("title").is_some_and(Value::is_string) {
                titled += 1;
                assert_eq!(map["times"], MARK, "{map:?}");
            }
        });
        assert!(titled > 1);

        let mail = report("emulated", Format::Text);
        let why = mail.lines().position(|l| l.starts_with("Why")).unwrap();
        let lines: Vec<&str> = mail.lines().collect();
        assert_eq!(lines[why - 1], format!("[{MARK}]"), "{mail}");
    }

    #[test]
    fn times_of_modelled_disks_are_called_so_in_every_heading() {
        let text = report("modelled", Format::Md);
        let mut headings = text.lines().filter(|l| l.starts_with("##"));
        assert!(headings.all(|l| l.contains("times modelled (")), "{text}");
        assert!(text.contains("MODELLED ("), "{text}");
    }

    /// The example on modelled disks in a guest, whose context names its clock alone.
    fn on_models(timing: &str) -> Run {
        let mut run = run(timing);
        for cell in &mut run.plan.cells {
            cell.device.stack = Some(study::Stack {
                name: "model:7k500".into(),
                about: String::new(),
                layers: study::Layers::Model(study::Model {
                    device: "7k500".into(),
                    capacity: study::Bytes(1 << 38),
                    studies: Vec::new(),
                    figures: None,
                }),
            });
        }
        let items = &mut run.contexts.get_mut("start").unwrap()["items"];
        items["run.executor"]["value"] = "qemu".into();
        items["run.accelerator"] = serde_json::json!({"value": "tcg-icount", "source": "the lab"});
        run
    }

    #[test]
    fn in_a_guest_on_modelled_disks_every_heading_says_both() {
        for (timing, mark) in [
            (
                "virtual",
                "times modelled, virtual (7k500; qemu, tcg-icount)",
            ),
            (
                "emulated",
                "times modelled, emulated (7k500; qemu, tcg-icount)",
            ),
        ] {
            let run = on_models(timing);
            let report = |format| {
                let options = Options {
                    format,
                    ..Options::default()
                };
                render(&run, None, &options).unwrap()
            };
            let text = report(Format::Md);
            let mut headings = text.lines().filter(|l| l.starts_with("##"));
            assert!(headings.all(|line| line.contains(mark)), "{text}");
            let head = format!("MODELLED, {}", timing.to_uppercase());
            assert!(text.contains(&head), "{text}");
            let page = report(Format::Html);
            assert!(page.contains(&format!("[{mark}]: journal-20260102-030405</title>")));
            assert!(page.contains(&format!("[{mark}]</h1>")));
            let marked = format!("[{mark}]</small></h2>");
            assert_eq!(page.matches("</h2>").count(), page.matches(&marked).count());
            let mail = report(Format::Text);
            let lines: Vec<&str> = mail.lines().collect();
            let why = lines.iter().position(|l| l.starts_with("Why")).unwrap();
            assert_eq!(lines[why - 1], format!("[{mark}]"), "{mail}");
            let rows = report(Format::Csv);
            let mut rows = rows.lines();
            assert!(rows.next().unwrap().ends_with(",timing"));
            assert!(rows.all(|row| row.ends_with(&format!(",modelled-{timing}"))));
        }
    }

    #[test]
    fn times_of_hardware_have_none() {
        for format in [Format::Text, Format::Md, Format::Html, Format::Json] {
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
