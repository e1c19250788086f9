//! Entries `[[workload]]`: a definition for each kind, as an entry, as an overlay and as factors.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value as Json, json};

use super::levels::levels;
use super::{object, parameters};

/// An entry `[[workload]]`: `name`, `kind`, the kind's parameters, and its own factors.
pub struct WorkloadEntry;

/// As an entry `[[workload]]`, `name` and `kind` being left to the study.
pub struct WorkloadOverlay;

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident($spec:ident) = $kind:literal,)+) => {
        /// The workload kinds and the definitions of their parameters.
        pub(crate) const KINDS: [(&str, &str); [$($kind),+].len()] =
            [$(($kind, stringify!($spec)),)+];

        /// Defines the parameters of every kind.
        fn define_all(generator: &mut SchemaGenerator) {
            $(generator.subschema_for::<params::$spec>();)+
        }
    };
}

params::workloads!(kinds);

/// `{Throughput,Tree,..}{Workload,Overlay,Factors}`: the definition of a kind's part of a file.
pub(crate) fn definition(kind: &str, part: &str) -> String {
    let spec = KINDS.iter().find(|(known, _)| *known == kind);
    let name = spec.map_or("", |(_, spec)| spec.trim_end_matches("Spec"));
    format!("{name}{part}")
}

/// Defines a part of a file for every kind and refers to them.
pub(super) fn for_each_kind(generator: &mut SchemaGenerator, part: &str) -> Schema {
    define_all(generator);
    let mut any = Vec::new();
    for (kind, spec) in KINDS {
        let parameters = parameters(generator.definitions(), spec);
        let name = definition(kind, part);
        let schema = match part {
            "Workload" => workload(generator, kind, parameters, true),
            "Overlay" => workload(generator, kind, parameters, false),
            _ => object(&levels(parameters), &[]),
        };
        any.push(json!({ "$ref": format!("#/$defs/{name}") }));
        generator.definitions_mut().insert(name, schema);
    }
    json_schema!({ "anyOf": any })
}

fn workload(
    generator: &mut SchemaGenerator,
    kind: &str,
    parameters: Map<String, Json>,
    entry: bool,
) -> Json {
    for_each_kind(generator, "Factors");
    let factors = format!("#/$defs/{}", definition(kind, "Factors"));
    let mut properties = Map::new();
    if entry {
        let name = json!({ "type": "string", "title": "name", "x-name": true,
            "description": "Name in levels, tables and --set" });
        properties.insert("name".into(), name);
        properties.insert(
            "kind".into(),
            json!({ "title": "workload kind", "const": kind }),
        );
    }
    properties.extend(parameters);
    let about = json!({ "$ref": factors, "description": "Factors that only this workload has" });
    properties.insert("factors".into(), about);
    object(&properties, if entry { &["name", "kind"] } else { &[] })
}

impl JsonSchema for WorkloadEntry {
    fn schema_name() -> Cow<'static, str> {
        "WorkloadEntry".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        for_each_kind(generator, "Workload")
    }
}

impl JsonSchema for WorkloadOverlay {
    fn schema_name() -> Cow<'static, str> {
        "WorkloadOverlay".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        for_each_kind(generator, "Overlay")
    }
}
