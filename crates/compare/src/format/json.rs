//! One JSON document; its keys are described in docs/compare.md.

use serde_json::json;

use super::answer;
use crate::comparison::Compared;

/// Layout of the document.
const FORMAT: u32 = 1;

pub(super) fn render(compared: &Compared) -> String {
    let mut document = json!({ "format": FORMAT, "answer": answer(compared) });
    if let (Some(all), Ok(serde_json::Value::Object(rest))) =
        (document.as_object_mut(), serde_json::to_value(compared))
    {
        all.extend(rest);
    }
    format!("{document:#}\n")
}
