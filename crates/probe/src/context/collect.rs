//! Filling a record: reading sources, storing values, giving reasons.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::entry::{Entry, How};
use super::{Item, Options, Subject};
use crate::Roots;
use crate::mountinfo::{self, Mount};

pub(super) struct Collector<'a> {
    pub(super) subject: &'a Subject<'a>,
    pub(super) options: &'a Options,
    pub(super) mounts: Vec<Mount>,
    entries: Vec<&'static Entry>,
    items: BTreeMap<String, Item>,
}

/// What became of reading a source: its text, or the reason.
pub(super) type Read = Result<String, String>;

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file on this kernel or machine".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied: needs root".to_owned(),
        _ => error.to_string(),
    }
}

/// Lower-case hexadecimal SHA-256.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

impl<'a> Collector<'a> {
    /// Begins a record; `entries` are the items that it may have.
    pub(super) fn new(
        subject: &'a Subject<'a>,
        options: &'a Options,
        entries: Vec<&'static Entry>,
    ) -> Self {
        let mut collector = Collector {
            subject,
            options,
            mounts: Vec::new(),
            entries,
            items: BTreeMap::new(),
        };
        if let Ok(text) = collector.read_bytes("/proc/self/mountinfo") {
            collector.mounts = mountinfo::parse(&text);
        }
        collector
    }

    pub(super) fn roots(&self) -> &Roots {
        &self.options.roots
    }

    pub(super) fn path(&self, source: &str) -> PathBuf {
        self.options.roots.resolve(source)
    }

    /// The text of a source, trimmed.
    pub(super) fn read(&self, source: &str) -> Read {
        self.read_bytes(source)
            .map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    pub(super) fn read_bytes(&self, source: &str) -> Result<Vec<u8>, String> {
        std::fs::read(self.path(source)).map_err(|e| reason(&e))
    }

    /// Names in a folder, sorted; empty when it cannot be listed.
    pub(super) fn list(&self, source: &str) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.path(source))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort_unstable();
        names
    }

    /// Stores what became of an item, with the catalogue's source.
    pub(super) fn put<V: Into<Value>>(&mut self, name: &str, outcome: Result<V, String>) {
        self.put_from(name, None, outcome);
    }

    /// Stores a value with the source it was really read from.
    pub(super) fn put_from<V: Into<Value>>(
        &mut self,
        name: &str,
        source: Option<&str>,
        outcome: Result<V, String>,
    ) {
        let entry = self.entries.iter().find(|e| e.matches(name));
        debug_assert!(entry.is_some(), "{name} is not in the catalogue");
        let (value, reason) = match outcome {
            Ok(value) => (value.into(), None),
            Err(reason) => (Value::Null, Some(reason)),
        };
        let item = Item {
            number: entry.map_or(0, |e| e.number),
            value,
            source: source
                .or(entry.map(|e| e.source))
                .unwrap_or_default()
                .to_owned(),
            reason,
            volatile: entry.is_some_and(|e| e.volatile),
        };
        self.items.insert(name.to_owned(), item);
    }

    /// Reads the simple entries of a part, with `<placeholder>` replaced by `with` in name and source.
    pub(super) fn simple(&mut self, entries: &[Entry], placeholder: &str, with: &str) {
        for entry in entries {
            let fits = if placeholder.is_empty() {
                !entry.name.contains('<')
            } else {
                entry.name.contains(placeholder)
            };
            let read: fn(&str) -> Result<Value, String> = match entry.how {
                How::Text => |text| Ok(Value::from(text)),
                How::Number => number,
                How::Chosen => |text| Ok(chosen(text)),
                _ => continue,
            };
            if !fits {
                continue;
            }
            let name = replace(entry.name, placeholder, with);
            let source = replace(entry.source, placeholder, with);
            let outcome = self.read(&source).and_then(|text| read(&text));
            self.put_from(&name, Some(&source), outcome);
        }
    }

    /// What was stored so far, and nothing else.
    pub(super) fn taken(self) -> BTreeMap<String, Item> {
        self.items
    }

    /// Adds the values that the caller gave, and absent items with their reason.
    pub(super) fn finish(mut self) -> BTreeMap<String, Item> {
        for (name, value) in &self.subject.manual {
            let known = self.entries.iter().any(|e| e.matches(name));
            let name = if known {
                name.clone()
            } else {
                format!("manual.{name}")
            };
            self.put_from(&name, Some("given by the caller"), Ok(value.as_str()));
        }
        for entry in self.entries.clone() {
            if self.items.keys().any(|name| entry.matches(name)) {
                continue;
            }
            let reason = match entry.how {
                How::PerTrial => "recorded with each trial",
                How::Manual => "not given: it is in no file of the kernel",
                _ if entry.name.contains("<dev>") => "no block device of this kind in the stack",
                _ if entry.name.contains("<role>") => "no such filesystem in this run",
                _ => "this machine has nothing of the kind",
            };
            self.put::<Value>(entry.name, Err(reason.to_owned()));
        }
        self.items
    }
}

fn replace(text: &str, placeholder: &str, with: &str) -> String {
    if placeholder.is_empty() {
        text.to_owned()
    } else {
        text.replace(placeholder, with)
    }
}

pub(super) fn number(text: &str) -> Result<Value, String> {
    if let Ok(n) = text.parse::<u64>() {
        return Ok(n.into());
    }
    text.parse::<i64>()
        .map(Value::from)
        .map_err(|_| format!("not a number: {text:?}"))
}

fn chosen(text: &str) -> Value {
    let inside = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map(|(word, _)| word);
    // A file with one choice has no brackets.
    inside.unwrap_or(text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bracketed_word_is_chosen() {
        assert_eq!(chosen("none [mq-deadline] bfq"), Value::from("mq-deadline"));
        assert_eq!(chosen("none"), Value::from("none"));
        assert_eq!(chosen("]x["), Value::from("]x["));
    }

    #[test]
    fn numbers_may_be_negative_and_nothing_else() {
        assert_eq!(number("18446744073709551615"), Ok(u64::MAX.into()));
        assert_eq!(number("-1"), Ok((-1).into()));
        assert!(number("5 kB").is_err());
    }
}
