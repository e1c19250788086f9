//! A context record: what the machine, kernel and settings were.

use serde_json::{Value, json};

use crate::address::Address;
use crate::error::Error;
use crate::facts::is_of_the_machine;
use crate::hash::Hash;
use crate::render::Renderer;
use crate::units::Page;

/// Longest value that is shown, in bytes.
const LONGEST: usize = 2000;

/// The page of a record. Records that differ in nothing but volatile items have the same page.
pub(crate) fn page(renderer: &Renderer, hash: Hash, record: &Value) -> Result<Page, Error> {
    let items = record.get("items").and_then(Value::as_object);
    let mut rows: Vec<(u64, &String, Value)> = items
        .into_iter()
        .flatten()
        .filter(|(name, item)| is_of_the_machine(name, item))
        .map(|(name, item)| {
            let number = item.get("number").and_then(Value::as_u64).unwrap_or(0);
            (number, name, row(number, name, item))
        })
        .collect();
    rows.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
    let rows: Vec<Value> = rows.into_iter().map(|(.., row)| row).collect();
    let address = Address::Context(hash);
    let body = renderer.page("context.html", &address, "Context", json!({ "rows": rows }))?;
    Ok(Page { address, body })
}

fn row(number: u64, name: &str, item: &Value) -> Value {
    let text = match item.get("value") {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => {
            let reason = item.get("reason").and_then(Value::as_str);
            format!("unknown: {}", reason.unwrap_or("no reason recorded"))
        }
        Some(other) => other.to_string(),
    };
    let source = item.get("source").and_then(Value::as_str);
    json!({
        "number": number,
        "name": words::cut(name, LONGEST),
        "value": words::cut(&text, LONGEST),
        "source": words::cut(source.unwrap_or_default(), LONGEST),
    })
}
