//! Checks positioned values against the JSON schema of study files.
//!
//! The schema is the one place where keys, types and ranges are declared; a general JSON Schema
//! crate was rejected because its messages name neither the line nor what would be right. Only
//! the keywords that [`crate::file`] produces are understood here, and a test walks the whole
//! schema to see that it holds no other.

use std::sync::OnceLock;

use serde_json::{Map, Value as Json};

use crate::error::{Problem, shorten};
use crate::kernel_range::KernelRange;
use crate::limit::Limit;
use crate::node::{Node, Table, Value};
use crate::schema;
use crate::units::Bytes;
use words::{hint, suggest};

/// Most words that a message lists.
const MOST_CHOICES: usize = 60;
/// Choices that are listed even where one of them is near.
const FEW_CHOICES: usize = 20;

/// A schema and the definition that its `$ref` names; the keywords beside a reference win.
#[derive(Clone, Copy)]
pub(crate) struct Schema<'a> {
    near: &'a Map<String, Json>,
    far: Option<&'a Map<String, Json>>,
}

impl<'a> Schema<'a> {
    fn new(near: &'a Map<String, Json>) -> Schema<'a> {
        let target = near.get("$ref").and_then(Json::as_str);
        let far = target.and_then(|name| raw_definition(name.trim_start_matches("#/$defs/")));
        Schema { near, far }
    }

    /// A definition by name; a name that the schema lacks accepts every value.
    pub(crate) fn definition(name: &str) -> Schema<'static> {
        static EMPTY: OnceLock<Map<String, Json>> = OnceLock::new();
        Schema::new(raw_definition(name).unwrap_or_else(|| EMPTY.get_or_init(Map::new)))
    }

    fn get(&self, keyword: &str) -> Option<&'a Json> {
        let far = || self.far.and_then(|far| far.get(keyword));
        self.near.get(keyword).or_else(far)
    }

    /// The schema of a key.
    pub(crate) fn property(&self, key: &str) -> Option<&'a Json> {
        self.get("properties")?.get(key)
    }

    /// The known keys.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'a str> + Clone + use<'a> {
        let properties = self.get("properties").and_then(Json::as_object);
        properties
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
    }
}

fn raw_definition(name: &str) -> Option<&'static Map<String, Json>> {
    schema::study()["$defs"].get(name)?.as_object()
}

/// Collects the problems of one document.
#[derive(Default)]
pub(crate) struct Checker {
    pub(crate) problems: Vec<Problem>,
}

/// The schema of a key of the whole file.
pub(crate) fn top(key: &str) -> Option<&'static Json> {
    schema::study()["properties"].get(key)
}

/// A name: of a study, a variant, a workload, a profile.
pub(crate) fn is_name(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    text.len() <= 64 && text.starts_with(|c: char| inner(c) && c != '-') && text.chars().all(inner)
}

/// A kernel as it may be named: it goes into the log, and finds a folder.
fn is_kernel(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    text.len() <= 100
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(inner)
}

const KERNEL_RULE: &str =
    "as in \"6.1\", \"6.12-cloud\", \"uml\", or a name of `fslab kernel list`";

pub(crate) const NAME_RULE: &str = "lower-case letters, digits, - and _, at most 64";

impl Checker {
    pub(crate) fn complain(&mut self, node: &Node, message: impl Into<String>) {
        self.problems.push(Problem::new(&node.at, message));
    }

