//! The listing of the paths on the command line.
//!
//! A regular file is described by itself. A directory means all files below it in `text` and `json`, as
//! a reader of a report wants, and only itself in the listings of other tools, as those do. A path that
//! cannot be read is a line of its own and does not stop the others.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::e2freefrag::FreeSpace;
use crate::error::Error;
use crate::file::{self, FileLayout};
use crate::filefrag::{Era, Filefrag, Style};
use crate::summary::LayoutSummary;
use crate::tally::Tally;
use crate::{text, tree, xfs_bmap};

/// Which listing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Ours, for people.
    #[default]
    Text,
    /// `filefrag -v` of today.
    Filefrag,
    /// `filefrag -v` of e2fsprogs 1.41.
    Filefrag141,
    /// `xfs_bmap -v`.
    XfsBmap,
    /// One document.
    Json,
}

/// What is asked for.
#[allow(
    clippy::struct_excessive_bools,
    reason = "options that go with one another"
)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// Which listing.
    pub format: Format,
    /// Only the sum of all files.
    pub summary: bool,
    /// The free space of the filesystems, too.
    pub free: bool,
    /// Write files back before they are mapped.
    pub sync: bool,
    /// filefrag: bytes of a block.
    pub block_size: Option<u64>,
    /// filefrag: hexadecimal.
    pub hex: bool,
    /// xfs_bmap: `-p`.
    pub unwritten: bool,
    /// Threads for trees; 0: four for each processor.
    pub threads: usize,
}

/// What is to be printed.
#[derive(Debug, Default)]
pub struct Answer {
    /// The listing. Names are in it as the filesystem has them, be they UTF-8 or not.
    pub text: Vec<u8>,
    /// What could not be looked at, one line each; of trees, the first ones.
    pub problems: Vec<String>,
    /// How many there were.
    pub problem_count: u64,
}

/// The JSON document.
#[derive(Debug, Default, Serialize)]
struct Document {
    files: Vec<FileLayout>,
    trees: Vec<Tree>,
    /// Of all files and trees together.
    summary: LayoutSummary,
    free: Vec<FreeSpace>,
    problems: Vec<String>,
}

/// A directory with all files below it.
#[derive(Debug, Serialize)]
struct Tree {
    #[serde(serialize_with = "file::lossy")]
    path: PathBuf,
    summary: LayoutSummary,
}

/// Looks at all paths.
pub fn report(paths: &[PathBuf], ask: Ask) -> Answer {
    let mut maker = Maker {
        ask,
        answer: Answer::default(),
        tally: Tally::default(),
        document: Document::default(),
        filefrag: Filefrag::new(Style {
            era: match ask.format {
                Format::Filefrag141 => Era::Of2010,
                _ => Era::Current,
            },
            block_size: ask.block_size,
            hex: ask.hex,
            verbose: true,
        }),
    };
    for path in paths {
        if let Err(error) = maker.path(path) {
            maker.answer.problem_count += 1;
            maker.answer.problems.push(error.to_string());
        }
    }
    maker.sum(paths);
    if ask.free {
        maker.free(paths);
    }
    maker.finish()
}

struct Maker {
    ask: Ask,
    answer: Answer,
    tally: Tally,
    document: Document,
    filefrag: Filefrag,
}

impl Maker {
    fn path(&mut self, path: &Path) -> Result<(), Error> {
        let ours = self.ask.summary || matches!(self.ask.format, Format::Text | Format::Json);
        if ours && path.is_dir() {
            return self.tree(path);
        }
        if self.ask.format == Format::XfsBmap && !self.ask.summary {
            let style = xfs_bmap::Style {
                verbose: true,
                unwritten: self.ask.unwritten,
                ..xfs_bmap::Style::default()
            };
            self.answer.text.extend(xfs_bmap::list(path, style)?);
            return Ok(());
        }
        let options = file::Options {
            sync: self.ask.sync,
            xattr: false,
        };
        let layout = FileLayout::read(path, options)?;
        layout.add_to(&mut self.tally);
        if self.ask.summary {
            return Ok(());
        }
        match self.ask.format {
            Format::Filefrag | Format::Filefrag141 => {
                self.filefrag.list(&layout, &mut self.answer.text);
            }
            Format::Json => self.document.files.push(layout),
            Format::Text | Format::XfsBmap => {
                self.answer.text.extend(text::describe(&layout).bytes());
            }
        }
        Ok(())
    }

