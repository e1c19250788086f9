//! compilebench's own data sets: four text files, `relative/path size` a line.
//!
//! They are reduced as the original does it at its start: UC loses the names of unpatched, C those
//! of patched, P the files of equal name and size in unpatched, C the same against UC. The order of
//! the compile set, which the original shuffles out of a dictionary, comes out as there.

use std::collections::HashMap;
use std::path::Path;

use super::{FileSet, Sets};
use crate::Error;
use crate::tree::pydict::{PyDict, string_hash};

/// File names, in the order unpatched, patched, unpatched compiled, patched compiled.
pub(super) const FILES: [&str; 4] = [
    "dataset-unpatched",
    "dataset-patched",
    "dataset-unpatched-compiled",
    "dataset-patched-compiled",
];

/// Longest path that is taken: the kernel's limit less room for the working directory.
const LONGEST: usize = 3500;

/// Largest file, in bytes; the originals have 2 MB.
const LARGEST: u64 = 64 << 20;

/// A path's size in each of the files, none where it is not in it.
type Row = [Option<u64>; 4];

/// All four files, by path.
#[derive(Default)]
struct Raw {
    ids: HashMap<Vec<u8>, u32>,
    paths: Vec<Vec<u8>>,
    rows: Vec<Row>,
    /// The dictionary of the third file, whose order matters.
    compiled: PyDict,
}

/// Reads and reduces the data sets in `folder`; `scale` keeps that share of the names.
pub(super) fn read(folder: &Path, scale: f64) -> Result<Sets, Error> {
    let mut raw = Raw::default();
    for (column, name) in FILES.iter().enumerate() {
        raw.read(&folder.join(name), column)?;
    }
    let keep = raw.sample(scale);
    let sets = raw.reduce(&keep);
    if sets.unpatched.is_empty() {
        return Err(Error::BadInput {
            path: folder.join(FILES[0]),
            line: 0,
            reason: "no files in it, or none left at this scale; give the original data sets, or \
                     a larger scale"
                .into(),
        });
    }
    Ok(sets)
}

impl Raw {
    fn read(&mut self, path: &Path, column: usize) -> Result<(), Error> {
        let bytes = input::bytes(path, LARGEST)
            .map_err(|error| Error::io("open data set", path)(error.into()))?;
        for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
            let bad = |reason: String| Error::BadInput {
                path: path.to_owned(),
                line: number,
                reason,
            };
            let (name, size) = parse(line).map_err(bad)?;
            self.insert(name, size, column);
        }
        Ok(())
    }

    fn insert(&mut self, name: &[u8], size: u64, column: usize) {
        let id = if let Some(&id) = self.ids.get(name) {
            id
        } else {
            let id = self.paths.len() as u32;
            self.ids.insert(name.to_vec(), id);
            self.paths.push(name.to_vec());
            self.rows.push(Row::default());
            id
        };
        self.rows[id as usize][column] = Some(size);
        if column == 2 {
            self.compiled.insert(id, string_hash(name));
        }
    }

    /// Which paths stay at `scale`: of all, sorted by size, every (1/scale)-th, so that the sizes
    /// keep their shape and a path stays or goes in all four files alike.
    fn sample(&self, scale: f64) -> Vec<bool> {
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by_key(|&i| (self.rows[i].iter().max().copied().flatten(), &self.paths[i]));
        let mut keep = vec![false; self.rows.len()];
        for (nth, &i) in order.iter().enumerate() {
            let upto = |n: usize| (n as f64 * scale + 0.5) as usize;
            keep[i] = upto(nth + 1) > upto(nth);
        }
        keep
    }

    fn reduce(mut self, keep: &[bool]) -> Sets {
        // The original deletes from its dictionary, which leaves the order of the rest.
        for (id, row) in self.rows.iter().enumerate() {
            if row[0].is_some() || !keep[id] {
                self.compiled
                    .remove(id as u32, string_hash(&self.paths[id]));
            }
        }
        let pick = |size: fn(&Row) -> Option<u64>| {
            let rows = self.rows.iter().enumerate().filter(|(id, _)| keep[*id]);
            FileSet::new(rows.filter_map(|(id, row)| Some((self.paths[id].as_slice(), size(row)?))))
        };
        let mut sets = Sets {
            unpatched: pick(|row| row[0]),
            patch: pick(|row| row[1].filter(|_| row[0] != row[1])),
            compile: FileSet::new(self.compiled.keys().map(|id| {
                let id = id as usize;
                (self.paths[id].as_slice(), self.rows[id][2].unwrap_or(0))
            })),
            compile_patched: pick(|row| {
                // UC has the name only when unpatched has not.
                let in_compile = row[0].is_none() && row[2] == row[3];
                row[3].filter(|_| row[1].is_none() && !in_compile)
            }),
        };
        for set in [
            &mut sets.unpatched,
            &mut sets.patch,
            &mut sets.compile_patched,
        ] {
            set.reorder(&set.path_order());
        }
        sets
    }
}