    /// Checks a value against a schema.
    pub(crate) fn value(&mut self, node: &Node, schema: &Json) {
        let Some(raw) = schema.as_object() else {
            return;
        };
        let schema = Schema::new(raw);
        match raw.get("$ref").and_then(Json::as_str) {
            Some("#/$defs/Limit") => return self.limit(node),
            Some("#/$defs/KernelRange") => return self.kernel_range(node),
            Some("#/$defs/Memory") if node.as_text() == Some("none") => return,
            Some("#/$defs/Bytes" | "#/$defs/Memory") => return self.size(node, schema),
            _ => {}
        }
        if let Some(choices) = choices(schema) {
            return self.choice(node, schema, &choices);
        }
        if let Some(any) = schema.get("anyOf").and_then(Json::as_array) {
            let mut written = any.iter().filter(|one| one["type"] != "null");
            return match (written.next(), written.next()) {
                // What may be absent: TOML has no null, so this is what is written.
                (Some(one), None) => self.value(node, one),
                _ => self.any(node, schema, any),
            };
        }
        match (kind(schema), &node.value) {
            ("object", Value::Table(table)) => self.object(node, table, schema),
            ("array", Value::List(list)) => self.array(node, list, schema),
            ("integer" | "number", Value::Integer(n)) => self.number(node, *n as f64, schema),
            ("number", Value::Float(x)) => self.number(node, *x, schema),
            ("boolean", Value::Flag(_)) | ("", _) => {}
            ("string", Value::Text(text)) => self.text(node, text, schema),
            _ => self.refuse(node, schema),
        }
    }

    fn refuse(&mut self, node: &Node, schema: Schema<'_>) {
        let message = format!("{} is not {}", node.show(), expected(schema));
        self.complain(node, message);
    }

    fn size(&mut self, node: &Node, schema: Schema<'_>) {
        let parsed = match &node.value {
            Value::Text(text) => text.parse::<Bytes>().map_err(|error| error.to_string()),
            Value::Integer(n) => u64::try_from(*n)
                .map(Bytes)
                .map_err(|_| format!("{n} is not a size (write a whole number, as in 256k or 2g)")),
            _ => Err(format!(
                "{} is not a size (write a whole number with k, m, g or t, as in \"256k\")",
                node.show()
            )),
        };
        let bound = |key: &str| schema.get(key).and_then(Json::as_u64);
        let (low, high) = (
            bound("minimum").unwrap_or(0),
            bound("maximum").unwrap_or(u64::MAX),
        );
        match parsed {
            Err(message) => self.complain(node, shorten_message(&message)),
            Ok(size) if size.get() < low || size.get() > high => {
                let noun = noun(schema);
                let (low, high) = (Bytes(low), Bytes(high));
                self.complain(node, format!("{size} is not {noun} ({low}..={high})"));
            }
            Ok(_) => {}
        }
    }

    fn limit(&mut self, node: &Node) {
        let text = match &node.value {
            Value::Text(text) => text.clone(),
            Value::Integer(n) => n.to_string(),
            _ => {
                let message = format!(
                    "{} is not a limit (write bytes a second, as in \"70m\", or \"none\")",
                    node.show()
                );
                return self.complain(node, message);
            }
        };
        if let Err(error) = text.parse::<Limit>() {
            self.complain(node, shorten_message(&error.to_string()));
        }
    }

    fn kernel_range(&mut self, node: &Node) {
        let text = node.as_text().map_or_else(|| node.show(), str::to_owned);
        if let Err(error) = text.parse::<KernelRange>() {
            self.complain(node, shorten_message(&error.to_string()));
        }
    }

    fn choice(&mut self, node: &Node, schema: Schema<'_>, choices: &[String]) {
        let text = node.as_text().unwrap_or_default();
        if choices.iter().any(|choice| choice == text) && node.as_text().is_some() {
            return;
        }
        let hint = hint(text, choices.iter().map(String::as_str));
        let noun = noun(schema);
        let choices = match choices.len() {
            // Metrics are too many for a message; so are phases where one of them is near.
            many if many > MOST_CHOICES || (many > FEW_CHOICES && !hint.is_empty()) => {
                format!("one of {many}, docs/metrics.md lists them")
            }
            _ => choices.join(", "),
        };
        self.complain(
            node,
            format!("{} is not {noun} ({hint}{choices})", node.show()),
        );
    }

