//! The extents of a trial's files after each phase that writes.
//!
//! The look comes when the phase's last clock has stopped, its syncs included: what is mapped then is
//! mapped for good. What the filesystem had put off before them is read in the one moment that a
//! workload offers for it ([`workload::Observer::written`]); a whole tree cannot be read in it, so that
//! figure exists for the files that the workload names. Where operations of several phases come between
//! each other, one look follows the last of them.
//!
//! Every file is in the figures; the largest are reported one by one and listed as `filefrag -v`, and on XFS
//! `xfs_bmap -v`, would list them, since that is what a mailing list asks for. Paths in listings are those
//! below the mount point, so that the listings of two trials can be laid side by side.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use layout::e2freefrag::FreeSpace;
use layout::filefrag::{Filefrag, Style};
use layout::{Flags, LayoutSummary, Options, Tally, tree, xfs_bmap};
use record::{RunFolder, Sample};
use rundir::RunDir;
use study::{Clock, LayoutSpec};

/// Most rows of a listing: about 9 MB of text.
const MOST_ROWS: u64 = 100_000;

/// MidphaseSampler at the files of one trial.
pub(crate) struct LayoutProbe {
    spec: LayoutSpec,
    trial: u32,
    /// The run's folder.
    folder: Arc<RunDir>,
    /// Where the workload's files are.
    root: PathBuf,
    /// Bytes without blocks when a phase had written them, and before its fsync.
    delayed: Mutex<Option<(String, u64)>>,
    /// A phase that wrote and was not looked at yet.
    due: Mutex<Option<String>>,
}

/// What was found.
pub(crate) struct Found {
    pub(crate) layout: record::Layout,
    pub(crate) samples: Vec<Sample>,
}

impl LayoutProbe {
    /// A looker for a trial whose files are below `root`. Listings of an earlier attempt go.
    pub(crate) fn new(
        spec: LayoutSpec,
        trial: u32,
        folder: &Arc<RunDir>,
        root: &Path,
    ) -> LayoutProbe {
        // What cannot go is written over.
        let _ = folder.remove_tree(RunFolder::layouts_of(trial));
        LayoutProbe {
            spec,
            trial,
            folder: Arc::clone(folder),
            root: root.to_owned(),
            delayed: Mutex::default(),
            due: Mutex::default(),
        }
    }

    /// A phase has written these files and nothing was flushed yet.
    pub(crate) fn written(&self, phase: &str, files: &[&Path]) {
        let delayed: Option<u64> = files.iter().map(|file| delayed(file)).sum();
        if let Ok(mut known) = self.delayed.lock() {
            *known = delayed.map(|bytes| (phase.to_owned(), bytes));
        }
    }

    /// A phase has ended; `others` have not. The samples that can be reported now.
    pub(crate) fn finished(&self, phase: &str, others: bool) -> Option<Found> {
        let mut due = self.due.lock().ok()?;
        if writes(phase) {
            *due = Some(phase.to_owned());
        }
        if others {
            return None;
        }
        let phase = due.take()?;
        drop(due);
        let mut delayed = self.delayed.lock().ok()?;
        let delayed = delayed.take().filter(|(of, _)| *of == phase);
        Some(self.look(&phase, delayed.map(|(_, bytes)| bytes)))
    }

    fn look(&self, phase: &str, delayed: Option<u64>) -> Found {
        let mut look = Look {
            layout: record::Layout {
                phase: phase.to_owned(),
                ..record::Layout::default()
            },
            root: &self.root,
            shown: Vec::new(),
        };
        let summary = look.files(self.spec.files as usize);
        let mut figures: BTreeMap<String, f64> = summary.map_or_else(BTreeMap::new, |summary| {
            let figures = summary.figures().into_iter();
            figures
                .map(|(name, value)| (name.to_owned(), value))
                .collect()
        });
        if let Some(bytes) = delayed {
            figures.insert("layout_delalloc".into(), bytes as f64);
        }
        look.layout.figures = figures;
        for (name, command, text) in look.listings() {
            look.keep(&self.folder, self.trial, &name, command, &text);
        }
        let samples = look.layout.figures.iter().map(|(name, value)| Sample {
            phase: phase.to_owned(),
            metric: name.clone(),
            clock: Clock::Original,
            value: *value,
            unit: unit(name).into(),
        });
        Found {
            samples: samples.collect(),
            layout: look.layout,
        }
    }
}

/// Whether a phase leaves files other than it found them.
fn writes(phase: &str) -> bool {
    !phase.starts_with("read")
        && !phase.starts_with("stat_")
        && !matches!(phase, "reread" | "random_read")
}

/// Bytes of a file without blocks; none where that is not known.
fn delayed(file: &Path) -> Option<u64> {
    let layout = layout::FileLayout::read(file, Options::default()).ok()?;
    let waiting = layout
        .rows
        .iter()
        .filter(|row| row.flags.has(Flags::DELALLOC));
    // XFS reserves beyond the end of a file that grows.
    let within = |row: &layout::Extent| {
        let end = row.logical_end().min(layout.size);
        end.saturating_sub(row.logical)
    };
    Some(waiting.map(within).sum())
}

