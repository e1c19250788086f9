//! The list of items: number, name, where it is read and what it is for.

use std::fmt::Write as _;

use super::{block, cgroup, cpu, filesystem, memory, run, system};

/// How an item gets its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// The text of the source, trimmed.
    Text,
    /// The text of the source as a whole number.
    Number,
    /// The word in brackets, of `[mq-deadline] none`.
    Chosen,
    /// By code.
    Computed,
    /// Not of the machine: stands with each trial.
    PerTrial,
    /// Only a person or the caller can tell.
    Manual,
}

/// One item that a record can have. A name with `<...>` stands for one item of each such thing.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its number among the sixty.
    pub number: u8,
    /// Its dotted name.
    pub name: &'static str,
    /// Where it is read.
    pub source: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Changes by itself.
    pub volatile: bool,
    pub(super) how: How,
}

impl Entry {
    pub(super) const fn new(
        number: u8,
        name: &'static str,
        how: How,
        source: &'static str,
        about: &'static str,
    ) -> Entry {
        Entry {
            number,
            name,
            source,
            about,
            volatile: false,
            how,
        }
    }

    pub(super) const fn changing(self) -> Entry {
        Entry {
            volatile: true,
            ..self
        }
    }

    /// Whether a name is this entry's, `<...>` matching one part, or all the rest at the end.
    pub(super) fn matches(&self, name: &str) -> bool {
        if self.name == name {
            return true;
        }
        if !self.name.contains('<') {
            return false;
        }
        let mut have = name.split('.');
        let mut want = self.name.split('.').peekable();
        while let Some(part) = want.next() {
            let Some(word) = have.next() else {
                return false;
            };
            if part.starts_with('<') {
                if want.peek().is_none() {
                    return true;
                }
            } else if part != word {
                return false;
            }
        }
        have.next().is_none()
    }
}

const PARTS: [&[Entry]; 7] = [
    system::ENTRIES,
    cpu::ENTRIES,
    memory::ENTRIES,
    cgroup::ENTRIES,
    filesystem::ENTRIES,
    block::ENTRIES,
    run::ENTRIES,
];

/// Every item, by number, in the order of its part within one number.
pub fn catalogue() -> Vec<&'static Entry> {
    let mut all: Vec<&Entry> = PARTS.iter().copied().flatten().collect();
    all.sort_by_key(|entry| entry.number);
    all
}

/// The guide's page of all items, in Markdown.
pub fn document() -> String {
    let mut out = String::from(
        "# The context record\n\n\
         Generated from the catalogue in `crates/probe`; `UPDATE_DOCS=1 cargo test -p probe` rewrites it.\n\n\
         A run stores this record at its start and end. Every item has its value, its source and,\n\
         where it could not be read, the reason. `<dev>` stands for each block device of the stack,\n\
         `<role>` for `measured` (the filesystem under test) and `host` (the one that holds the\n\
         images). Items marked ~ change by themselves and are left out of a difference unless asked\n\
         for. Items of a trial stand with each trial; manual ones are given by the user. An explanation\n\
         takes what follows from the memory that a boot found as the same within a bound\n\
         ([explain.md](explain.md), unfair_comparison).\n\n\
         | # | item | source | what it is |\n|---|---|---|---|\n",
    );
    for entry in catalogue() {
        let mark = if entry.volatile { " ~" } else { "" };
        let source = match entry.how {
            How::PerTrial => "with each trial",
            How::Manual => "given by the user or the tool",
            _ => entry.source,
        };
        let _ = writeln!(
            out,
            "| {} | `{}`{mark} | {} | {} |",
            entry.number,
            entry.name,
            quoted(source),
            entry.about
        );
    }
    out
}

/// A path as code, so that `<dev>` and `*` are shown as they are; words as words.
fn quoted(source: &str) -> String {
    if source.contains('/') {
        format!("`{}`", source.replace('|', "\\|"))
    } else {
        source.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sixty_numbers_are_listed() {
        let numbers: std::collections::BTreeSet<u8> =
            catalogue().iter().map(|e| e.number).collect();
        assert!(numbers.into_iter().eq(1..=60));
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = catalogue().iter().map(|e| e.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn placeholders_match_one_part_or_the_rest() {
        let entry = |name| Entry::new(1, name, How::Text, "", "");
        assert!(entry("block.<dev>.queue.fua").matches("block.vda.queue.fua"));
        assert!(!entry("block.<dev>.queue.fua").matches("block.vda.queue.fua.x"));
        assert!(!entry("block.<dev>.queue.fua").matches("block.vda.fua"));
        assert!(entry("cpu.vulnerability.<name>").matches("cpu.vulnerability.a.b"));
        assert!(!entry("cpu.vulnerability.<name>").matches("cpu.vulnerability"));
    }
}