    fn any(&mut self, node: &Node, schema: Schema<'_>, any: &[Json]) {
        let mut nearest = None;
        for alternative in any {
            let mut trial = Checker::default();
            trial.value(node, alternative);
            if trial.problems.is_empty() {
                return;
            }
            let list = alternative["type"] == "array" && node.as_list().is_some();
            nearest = nearest.or(list.then_some(trial.problems));
        }
        match nearest {
            Some(problems) => self.problems.extend(problems),
            None => self.refuse(node, schema),
        }
    }

    /// Checks a table's keys and values against `properties`.
    pub(crate) fn object(&mut self, node: &Node, table: &Table, schema: Schema<'_>) {
        for (key, value) in table.iter() {
            match (schema.property(key), schema.get("additionalProperties")) {
                (Some(schema), _) | (None, Some(schema @ Json::Object(_))) => {
                    self.value(value, schema);
                }
                (None, _) => self.unknown(value, key, schema.keys()),
            }
        }
        for key in required(schema) {
            if table.get(key).is_none() {
                self.complain(node, format!("{key} is missing"));
            }
        }
    }

    /// An unknown key.
    pub(crate) fn unknown<'a>(
        &mut self,
        node: &Node,
        key: &str,
        known: impl Iterator<Item = &'a str> + Clone,
    ) {
        self.complain(node, format!("no such key ({})", suggest(key, known)));
    }

    fn array(&mut self, node: &Node, list: &[Node], schema: Schema<'_>) {
        let least = schema.get("minItems").and_then(Json::as_u64).unwrap_or(0);
        if (list.len() as u64) < least {
            self.complain(
                node,
                format!("the list is empty (at least {least} expected)"),
            );
        }
        if let Some(items) = schema.get("items") {
            for item in list {
                self.value(item, items);
            }
        }
    }

    fn number(&mut self, node: &Node, x: f64, schema: Schema<'_>) {
        let bound = |key: &str| schema.get(key).and_then(Json::as_f64);
        let inside = bound("minimum").is_none_or(|low| x >= low)
            && bound("maximum").is_none_or(|high| x <= high)
            && bound("exclusiveMinimum").is_none_or(|low| x > low)
            && bound("exclusiveMaximum").is_none_or(|high| x < high)
            && x.is_finite();
        if !inside {
            let message = format!(
                "{} is not {} ({})",
                node.show(),
                noun(schema),
                range(schema)
            );
            self.complain(node, message);
        }
    }

    fn text(&mut self, node: &Node, text: &str, schema: Schema<'_>) {
        if schema.get("x-name").is_some() && !is_name(text) {
            self.complain(
                node,
                format!("{} is not {} ({NAME_RULE})", node.show(), noun(schema)),
            );
        } else if schema.get("x-kernel").is_some() && !is_kernel(text) {
            self.complain(
                node,
                format!("{} is not {} ({KERNEL_RULE})", node.show(), noun(schema)),
            );
        } else if text.contains(char::is_control) {
            let noun = noun(schema);
            self.complain(
                node,
                format!(
                    "{} is not {noun} (no control characters, one line)",
                    node.show()
                ),
            );
        }
    }
}

/// The type, `null` aside: TOML has none.
fn kind(schema: Schema<'_>) -> &str {
    match schema.get("type") {
        Some(Json::String(kind)) => kind,
        Some(Json::Array(kinds)) => kinds
            .iter()
            .filter_map(Json::as_str)
            .find(|kind| *kind != "null")
            .unwrap_or(""),
        _ => "",
    }
}

/// The words of an enumeration.
fn choices(schema: Schema<'_>) -> Option<Vec<String>> {
    let text = |value: &Json| value.as_str().map(str::to_owned);
    if let Some(one) = schema.get("const") {
        return text(one).map(|word| vec![word]);
    }
    if let Some(words) = schema.get("enum").and_then(Json::as_array) {
        return words.iter().map(text).collect();
    }
    let variants = schema.get("oneOf").and_then(Json::as_array)?;
    variants
        .iter()
        .map(|variant| text(variant.get("const")?))
        .collect()
}

