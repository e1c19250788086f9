//! Reads a study file and the files it includes, into one positioned tree.
//!
//! A file may come from anyone: its size, the number of includes and their cycles are bounded,
//! and only regular files are opened, so that a pipe or a device cannot hold the lab up.

use std::fs;
use std::path::{Path, PathBuf};

use crate::builtin::{self, Builtin};
use crate::check::{NAME_RULE, is_name};
use crate::error::{Error, Problem, quote, shorten};
use crate::node::{self, Node, Table, Value};

/// Largest study file, bytes.
const LARGEST: u64 = 256 << 10;
/// Most files that one study may draw together.
const MOST_FILES: usize = 32;

/// Location of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Builtin(&'static str),
    File(PathBuf),
}

/// Reads the study of this name or path, with its includes merged and its workloads keyed by
/// name.
pub(crate) fn read(name_or_path: &str) -> Result<Node, Error> {
    let mut reader = Reader::default();
    if names_a_file(name_or_path) {
        return reader.file(Path::new(name_or_path));
    }
    let study = builtin::studies()
        .iter()
        .find(|study| study.name == name_or_path);
    match study {
        Some(study) => reader.builtin(*study),
        None => Err(Error::Unknown {
            name: quote(name_or_path),
            known: format!(
                "{}built in: {}",
                words::hint(
                    name_or_path,
                    builtin::studies().iter().map(|study| study.name)
                ),
                known_studies()
            ),
        }),
    }
}

/// A path is distinguished from a name by its `/` or its `.toml`: a file that happens to be called
/// `journal` must not change what `fslab run journal` does.
fn names_a_file(text: &str) -> bool {
    text.contains('/')
        || Path::new(text)
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

fn known_studies() -> String {
    let names: Vec<&str> = builtin::studies().iter().map(|study| study.name).collect();
    names.join(", ")
}

#[derive(Default)]
struct Reader {
    /// Files being read, outermost first.
    open: Vec<Place>,
    /// Files read so far.
    count: usize,
}

impl Reader {
    fn builtin(&mut self, file: Builtin) -> Result<Node, Error> {
        let name = format!("studies/{}.toml", file.name);
        self.text(file.text, &name, Place::Builtin(file.name), None)
    }

    fn file(&mut self, path: &Path) -> Result<Node, Error> {
        let name = shorten(&path.display().to_string());
        let text = slurp(path).map_err(|why| Error::Read {
            path: name.clone(),
            why,
        })?;
        // Two spellings of one file are one file, or a cycle would be found late.
        let whole = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        self.text(&text, &name, Place::File(whole), path.parent())
    }

    /// Parses a file and lays it upon its includes.
    fn text(
        &mut self,
        text: &str,
        name: &str,
        place: Place,
        folder: Option<&Path>,
    ) -> Result<Node, Error> {
        let mut tree = node::parse(text, name).map_err(Error::Problems)?;
        self.open.push(place);
        self.count += 1;
        let includes = tree
            .as_table_mut()
            .and_then(|table| table.remove("include"));
        let mut base = Node::table(&tree.at);
        if let Some(includes) = includes {
            for include in paths(&includes)? {
                base.merge(self.include(include, folder)?);
            }
        }
        self.open.pop();
        let problems = name_workloads(&mut tree);
        if !problems.is_empty() {
            return Err(Error::Problems(problems));
        }
        base.merge(tree);
        Ok(base)
    }

    fn include(&mut self, include: &Node, folder: Option<&Path>) -> Result<Node, Error> {
        let text = include.as_text().unwrap_or_default();
        let refuse = |message: String| Error::from(Problem::new(&include.at, message));
        if self.count >= MOST_FILES {
            return Err(refuse(format!(
                "more than {MOST_FILES} files are included (let some include fewer)"
            )));
        }
        let beside = folder.map(|folder| folder.join(text));
        let (place, builtin) = match (beside, builtin::file(text.trim_end_matches(".toml"))) {
            (Some(path), _) if path.exists() => {
                let whole = fs::canonicalize(&path).map_err(|e| refuse(e.to_string()))?;
                (Place::File(whole), None)
            }
            (_, Some(file)) => (Place::Builtin(file.name), Some(file)),
            _ => {
                return Err(refuse(format!(
                    "{} is neither a file beside this one nor built in (defaults.toml, {})",
                    include.show(),
                    known_studies()
                )));
            }
        };
        if self.open.contains(&place) {
            return Err(refuse(format!(
                "{} includes itself (break the cycle)",
                include.show()
            )));
        }
        match (builtin, folder) {
            (Some(file), _) => self.builtin(file),
            (None, folder) => self
                .file(&folder.unwrap_or(Path::new("")).join(text))
                .map_err(|error| match error {
                    Error::Read { why, .. } => refuse(format!("cannot be read: {why}")),
                    other => other,
                }),
        }
    }
}

fn paths(includes: &Node) -> Result<&[Node], Error> {
    let wrong = |node: &Node| {
        let message = format!(
            "{} is not a list of files (as in [\"defaults.toml\"])",
            node.show()
        );
        Error::from(Problem::new(&node.at, message))
    };
    let list = includes.as_list().ok_or_else(|| wrong(includes))?;
    match list.iter().find(|item| item.as_text().is_none()) {
        Some(item) => Err(wrong(item)),
        None => Ok(list),
    }
}

/// The text of a study file.
fn slurp(path: &Path) -> Result<String, String> {
    input::text(path, LARGEST).map_err(|error| match error {
        input::Error::Io(error) => error.to_string(),
        other => format!("{other} (is it a study? give the path of a .toml file)"),
    })
}

/// Turns `[[workload]]` into a table keyed by name, so that includes, profiles and `--set`
/// address a workload by its name and not by its position.
fn name_workloads(tree: &mut Node) -> Vec<Problem> {
    let Some(node) = tree
        .as_table_mut()
        .and_then(|table| table.get_mut("workload"))
    else {
        return Vec::new();
    };
    let at = node.at.clone();
    let Value::List(list) = &mut node.value else {
        let message = "a workload is written [[workload]], with a name and a kind";
        return vec![Problem::new(&at, message)];
    };
    let mut problems = Vec::new();
    let mut named = Table::default();
    for item in std::mem::take(list) {
        match workload_name(&item, &named) {
            Ok(name) => named.insert(&name, item),
            Err(problem) => problems.push(problem),
        }
    }
    node.value = Value::Table(named);
    problems
}

fn workload_name(item: &Node, named: &Table) -> Result<String, Problem> {
    let table = item
        .as_table()
        .ok_or_else(|| Problem::new(&item.at, "a workload is written [[workload]]"))?;
    let name = table
        .get("name")
        .ok_or_else(|| Problem::new(&item.at, "name is missing"))?;
    match name.as_text() {
        Some(text) if !is_name(text) => Err(Problem::new(
            &name.at,
            format!("{} is not a name ({NAME_RULE})", name.show()),
        )),
        Some(text) if named.get(text).is_some() => Err(Problem::new(
            &name.at,
            format!("{} is taken by another workload", name.show()),
        )),
        Some(text) => Ok(text.to_owned()),
        None => Err(Problem::new(
            &name.at,
            format!("{} is not a name ({NAME_RULE})", name.show()),
        )),
    }
}
