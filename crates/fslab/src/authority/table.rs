//! The table itself, of which docs/security.md has a copy.

use rundir::Authority;

/// A folder of runs, of a run or of a fleet that a command is given.
pub(crate) struct Row {
    /// The command's words.
    pub(crate) command: &'static str,
    /// The argument: an option with its dashes, else the name of the positional one.
    pub(crate) argument: &'static str,
    /// What the command may do with it.
    pub(crate) authority: Authority,
}

const fn row(command: &'static str, argument: &'static str, authority: Authority) -> Row {
    Row {
        command,
        argument,
        authority,
    }
}

/// Every argument that names a folder of runs, of a run or of a fleet.
pub(crate) const TABLE: &[Row] = &[
    row("run", "--out", Authority::Obeys),
    row("resume", "run", Authority::ObeysAll),
    row("clean", "dir", Authority::Obeys),
    row("trace record", "--out", Authority::Obeys),
    row("import", "--out", Authority::Obeys),
    row("fleet submit", "--out", Authority::Obeys),
    row("fleet submit", "study", Authority::ObeysAll),
    row("fleet block", "run", Authority::ObeysAll),
    row("fleet status", "run", Authority::ObeysAll),
    row("fleet gather", "run", Authority::ObeysAll),
    row("list", "dir", Authority::Reads),
    row("show", "run", Authority::Reads),
    row("report", "run", Authority::Reads),
    row("explain", "run", Authority::Reads),
    row("compare", "sides", Authority::Reads),
    row("compare", "--runs", Authority::Reads),
    row("history", "--runs", Authority::Reads),
    row("bisect-step", "--good", Authority::Reads),
    row("bisect-step", "--bad", Authority::Reads),
    row("bisect-step", "--runs", Authority::Reads),
    row("import", "runs", Authority::Reads),
    row("site", "--from", Authority::Reads),
    row("site", "--compare", Authority::Reads),
    row("serve", "--from", Authority::Reads),
    row("serve", "--compare", Authority::Reads),
    row("trace report", "bases", Authority::Reads),
    row("replay", "bases", Authority::Reads),
];
