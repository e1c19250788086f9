//! The list of all items, and the page of the guide that is made from it.

use std::fmt::Write as _;

use super::entry::{Entry, How};
use super::{block, cgroup, cpu, filesystem, memory, run, system};

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
         for. Items of a trial are recorded with each trial; manual ones are given by the user. `fslab explain`\n\
         compares values that depend on the memory size with a tolerance\n\
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
}