/// The unit of a figure of a layout.
fn unit(name: &str) -> &'static str {
    match name {
        "layout_mapped"
        | "layout_unwritten"
        | "layout_delalloc"
        | "layout_shared"
        | "layout_holes"
        | "layout_run_p50"
        | "layout_weighted_run" => "bytes",
        "layout_inode_data_same_group" | "layout_listed_blocks_ascending" => "ratio",
        _ if name.starts_with("layout_begins_on") || name.starts_with("layout_ends_on") => "ratio",
        _ => "count",
    }
}

/// One look.
struct Look<'a> {
    layout: record::Layout,
    root: &'a Path,
    /// Files that are reported one by one, by their paths below the root.
    shown: Vec<layout::FileLayout>,
}

impl Look<'_> {
    fn note(&mut self, words: impl std::fmt::Display) {
        self.layout.notes.push(words.to_string());
    }

    /// MidphaseSampler at all files, and at the `most` largest one by one.
    fn files(&mut self, most: usize) -> Option<LayoutSummary> {
        let walked = Walk::of(self.root, most);
        self.layout.files_total = walked.files;
        if walked.unread > 0 {
            self.note(format!(
                "{} directories could not be read; their files are missing among the largest",
                walked.unread
            ));
        }
        let mut tally = Tally::default();
        for path in &walked.largest {
            match layout::FileLayout::read(path, Options::default()) {
                Ok(mut found) => {
                    found.add_to(&mut tally);
                    if let Ok(below) = path.strip_prefix(self.root) {
                        below.clone_into(&mut found.path);
                    }
                    self.layout.files.push(reported(&found));
                    self.shown.push(found);
                }
                Err(error) => self.note(error),
            }
        }
        if walked.files == self.shown.len() as u64 {
            // All of them, with causes from the kernel's own map.
            return Some(tally.summary());
        }
        match tree::scan(self.root, tree::Options::default()) {
            Ok(scan) => {
                if scan.problem_count > 0 {
                    self.note(format!(
                        "{} files or directories could not be looked at: {}",
                        scan.problem_count,
                        scan.problems.first().map_or("", String::as_str)
                    ));
                }
                Some(scan.tally.summary())
            }
            Err(error) => {
                self.note(error);
                None
            }
        }
    }

    /// Listings: file name, the command as typed, text.
    fn listings(&mut self) -> Vec<(String, String, Vec<u8>)> {
        let mut all = Vec::new();
        let rows: u64 = self.shown.iter().map(|file| file.rows.len() as u64).sum();
        let names: Vec<String> = self
            .shown
            .iter()
            .map(|file| file.path.to_string_lossy().into_owned())
            .collect();
        if rows > MOST_ROWS {
            self.note(format!(
                "{rows} rows are too many to be listed (at most {MOST_ROWS}); the figures count them"
            ));
        } else if !names.is_empty() {
            let mut filefrag = Filefrag::new(Style {
                verbose: true,
                ..Style::default()
            });
            let mut text = Vec::new();
            for file in &self.shown {
                filefrag.list(file, &mut text);
            }
            let names = names.join(" ");
            all.push(("filefrag".into(), format!("filefrag -v {names}"), text));
            let xfs = self.shown.iter().all(|file| file.filesystem == "xfs");
            if xfs && let Some(text) = self.xfs_bmap() {
                all.push(("xfs_bmap".into(), format!("xfs_bmap -v {names}"), text));
            }
        }
        match FreeSpace::of(self.root) {
            Ok(free) => {
                let command = format!("e2freefrag {}", free.device);
                all.push(("free".into(), command, free.render().into_bytes()));
            }
            Err(error) => self.note(error),
        }
        all
    }

    fn xfs_bmap(&mut self) -> Option<Vec<u8>> {
        let style = xfs_bmap::Style {
            verbose: true,
            ..xfs_bmap::Style::default()
        };
        let mut text = Vec::new();
        for file in &self.shown {
            let path = self.root.join(&file.path);
            match xfs_bmap::list(&path, style) {
                Ok(listed) => {
                    // The program begins with the path as it was typed.
                    let rest = listed.strip_prefix(path.as_os_str().as_bytes());
                    text.extend(file.path.as_os_str().as_bytes());
                    text.extend(rest.unwrap_or(&listed));
                }
                Err(error) => {
                    self.layout.notes.push(error.to_string());
                    return None;
                }
            }
        }
        Some(text)
    }

    /// Keeps a listing in the run's folder.
    fn keep(&mut self, run: &RunDir, trial: u32, name: &str, command: String, text: &[u8]) {
        let folder = RunFolder::layouts_of(trial);
        let file = format!("{folder}/{}.{name}", self.layout.phase);
        match run.replace(&file, text) {
            Ok(()) => drop(self.layout.listings.insert(command, file)),
            Err(error) => self.note(format!("{error}; free space for the run's folder")),
        }
    }
}

