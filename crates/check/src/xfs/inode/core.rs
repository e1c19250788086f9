//! The core of an inode: identity, mode, flags, hints, times and sizes, in the order in which xfs_repair looks at them.

use ondisk::xfs::checksum;
use ondisk::xfs::dinode::{self, Format, Inode, flag, flag2, mode};
use ondisk::xfs::geometry::NULL_AGINO;

use crate::frame::finding::Finding;
use crate::xfs::rules::{Fork, Rules};
use crate::xfs::sink::Sink;
use crate::xfs::xfs_repair::problems::{
    IMAP_FREE_USED, IMAP_USED_FREE, INODE_BIGTIME, INODE_COWEXT_NOFEATURE, INODE_COWEXT_NOFILE,
    INODE_COWEXT_RT, INODE_COWEXTSIZE, INODE_CRC, INODE_DAX, INODE_EXTSIZE, INODE_FLAG_DIR,
    INODE_FLAG_FILE, INODE_FLAG_NEWRTBM, INODE_FLAG_RT, INODE_FLAGS, INODE_FLAGS2, INODE_FORMAT,
    INODE_FREE_BAD, INODE_FREE_NLINK, INODE_INO, INODE_MAGIC, INODE_NEXT_UNLINKED, INODE_NREXT64,
    INODE_NREXT64_PAD, INODE_NSEC, INODE_ONLINK, INODE_OWNER_NULL, INODE_PAD,
    INODE_REFLINK_NOFEATURE, INODE_REFLINK_NOFILE, INODE_REFLINK_RT, INODE_SIZE_NEGATIVE,
    INODE_TIME, INODE_TYPE, INODE_UNLINKED, INODE_UUID, INODE_V3_PAD, INODE_VERSION, QINO_TYPE_G,
    QINO_TYPE_P, QINO_TYPE_U, RBM_EXTENTS, RBM_TYPE, ROOT_TYPE, RSUM_EXTENTS, RSUM_TYPE,
};

/// What is left to judge of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It is free, or as good as free.
    Free,
    /// xfs_repair would clear it: names that lead to it lead to a free inode.
    Cleared,
    /// Its forks are next.
    InUse,
}

/// An inode that is judged: its number and its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    /// The number.
    pub(crate) ino: u64,
    /// The bytes.
    pub(crate) inode: Inode<'a>,
    /// Whether its chunk has it as free.
    pub(crate) free: bool,
}

impl Subject<'_> {
    /// A finding about it.
    pub(crate) fn about(&self, problem: &'static crate::Problem) -> Finding {
        Finding::new(problem).inode(self.ino)
    }
}

/// Judges the core.
pub(crate) fn judge(rules: &Rules, it: &Subject<'_>, sink: &mut impl Sink) -> State {
    if !identity(rules, it, sink) {
        return State::Cleared;
    }
    let inode = &it.inode;
    if inode.mode() == 0 {
        return without_mode(rules, it, sink);
    }
    if it.free {
        sink.find(it.about(&IMAP_USED_FREE));
    }
    if !fits_mode(inode) {
        sink.find(it.about(&INODE_FORMAT).found(u64::from(inode.format())));
        return State::Cleared;
    }
    flags(rules, it, sink);
    if inode.version() >= 3 {
        flags2(rules, it, sink);
    }
    padding(it, sink);
    if inode.next_unlinked() != NULL_AGINO {
        sink.find(
            it.about(&INODE_UNLINKED)
                .found(u64::from(inode.next_unlinked())),
        );
    }
    if !is_type(inode.file_type()) {
        let kind = format!("0o{:o}", inode.file_type());
        sink.find(it.about(&INODE_TYPE).found(kind));
        return State::Cleared;
    }
    if !named_by_superblock(rules, it, sink) {
        return State::Cleared;
    }
    hints(rules, it, sink);
    times(rules, it, sink);
    if inode.version() > 1 && inode.onlink() != 0 {
        sink.find(it.about(&INODE_ONLINK).found(inode.onlink()));
    }
    owners(it, sink);
    State::InUse
}

