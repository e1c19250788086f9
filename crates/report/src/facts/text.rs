//! A context record for people: what was read, by subject.

use std::fmt::Write as _;

use serde_json::Value;

use super::items::{Item, items};

/// Columns of the text.
const WIDTH: usize = 78;
/// Most columns of an item's name.
const NAME: usize = 38;
/// Most characters of a value; JSON has all of it.
const VALUE: usize = 400;

/// What could be read, each subject (`cpu`, `memory`, `block`) under its name; the rest is counted.
pub fn text(context: &Value) -> String {
    let items = items(context);
    let (known, absent): (Vec<&Item>, Vec<&Item>) =
        items.iter().partition(|item| item.value.is_some());
    let mut out = String::new();
    let mut subject = None;
    for item in known {
        let (group, name) = item.name.split_once('.').unwrap_or((&item.name, "is"));
        if subject != Some(group) {
            let gap = if subject.is_some() { "\n" } else { "" };
            let _ = writeln!(out, "{gap}{group}");
            subject = Some(group);
        }
        let width = NAME.max(name.len() + 1);
        let value = match item.value.as_deref() {
            None | Some("") => "-",
            Some(value) => value,
        };
        let value = words::shortened_to(value, VALUE);
        out.push_str(&words::wrap(
            &format!("  {name:<width$}"),
            NAME + 2,
            &value,
            WIDTH,
        ));
    }
    if !absent.is_empty() {
        let _ = writeln!(
            out,
            "\n{} could not be read; --format json has the reason of each",
            words::plural(absent.len() as u64, "item")
        );
    }
    words::printable_lines(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn subjects_group_items_and_what_is_absent_is_counted() {
        let record = json!({ "items": {
            "cpu.model": { "value": "AMD EPYC", "source": "/proc/cpuinfo" },
            "cpu.isolated": { "value": "", "source": "/sys" },
            "memory.total_kib": { "value": 24_684_084, "source": "/proc/meminfo" },
            "block.sda.model": { "value": null, "source": "/sys", "reason": "none" },
            "odd\u{1b}[2J.name": { "value": "a\u{1b}[31m", "source": "" },
        } });
        let text = text(&record);
        assert!(text.starts_with("cpu\n  isolated"), "{text}");
        assert!(text.contains("\nmemory\n  total_kib"), "{text}");
        assert!(text.contains("24684084"), "{text}");
        assert!(text.contains("1 item could not be read"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}
