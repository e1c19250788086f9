//! Directories in the inode.

use ondisk::xfs::directory::{data_header, entry_size};
use ondisk::xfs::shortform::{Directory, Entry};

use super::{hash_of, is_name};
use crate::xfs::inode::core::Subject;
use crate::xfs::rules::Rules;
use crate::xfs::sink::{Name, Sink};
use crate::xfs::xfs_repair::problems::{
    DIR_SF_COUNT, DIR_SF_DUP, DIR_SF_I8COUNT, DIR_SF_INO, DIR_SF_LENGTH, DIR_SF_NAME,
    DIR_SF_OFFSET_ORDER, DIR_SF_OFFSETS, DIR_SF_PARENT, DIR_SF_PARENT_ROOT, DIR_SF_PARENT_SELF,
    DIR_SF_SIZE,
};

/// Bytes of a hash entry, and of the numbers at the end of a directory of one block.
const HASH_ENTRY: usize = 8;

/// Judges a directory whose size fits the fork, and gives its names to the sink.
pub(crate) fn judge(rules: &Rules, it: &Subject<'_>, sink: &mut impl Sink) {
    let fork = it.inode.data_fork();
    let directory = Directory::new(rules.geometry.ftype, fork);
    let size = (it.inode.size() as usize).min(fork.len());
    if directory.i8count() != 0 && has_narrow_numbers(rules, fork, size) {
        let finding = it.about(&DIR_SF_I8COUNT);
        let finding = finding.found(u64::from(directory.i8count()));
        sink.find(finding.expected(0_u64));
        return;
    }
    let mut walk = Walk {
        rules,
        it,
        wide: usize::from(directory.parent() > u32::MAX.into()),
        offset: first_offset(rules),
        out_of_order: false,
        hashes: Vec::new(),
        names: Vec::new(),
    };
    let stored = usize::from(directory.count());
    let fits = stored > 0 && stored * directory.entry_size(1) + 6 <= fork.len();
    let most = if fits { stored } else { 255 };
    let (mut at, mut count) = (directory.header(), 0);
    while count < most && at < size {
        let length = directory.name_length(at).unwrap_or(0);
        let entry = directory
            .entry(at)
            .filter(|entry| at + entry.length <= size);
        let Some(entry) = entry.filter(|_| length > 0) else {
            let why = if length == 0 {
                "no name"
            } else {
                "past the end"
            };
            sink.find(it.about(&DIR_SF_LENGTH).offset(at).note(why));
            break;
        };
        walk.entry(&entry, sink);
        at += entry.length;
        count += 1;
    }
    if stored != count {
        let finding = it.about(&DIR_SF_COUNT).found(stored as u64);
        sink.find(finding.expected(count as u64));
    }
    if usize::from(directory.i8count()) != walk.wide {
        let finding = it.about(&DIR_SF_I8COUNT);
        let finding = finding.found(u64::from(directory.i8count()));
        sink.find(finding.expected(walk.wide as u64));
    }
    if at as u64 != it.inode.size() {
        let finding = it.about(&DIR_SF_SIZE).found(it.inode.size());
        sink.find(finding.expected(at as u64));
    }
    let end = walk.offset + (stored + 3) * HASH_ENTRY;
    if walk.out_of_order {
        sink.find(it.about(&DIR_SF_OFFSET_ORDER));
    }
    if end > rules.geometry.directory_block() {
        sink.find(it.about(&DIR_SF_OFFSETS).found(end as u64));
    }
    parent(rules, it, directory.parent(), sink);
}

/// Whether entries with inode numbers of 4 bytes fill a directory whose count of wide numbers is not 0, and those of 8 bytes do not.
fn has_narrow_numbers(rules: &Rules, fork: &[u8], size: usize) -> bool {
    let fills = |list: &Directory<'_>| {
        let mut at = list.header();
        for _ in 0..list.count() {
            let Some(entry) = list.entry(at) else {
                return false;
            };
            at += entry.length;
        }
        at == size
    };
    let ftype = rules.geometry.ftype;
    if fills(&Directory::new(ftype, fork)) {
        return false;
    }
    let mut narrow = fork.to_vec();
    if let Some(count) = narrow.get_mut(1) {
        *count = 0;
    }
    fills(&Directory::new(ftype, &narrow))
}

/// The place of the first entry after `.` and `..` in a block.
fn first_offset(rules: &Rules) -> usize {
    let size = |name| entry_size(rules.geometry.ftype, name);
    data_header(rules.geometry.v5) + size(1) + size(2)
}

struct Walk<'a> {
    rules: &'a Rules,
    it: &'a Subject<'a>,
    /// Inode numbers above 32 bits.
    wide: usize,
    /// Where the next entry would be in a block.
    offset: usize,
    out_of_order: bool,
    hashes: Vec<u32>,
    names: Vec<&'a [u8]>,
}

