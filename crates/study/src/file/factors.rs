//! What is varied: `[factors]`, and the rules of `exclude` that speak of its levels.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value as Json, json};

use super::levels::levels;
use super::workload::{KINDS, for_each_kind};
use super::{Memory, Words, parameters};
use crate::model::{Checker, DeviceSpec, Volume};

/// A rule of `exclude`: factors, each with a level or a list of levels. Cells that have one of the
/// levels of every factor named are excluded. `why` is the reason in the plan.
pub struct Exclude;

impl JsonSchema for Exclude {
    fn schema_name() -> Cow<'static, str> {
        "Exclude".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let level = json!({ "title": "level", "anyOf": [
            { "type": "string" }, { "type": "number" }, { "type": "boolean" }] });
        json_schema!({
            "title": "rule of levels",
            "description": "Factors, each with a level or a list of levels",
            "type": "object",
            "properties": { "why": { "type": "string", "title": "reason" } },
            "additionalProperties": {
                "title": "level or list of levels",
                "anyOf": [
                    { "title": "list of levels", "type": "array", "minItems": 1, "items": level },
                    level
                ]
            }
        })
    }
}

/// Factors of the whole study: `filesystem`, `mkfs`, `mount`, `readahead`, `limit`, `memory`,
/// `device_size`, `device`, `hints`, `trace`, `kernel`, `volume`; `PARAMETER` for each workload that has it; `WORKLOAD.PARAMETER` for one.
pub struct Factors;

impl JsonSchema for Factors {
    fn schema_name() -> Cow<'static, str> {
        "Factors".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = for_each_kind(generator, "Factors");
        generator.subschema_for::<DeviceSpec>();
        generator.subschema_for::<Words>();
        let device = parameters(generator.definitions(), "DeviceSpec");
        let list = |items: Json, about: &str| {
            json!({ "title": "list of levels", "type": "array", "minItems": 1,
                "items": items, "description": about })
        };
        let mut properties = Map::new();
        let variant = json!({ "type": "string", "title": "filesystem variant" });
        let words = json!({ "$ref": "#/$defs/Words" });
        for (name, items, about) in [
            ("filesystem", variant, "Names of variants"),
            (
                "mkfs",
                words.clone(),
                "Sets of arguments added to each variant's own",
            ),
            (
                "mount",
                words,
                "Sets of options added to each variant's own",
            ),
        ] {
            properties.insert(name.into(), list(items, about));
        }
        for (name, schema) in levels(device) {
            match name.as_str() {
                "readahead" | "limit" | "hints" => drop(properties.insert(name, schema)),
                "stack" => drop(properties.insert("device".into(), schema)),
                "size" => drop(properties.insert("device_size".into(), schema)),
                _ => {}
            }
        }
        let memory = generator.subschema_for::<Memory>().to_value();
        let about = "Limits of memory, \"none\" among them";
        properties.insert("memory".into(), list(memory, about));
        let switch = json!({ "type": "boolean", "title": "switch" });
        let about = "With and without a block trace: the cost of tracing is their difference";
        properties.insert("trace".into(), list(switch, about));
        let kernel = json!({ "type": "string", "title": "kernel", "x-kernel": true });
        let about = "Kernels, each cell's trial booting its own (`fslab kernel list`)";
        properties.insert("kernel".into(), list(kernel, about));
        let volume = generator.subschema_for::<Volume>().to_value();
        let about = "Where the files come from: the kernel, or fslab forge";
        properties.insert("volume".into(), list(volume, about));
        let checker = generator.subschema_for::<Checker>().to_value();
        let about = "What checks: the filesystem's own program, or fslab check";
        properties.insert("checker".into(), list(checker, about));
        shared_parameters(generator, &mut properties);
        json_schema!({
            "type": "object",
            "properties": properties,
            "additionalProperties": Json::from(one),
        })
    }
}

/// Parameters of every kind; where kinds differ about one, what either allows. (Files are checked
/// against the kinds that they use.)
fn shared_parameters(generator: &SchemaGenerator, properties: &mut Map<String, Json>) {
    for (_, spec) in KINDS {
        for (name, schema) in levels(parameters(generator.definitions(), spec)) {
            let Some(known) = properties.get_mut(&name) else {
                properties.insert(name, schema);
                continue;
            };
            let alternatives = known.get_mut("anyOf").and_then(Json::as_array_mut);
            if let Some(any) = alternatives {
                if !any.contains(&schema) {
                    any.push(schema);
                }
            } else if *known != schema {
                *known = json!({ "anyOf": [known.take(), schema] });
            }
        }
    }
}
