//! A list of files with sizes, kept small: all names in one arena, directories shared.
//!
//! The largest set has 21,280 names. As owned strings they would cost more than their text; as an
//! arena they are 1 MiB, and the timed loops copy a name without touching the allocator.

use std::collections::HashMap;

/// No directory: the file is at the top of its tree.
pub(crate) const TOP: u32 = u32::MAX;

/// One file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct File {
    at: u32,
    len: u16,
    /// Index into [`FileSet::dirs`], or [`TOP`].
    pub(crate) dir: u32,
    /// Bytes.
    pub(crate) size: u64,
}

/// One directory that holds files, or leads to one that does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dir {
    /// Length of its path, which is the beginning of the path of every file in it.
    pub(crate) len: u16,
    /// Index of the directory above, or [`TOP`].
    pub(crate) parent: u32,
}

/// Files with sizes, in the order in which a run touches them.
#[derive(Clone, Debug, Default)]
pub struct FileSet {
    arena: Vec<u8>,
    files: Vec<File>,
    dirs: Vec<Dir>,
}

impl FileSet {
    /// Takes relative paths without a leading slash, each shorter than 4,096 bytes, in order.
    pub fn new<'a>(entries: impl IntoIterator<Item = (&'a [u8], u64)>) -> Self {
        let mut set = FileSet::default();
        let mut known: HashMap<&'a [u8], u32> = HashMap::new();
        for (path, size) in entries {
            let dir = set.directory(&mut known, path);
            set.files.push(File {
                at: set.arena.len() as u32,
                len: path.len() as u16,
                dir,
                size,
            });
            set.arena.extend_from_slice(path);
        }
        set
    }

    /// The index of the directory of `path`, made with all above it when new.
    fn directory<'a>(&mut self, known: &mut HashMap<&'a [u8], u32>, path: &'a [u8]) -> u32 {
        let Some(len) = path.iter().rposition(|&b| b == b'/') else {
            return TOP;
        };
        let name = &path[..len];
        if let Some(&dir) = known.get(name) {
            return dir;
        }
        let parent = self.directory(known, name);
        let dir = self.dirs.len() as u32;
        self.dirs.push(Dir {
            len: len as u16,
            parent,
        });
        known.insert(name, dir);
        dir
    }

    /// Number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Sum of all sizes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|f| f.size).sum()
    }

    /// Directories that hold files of the set or lead to them, without the top.
    pub fn directories(&self) -> usize {
        self.dirs.len()
    }

    /// Paths and sizes, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], u64)> + '_ {
        self.files.iter().map(|f| (self.path(f), f.size))
    }

    pub(crate) fn path(&self, file: &File) -> &[u8] {
        &self.arena[file.at as usize..file.at as usize + usize::from(file.len)]
    }

    pub(crate) fn files(&self) -> &[File] {
        &self.files
    }

    pub(crate) fn dirs(&self) -> &[Dir] {
        &self.dirs
    }

    /// Puts the files into another order: the n-th becomes the one that was at `order[n]`.
    pub(crate) fn reorder(&mut self, order: &[u32]) {
        self.files = order.iter().map(|&i| self.files[i as usize]).collect();
    }

    /// The order by path: directory by directory, names within them.
    pub(crate) fn path_order(&self) -> Vec<u32> {
        let key = |i: u32| {
            let path = self.path(&self.files[i as usize]);
            let cut = path.iter().rposition(|&b| b == b'/').unwrap_or(0);
            (&path[..cut], &path[cut..])
        };
        let mut order: Vec<u32> = (0..self.files.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| key(a).cmp(&key(b)));
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set() -> FileSet {
        let entries: [(&[u8], u64); 5] = [
            (b"net/core/dev.c", 5),
            (b"Makefile", 3),
            (b"net/socket.c", 4),
            (b"net/core/sock.c", 2),
            (b"b", 1),
        ];
        FileSet::new(entries)
    }

    #[test]
    fn directories_are_shared_and_know_their_parents() {
        let set = set();
        assert_eq!((set.len(), set.bytes(), set.directories()), (5, 15, 2));
        let dirs: Vec<u32> = set.files().iter().map(|f| f.dir).collect();
        assert_eq!(dirs, [1, TOP, 0, 1, TOP]);
        assert_eq!(set.dirs()[1].parent, 0);
        assert_eq!((set.dirs()[0].len, set.dirs()[1].len), (3, 8));
        assert_eq!(set.dirs()[0].parent, TOP);
    }

    #[test]
    fn reordering_moves_files_with_their_sizes() {
        let mut set = set();
        set.reorder(&set.path_order());
        let paths: Vec<(&[u8], u64)> = set.iter().collect();
        let expected: [(&[u8], u64); 5] = [
            (b"Makefile", 3),
            (b"b", 1),
            (b"net/socket.c", 4),
            (b"net/core/dev.c", 5),
            (b"net/core/sock.c", 2),
        ];
        assert_eq!(paths, expected);
        assert_eq!(set.bytes(), 15);
        assert!(!set.is_empty());
    }
}
