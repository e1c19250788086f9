//! TOML values that remember where they were written, and their merging.
//!
//! serde would forget positions as soon as two files are merged, so the merge happens here, on
//! positioned values, and serde sees only the final result.

use std::ops::Range;
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use crate::error::{Origin, Problem, quote, shorten};

/// A value and the place where it was written.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) at: Origin,
}

/// A TOML value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Flag(bool),
    /// A date or time: no key of a study takes one.
    Date(String),
    List(Vec<Node>),
    Table(Table),
}

/// Keys in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table(Vec<(String, Node)>);

impl Table {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.0.iter().map(|(key, node)| (key.as_str(), node))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.as_str())
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, node)| node)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.0
            .iter_mut()
            .find(|(k, _)| k == key)
            .map(|(_, node)| node)
    }

    pub(crate) fn insert(&mut self, key: &str, node: Node) {
        match self.get_mut(key) {
            Some(old) => *old = node,
            None => self.0.push((key.to_owned(), node)),
        }
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<Node> {
        let place = self.0.iter().position(|(k, _)| k == key)?;
        Some(self.0.remove(place).1)
    }
}

impl Node {
    pub(crate) fn table(at: &Origin) -> Node {
        Node {
            value: Value::Table(Table::default()),
            at: at.clone(),
        }
    }

    pub(crate) fn text(at: &Origin, text: &str) -> Node {
        Node {
            value: Value::Text(text.to_owned()),
            at: at.clone(),
        }
    }

    pub(crate) fn as_table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(crate) fn as_table_mut(&mut self) -> Option<&mut Table> {
        match &mut self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(crate) fn as_list(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(list) => Some(list),
            _ => None,
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The node at a path of keys.
    pub(crate) fn find(&self, path: &[&str]) -> Option<&Node> {
        path.iter()
            .try_fold(self, |node, key| node.as_table()?.get(key))
    }

    /// How the value is named in an error.
    pub(crate) fn show(&self) -> String {
        match &self.value {
            Value::Text(text) => quote(text),
            Value::Integer(n) => n.to_string(),
            // 1e300 in full is 301 digits.
            Value::Float(x) if x.is_finite() && x.abs() >= 1e15 => format!("{x:e}"),
            Value::Float(x) => x.to_string(),
            Value::Flag(flag) => flag.to_string(),
            Value::Date(text) => shorten(text),
            Value::List(_) => "a list".to_owned(),
            Value::Table(_) => "a table".to_owned(),
        }
    }

    /// The plain value, for serde.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Text(text) | Value::Date(text) => Json::from(text.as_str()),
            Value::Integer(n) => Json::from(*n),
            Value::Float(x) => Json::from(*x),
            Value::Flag(flag) => Json::from(*flag),
            Value::List(list) => list.iter().map(Node::to_json).collect(),
            Value::Table(table) => table
                .iter()
                .map(|(key, node)| (key.to_owned(), node.to_json()))
                .collect(),
        }
    }

    /// Lays `over` upon this: tables merge by key, everything else is replaced.
    pub(crate) fn merge(&mut self, over: Node) {
        match (&mut self.value, over) {
            (
                Value::Table(base),
                Node {
                    value: Value::Table(over),
                    ..
                },
            ) => {
                for (key, node) in over.0 {
                    match base.get_mut(&key) {
                        Some(old) => old.merge(node),
                        None => base.0.push((key, node)),
                    }
                }
            }
            (_, over) => *self = over,
        }
    }
}

/// Parses a file. All its syntax errors, each in one line.
pub(crate) fn parse(text: &str, name: &str) -> Result<Node, Vec<Problem>> {
    const MOST: usize = 20;
    let file: Arc<str> = name.into();
    let lines = Lines::new(text);
    let root = Origin::file(&file, 1);
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(from_table(table.into_inner(), &root, &lines));
    }
    let problem = |error: &toml::de::Error| {
        let line = error.span().map_or(1, |span| lines.of(&span));
        let message: Vec<&str> = error.message().lines().map(str::trim).collect();
        Problem::new(&root.clone().on_line(line), message.join(", "))
    };
    let mut errors: Vec<&toml::de::Error> = errors.iter().collect();
    errors.sort_by_key(|error| error.span().map_or(0, |span| span.start));
    Err(errors.into_iter().take(MOST).map(problem).collect())
}

