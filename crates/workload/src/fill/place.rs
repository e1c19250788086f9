//! In which directory each file goes, and its path there.

use std::ffi::CStr;

use super::names::Names;
use params::FillSpec;

/// Seconds that a process stays in a subdirectory without -N.
pub(crate) const STAY_SECONDS: u64 = 180;

/// How a process chooses the directory of its files, by their index.
#[derive(Clone, Debug)]
pub(crate) enum Walk {
    /// All in the base.
    Flat,
    /// This number of files in each subdirectory, then the next one; after the last the first again.
    RoundRobin {
        /// Of file 0.
        start: u32,
        /// Subdirectories.
        directories: u32,
        /// Files of the process before it moves on.
        each: u64,
    },
    /// 180 seconds in each subdirectory. Memory: one entry for each move.
    TimeHash {
        /// Subdirectories.
        directories: u32,
        /// When the current one was entered, nanoseconds.
        since_ns: Option<u64>,
        /// First index in a subdirectory, and which; ascending.
        moves: Vec<(u64, u32)>,
    },
    /// This number of files in each of these paths, in their order.
    List {
        /// Relative to the base.
        paths: Vec<Vec<u8>>,
        /// Files in each.
        each: u64,
    },
}

impl Walk {
    /// fs_mark's: `start` is its time(2) modulo the number of subdirectories.
    pub(crate) fn new(options: &FillSpec, seconds: u64) -> Walk {
        let directories = options.directories;
        if directories == 0 {
            return Walk::Flat;
        }
        let start = (seconds % u64::from(directories)) as u32;
        match options.per_directory {
            0 => Walk::TimeHash {
                directories,
                since_ns: None,
                moves: vec![(0, start)],
            },
            each => Walk::RoundRobin {
                start,
                directories,
                each,
            },
        }
    }

    /// The number of file `index`'s directory, at `now` if that matters and was not settled before.
    #[inline]
    pub(crate) fn directory(&mut self, index: u64, now: impl FnOnce() -> u64) -> u32 {
        match self {
            Walk::Flat => 0,
            Walk::RoundRobin {
                start,
                directories,
                each,
            } => {
                let all = u64::from(*directories);
                ((u64::from(*start) + index / *each % all) % all) as u32
            }
            Walk::TimeHash {
                directories,
                since_ns,
                moves,
            } => {
                let now = now();
                let since = since_ns.get_or_insert(now);
                let (_, mut current) = moves.last().copied().unwrap_or_default();
                // fs_mark compares whole seconds with >.
                if now.saturating_sub(*since) / 1_000_000_000 > STAY_SECONDS {
                    *since = now;
                    current = (current + 1) % *directories;
                    moves.push((index, current));
                }
                current
            }
            Walk::List { each, .. } => (index / *each) as u32,
        }
    }

    /// The number of the directory in which file `index` was made.
    pub(crate) fn made_in(&self, index: u64) -> u32 {
        match self {
            Walk::TimeHash { moves, .. } => {
                let after = moves.partition_point(|(first, _)| *first <= index);
                moves[after.max(1) - 1].1
            }
            other => other.clone_without_moves().directory(index, || 0),
        }
    }

    /// A cheap copy of a walk that needs no clock.
    fn clone_without_moves(&self) -> Walk {
        match self {
            Walk::RoundRobin { .. } => self.clone(),
            Walk::List { each, .. } => Walk::List {
                paths: Vec::new(),
                each: *each,
            },
            _ => Walk::Flat,
        }
    }

    /// The path of a directory relative to the base; empty for the base itself.
    fn write_directory(&self, number: u32, out: &mut Vec<u8>) {
        match self {
            Walk::Flat => {}
            Walk::List { paths, .. } => {
                out.extend_from_slice(paths.get(number as usize).map_or(b"", Vec::as_slice));
            }
            _ => out.extend_from_slice(subdirectory(number).as_bytes()),
        }
    }
}

/// fs_mark's name of a subdirectory: two hex digits or more.
pub(crate) fn subdirectory(number: u32) -> String {
    format!("{number:02x}")
}

/// The path of one file after the other, relative to the base; two buffers and no allocation as
/// long as the directory stays.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    walk: Walk,
    names: Names,
    current: Option<u32>,
    /// The directory, ended by NUL; only NUL for the base.
    directory: Vec<u8>,
    /// `directory/name`, ended by NUL.
    file: Vec<u8>,
    name_at: usize,
}

impl Place {
    pub(crate) fn new(walk: Walk, names: Names) -> Place {
        Place {
            walk,
            names,
            current: None,
            directory: vec![0],
            file: vec![0],
            name_at: 0,
        }
    }

    /// Moves on to a new file. True when its directory is not that of the file before.
    #[inline]
    pub(crate) fn next(&mut self, index: u64, now: impl FnOnce() -> u64) -> bool {
        let number = self.walk.directory(index, now);
        self.go(index, number)
    }

    /// Moves to a file that was made before.
    pub(crate) fn again(&mut self, index: u64) {
        let number = self.walk.made_in(index);
        self.go(index, number);
    }