/// Checksum, magic number, version, list of unlinked inodes, number, UUID and sign of the size.
fn identity(rules: &Rules, it: &Subject<'_>, sink: &mut impl Sink) -> bool {
    let (inode, v5) = (&it.inode, rules.geometry.v5);
    if v5 {
        let sum = checksum::verify(inode.bytes(), checksum::INODE);
        if !sum.matches() {
            let found = format!("0x{:08x}", sum.stored);
            let right = format!("0x{:08x}", sum.computed);
            sink.find(it.about(&INODE_CRC).found(found).expected(right));
        }
    }
    if inode.magic() != dinode::MAGIC {
        let found = format!("0x{:x}", inode.magic());
        sink.find(it.about(&INODE_MAGIC).found(found));
    }
    let version = inode.version();
    if !(if v5 {
        version == 3
    } else {
        (1..=2).contains(&version)
    }) {
        sink.find(it.about(&INODE_VERSION).found(u64::from(version)));
    }
    let next = inode.next_unlinked();
    let ag = rules.geometry.ino_ag(it.ino) as u32;
    if next != NULL_AGINO && !rules.geometry.is_inode(rules.geometry.ino(ag, next)) {
        sink.find(it.about(&INODE_NEXT_UNLINKED).found(next));
    }
    if v5 && inode.ino() != it.ino {
        sink.find(it.about(&INODE_INO).found(inode.ino()).expected(it.ino));
        return false;
    }
    if v5 && inode.uuid() != rules.geometry.uuid {
        sink.find(it.about(&INODE_UUID));
        return false;
    }
    if inode.size() >> 63 == 1 {
        sink.find(it.about(&INODE_SIZE_NEGATIVE).found(inode.size()));
        return false;
    }
    true
}

/// An inode whose mode is 0.
fn without_mode(rules: &Rules, it: &Subject<'_>, sink: &mut impl Sink) -> State {
    let inode = &it.inode;
    if !it.free {
        sink.find(it.about(&IMAP_FREE_USED));
        return State::Free;
    }
    if let Some(why) = refused_free(rules, it) {
        sink.find(it.about(&INODE_FREE_BAD).note(why));
    }
    // The size is as it was: the kernel leaves that of directories and of links whose contents were in the inode.
    if inode.nlink() != 0 || inode.nblocks() != 0 {
        let found = format!("{} links, {} blocks", inode.nlink(), inode.nblocks());
        sink.own(it.about(&INODE_FREE_NLINK).found(found));
    }
    State::Free
}