impl<'a> Walk<'a> {
    fn entry(&mut self, entry: &Entry<'a>, sink: &mut impl Sink) {
        let (rules, ino) = (self.rules, self.it.ino);
        let name = Name {
            directory: ino,
            ino: entry.inumber,
            kind: entry.ftype,
            name: entry.name,
            place: None,
        };
        let mut sound = true;
        if let Some(why) = misled(rules, ino, entry.inumber) {
            sink.find(name.about(&DIR_SF_INO).note(why));
            sound = false;
        } else if entry.inumber > u32::MAX.into() {
            self.wide += 1;
        }
        if !is_name(entry.name) {
            sink.find(name.about(&DIR_SF_NAME));
            sound = false;
        }
        if usize::from(entry.offset) < self.offset {
            self.out_of_order = true;
        }
        self.offset =
            usize::from(entry.offset) + entry_size(rules.geometry.ftype, entry.name.len());
        let hash = hash_of(rules, entry.name);
        let before = self.hashes.iter().zip(&self.names);
        if before
            .into_iter()
            .any(|(other, before)| *other == hash && *before == entry.name)
        {
            sink.find(name.about(&DIR_SF_DUP));
            return;
        }
        self.hashes.push(hash);
        self.names.push(entry.name);
        if sound {
            sink.name(&name);
        }
    }
}

/// Why a name of a directory may not lead to this inode.
pub(super) fn misled(rules: &Rules, directory: u64, ino: u64) -> Option<&'static str> {
    if ino == directory {
        Some("the directory itself")
    } else if !rules.geometry.is_inode(ino) {
        Some("no possible inode")
    } else if rules.is_internal(ino) {
        Some("a realtime or quota file")
    } else {
        None
    }
}

fn parent(rules: &Rules, it: &Subject<'_>, parent: u64, sink: &mut impl Sink) {
    let about = |problem| it.about(problem).found(parent);
    if !rules.geometry.is_inode(parent) {
        sink.find(about(&DIR_SF_PARENT));
    } else if it.ino == rules.root && parent != it.ino {
        sink.find(about(&DIR_SF_PARENT_ROOT).expected(it.ino));
    } else if it.ino != rules.root && parent == it.ino {
        sink.find(about(&DIR_SF_PARENT_SELF));
    }
}

#[cfg(test)]
mod tests {
    use ondisk::xfs::dinode::Inode;

    use super::*;
    use crate::xfs::fixture::rules;
    use crate::xfs::sink::tests::Lists;

    const INO: u64 = 200;

    fn codes(bytes: &[u8], size: u64) -> (Vec<&'static str>, Lists) {
        let rules = rules();
        let mut inode = vec![0; 512];
        inode[4] = 3;
        inode[56..64].copy_from_slice(&size.to_be_bytes());
        inode[176..176 + bytes.len()].copy_from_slice(bytes);
        let subject = Subject {
            ino: INO,
            inode: Inode::new(&rules.geometry, &inode),
            free: false,
        };
        let mut lists = Lists::default();
        judge(&rules, &subject, &mut lists);
        (lists.codes.clone(), lists)
    }

    fn built(entries: &[(&[u8], u16, u8, u64)]) -> Vec<u8> {
        Directory::write(true, 128, entries)
    }

    #[test]
    fn a_sound_directory_gives_its_names() {
        let bytes = built(&[(b"a", 0x60, 1, 300), (b"bc", 0x70, 2, 301)]);
        let (codes, lists) = codes(&bytes, bytes.len() as u64);
        assert!(codes.is_empty(), "{codes:?}");
        assert_eq!(lists.names, [(INO, 300, 1), (INO, 301, 2)]);
    }

    #[test]
    fn each_fault_has_its_code() {
        let of = |entries: &[(&[u8], u16, u8, u64)]| {
            let bytes = built(entries);
            codes(&bytes, bytes.len() as u64).0
        };
        assert_eq!(of(&[(b"a", 0x60, 1, INO)]), ["XFS-DIR-SF-INO"]);
        assert_eq!(of(&[(b"a/", 0x60, 1, 300)]), ["XFS-DIR-SF-NAME"]);
        assert_eq!(of(&[(b"a", 0x50, 1, 300)]), ["XFS-DIR-SF-OFFSET-ORDER"]);
        assert_eq!(of(&[(b"a", 0xff0, 1, 300)]), ["XFS-DIR-SF-OFFSETS"]);
        let twice: [(&[u8], u16, u8, u64); 2] = [(b"a", 0x60, 1, 300), (b"a", 0x70, 1, 301)];
        assert_eq!(of(&twice), ["XFS-DIR-SF-DUP"]);
        let bytes = built(&[(b"a", 0x60, 1, 300)]);
        assert_eq!(codes(&bytes, bytes.len() as u64 + 1).0, ["XFS-DIR-SF-SIZE"]);
        let mut more = bytes.clone();
        more[0] = 2;
        assert_eq!(codes(&more, bytes.len() as u64).0, ["XFS-DIR-SF-COUNT"]);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 336), size in 0_u64..400) {
            codes(&bytes, size);
        }
    }
}