    #[inline]
    fn go(&mut self, index: u64, number: u32) -> bool {
        let moved = self.current != Some(number);
        if moved {
            self.enter(number);
        }
        let end = self.file.len() - 1;
        self.names
            .write_random(index, &mut self.file[self.name_at..end]);
        moved
    }

    fn enter(&mut self, number: u32) {
        self.current = Some(number);
        self.directory.clear();
        self.walk.write_directory(number, &mut self.directory);
        self.file.clear();
        self.file.extend_from_slice(&self.directory);
        if !self.file.is_empty() {
            self.file.push(b'/');
        }
        self.name_at = self.file.len();
        self.file.extend_from_slice(self.names.stamp());
        self.file.resize(self.name_at + self.names.len(), b'0');
        self.file.push(0);
        self.directory.push(0);
    }

    /// The number of the directory.
    pub(crate) fn number(&self) -> u32 {
        self.current.unwrap_or_default()
    }

    /// The directory, relative to the base; empty for the base itself.
    #[inline]
    pub(crate) fn directory(&self) -> &CStr {
        CStr::from_bytes_with_nul(&self.directory).unwrap_or_default()
    }

    /// The file, relative to the base.
    #[inline]
    pub(crate) fn file(&self) -> &CStr {
        CStr::from_bytes_with_nul(&self.file).unwrap_or_default()
    }

    pub(crate) fn walk(&self) -> &Walk {
        &self.walk
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// fs_mark's variables, step by step.
    struct Model {
        current: u32,
        files_in_it: u64,
    }

    impl Model {
        fn next(&mut self, directories: u32, each: u64) -> u32 {
            if self.files_in_it >= each {
                self.current += 1;
                self.files_in_it = 0;
            }
            self.current %= directories;
            self.files_in_it += 1;
            self.current
        }
    }

    fn options(directories: u32, per_directory: u64) -> FillSpec {
        FillSpec {
            directories,
            per_directory,
            ..FillSpec::new("/nowhere")
        }
    }

    fn path(place: &Place) -> String {
        place.file().to_str().unwrap().to_owned()
    }

    #[test]
    fn paths_have_fs_marks_layout() {
        let names = Names::new(&options(300, 2), 0, 0);
        let mut place = Place::new(Walk::new(&options(300, 2), 254), names.clone());
        assert!(place.next(0, || 0));
        assert_eq!(place.directory(), c"fe");
        let name = |i| String::from_utf8(names.name(i)).unwrap();
        assert_eq!(path(&place), format!("fe/{}", name(0)));
        assert!(!place.next(1, || 0));
        assert_eq!(path(&place), format!("fe/{}", name(1)));
        assert!(place.next(4, || 0));
        assert_eq!(path(&place), format!("100/{}", name(4)));
        place.again(1);
        assert_eq!(path(&place), format!("fe/{}", name(1)));
        let mut flat = Place::new(Walk::new(&options(0, 0), 254), names.clone());
        assert!(flat.next(0, || 0));
        assert_eq!((flat.directory(), path(&flat)), (c"", name(0)));
        assert_eq!(subdirectory(5), "05");
    }

    #[test]
    fn time_moves_a_process_on_after_180_seconds_and_is_remembered() {
        const S: u64 = 1_000_000_000;
        let mut walk = Walk::new(&options(3, 0), 2);
        for (index, at, directory) in [
            (0, 5 * S, 2),
            (1, 185 * S, 2),
            (2, 186 * S, 0),
            (3, 366 * S, 0),
            (4, 368 * S, 1),
        ] {
            assert_eq!(walk.directory(index, || at), directory, "file {index}");
        }
        let again: Vec<u32> = (0..5).map(|i| walk.made_in(i)).collect();
        assert_eq!(again, [2, 2, 0, 0, 1]);
    }

    #[test]
    fn a_list_is_walked_in_its_order() {
        let walk = Walk::List {
            paths: vec![b"0a/a1".to_vec(), b"0b/a2".to_vec()],
            each: 2,
        };
        let names = Names::new(&options(0, 0), 0, 0);
        let mut place = Place::new(walk, names);
        let moves: Vec<bool> = (0..4).map(|i| place.next(i, || 0)).collect();
        assert_eq!(moves, [true, false, true, false]);
        assert_eq!(place.directory(), c"0b/a2");
        place.again(0);
        assert_eq!(place.directory(), c"0a/a1");
    }

    proptest! {
        #[test]
        fn round_robin_is_fs_marks(
            seconds in any::<u64>(),
            directories in 2_u32..50,
            each in 1_u64..20,
            files in 0_u64..2000,
        ) {
            let mut walk = Walk::new(&options(directories, each), seconds);
            let mut model = Model {
                current: (seconds % u64::from(directories)) as u32,
                files_in_it: 0,
            };
            for index in 0..files {
                let expected = model.next(directories, each);
                prop_assert_eq!(walk.directory(index, || 0), expected);
                prop_assert_eq!(walk.made_in(index), expected);
            }
        }
    }
}
