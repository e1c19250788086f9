//! The core that nearly all inodes have: of a regular file in use, without flags, hints and attributes, whose fields agree.
//!
//! In the general way ([`super::core`]) it is asked some fifty questions, one after the other, by functions that look at all kinds of
//! inodes. Here all are asked at once, without a branch that is ever taken. What is not so is no finding: the inode is then judged in the
//! general way, which reports what is wrong with it, if anything is. The only risk is to accept what that would report: a test holds both
//! against each other for cores changed in every byte.
#![expect(
    clippy::needless_bitwise_bool,
    reason = "all questions are asked, so that nothing depends on the answer to one of them"
)]

use ondisk::xfs::dinode::{self, Format, flag2, mode};
use ondisk::xfs::geometry::NULL_AGINO;
use ondisk::xfs::{Dinode, Geometry, checksum};

use super::core::{BIGTIME_EPOCH, FAR, Subject};

const NANOSECONDS: u64 = 1_000_000_000;

/// What makes a core plain in this filesystem.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    /// Whether any can be.
    possible: bool,
    /// Whether cores have the fields and the checksum of version 5.
    v5: bool,
    uuid: [u8; 16],
    /// Bits of the second field of flags that say nothing but how other fields are to be read, where the filesystem has the feature.
    allowed: u64,
    /// The first wide time that can be, and how much later the last is.
    wide: (u64, u64),
    /// The last time that can be, seconds since 1970.
    last: u32,
    /// Inodes that the superblock names.
    named: [u64; 6],
}

impl Plain {
    /// For a filesystem, at that time (seconds since 1970), with these inodes named by its superblock.
    pub(crate) fn new(geometry: &Geometry, now: i64, named: [u64; 6]) -> Plain {
        let bit = |has: bool, bit: u64| if has { bit } else { 0 };
        let epoch = BIGTIME_EPOCH as u64;
        let last = u64::try_from(now.saturating_add(FAR)).unwrap_or(0);
        Plain {
            possible: now >= 0,
            v5: geometry.v5,
            uuid: geometry.uuid,
            allowed: bit(geometry.bigtime, flag2::BIGTIME) | bit(geometry.nrext64, flag2::NREXT64),
            wide: (epoch * NANOSECONDS, last.saturating_mul(NANOSECONDS)),
            last: u32::try_from(last).unwrap_or(u32::MAX).min(i32::MAX as u32),
            named,
        }
    }

    /// Whether nothing is to be said of a core, and it is that of a regular file without attributes.
    pub(crate) fn accepts(&self, it: &Subject<'_>) -> bool {
        let Ok(core) = Dinode::read(it.inode.bytes()) else {
            return false;
        };
        let flags2 = if self.v5 { core.di_flags2.get() } else { 0 };
        let no_use_of_its_own = self
            .named
            .iter()
            .fold(true, |all, named| all & (*named != it.ino));
        let plain = self.possible
            & !it.free
            & (core.di_magic.get() == dinode::MAGIC)
            & (core.di_mode.get() & mode::TYPE == mode::REGULAR)
            & (core.di_format == Format::Extents as u8)
            & (core.di_onlink.get() == 0)
            & (core.di_uid.get() != u32::MAX)
            & (core.di_gid.get() != u32::MAX)
            & self.are_times(core, flags2)
            & (core.di_size.get() >> 63 == 0)
            & (core.di_extsize.get() == 0)
            & (core.di_forkoff == 0)
            & (core.di_aformat == Format::Extents as u8)
            & (core.di_dmevmask.get() == 0)
            & (core.di_dmstate.get() == 0)
            & (core.di_flags.get() == 0)
            & (core.di_next_unlinked.get() == NULL_AGINO)
            & no_use_of_its_own;
        if !self.v5 {
            return plain & (core.di_version == 2);
        }
        plain
            && self.is_newer(core, flags2, it)
            && checksum::is_right(it.inode.bytes(), checksum::INODE)
    }

    /// The fields that version 5 has added.
    fn is_newer(&self, core: &Dinode, flags2: u64, it: &Subject<'_>) -> bool {
        let padding = if flags2 & flag2::NREXT64 != 0 {
            core.di_anextents.get().into()
        } else {
            core.di_big_nextents.get()
        };
        (core.di_version == 3)
            & (flags2 & !self.allowed == 0)
            & (padding == 0)
            & (core.di_cowextsize.get() == 0)
            & (core.di_pad2 == [0; 12])
            & (core.di_ino.get() == it.ino)
            & (core.di_uuid == self.uuid)
    }

