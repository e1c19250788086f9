//! The JSON schema of a line of the log, generated from the types; `schemas/events.schema.json` is
//! this document, and a test keeps it so.

use schemars::{Schema, SchemaGenerator, generate::SchemaSettings, json_schema};

use crate::event::Entry;

/// The schema of one line of `events.jsonl` (JSON Schema 2020-12).
pub fn events() -> serde_json::Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<Entry>();
    schema.insert("title".to_owned(), "A line of a run's events.jsonl".into());
    schema.to_value()
}

pub(crate) fn timestamp(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "date-time" })
}

/// The plan as far as readers of a log need it; its parts are those of the study file's schema.
pub(crate) fn plan(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": [
            "study", "title", "question", "repeats", "profile", "seed", "order", "blocks", "band",
            "filesystems", "factors", "cells", "slots", "tables"
        ],
        "properties": {
            "study": { "type": "string" },
            "profile": { "type": "string" },
            "seed": { "type": "integer", "minimum": 0 },
            "order": { "enum": ["blocked", "sequential"] },
            "blocks": { "type": "integer", "minimum": 0 },
            "band": { "type": "number" },
            "factors": {
                "type": "array",
                "items": {
                    "type": "array",
                    "prefixItems": [
                        { "type": "string" },
                        { "type": "array", "items": { "type": "string" } }
                    ]
                }
            },
            "cells": { "type": "array", "items": {
                "type": "object",
                "required": [
                    "id", "levels", "filesystem", "device", "workload_name", "workload"
                ]
            } },
            "slots": { "type": "array", "items": slot_value() }
        }
    })
}

/// Costs of the plan's variants: seconds, bytes a second, files a second.
pub(crate) fn measured(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["variants", "seconds"],
        "properties": {
            "variants": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["cells", "device", "mkfs", "mount", "wait", "umount"],
                    "properties": {
                        "cells": { "type": "array", "items": { "type": "integer", "minimum": 0 } },
                        "device": { "type": "number" },
                        "mkfs": { "type": "number" },
                        "mount": { "type": "number" },
                        "wait": { "type": "number" },
                        "umount": { "type": "number" },
                        "rates": {
                            "type": "object",
                            "required": ["write", "read", "fsync", "files"],
                            "properties": {
                                "write": { "type": "number" },
                                "read": { "type": "number" },
                                "fsync": { "type": "number" },
                                "files": { "type": "number" }
                            }
                        }
                    }
                }
            },
            "seconds": { "type": "number" }
        }
    })
}

pub(crate) fn slot(_: &mut SchemaGenerator) -> Schema {
    let mut schema = Schema::default();
    if let serde_json::Value::Object(map) = slot_value() {
        schema = map.into();
    }
    schema
}

fn slot_value() -> serde_json::Value {
    let number = serde_json::json!({ "type": "integer", "minimum": 0 });
    serde_json::json!({
        "type": "object",
        "required": ["trial", "block", "cell", "seed"],
        "properties": { "trial": number, "block": number, "cell": number, "seed": number }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// With `UPDATE_SCHEMAS=1` it writes the file.
    #[test]
    fn the_schema_in_the_repository_is_this_one() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/events.schema.json");
        let text = serde_json::to_string_pretty(&events()).unwrap() + "\n";
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap();
        assert!(
            found == text,
            "schemas/events.schema.json differs: run with UPDATE_SCHEMAS=1"
        );
    }

    /// Every event kind of the example has its branch, whose required keys are there.
    #[test]
    fn the_example_fits_the_schema() {
        let schema = events();
        let branches = schema["oneOf"].as_array().unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for entry in crate::example::entries() {
            let line = serde_json::to_value(&entry).unwrap();
            let tag = line["event"].as_str().unwrap();
            let branch = branches
                .iter()
                .find(|branch| branch["properties"]["event"]["const"] == tag)
                .unwrap_or_else(|| panic!("no branch for {tag}"));
            for key in branch["required"].as_array().unwrap() {
                assert!(
                    line.get(key.as_str().unwrap()).is_some(),
                    "{tag} lacks {key}"
                );
            }
            let known = branch["properties"].as_object().unwrap();
            for key in line
                .as_object()
                .unwrap()
                .keys()
                .filter(|k| *k != "seq" && *k != "at")
            {
                assert!(
                    known.contains_key(key),
                    "{tag} has {key}, which the schema lacks"
                );
            }
            seen.insert(tag.to_owned());
        }
        // The example run was not resumed, probed or repeated, its noise was not recorded, and its study asks
        // neither for the raw device nor for layouts, traces, power cuts, estimates and devices of several layers.
        assert_eq!(seen.len(), branches.len() - 10, "{seen:?}");
    }
}
