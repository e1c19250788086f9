//! The items of a context record, and the answers found among them.

use serde_json::Value;

use super::Answer;

/// One item of the context record.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its name in the record.
    pub name: String,
    /// Its value, as text; none when it could not be read.
    pub value: Option<String>,
    /// Where it was read.
    pub source: String,
    /// Why it could not be read.
    pub reason: Option<String>,
}

/// The items of a context record, in its order. Accepts `{items: {...}}` and the bare map.
pub fn items(context: &Value) -> Vec<Item> {
    let map = match context.get("items") {
        Some(Value::Object(items)) => Some(items),
        _ => context.as_object(),
    };
    map.into_iter()
        .flatten()
        .filter(|(_, item)| item.is_object())
        .map(|(name, item)| Item {
            name: name.clone(),
            value: item.get("value").and_then(plain),
            source: text(item.get("source")),
            reason: item
                .get("reason")
                .filter(|r| !r.is_null())
                .map(|r| text(Some(r))),
        })
        .collect()
}

/// A JSON value as one line; `None` for null.
pub fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(s) => Some(s.trim().to_owned()),
        Value::Array(list) => Some(list.iter().filter_map(plain).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => Some(
            map.iter()
                .filter_map(|(k, v)| plain(v).map(|v| format!("{k}={v}")))
                .collect::<Vec<_>>()
                .join(" "),
        ),
        other => Some(other.to_string()),
    }
}

fn text(value: Option<&Value>) -> String {
    value.and_then(plain).unwrap_or_default()
}

/// Where the record has the size of RAM: in KiB when the name says so, else in bytes.
pub(super) const RAM: &[&str] = &["memory.total_kib", "memory_total"];

/// Whether an item has a name, `*` standing for any text.
fn is_named(item: &Item, key: &str) -> bool {
    match key.split_once('*') {
        None => item.name == key,
        Some((before, after)) => item
            .name
            .strip_prefix(before)
            .is_some_and(|rest| rest.ends_with(after)),
    }
}

pub(super) fn answer(items: &[Item], keys: &[&str]) -> Answer {
    for key in keys {
        let found: Vec<&Item> = items.iter().filter(|item| is_named(item, key)).collect();
        if let ([only], false) = (found.as_slice(), key.contains('*')) {
            return of_item(only);
        }
        if !found.is_empty() {
            let parts: Vec<String> = found
                .iter()
                .map(|item| {
                    let value = item.value.as_deref().unwrap_or("not read");
                    let (before, after) = key.split_once('*').unwrap_or_default();
                    let device = item.name.strip_prefix(before).unwrap_or(&item.name);
                    format!("{} {value}", device.strip_suffix(after).unwrap_or(device))
                })
                .collect();
            return Answer::Known(parts.join("; "), Some(found[0].source.clone()));
        }
    }
    Answer::Absent("not in this run's context record".to_owned())
}

fn of_item(item: &Item) -> Answer {
    match &item.value {
        Some(value) => Answer::Known(sized(&item.name, value), Some(item.source.clone())),
        None => Answer::Absent(
            item.reason
                .clone()
                .unwrap_or_else(|| format!("{} gave nothing", item.source)),
        ),
    }
}

/// Bytes of memory read better as GiB.
fn sized(name: &str, value: &str) -> String {
    if RAM.contains(&name) {
        memory_bytes(name, value).map_or_else(|| value.to_owned(), gib)
    } else {
        value.to_owned()
    }
}

/// Bytes of a memory item: in KiB when its name says so.
pub(super) fn memory_bytes(name: &str, value: &str) -> Option<f64> {
    let number: f64 = value.parse().ok()?;
    Some(if name.ends_with("_kib") {
        number * 1024.0
    } else {
        number
    })
}

/// `15.6 GiB` or `256 MiB`.
pub fn gib(bytes: f64) -> String {
    let mib = bytes / 1_048_576.0;
    if mib >= 1024.0 {
        format!("{:.1} GiB", mib / 1024.0)
    } else {
        format!("{mib:.0} MiB")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_shapes_of_context_are_read() {
        let wrapped = json!({"items": {"a": {"value": 1, "source": "s"}}});
        let bare = json!({"a": {"value": 1, "source": "s"}, "format": 1});
        assert_eq!(items(&wrapped), items(&bare));
        assert_eq!(items(&wrapped)[0].value.as_deref(), Some("1"));
        assert!(items(&json!(null)).is_empty());
    }

    #[test]
    fn absent_answers_give_their_reason() {
        let found = items(&json!({"cpu": {"value": null, "source": "x", "reason": "no sysfs"}}));
        assert_eq!(
            answer(&found, &["cpu"]),
            Answer::Absent("no sysfs".to_owned())
        );
        assert!(matches!(answer(&found, &["kernel"]), Answer::Absent(_)));
    }

    #[test]
    fn memory_is_shown_in_gib() {
        let found = items(&json!({
            "memory.total_kib": {"value": 16_777_216, "source": "/proc/meminfo"}
        }));
        assert_eq!(
            answer(&found, RAM),
            Answer::Known("16.0 GiB".to_owned(), Some("/proc/meminfo".to_owned()))
        );
    }

    #[test]
    fn devices_are_listed_each() {
        let found = items(&json!({
            "block.vda.queue.write_cache": {"value": "write back", "source": "sysfs"},
            "block.vdb.queue.write_cache": {"value": "write through", "source": "sysfs"},
        }));
        let Answer::Known(text, _) = answer(&found, &["block.*.queue.write_cache"]) else {
            panic!("known");
        };
        assert_eq!(text, "vda write back; vdb write through");
    }
}
