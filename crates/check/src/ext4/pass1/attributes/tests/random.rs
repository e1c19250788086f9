//! Any bytes.

use ondisk::ext4::feature::Incompat;
use ondisk::ext4::xattr::{self, NewEntry, NewValue};
use proptest::prelude::*;

use super::fixture::{BLOCK, Fixture};

fn any_entries() -> impl Strategy<Value = Vec<NewEntry>> {
    let entry = (
        1_u8..8,
        proptest::collection::vec(any::<u8>(), 1..12),
        proptest::collection::vec(any::<u8>(), 0..30),
    );
    proptest::collection::vec(entry, 0..12).prop_map(|entries| {
        let make = |(index, name, value)| NewEntry {
            index,
            name,
            value: NewValue::Here(value),
        };
        entries.into_iter().map(make).collect()
    })
}

proptest! {
    #[test]
    fn what_is_written_well_is_sound(entries in any_entries(), checksums: bool) {
        let mut fixture = Fixture::new();
        fixture.checksums = checksums;
        let mut block = vec![0; BLOCK];
        xattr::write_block(&mut block, &entries, 1, 100, fixture.seed()).unwrap();
        fixture.block(100, &block);
        fixture.inode(12, 0o100_644, |inode| {
            inode.raw().unwrap().i_file_acl_lo = 100.into();
            // As many as fit.
            let body = &mut inode.bytes()[160..];
            for few in (0..=entries.len()).rev() {
                if xattr::write_inode(body, &entries[..few]).is_ok() {
                    break;
                }
            }
        });
        let names = fixture.judge(&[12], None).names();
        prop_assert!(names.is_empty(), "{names:?}");
    }

    #[test]
    fn any_inode_and_any_blocks_are_judged(
        slots in proptest::collection::vec(proptest::array::uniform32(any::<[u8; 8]>()), 4),
        modes in proptest::array::uniform4(0_usize..9),
        keep in proptest::array::uniform4(any::<bool>()),
        block in proptest::collection::vec(any::<u8>(), BLOCK),
        sound_head: bool,
        features: u32,
        older: bool,
        checksums: bool,
    ) {
        let mut fixture = Fixture::new().incompat(Incompat(features & 0x3_c7c0 & !0x80));
        fixture.checksums = checksums;
        if older {
            fixture.reference = crate::ext4::options::Reference::E2fsck1470;
        }
        let mut block = block;
        if sound_head {
            block[..12].copy_from_slice(&[0, 0, 2, 0xea, 4, 0, 0, 0, 1, 0, 0, 0]);
        }
        fixture.block(100, &block);
        let inodes = [12_u32, 13, 14, 15];
        for (nth, ino) in inodes.into_iter().enumerate() {
            let mut slot = [0; 256];
            for (place, bytes) in slot.chunks_exact_mut(8).zip(slots[nth]) {
                place.copy_from_slice(&bytes);
            }
            let kinds = [0_u8, 0x10, 0x20, 0x40, 0x60, 0x80, 0xa0, 0xc0, 0xf0];
            slot[1] = kinds[modes[nth]];
            if keep[nth] {
                // Near enough to sound to get further: block 100, attributes that begin well, a small size.
                slot[4..8].copy_from_slice(&100_u32.to_le_bytes());
                slot[108..112].fill(0);
                slot[0x28..0x2c].copy_from_slice(&100_u32.to_le_bytes());
                slot[0x68..0x6c].copy_from_slice(&100_u32.to_le_bytes());
                slot[128..130].copy_from_slice(&[32, 0]);
                slot[160..164].copy_from_slice(&xattr::MAGIC.to_le_bytes());
            }
            fixture.slot(ino, &slot);
        }
        let judged = fixture.judge(&inodes, Some(100));
        prop_assert_eq!(judged.inodes.len(), 4);
        let again = fixture.judge(&inodes, Some(100));
        prop_assert_eq!(judged.names(), again.names());
    }

    #[test]
    fn any_list_after_a_sound_head_is_judged(
        entries in any_entries(),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut fixture = Fixture::new().incompat(Incompat::EA_INODE);
        let mut block = vec![0; BLOCK];
        xattr::write_block(&mut block, &entries, 2, 100, None).unwrap();
        for (at, value) in flips {
            block[32 + at.index(BLOCK - 32)] = value;
        }
        fixture.block(100, &block);
        for ino in [12, 13] {
            fixture.inode(ino, 0o100_644, |inode| {
                inode.raw().unwrap().i_file_acl_lo = 100.into();
                inode.bytes()[160..].copy_from_slice(&block[..96]);
                inode.bytes()[164..].copy_from_slice(&block[32..124]);
            });
        }
        let judged = fixture.judge(&[12, 13], None);
        prop_assert_eq!(judged.claimed, [(100, 12)]);
    }
}
