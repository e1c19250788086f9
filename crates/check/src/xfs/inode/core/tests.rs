//! Cores of inodes, built and then damaged.

use ondisk::xfs::Dinode;

use super::*;
use crate::xfs::fixture::rules;
use crate::xfs::sink::tests::Lists;

pub(in crate::xfs::inode) const INO: u64 = 200;

/// A regular file of today.
pub(in crate::xfs::inode) fn built() -> Vec<u8> {
    let rules = rules();
    let mut bytes = vec![0; 512];
    let core = Dinode::read_mut(&mut bytes).unwrap();
    core.di_magic = dinode::MAGIC.into();
    core.di_mode = 0o100_644_u16.into();
    core.di_version = 3;
    core.di_format = 2;
    core.di_aformat = 2;
    core.di_nlink = 1_u32.into();
    core.di_next_unlinked = u32::MAX.into();
    core.di_flags2 = flag2::BIGTIME.into();
    let now = (rules.now + BIGTIME_EPOCH) as u64 * 1_000_000_000;
    core.di_atime = now.into();
    core.di_mtime = now.into();
    core.di_ctime = now.into();
    core.di_crtime = now.into();
    core.di_ino = INO.into();
    core.di_uuid = rules.geometry.uuid;
    bytes
}

fn judged(mut bytes: Vec<u8>, free: bool) -> (State, Lists) {
    let rules = rules();
    checksum::seal(&mut bytes, checksum::INODE);
    let subject = Subject {
        ino: INO,
        inode: Inode::new(&rules.geometry, &bytes),
        free,
    };
    let mut lists = Lists::default();
    (judge(&rules, &subject, &mut lists), lists)
}

fn codes(change: impl FnOnce(&mut Dinode)) -> (State, Vec<&'static str>, Vec<&'static str>) {
    let mut bytes = built();
    change(Dinode::read_mut(&mut bytes).unwrap());
    let (state, lists) = judged(bytes, false);
    (state, lists.codes, lists.strict)
}

#[test]
fn a_sound_file_is_in_use() {
    assert_eq!(codes(|_| {}), (State::InUse, vec![], vec![]));
}

#[test]
fn what_is_no_inode_is_cleared() {
    let of = |change: fn(&mut Dinode)| {
        let (state, codes, _) = codes(change);
        assert_eq!(state, State::Cleared);
        codes
    };
    assert_eq!(of(|core| core.di_ino = 201_u64.into()), ["XFS-INODE-INO"]);
    assert_eq!(of(|core| core.di_uuid = [9; 16]), ["XFS-INODE-UUID"]);
    assert_eq!(of(|core| core.di_format = 0), ["XFS-INODE-FORMAT"]);
    assert_eq!(
        of(|core| core.di_mode = 0o070_644_u16.into()),
        ["XFS-INODE-TYPE"]
    );
    let negative = of(|core| core.di_size = (1_u64 << 63).into());
    assert_eq!(negative, ["XFS-INODE-SIZE-NEGATIVE"]);
}

#[test]
fn each_field_has_its_code() {
    let of = |change: fn(&mut Dinode)| {
        let (state, codes, strict) = codes(change);
        assert_eq!((state, strict), (State::InUse, vec![]));
        codes
    };
    assert_eq!(of(|core| core.di_magic = 0_u16.into()), ["XFS-INODE-MAGIC"]);
    assert_eq!(of(|core| core.di_version = 9)[..1], ["XFS-INODE-VERSION"]);
    assert_eq!(
        of(|core| core.di_flags = 0x8000_u16.into()),
        ["XFS-INODE-FLAGS"]
    );
    assert_eq!(
        of(|core| core.di_flags = 4_u16.into()),
        ["XFS-INODE-FLAG-NEWRTBM"]
    );
    assert_eq!(
        of(|core| core.di_flags = 0x200_u16.into()),
        ["XFS-INODE-FLAG-DIR"]
    );
    assert_eq!(
        of(|core| core.di_flags = 0x800_u16.into()),
        ["XFS-INODE-EXTSIZE"]
    );
    assert_eq!(
        of(|core| core.di_extsize = 4_u32.into()),
        ["XFS-INODE-EXTSIZE"]
    );
    assert_eq!(
        of(|core| core.di_flags2 = (8_u64 | 4).into()),
        ["XFS-INODE-COWEXTSIZE"]
    );
    assert_eq!(
        of(|core| core.di_flags2 = (8_u64 | 0x100).into()),
        ["XFS-INODE-FLAGS2"]
    );
    assert_eq!(
        of(|core| core.di_flags2 = (8_u64 | 16).into()),
        ["XFS-INODE-NREXT64"]
    );
    assert_eq!(
        of(|core| core.di_big_nextents = 7_u64.into()),
        ["XFS-INODE-V3-PAD"]
    );
    assert_eq!(
        of(|core| core.di_onlink = 1_u16.into()),
        ["XFS-INODE-ONLINK"]
    );
    assert_eq!(
        of(|core| core.di_next_unlinked = 0x1000_u32.into()),
        ["XFS-INODE-UNLINKED"]
    );
}

#[test]
fn some_are_for_the_strict_verdict_alone() {
    let of = |change: fn(&mut Dinode)| {
        let (_, codes, strict) = codes(change);
        assert!(codes.is_empty(), "{codes:?}");
        strict
    };
    assert_eq!(of(|core| core.di_pad2[3] = 1), ["XFS-INODE-PAD"]);
    assert_eq!(
        of(|core| core.di_uid = u32::MAX.into()),
        ["XFS-INODE-OWNER-NULL"]
    );
    assert_eq!(of(|core| core.di_atime = 5_u64.into()), ["XFS-INODE-TIME"]);
}

#[test]
fn a_free_inode_is_free_in_its_chunk() {
    let mut bytes = built();
    let core = Dinode::read_mut(&mut bytes).unwrap();
    core.di_mode = 0_u16.into();
    core.di_nlink = 0_u32.into();
    core.di_format = 0;
    core.di_aformat = 0;
    let (state, lists) = judged(bytes.clone(), true);
    assert_eq!((state, lists.codes), (State::Free, vec![]));
    let (state, lists) = judged(bytes.clone(), false);
    assert_eq!(
        (state, lists.codes),
        (State::Free, vec!["XFS-IMAP-FREE-USED"])
    );
    bytes[82] = 90;
    assert_eq!(judged(bytes, true).1.codes, ["XFS-INODE-FREE-BAD"]);
    let (_, lists) = judged(built(), true);
    assert_eq!(lists.codes, ["XFS-IMAP-USED-FREE"]);
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 512), free: bool) {
        judged(bytes, free);
    }

    #[test]
    fn no_change_makes_it_panic(at in 0_usize..512, value: u8, free: bool) {
        let mut bytes = built();
        bytes[at] = value;
        judged(bytes, free);
    }
}