    /// Whether all times can be.
    fn are_times(&self, core: &Dinode, flags2: u64) -> bool {
        let created = if self.v5 {
            core.di_crtime
        } else {
            core.di_ctime
        };
        let times = [
            core.di_atime.get(),
            core.di_mtime.get(),
            core.di_ctime.get(),
            created.get(),
        ];
        if flags2 & flag2::BIGTIME != 0 {
            let is_time = |time: u64| time.wrapping_sub(self.wide.0) <= self.wide.1;
            times
                .into_iter()
                .fold(true, |all, time| all & is_time(time))
        } else {
            let is_time =
                |time: u64| (time as u32) < NANOSECONDS as u32 && (time >> 32) as u32 <= self.last;
            times
                .into_iter()
                .fold(true, |all, time| all & is_time(time))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::core as general;
    use super::super::core::tests as built;
    use super::*;
    use crate::xfs::fixture::rules;
    use crate::xfs::rules::Rules;
    use crate::xfs::sink::tests::Lists;
    use ondisk::xfs::dinode::Inode;
    use proptest::prelude::*;

    /// Rules of version 4 or 5, and the core of a file of today in it.
    fn file(v5: bool) -> (Rules, Vec<u8>) {
        let (mut rules, mut bytes) = (rules(), built::built());
        if !v5 {
            rules.geometry.v5 = false;
            rules.plain = Plain::new(&rules.geometry, rules.now, [128, 129, 130, 0, 0, 0]);
            let core = Dinode::read_mut(&mut bytes).unwrap();
            core.di_version = 2;
            let now = (rules.now as u64) << 32;
            core.di_atime = now.into();
            core.di_mtime = now.into();
            core.di_ctime = now.into();
        }
        (rules, bytes)
    }

    /// Whether a core is plain, and whether the general way finds nothing.
    fn both(rules: &Rules, bytes: &mut [u8], free: bool) -> (bool, bool) {
        if rules.geometry.v5 {
            checksum::seal(bytes, checksum::INODE);
        }
        let subject = Subject {
            ino: built::INO,
            inode: Inode::new(&rules.geometry, bytes),
            free,
        };
        let mut lists = Lists::default();
        let state = general::judge(rules, &subject, &mut lists);
        let regular = subject.inode.file_type() == mode::REGULAR;
        let unnamed =
            subject.inode.forkoff() == 0 && subject.inode.aformat() == Format::Extents as u8;
        let silent =
            lists.codes.is_empty() && lists.strict.is_empty() && state == general::State::InUse;
        (rules.plain.accepts(&subject), silent && regular && unnamed)
    }

    #[test]
    fn a_sound_file_is_plain_and_a_free_one_is_not() {
        for v5 in [false, true] {
            let (rules, mut bytes) = file(v5);
            assert_eq!(both(&rules, &mut bytes, false), (true, true), "v5: {v5}");
            assert_eq!(both(&rules, &mut bytes, true), (false, false));
        }
    }

    #[test]
    fn a_wrong_checksum_is_not_plain() {
        let (rules, mut bytes) = file(true);
        checksum::seal(&mut bytes, checksum::INODE);
        bytes[300] ^= 1;
        let subject = Subject {
            ino: built::INO,
            inode: Inode::new(&rules.geometry, &bytes),
            free: false,
        };
        assert!(!rules.plain.accepts(&subject));
    }

    #[test]
    fn an_inode_that_the_superblock_names_is_not_plain() {
        let (mut rules, mut bytes) = file(true);
        rules.plain = Plain::new(&rules.geometry, rules.now, [128, built::INO, 130, 0, 0, 0]);
        assert!(!both(&rules, &mut bytes, false).0);
    }

    #[test]
    fn every_bit_of_the_core_is_judged_as_in_the_general_way() {
        for v5 in [false, true] {
            for bit in 0..8 * Dinode::SIZE {
                let (rules, mut bytes) = file(v5);
                bytes[bit / 8] ^= 1 << (bit % 8);
                let (plain, silent) = both(&rules, &mut bytes, false);
                assert!(silent || !plain, "v5: {v5}, bit {bit} is accepted");
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_plain_gives_no_finding(
            changes in proptest::collection::vec((0..Dinode::SIZE, prop_oneof![Just(0), Just(0xff), any::<u8>()]), 0..4),
            free: bool,
            v5: bool,
        ) {
            let (rules, mut bytes) = file(v5);
            for (at, value) in changes {
                bytes[at] = value;
            }
            let (plain, silent) = both(&rules, &mut bytes, free);
            prop_assert!(silent || !plain);
        }
    }
}