fn required(schema: Schema<'_>) -> Vec<&str> {
    let list = schema.get("required").and_then(Json::as_array);
    let list = list.map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(Json::as_str).collect()
}

/// `a thread count`: the schema's title with its article.
fn noun(schema: Schema<'_>) -> String {
    let title = schema.get("title").and_then(Json::as_str);
    let title = title.unwrap_or(match kind(schema) {
        "integer" => "whole number",
        "number" => "number",
        "boolean" => "switch",
        "array" => "list",
        "object" => "table",
        _ => "text",
    });
    if title == "readahead in 512-byte sectors" {
        return title.to_owned();
    }
    let article = if title.starts_with(['a', 'e', 'i', 'o', 'I']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {title}")
}

/// What a value of the wrong type should have been.
fn expected(schema: Schema<'_>) -> String {
    let noun = noun(schema);
    match kind(schema) {
        "integer" => format!("{noun} (a whole number, {})", range(schema)),
        "number" => format!("{noun} (a number, {})", range(schema)),
        "boolean" => format!("{noun} (true or false)"),
        "string" => format!("{noun} (text in quotes)"),
        "array" => format!("{noun} (in brackets: [..])"),
        _ => noun,
    }
}

/// `1..=1024`, `0..`, `more than 0, at most 1`.
fn range(schema: Schema<'_>) -> String {
    let bound = |key: &str| {
        let x = schema.get(key).and_then(Json::as_f64);
        x.map(|x| x.to_string())
    };
    match (
        bound("minimum"),
        bound("maximum"),
        bound("exclusiveMinimum"),
        bound("exclusiveMaximum"),
    ) {
        (Some(low), Some(high), _, _) => format!("{low}..={high}"),
        (Some(low), _, _, Some(high)) => format!("at least {low}, less than {high}"),
        (_, _, Some(low), Some(high)) => format!("more than {low}, less than {high}"),
        (_, Some(high), Some(low), _) => format!("more than {low}, at most {high}"),
        (Some(low), ..) => format!("at least {low}"),
        (_, Some(high), ..) => format!("at most {high}"),
        _ => "any".to_owned(),
    }
}

/// Messages of other modules may quote a text of any length.
fn shorten_message(message: &str) -> String {
    const LONGEST: usize = 200;
    if message.chars().count() <= LONGEST {
        return message.to_owned();
    }
    shorten(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every keyword below the root, but for names of properties and definitions.
    fn keywords(schema: &Json, found: &mut Vec<String>) {
        let Some(map) = schema.as_object() else {
            return;
        };
        for (key, value) in map {
            found.push(key.clone());
            match key.as_str() {
                "properties" | "$defs" => value
                    .as_object()
                    .unwrap()
                    .values()
                    .for_each(|v| keywords(v, found)),
                "anyOf" | "oneOf" => value
                    .as_array()
                    .unwrap()
                    .iter()
                    .for_each(|v| keywords(v, found)),
                "items" | "additionalProperties" => keywords(value, found),
                _ => {}
            }
        }
    }

    #[test]
    fn the_checker_knows_every_keyword_of_the_schema() {
        let known = [
            "$defs",
            "$ref",
            "$schema",
            "additionalProperties",
            "anyOf",
            "const",
            "default",
            "description",
            "enum",
            "exclusiveMaximum",
            "exclusiveMinimum",
            "format",
            "items",
            "maximum",
            "minItems",
            "minimum",
            "oneOf",
            "pattern", // of Bytes, whose own parser decides
            "properties",
            "required",
            "title",
            "type",
            "x-name",
            "x-kernel",
        ];
        let mut found = Vec::new();
        keywords(schema::study(), &mut found);
        assert!(found.len() > 500);
        for keyword in found {
            assert!(known.contains(&keyword.as_str()), "{keyword}");
        }
    }

    #[test]
    fn names_are_plain() {
        for good in ["ext4", "ext4-nojournal", "a_b", "9p"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "-x", "Ext4", "a.b", "a b", "ä", &"x".repeat(65)] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