/// A value given as text on the command line: TOML where it is TOML, else the text itself, so
/// that `64m` and `ext4` need no quotes in a shell.
pub(crate) fn parse_argument(text: &str, at: &Origin) -> Node {
    let whole = format!("value = {text}");
    let parsed = DeTable::parse(&whole).ok().map(|table| {
        let lines = Lines::new(&whole);
        from_table(table.into_inner(), at, &lines)
    });
    let node = parsed
        .filter(|node| node.as_table().is_some_and(|t| t.keys().count() == 1))
        .and_then(|mut node| node.as_table_mut()?.remove("value"));
    match node {
        Some(node) if !matches!(node.value, Value::Date(_)) => node,
        _ => Node::text(at, text),
    }
}

fn from_table(table: DeTable<'_>, at: &Origin, lines: &Lines) -> Node {
    let mut entries: Vec<_> = table.into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let entries = entries.into_iter().map(|(key, value)| {
        let here = at.key(key.get_ref()).on_line(lines.of(&key.span()));
        let node = from_value(value.into_inner(), here, lines);
        (key.into_inner().into_owned(), node)
    });
    Node {
        value: Value::Table(Table(entries.collect())),
        at: at.clone(),
    }
}

fn from_value(value: DeValue<'_>, at: Origin, lines: &Lines) -> Node {
    let value = match value {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(n) => match i64::from_str_radix(n.as_str(), n.radix()) {
            Ok(n) => Value::Integer(n),
            // Beyond 64 bits: as a float it is out of every range, and is named so.
            Err(_) => Value::Float(n.as_str().parse().unwrap_or(f64::INFINITY)),
        },
        DeValue::Float(x) => Value::Float(x.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => Value::Flag(flag),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(items) => {
            let items = items.into_iter().enumerate().map(|(index, item)| {
                let here = at.index(index).on_line(lines.of(&item.span()));
                from_value(item.into_inner(), here, lines)
            });
            Value::List(items.collect())
        }
        DeValue::Table(table) => return from_table(table, &at, lines),
    };
    Node { value, at }
}

/// Byte offset to line number.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Lines {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Lines(ends.map(|(offset, _)| offset).collect())
    }

    fn of(&self, span: &Range<usize>) -> usize {
        1 + self.0.partition_point(|end| *end < span.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(node: &Node, path: &[&str]) -> String {
        node.find(path).unwrap().at.to_string()
    }

    #[test]
    fn nodes_know_their_line_and_path() {
        let text = "a = 1\n\n[b]\nc = [\n 1,\n 2 ]\n[[d]]\ne.f = 3\n";
        let node = parse(text, "x.toml").unwrap();
        assert_eq!(at(&node, &["a"]), "x.toml:1: a");
        let list = node.find(&["b", "c"]).unwrap().as_list().unwrap();
        assert_eq!(list[1].at.to_string(), "x.toml:6: b.c[1]");
        let item = &node.find(&["d"]).unwrap().as_list().unwrap()[0];
        assert_eq!(at(item, &["e", "f"]), "x.toml:8: d[0].e.f");
    }

    #[test]
    fn merging_keeps_the_place_of_what_wins() {
        let mut base = parse("[t]\na = 1\nb = 2\nl = [1, 2]\n", "base").unwrap();
        base.merge(parse("\n\n[t]\nb = 3\nl = [9]", "over").unwrap());
        assert_eq!(at(&base, &["t", "a"]), "base:2: t.a");
        assert_eq!(at(&base, &["t", "b"]), "over:4: t.b");
        assert_eq!(
            base.find(&["t", "l"]).unwrap().to_json(),
            serde_json::json!([9])
        );
    }

    #[test]
    fn keys_keep_the_order_of_the_file() {
        let node = parse("z = 1\na = 2\n[m]\nq = 1\nb = 2\n", "x").unwrap();
        let keys: Vec<&str> = node.as_table().unwrap().keys().collect();
        assert_eq!(keys, ["z", "a", "m"]);
    }

    #[test]
    fn arguments_are_toml_or_text() {
        let at = Origin::argument("--set x");
        let json = |text: &str| parse_argument(text, &at).to_json();
        assert_eq!(json("8"), serde_json::json!(8));
        assert_eq!(json("64m"), serde_json::json!("64m"));
        assert_eq!(json("[1, 8]"), serde_json::json!([1, 8]));
        assert_eq!(json("1\nother = 2"), serde_json::json!("1\nother = 2"));
        assert_eq!(json("2009-01-07"), serde_json::json!("2009-01-07"));
        assert_eq!(json(""), serde_json::json!(""));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC{0,200}") {
            let _ = parse(&text, "x");
            let _ = parse_argument(&text, &Origin::argument("--set"));
        }

        #[test]
        fn no_toml_like_text_makes_the_parser_panic(text in "[\\[\\]{}=.,\"'a-c0-9 \n#-]{0,120}") {
            let _ = parse(&text, "x");
        }
    }
}
