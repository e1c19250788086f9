//! A context record as a flat list of items.

use serde_json::{Map, Value};

/// An item: what was read, from where, or why not.
#[derive(Debug, PartialEq)]
pub(crate) struct Item {
    /// Dotted path of the item in its record.
    pub(crate) name: String,
    /// Text as it is, everything else as JSON; none when it could not be read.
    pub(crate) value: Option<String>,
    /// The value as it is in the record.
    pub(crate) json: Option<Value>,
    /// File or call.
    pub(crate) source: Option<String>,
    /// Why there is no value.
    pub(crate) reason: Option<String>,
    /// Its number in the list of items.
    pub(crate) number: Option<i64>,
    /// Whether it changes by itself.
    pub(crate) volatile: bool,
}

/// Flattens a record. An object with `value` or `reason` is an item; another object is a group; a
/// list of objects that have names is a group by those names; anything else is a bare value.
pub(crate) fn flatten(record: &Value) -> Vec<Item> {
    let mut items = Vec::new();
    walk("", record, &mut items);
    items
}

fn walk(name: &str, value: &Value, items: &mut Vec<Item>) {
    match value {
        Value::Object(map) if map.contains_key("value") || map.contains_key("reason") => {
            items.push(Item {
                name: name.to_owned(),
                value: map.get("value").and_then(text),
                json: map.get("value").filter(|value| !value.is_null()).cloned(),
                source: map.get("source").and_then(text),
                reason: map.get("reason").and_then(text),
                number: map.get("number").and_then(Value::as_i64),
                volatile: map.get("volatile") == Some(&Value::Bool(true)),
            });
        }
        Value::Object(map) => {
            for (key, inner) in map {
                walk(&join(name, key), inner, items);
            }
        }
        Value::Array(list) if !list.is_empty() && list.iter().all(|item| named(item).is_some()) => {
            for (item, own) in list.iter().filter_map(|item| Some((item, named(item)?))) {
                walk(&join(name, own), item, items);
            }
        }
        bare => items.push(Item {
            name: name.to_owned(),
            value: text(bare),
            json: Some(bare.clone()).filter(|value| !value.is_null()),
            source: None,
            reason: None,
            number: None,
            volatile: false,
        }),
    }
}

fn named(value: &Value) -> Option<&str> {
    value
        .as_object()
        .and_then(|map: &Map<String, Value>| map.get("name"))
        .and_then(Value::as_str)
}

fn join(group: &str, name: &str) -> String {
    if group.is_empty() {
        name.to_owned()
    } else {
        format!("{group}.{name}")
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn records_of_any_shape_become_items() {
        let record = json!({
            "kernel": { "value": "6.18", "source": "uname(2)" },
            "microcode": { "value": null, "source": "/proc/cpuinfo", "reason": "a guest" },
            "block": { "sda": { "value": { "rotational": 1 } } },
            "items": [{ "name": "thp", "value": ["always"], "source": "/sys" }],
            "hz": 100,
        });
        let flat: Vec<String> = flatten(&record)
            .iter()
            .map(|i| format!("{} {:?} {:?} {:?}", i.name, i.value, i.source, i.reason))
            .collect();
        assert_eq!(
            flat,
            [
                r#"block.sda Some("{\"rotational\":1}") None None"#,
                r#"hz Some("100") None None"#,
                r#"items.thp Some("[\"always\"]") Some("/sys") None"#,
                r#"kernel Some("6.18") Some("uname(2)") None"#,
                r#"microcode None Some("/proc/cpuinfo") Some("a guest")"#,
            ]
        );
    }
}