/// Why the verifier of inodes refuses a free one.
fn refused_free(rules: &Rules, it: &Subject<'_>) -> Option<&'static str> {
    let inode = &it.inode;
    let (flags, flags2) = (inode.flags(), inode.flags2());
    if inode.magic() != dinode::MAGIC {
        return Some("magic number");
    }
    if rules.geometry.v5 && !checksum::is_right(inode.bytes(), checksum::INODE) {
        return Some("checksum");
    }
    if inode.has_nrext64() {
        if !rules.geometry.nrext64 {
            return Some("wide extent counters without the feature");
        }
        if inode.nrext64_pad() != 0 {
            return Some("padding of the extent counters");
        }
    } else if inode.version() >= 3 && inode.v3_pad() != 0 {
        return Some("padding at byte 24");
    }
    if inode.forkoff() == 0 {
        if !matches!(inode.aformat(), 0 | 2) {
            return Some("format of the attribute fork");
        }
        if inode.anextents() != 0 {
            return Some("attribute extents without a fork");
        }
    } else if !is_forkoff(rules, inode) {
        return Some("fork offset");
    } else if !free_attributes(inode) {
        return Some("attribute fork");
    }
    if !is_extsize(rules, inode) {
        return Some("extent size hint");
    }
    if inode.version() < 3 {
        return None;
    }
    if flags2 & (flag2::REFLINK | flag2::COWEXTSIZE) != 0 && !rules.geometry.reflink {
        return Some("flags of shared blocks without the feature");
    }
    if flags2 & flag2::REFLINK != 0 {
        return Some("flag of shared blocks");
    }
    if !is_cowextsize(rules, inode) || flags2 & flag2::REFLINK != 0 && flags & flag::REALTIME != 0 {
        return Some("extent size hint of copies on write");
    }
    (inode.has_bigtime() && !rules.geometry.bigtime).then_some("wide times without the feature")
}

/// Whether the verifier takes the attribute fork of a free inode.
fn free_attributes(inode: &Inode<'_>) -> bool {
    let extents = u64::from(inode.anextents());
    match Format::from_byte(inode.aformat()) {
        Some(Format::Local) => extents == 0,
        Some(Format::Extents) => extents <= inode.attr_fork().len() as u64 / 16,
        Some(Format::Btree) => extents <= Rules::most_extents(inode.has_nrext64(), Fork::Attr),
        _ => false,
    }
}

/// Whether the data fork's format goes with the type.
fn fits_mode(inode: &Inode<'_>) -> bool {
    let Some(format) = Format::from_byte(inode.format()) else {
        return false;
    };
    if format == Format::Uuid {
        return false;
    }
    match inode.file_type() {
        mode::FIFO | mode::CHAR | mode::BLOCK | mode::SOCKET => format == Format::Dev,
        mode::DIRECTORY => format != Format::Dev,
        mode::REGULAR => matches!(format, Format::Extents | Format::Btree),
        mode::SYMLINK => matches!(format, Format::Local | Format::Extents),
        _ => true,
    }
}

/// Whether it is a type of files.
fn is_type(kind: u16) -> bool {
    matches!(
        kind,
        mode::FIFO
            | mode::CHAR
            | mode::DIRECTORY
            | mode::BLOCK
            | mode::REGULAR
            | mode::SYMLINK
            | mode::SOCKET
    )
}

/// Flags of the first field.
fn flags(rules: &Rules, it: &Subject<'_>, sink: &mut impl Sink) {
    let flags = it.inode.flags();
    if flags == 0 {
        return;
    }
    let kind = it.inode.file_type();
    let hex = |bits: u16| format!("0x{bits:x}");
    if flags & !flag::ANY != 0 {
        sink.find(it.about(&INODE_FLAGS).found(hex(flags & !flag::ANY)));
    }
    // With a realtime section xfs_repair does not come here: it ends, because it has no realtime device.
    if flags & flag::REALTIME != 0 && rules.rt_blocks == 0 {
        sink.find(it.about(&INODE_FLAG_RT).found(hex(flags)));
    }
    if flags & flag::NEWRTBM != 0 && it.ino != rules.rbm {
        sink.find(it.about(&INODE_FLAG_NEWRTBM).found(hex(flags)));
    }
    let of_directories =
        flag::RTINHERIT | flag::EXTSZINHERIT | flag::PROJINHERIT | flag::NOSYMLINKS;
    if flags & of_directories != 0 && kind != mode::DIRECTORY {
        sink.find(it.about(&INODE_FLAG_DIR).found(hex(flags)));
    }
    if flags & (flag::REALTIME | flag::EXTSIZE) != 0 && kind != mode::REGULAR {
        sink.find(it.about(&INODE_FLAG_FILE).found(hex(flags)));
    }
}

/// Flags of the second field.
fn flags2(rules: &Rules, it: &Subject<'_>, sink: &mut impl Sink) {
    let (flags, flags2) = (it.inode.flags(), it.inode.flags2());
    let kind = it.inode.file_type();
    let (file, directory) = (kind == mode::REGULAR, kind == mode::DIRECTORY);
    let realtime = flags & (flag::REALTIME | flag::RTINHERIT) != 0;
    let has = |bit: u64| flags2 & bit != 0;
    let feature = &rules.geometry;
    let faults = [
        (flags2 & !flag2::ANY != 0, &INODE_FLAGS2),
        (has(flag2::DAX) && !file && !directory, &INODE_DAX),
        (
            has(flag2::REFLINK) && !feature.reflink,
            &INODE_REFLINK_NOFEATURE,
        ),
        (has(flag2::REFLINK) && !file, &INODE_REFLINK_NOFILE),
        (has(flag2::REFLINK) && realtime, &INODE_REFLINK_RT),
        (
            has(flag2::COWEXTSIZE) && !feature.reflink,
            &INODE_COWEXT_NOFEATURE,
        ),
        (
            has(flag2::COWEXTSIZE) && !file && !directory,
            &INODE_COWEXT_NOFILE,
        ),
        (has(flag2::COWEXTSIZE) && realtime, &INODE_COWEXT_RT),
        (has(flag2::BIGTIME) && !feature.bigtime, &INODE_BIGTIME),
        (has(flag2::NREXT64) && !feature.nrext64, &INODE_NREXT64),
    ];
    for (fault, problem) in faults {
        if fault {
            sink.find(it.about(problem).found(format!("0x{flags2:x}")));
        }
    }
}

/// Bytes that must be zero.
fn padding(it: &Subject<'_>, sink: &mut impl Sink) {
    let inode = &it.inode;
    if inode.version() < 3 {
        return;
    }
    if inode.has_nrext64() {
        if inode.nrext64_pad() != 0 {
            sink.find(it.about(&INODE_NREXT64_PAD).found(inode.nrext64_pad()));
        }
    } else if inode.v3_pad() != 0 {
        sink.find(it.about(&INODE_V3_PAD).found(inode.v3_pad()));
    }
    let bytes = inode.bytes();
    let zero = |from: usize, to: usize| {
        bytes
            .get(from..to)
            .is_none_or(|b| b.iter().all(|b| *b == 0))
    };
    if !zero(132, 144) || !zero(84, 90) {
        let which = if zero(132, 144) {
            "DMAPI fields"
        } else {
            "bytes 132 to 143"
        };
        sink.own(it.about(&INODE_PAD).note(which));
    }
}

/// The inodes that the superblock names have a type that goes with their purpose.
fn named_by_superblock(rules: &Rules, it: &Subject<'_>, sink: &mut impl Sink) -> bool {
    let (ino, inode) = (it.ino, &it.inode);
    if ino != rules.root && !rules.is_internal(ino) {
        return true;
    }
    let file = inode.file_type() == mode::REGULAR && !inode.is_realtime();
    if ino == rules.root {
        if inode.file_type() != mode::DIRECTORY {
            sink.find(it.about(&ROOT_TYPE));
        }
        return true;
    }
    for (quota, problem) in rules
        .quota
        .iter()
        .zip([&QINO_TYPE_U, &QINO_TYPE_G, &QINO_TYPE_P])
    {
        if ino == *quota {
            if !file {
                sink.find(it.about(problem));
            }
            return file;
        }
    }
    let (kind, extents) = if ino == rules.rsum {
        (&RSUM_TYPE, &RSUM_EXTENTS)
    } else {
        (&RBM_TYPE, &RBM_EXTENTS)
    };
    if !file {
        sink.find(it.about(kind));
    }
    if rules.rt_blocks == 0 && inode.nextents() != 0 {
        sink.find(it.about(extents).found(inode.nextents()));
        return false;
    }
    true
}

/// Extent size hints.
fn hints(rules: &Rules, it: &Subject<'_>, sink: &mut impl Sink) {
    let inode = &it.inode;
    if inode.extsize() | inode.cowextsize() == 0
        && inode.flags() & (flag::EXTSIZE | flag::EXTSZINHERIT) == 0
        && inode.flags2() & flag2::COWEXTSIZE == 0
    {
        return;
    }
    let inherited = flag::EXTSZINHERIT | flag::RTINHERIT;
    let misaligned =
        inode.flags() & inherited == inherited && u64::from(inode.extsize()) % rules.rt_extent != 0;
    if misaligned || !is_extsize(rules, inode) {
        sink.find(it.about(&INODE_EXTSIZE).found(inode.extsize()));
    }
    if inode.version() >= 3 && !is_cowextsize(rules, inode) {
        sink.find(it.about(&INODE_COWEXTSIZE).found(inode.cowextsize()));
    }
}

/// Whether the extent size hint goes with flags and type (`xfs_inode_validate_extsize`).
fn is_extsize(rules: &Rules, inode: &Inode<'_>) -> bool {
    let (flags, kind) = (inode.flags(), inode.file_type());
    let value = u64::from(inode.extsize());
    let realtime = flags & flag::REALTIME != 0;
    let hint = flags & flag::EXTSIZE != 0;
    let inherit = flags & flag::EXTSZINHERIT != 0;
    let unit = if realtime { rules.rt_extent } else { 1 };
    !(hint && kind != mode::REGULAR
        || inherit && kind != mode::DIRECTORY
        || (hint || inherit) && value == 0
        || inode.mode() != 0 && !hint && !inherit && value != 0
        || value % unit != 0
        || value > ondisk::xfs::extent::MOST_BLOCKS
        || !realtime && value > u64::from(rules.geometry.ag_blocks) / 2)
}

/// The same for copies on write (`xfs_inode_validate_cowextsize`).
fn is_cowextsize(rules: &Rules, inode: &Inode<'_>) -> bool {
    let hint = inode.flags2() & flag2::COWEXTSIZE != 0;
    let (kind, value) = (inode.file_type(), u64::from(inode.cowextsize()));
    !(hint && !rules.geometry.reflink
        || hint && kind != mode::REGULAR && kind != mode::DIRECTORY
        || hint && value == 0
        || inode.mode() != 0 && !hint && value != 0
        || hint && inode.flags() & flag::REALTIME != 0
        || value > ondisk::xfs::extent::MOST_BLOCKS
        || value > u64::from(rules.geometry.ag_blocks) / 2)
}

/// Offsets and names of the times.
const TIMES: [(usize, &str); 4] = [
    (32, "access"),
    (40, "contents"),
    (48, "change"),
    (144, "creation"),
];
/// Seconds from the start of wide times, 1901, to 1970.
pub(super) const BIGTIME_EPOCH: i64 = 1 << 31;
/// A time is far in the future from here on: ten years.
pub(super) const FAR: i64 = 10 * 366 * 86400;

/// Times: nanoseconds below 10^9, and for the strict verdict a date that can be.
fn times(rules: &Rules, it: &Subject<'_>, sink: &mut impl Sink) {
    let inode = &it.inode;
    let count = if inode.version() >= 3 { 4 } else { 3 };
    for (at, name) in &TIMES[..count] {
        let raw = inode.time(*at);
        let seconds = if inode.has_bigtime() {
            (raw / 1_000_000_000) as i64 - BIGTIME_EPOCH
        } else {
            let nanoseconds = raw as u32;
            if nanoseconds >= 1_000_000_000 {
                sink.find(it.about(&INODE_NSEC).found(nanoseconds).note(*name));
            }
            i64::from((raw >> 32) as i32)
        };
        if seconds < 0 || seconds > rules.now.saturating_add(FAR) {
            sink.own(it.about(&INODE_TIME).found(seconds.to_string()).note(*name));
        }
    }
}

fn owners(it: &Subject<'_>, sink: &mut impl Sink) {
    let (uid, gid) = (it.inode.uid(), it.inode.gid());
    if uid == u32::MAX || gid == u32::MAX {
        let which = if uid == u32::MAX { "user" } else { "group" };
        sink.own(it.about(&INODE_OWNER_NULL).note(which));
    }
}

/// Whether the fork offset is within the inode; of devices exactly 1.
pub(crate) fn is_forkoff(rules: &Rules, inode: &Inode<'_>) -> bool {
    match Format::from_byte(inode.format()) {
        Some(Format::Dev) => inode.forkoff() == 1,
        Some(Format::Local | Format::Extents | Format::Btree) => {
            usize::from(inode.forkoff()) < rules.geometry.literal_area() >> 3
        }
        _ => false,
    }
}

#[cfg(test)]
pub(super) mod tests;
