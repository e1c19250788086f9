//! Problems of study files and overrides, each with the place it came from.

use std::fmt;
use std::sync::Arc;

/// Where a value was written: a line of a file and a key path in it, or a command-line argument.
///
/// Origins travel with the values through includes, profiles and `--set`, so that a problem found
/// after all merging still points at what the user has to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    source: Source,
    path: Path,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    File { name: Arc<str>, line: usize },
    Argument(Arc<str>),
}

/// A key path as a chain to its parent: a file's nodes share their prefixes, so that a hostile
/// file cannot make paths cost more memory than its own length.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Path(Option<Arc<Segment>>);

#[derive(Debug, PartialEq, Eq)]
struct Segment {
    parent: Path,
    name: Name,
}

#[derive(Debug, PartialEq, Eq)]
enum Name {
    Key(String),
    Index(usize),
}

impl Origin {
    /// A line of a file, 1-based.
    pub(crate) fn file(name: &Arc<str>, line: usize) -> Origin {
        Origin {
            source: Source::File {
                name: Arc::clone(name),
                line,
            },
            path: Path(None),
        }
    }

    /// An argument as typed, with its option: `--set iozone.size=64m`.
    pub(crate) fn argument(text: impl Into<Arc<str>>) -> Origin {
        Origin {
            source: Source::Argument(text.into()),
            path: Path(None),
        }
    }

    /// Whether it is an argument of the command line.
    pub(crate) fn is_argument(&self) -> bool {
        matches!(self.source, Source::Argument(_))
    }

    /// The place of a key below this one.
    pub(crate) fn key(&self, key: &str) -> Origin {
        self.child(Name::Key(key.to_owned()))
    }

    /// The place of an element of the list here.
    pub(crate) fn index(&self, index: usize) -> Origin {
        self.child(Name::Index(index))
    }

    fn child(&self, name: Name) -> Origin {
        let parent = self.path.clone();
        Origin {
            source: self.source.clone(),
            path: Path(Some(Arc::new(Segment { parent, name }))),
        }
    }

    /// The same path on another line.
    pub(crate) fn on_line(mut self, number: usize) -> Origin {
        if let Source::File { line, .. } = &mut self.source {
            *line = number;
        }
        self
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(segment) = &self.0 else {
            return Ok(());
        };
        segment.parent.fmt(f)?;
        match &segment.name {
            Name::Index(index) => write!(f, "[{index}]"),
            Name::Key(key) => {
                let dot = if segment.parent.0.is_some() { "." } else { "" };
                write!(f, "{dot}{}", shorten(key))
            }
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::Argument(text) => f.write_str(&shorten(text)),
            Source::File { name, line } if self.path.0.is_none() => write!(f, "{name}:{line}"),
            Source::File { name, line } => write!(f, "{name}:{line}: {}", self.path),
        }
    }
}

/// One thing that is wrong, where, and what would be right: one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The place.
    pub at: Origin,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl Problem {
    pub(crate) fn new(at: &Origin, message: impl Into<String>) -> Problem {
        Problem {
            at: at.clone(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.message)
    }
}

/// Why a study cannot be loaded or planned.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No built-in study has this name.
    #[error("no study is called {name} ({known}; or give the path of a .toml file, with a /)")]
    Unknown {
        /// Name as given by the user.
        name: String,
        /// The nearest name, and those of the built-in studies.
        known: String,
    },
    /// The file cannot be read.
    #[error(
        "{path}: the study cannot be read: {why}; check the path, or choose one of `fslab studies`"
    )]
    Read {
        /// The file.
        path: String,
        /// The system's error, or the rule.
        why: String,
    },
    /// The file or the overrides are wrong: one line for each problem.
    #[error("{}", lines(.0))]
    Problems(Vec<Problem>),
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Error {
        Error::Problems(vec![problem])
    }
}

fn lines(problems: &[Problem]) -> String {
    const MOST: usize = 50;
    let mut lines: Vec<String> = problems
        .iter()
        .take(MOST)
        .map(ToString::to_string)
        .collect();
    if problems.len() > MOST {
        lines.push(format!("and {} more", problems.len() - MOST));
    }
    lines.join("\n")
}

/// Foreign text in quotes.
pub(crate) use words::quoted as quote;

/// Foreign text, safe for one line of an error: control characters escaped, and cut when it is long.
pub(crate) fn shorten(text: &str) -> String {
    words::shortened_to(text, 80).into_owned()
}