    fn tree(&mut self, path: &Path) -> Result<(), Error> {
        let options = tree::Options {
            threads: self.ask.threads,
            sync: self.ask.sync,
        };
        let scan = tree::scan(path, options)?;
        self.answer.problem_count += scan.problem_count;
        self.answer.problems.extend(scan.problems);
        if !self.ask.summary {
            let summary = scan.tally.summary();
            if self.ask.format == Format::Json {
                self.document.trees.push(Tree {
                    path: path.to_owned(),
                    summary,
                });
            } else {
                let words = text::summarize(&path.to_string_lossy(), &summary);
                self.answer.text.extend(words.bytes());
            }
        }
        self.tally.merge(scan.tally);
        Ok(())
    }

    fn sum(&mut self, paths: &[PathBuf]) {
        let summary = self.tally.summary();
        let any = summary.files + summary.directories > 0;
        if self.ask.summary && any && self.ask.format != Format::Json {
            let name = match paths {
                [one] => one.to_string_lossy().into_owned(),
                many => format!("{} paths", many.len()),
            };
            let words = text::summarize(&name, &summary);
            self.answer.text.extend(words.bytes());
        }
        self.document.summary = summary;
    }

    /// The free space of each filesystem once.
    fn free(&mut self, paths: &[PathBuf]) {
        use std::os::unix::fs::MetadataExt;
        let mut seen = BTreeSet::new();
        for path in paths {
            // Missing files have been reported already.
            let Ok(stat) = std::fs::metadata(path) else {
                continue;
            };
            if !seen.insert(stat.dev()) {
                continue;
            }
            match FreeSpace::of(path) {
                Ok(free) if self.ask.format == Format::Json => self.document.free.push(free),
                Ok(free) => {
                    if !self.answer.text.is_empty() {
                        self.answer.text.push(b'\n');
                    }
                    self.answer.text.extend(free.render().bytes());
                }
                Err(error) => {
                    self.answer.problem_count += 1;
                    self.answer.problems.push(error.to_string());
                }
            }
        }
    }

    fn finish(mut self) -> Answer {
        if self.ask.format == Format::Json {
            self.document.problems.clone_from(&self.answer.problems);
            // Numbers, words and lists of them: there is nothing in it that JSON could not hold.
            self.answer.text = serde_json::to_vec_pretty(&self.document).unwrap_or_default();
            self.answer.text.push(b'\n');
        }
        self.answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_path_does_not_hide_the_others_and_json_holds_any_name() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let odd = folder.path().join(std::ffi::OsStr::from_bytes(b"a\xff\nb"));
        std::fs::write(&odd, vec![1; 10_000]).unwrap();
        std::fs::File::open(&odd).unwrap().sync_all().unwrap();
        let paths = [folder.path().join("gone"), odd];
        let ask = |format| Ask {
            format,
            ..Ask::default()
        };
        let json = report(&paths, ask(Format::Json));
        if json
            .problems
            .iter()
            .any(|line| line.contains("does not report"))
        {
            testkit::skip!("no FIEMAP in the source's folder");
            return;
        }
        assert_eq!((json.problem_count, json.problems.len()), (1, 1));
        let document: serde_json::Value = serde_json::from_slice(&json.text).unwrap();
        assert_eq!(document["files"][0]["size"], 10_000);
        assert_eq!(document["summary"]["files"], 1);
        assert_eq!(document["problems"][0], json.problems[0].as_str());
        let listed = report(&paths, ask(Format::Filefrag)).text;
        assert!(listed.windows(4).any(|bytes| bytes == b"a\xff\nb"));
        let words = String::from_utf8(report(&paths, ask(Format::Text)).text).unwrap();
        let first = words.lines().next().unwrap();
        assert!(first.contains("a\u{fffd}\\nb: 9.77 KiB in "), "{first}");
        let sum = Ask {
            summary: true,
            ..ask(Format::Text)
        };
        let words = String::from_utf8(report(&paths, sum).text).unwrap();
        assert!(words.starts_with("2 paths: 1 files of 9.77 KiB"), "{words}");
    }
}
