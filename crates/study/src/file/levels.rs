//! A parameter as a factor: a list of its levels.

use serde_json::{Map, Value as Json, json};

/// A list of levels for each parameter.
pub(super) fn levels(parameters: Map<String, Json>) -> Map<String, Json> {
    let list = |mut parameter: Json| {
        if let Some(schema) = parameter.as_object_mut() {
            schema.remove("default");
        }
        json!({ "title": "list of levels", "type": "array", "minItems": 1, "items": parameter })
    };
    parameters
        .into_iter()
        .map(|(name, schema)| (name, list(schema)))
        .collect()
}
