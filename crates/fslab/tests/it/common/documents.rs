//! The project's documents: README.md, ARCHITECTURE.md, CHANGELOG.md and all of docs/, with their code blocks and links.

use std::fs;
use std::path::{Path, PathBuf};

/// The top of the source tree.
pub(crate) fn repository() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    path.canonicalize().unwrap()
}

/// A document.
pub(crate) struct Document {
    /// Its path from the top of the source tree.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// A fenced code block.
pub(crate) struct Block {
    /// Number of the line that opens it, from 1.
    pub(crate) line: usize,
    /// What follows the opening fence; empty where nothing does.
    pub(crate) language: String,
    /// The reason in `<!-- not run: REASON -->` on the line before the fence.
    pub(crate) not_run: Option<String>,
    pub(crate) lines: Vec<String>,
}

/// All documents, by name.
pub(crate) fn all() -> Vec<Document> {
    let top = repository();
    let mut paths: Vec<PathBuf> = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"]
        .iter()
        .map(|name| top.join(name))
        .collect();
    markdown(&top.join("docs"), &mut paths);
    paths.sort();
    let document = |path: &PathBuf| Document {
        name: path.strip_prefix(&top).unwrap().display().to_string(),
        text: fs::read_to_string(path).unwrap(),
    };
    paths.iter().map(document).collect()
}

fn markdown(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            markdown(&path, into);
        } else if path.extension().is_some_and(|end| end == "md") {
            into.push(path);
        }
    }
}

impl Document {
    /// Its fenced blocks, and its other lines with their numbers.
    pub(crate) fn parts(&self) -> (Vec<Block>, Vec<(usize, &str)>) {
        let (mut blocks, mut others) = (Vec::<Block>::new(), Vec::new());
        let mut open = false;
        for (number, line) in (1..).zip(self.text.lines()) {
            match line.trim_start().strip_prefix("```") {
                Some(_) if open => open = false,
                Some(language) => {
                    open = true;
                    let before: Option<&(usize, &str)> = others.last();
                    let mark = before.filter(|(at, _)| at + 1 == number);
                    let reason = mark.and_then(|(_, text)| {
                        text.trim()
                            .strip_prefix("<!-- not run: ")?
                            .strip_suffix(" -->")
                    });
                    blocks.push(Block {
                        line: number,
                        language: language.trim().to_owned(),
                        not_run: reason.map(str::to_owned),
                        lines: Vec::new(),
                    });
                }
                None if open => blocks.last_mut().unwrap().lines.push(line.to_owned()),
                None => others.push((number, line)),
            }
        }
        assert!(!open, "{}: a code block is not closed", self.name);
        (blocks, others)
    }

    pub(crate) fn blocks(&self) -> Vec<Block> {
        self.parts().0
    }
}

impl Block {
    /// Whether it holds commands: `sh`, where every line is one, or `console`, where those after `$ ` are.
    pub(crate) fn has_commands(&self) -> bool {
        ["sh", "console"].contains(&self.language.as_str())
    }

    /// Its commands, each on one line.
    pub(crate) fn commands(&self) -> Vec<String> {
        if !self.has_commands() {
            return Vec::new();
        }
        let text = self.lines.join("\n").replace("\\\n", " ");
        let command = |line: &str| {
            let line = line.trim();
            match self.language.as_str() {
                "console" => line.strip_prefix("$ ").map(str::to_owned),
                _ if line.is_empty() || line.starts_with('#') => None,
                _ => Some(line.to_owned()),
            }
        };
        text.lines().filter_map(command).collect()
    }
}

/// The addresses of the links and images of a line, outside of `code`.
pub(crate) fn links(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find(['`', ']']) {
        let after = &rest[at..];
        if let Some(code) = after.strip_prefix('`') {
            rest = code.split_once('`').map_or("", |(_, after)| after);
        } else if let Some((address, after)) = after
            .strip_prefix("](")
            .and_then(|target| target.split_once(')'))
        {
            found.push(address);
            rest = after;
        } else {
            rest = &after[1..];
        }
    }
    found
}

/// The anchors of a document's headings, as GitHub and mdBook make them.
pub(crate) fn anchors(document: &Document) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (_, line) in document.parts().1 {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let kept = title
            .trim()
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let name: String = kept
            .map(|c| if c == ' ' { '-' } else { c })
            .collect::<String>()
            .to_lowercase();
        let same = found
            .iter()
            .filter(|other| {
                **other == name
                    || other
                        .strip_prefix(&format!("{name}-"))
                        .is_some_and(|end| end.parse::<u32>().is_ok())
            })
            .count();
        found.push(if same == 0 {
            name
        } else {
            format!("{name}-{same}")
        });
    }
    found
}