/// One line: a path that stays inside its tree, and a size.
fn parse(line: &[u8]) -> Result<(&[u8], u64), String> {
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let (Some(name), Some(size)) = (words.next(), words.next()) else {
        return Err("not of the form `relative/path size`".into());
    };
    let shown = String::from_utf8_lossy(name);
    let size: u64 = std::str::from_utf8(size)
        .ok()
        .and_then(|size| size.parse().ok())
        .filter(|size| *size <= 1 << 50)
        .ok_or_else(|| format!("the size of {shown} is not a number of bytes below 2^50"))?;
    let part_ok =
        |part: &[u8]| !part.is_empty() && part != b"." && part != b".." && part.len() < 256;
    if name.len() > LONGEST || name.contains(&0) || !name.split(|&b| b == b'/').all(part_ok) {
        return Err(format!(
            "{shown:.60} is not a relative path inside the tree"
        ));
    }
    Ok((name, size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn write(folder: &Path, texts: [&str; 4]) {
        for (name, text) in FILES.iter().zip(texts) {
            std::fs::write(folder.join(name), text).unwrap();
        }
    }

    fn list(set: &FileSet) -> String {
        let words = set
            .iter()
            .map(|(p, s)| format!("{} {s}", String::from_utf8_lossy(p)));
        words.collect::<Vec<_>>().join(", ")
    }

    /// One file for each rule of the reduction.
    #[test]
    fn sets_are_reduced_by_the_originals_rules() {
        let folder = tempfile::tempdir().unwrap();
        write(
            folder.path(),
            [
                "same.c 10\nchanged.c 20\ndir/removed.c 30\n",
                "same.c 10\nchanged.c 21\nnew.c 5\n",
                "same.c 10\nchanged.c 20\ndir/removed.c 31\na.o 100\nb.o 200\nconfig.h 0\n",
                "same.c 10\nchanged.c 21\nnew.c 5\na.o 100\nb.o 201\nc.o 300\ndir/removed.c 32\n",
            ],
        );
        let sets = read(folder.path(), 1.0).unwrap();
        assert_eq!(
            list(&sets.unpatched),
            "changed.c 20, same.c 10, dir/removed.c 30"
        );
        assert_eq!(list(&sets.patch), "changed.c 21, new.c 5");
        // CPython 2.7.18's order of the dictionary of six names after three deletions.
        assert_eq!(list(&sets.compile), COMPILED);
        assert_eq!(
            list(&sets.compile_patched),
            "b.o 201, c.o 300, dir/removed.c 32"
        );
    }

    const COMPILED: &str = "config.h 0, a.o 100, b.o 200";

    #[test]
    fn a_bad_line_is_named_with_its_file_and_number() {
        let folder = tempfile::tempdir().unwrap();
        let cases = [
            ("a 1\nb\n", "line 2: not of the form"),
            ("a x\n", "line 1: the size of a is not a number"),
            ("a 1\nb 2\n../c 3\n", "line 3: ../c is not a relative path"),
            ("/etc/passwd 1\n", "line 1: /etc/passwd is not"),
            ("a//b 1\n", "line 1: a//b is not"),
            ("", "line 0: no files in it"),
        ];
        for (text, expected) in cases {
            write(folder.path(), [text, "", "", ""]);
            let error = read(folder.path(), 1.0).unwrap_err().to_string();
            assert!(
                error.contains("dataset-unpatched") && error.contains(expected),
                "{error}"
            );
            assert!(!error.contains('\n'));
        }
        std::fs::remove_file(folder.path().join(FILES[3])).unwrap();
        write_three(folder.path());
        let error = read(folder.path(), 1.0).unwrap_err().to_string();
        assert!(
            error.contains("dataset-patched-compiled: No such file"),
            "{error}"
        );
    }

    fn write_three(folder: &Path) {
        for name in &FILES[..3] {
            std::fs::write(folder.join(name), "a 1\n").unwrap();
        }
    }

    #[test]
    fn a_scale_keeps_its_share_in_all_sets_alike() {
        let folder = tempfile::tempdir().unwrap();
        let lines = |n: usize, line: fn(usize) -> String| -> String {
            (0..n).map(line).collect::<Vec<_>>().concat()
        };
        let base = lines(1000, |i| format!("d{}/f{i} {}\n", i % 7, i * 3));
        let more = lines(200, |i| format!("d0/o{i} {}\n", 5000 + i));
        write(
            folder.path(),
            [&base, &base, &(base.clone() + &more), &base],
        );
        let sets = read(folder.path(), 0.1).unwrap();
        assert_eq!((sets.unpatched.len(), sets.compile.len()), (100, 20));
        assert!(sets.patch.is_empty() && sets.compile_patched.is_empty());
        let bytes = sets.unpatched.bytes() as f64 / (3.0 * 999.0 * 1000.0 / 2.0);
        assert!((bytes - 0.1).abs() < 0.001, "{bytes}");
    }

    proptest! {
        #[test]
        fn any_line_is_parsed_or_refused(line in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Ok((name, _)) = parse(&line) {
                prop_assert!(!name.is_empty() && !name.contains(&0) && name[0] != b'/');
                prop_assert!(name.split(|b| *b == b'/').all(|part| part != b".."));
            }
        }
    }
}