/// A file as the record keeps it.
fn reported(file: &layout::FileLayout) -> record::FileLayout {
    let sum = &file.summary;
    let causes = sum.causes.iter();
    record::FileLayout {
        path: file.path.to_string_lossy().into_owned(),
        size: file.size,
        rows: sum.rows,
        extents: sum.extents,
        runs: sum.runs,
        discontiguities: sum.discontiguities,
        causes: causes
            .map(|(cause, count)| (cause.name().to_owned(), *count))
            .collect(),
        mapped: sum.mapped,
        unwritten: sum.unwritten,
        holes: sum.hole_bytes,
        extent: sum.first_physical.zip(sum.last_physical).map(Into::into),
    }
}

/// The regular files below a folder, on its own filesystem.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    pub(crate) files: u64,
    /// The largest, the very largest first; of equal ones the first by name.
    pub(crate) largest: Vec<PathBuf>,
    unread: u64,
}

impl Walk {
    /// Walks; keeps the paths of the `most` largest.
    pub(crate) fn of(root: &Path, most: usize) -> Walk {
        let mut walk = Walk::default();
        let mut heap: BinaryHeap<(Reverse<u64>, PathBuf)> = BinaryHeap::new();
        let home = fs::metadata(root).map(|meta| meta.dev()).ok();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs::read_dir(&folder) else {
                walk.unread += 1;
                continue;
            };
            for entry in entries.flatten() {
                let Ok(kind) = entry.file_type() else {
                    continue;
                };
                if !kind.is_dir() && !kind.is_file() {
                    continue;
                }
                let Ok(meta) = entry.metadata() else { continue };
                if Some(meta.dev()) != home {
                    continue;
                }
                if kind.is_dir() {
                    folders.push(entry.path());
                    continue;
                }
                walk.files += 1;
                if most > 0 {
                    heap.push((Reverse(meta.len()), entry.path()));
                }
                if heap.len() > most {
                    heap.pop();
                }
            }
        }
        walk.largest = heap
            .into_sorted_vec()
            .into_iter()
            .map(|(_, path)| path)
            .collect();
        walk
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_that_write_are_looked_at_and_readers_not() {
        for phase in [
            "write",
            "rewrite",
            "random_write",
            "fill",
            "age_add",
            "initial_create",
        ] {
            assert!(writes(phase), "{phase}");
        }
        for phase in [
            "read",
            "reread",
            "random_read",
            "read_tree",
            "stat_compiled_tree",
        ] {
            assert!(!writes(phase), "{phase}");
        }
        let named = study::names::METRICS
            .iter()
            .filter(|name| name.starts_with("layout_"));
        assert_eq!(
            named.clone().filter(|name| unit(name) == "bytes").count(),
            7
        );
        assert_eq!(named.filter(|name| unit(name) == "ratio").count(), 6);
    }

    #[test]
    fn the_largest_files_are_found_and_all_counted() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        for (name, size) in [("a/1", 10), ("a/b/2", 30), ("3", 20), ("4", 20)] {
            fs::write(folder.path().join(name), vec![0; size]).unwrap();
        }
        std::os::unix::fs::symlink("3", folder.path().join("link")).unwrap();
        let names = |most: usize| -> (u64, Vec<String>) {
            let walk = Walk::of(folder.path(), most);
            let below = |path: &PathBuf| path.strip_prefix(folder.path()).unwrap().to_owned();
            let names = walk.largest.iter().map(below);
            (
                walk.files,
                names.map(|path| path.display().to_string()).collect(),
            )
        };
        assert_eq!(names(2), (4, vec!["a/b/2".into(), "3".into()]));
        assert_eq!(names(0), (4, Vec::new()));
        assert_eq!(names(9).1.len(), 4);
    }

    #[test]
    fn a_look_comes_when_the_last_of_several_phases_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("files");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("f"), vec![1; 100_000]).unwrap();
        fs::File::open(root.join("f")).unwrap().sync_all().unwrap();
        let spec = LayoutSpec {
            enabled: true,
            files: 1,
        };
        let run = Arc::new(RunDir::open(folder.path()).unwrap());
        let looker = LayoutProbe::new(spec, 0, &run, &root);
        assert!(looker.finished("age_fill", true).is_none(), "others go on");
        assert!(looker.finished("read", true).is_none());
        let found = looker.finished("read_tree", false).unwrap();
        assert_eq!(found.layout.phase, "age_fill");
        assert!(
            looker.finished("read", false).is_none(),
            "it has changed nothing"
        );
        let layout = &found.layout;
        assert_eq!(layout.files_total, 1);
        if layout.files.is_empty() {
            testkit::skip!(
                "no FIEMAP in the folder for temporary files: {:?}",
                layout.notes
            );
            return;
        }
        let file = &layout.files[0];
        assert_eq!((file.path.as_str(), file.size), ("f", 100_000));
        assert_eq!(layout.figures["layout_files"], 1.0);
        let listing = &layout.listings["filefrag -v f"];
        assert_eq!(listing, "layouts/trial-0001/age_fill.filefrag");
        let text = fs::read_to_string(folder.path().join(listing)).unwrap();
        assert!(text.contains("File size of f is 100000"), "{text}");
        let sample = found.samples.iter().find(|s| s.metric == "layout_mapped");
        assert_eq!(sample.unwrap().unit, "bytes");
    }
}
