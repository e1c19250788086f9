//! Values that a file may write in more than one way, and the table `[check]`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, json};

use super::{made, object, parameters};
use crate::model::CheckSpec;
use crate::units::Bytes;

/// Several words: a list, or one text that is divided (mkfs arguments at spaces, mount options
/// at commas).
pub struct Words;

impl JsonSchema for Words {
    fn schema_name() -> Cow<'static, str> {
        "Words".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": "list of words",
            "description": "A list of words, or one text: mkfs arguments divided at spaces, \
                            mount options at commas",
            "anyOf": [
                { "type": "array", "items": { "type": "string", "title": "word" } },
                { "type": "string" }
            ]
        })
    }
}

/// The table `[check]`: whether the filesystem is checked after each workload, and how.
pub struct CheckFile;

impl JsonSchema for CheckFile {
    fn schema_name() -> Cow<'static, str> {
        "CheckFile".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<CheckSpec>();
        let words = generator.subschema_for::<Words>();
        let mut properties = Map::new();
        let enabled = json!({ "type": "boolean", "default": false,
            "description": "Unmount after each workload and time the filesystem's own checker, \
                            read-only" });
        properties.insert("enabled".into(), enabled);
        for (key, mut schema) in parameters(generator.definitions(), "CheckSpec") {
            if schema["type"] == "array" {
                let about = schema["description"].take();
                schema = words.clone().to_value();
                schema["description"] = about;
            }
            properties.insert(key, schema);
        }
        made(object(&properties, &[]))
    }
}

/// A limit of memory: a size, or `none`.
pub struct Memory;

/// The least memory that a trial can be held to: below it the lab itself may not get its pages.
pub const LEAST_MEMORY: Bytes = Bytes(64 * Bytes::MIB);

impl JsonSchema for Memory {
    fn schema_name() -> Cow<'static, str> {
        "Memory".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let size = generator.subschema_for::<Bytes>().to_value();
        json_schema!({
            "title": "memory limit",
            "description": "A size of at least 64m, or \"none\"",
            "minimum": LEAST_MEMORY.get(),
            "maximum": 1_u64 << 50,
            "anyOf": [size, { "const": "none" }]
        })
    }
}
