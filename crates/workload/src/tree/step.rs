//! The words of a sequence: states, actions, rows of the report, and the step made of them.

use std::fmt;

/// State of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// As created.
    Unpatched,
    /// Sources patched.
    Patched,
    /// Compiled as created.
    UnpatchedCompiled,
    /// Patched and compiled, in either order.
    PatchedCompiled,
}

impl State {
    /// Whether it holds object files.
    pub const fn compiled(self) -> bool {
        matches!(self, State::UnpatchedCompiled | State::PatchedCompiled)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Unpatched => "unpatched",
            State::Patched => "patched",
            State::UnpatchedCompiled => "unpatched_compiled",
            State::PatchedCompiled => "patched_compiled",
        })
    }
}

/// What is done to a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// One of the trees created before the sequence.
    InitialCreate,
    /// A new tree.
    Create,
    /// Every file of a delta is read, truncated and rewritten; `unlink`: unlinked first.
    Patch {
        /// Unlink every file before it is opened.
        unlink: bool,
    },
    /// Object files are added.
    Compile,
    /// Object files are unlinked.
    Clean,
    /// The whole tree is removed, its empty top directory left.
    Delete,
    /// Every file is read.
    Read,
    /// Every file and directory is looked up.
    Stat,
}

/// The row under which an operation is booked, in the order of the original's report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Row {
    /// `intial create` in the original.
    InitialCreate,
    /// `create`.
    Create,
    /// `patch`.
    Patch,
    /// `compile`.
    Compile,
    /// `clean`.
    Clean,
    /// `read tree`.
    ReadTree,
    /// `read compiled tree`.
    ReadCompiledTree,
    /// `delete tree`.
    DeleteTree,
    /// `delete compiled tree`.
    DeleteCompiledTree,
    /// `stat tree`.
    StatTree,
    /// `stat compiled tree`.
    StatCompiledTree,
}

impl Row {
    /// All rows, in the original's order.
    pub const ALL: [Row; 11] = [
        Row::InitialCreate,
        Row::Create,
        Row::Patch,
        Row::Compile,
        Row::Clean,
        Row::ReadTree,
        Row::ReadCompiledTree,
        Row::DeleteTree,
        Row::DeleteCompiledTree,
        Row::StatTree,
        Row::StatCompiledTree,
    ];

    /// The phase's name.
    pub const fn phase(self) -> &'static str {
        match self {
            Row::InitialCreate => "initial_create",
            Row::Create => "create",
            Row::Patch => "patch",
            Row::Compile => "compile",
            Row::Clean => "clean",
            Row::ReadTree => "read_tree",
            Row::ReadCompiledTree => "read_compiled_tree",
            Row::DeleteTree => "delete_tree",
            Row::DeleteCompiledTree => "delete_compiled_tree",
            Row::StatTree => "stat_tree",
            Row::StatCompiledTree => "stat_compiled_tree",
        }
    }

    /// Whether the original prints seconds for it instead of MB/s.
    pub const fn in_seconds(self) -> bool {
        matches!(
            self,
            Row::DeleteTree | Row::DeleteCompiledTree | Row::StatTree | Row::StatCompiledTree
        )
    }
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// 1-based; 0 for the initial creates.
    pub number: u32,
    /// The operation.
    pub action: Action,
    /// To which tree.
    pub tree: String,
    /// State before; none for a new tree.
    pub from: Option<State>,
    /// State after; none for a deleted tree.
    pub to: Option<State>,
    /// The row in which it is counted.
    pub row: Row,
    /// The label says patched, but only the objects were: the sources are unpatched. A tree gets
    /// there by unpatched_compiled -> patched_compiled, and may be cleaned after that.
    pub sources_unpatched: bool,
}

impl Step {
    /// State before and after with what a reader must know, as one line.
    pub fn note(&self) -> String {
        let mut note = match (self.from, self.to) {
            (Some(from), Some(to)) if from != to => format!("{from} -> {to}"),
            (Some(state), _) => state.to_string(),
            (None, Some(to)) => format!("-> {to}"),
            (None, None) => String::new(),
        };
        if let Action::Patch { unlink } = self.action {
            note.push_str(if unlink {
                ", unlink first"
            } else {
                ", overwrite"
            });
        }
        if self.sources_unpatched {
            note.push_str(", sources unpatched");
        }
        note
    }
}
