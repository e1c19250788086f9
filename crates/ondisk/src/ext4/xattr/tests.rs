//! What is written is read back; what is damaged is an error.

use super::sums::name_hash;
use super::*;
use crate::ext4::checksum::Seed;
use proptest::prelude::*;

fn any_entry() -> impl Strategy<Value = NewEntry> {
    let bytes = |most| proptest::collection::vec(any::<u8>(), 0..most);
    let value = prop_oneof![
        bytes(50).prop_map(NewValue::Here),
        (1_u32.., any::<u32>(), any::<u32>()).prop_map(|(ino, size, hash)| NewValue::Inode {
            ino,
            size,
            hash
        }),
    ];
    (1_u8..10, bytes(20), value).prop_map(|(index, name, value)| NewEntry { index, name, value })
}

fn read_back(list: List<'_>) -> Vec<NewEntry> {
    list.entries()
        .map(|entry| {
            let entry = entry.unwrap();
            let value = if entry.e_value_inum == 0 {
                NewValue::Here(list.value(&entry).unwrap().to_vec())
            } else {
                let hash = entry.e_hash ^ name_hash(entry.name, Sign::Unsigned).rotate_left(16);
                NewValue::Inode {
                    ino: entry.e_value_inum,
                    size: entry.e_value_size,
                    hash,
                }
            };
            NewEntry {
                index: entry.e_name_index,
                name: entry.name.to_vec(),
                value,
            }
        })
        .collect()
}

#[test]
fn the_sign_matters_only_beyond_ascii() {
    let both =
        |name: &[u8]| [Sign::Signed, Sign::Unsigned].map(|sign| entry_hash(name, b"v", sign));
    assert_eq!(both(b"plain")[0], both(b"plain")[1]);
    assert_ne!(both(b"\xc3\xa4")[0], both(b"\xc3\xa4")[1]);
}

#[test]
fn an_empty_body_has_no_attributes() {
    assert!(List::of_inode(&[]).is_none());
    assert!(List::of_inode(&[0; 96]).is_none());
    let list = List::of_inode(&[0, 0, 2, 0xea, 0, 0, 0, 0]).unwrap();
    assert_eq!((list.entries().count(), list.entries_len()), (0, Some(4)));
}

proptest! {
    #[test]
    fn a_block_is_read_as_written(
        entries in proptest::collection::vec(any_entry(), 0..12),
        place: u64,
    ) {
        let mut block = vec![9; 4096];
        write_block(&mut block, &entries, 3, place, Some(Seed(8))).unwrap();
        let list = List::of_block(&block).unwrap();
        let mut sorted = entries;
        sorted.sort_by_key(|entry| (entry.index, entry.name.len(), entry.name.clone()));
        prop_assert_eq!(read_back(list), sorted.clone());
        prop_assert!(checksum(&block, place, Seed(8)).unwrap().matches());
        prop_assert!(!checksum(&block, place ^ 1, Seed(8)).unwrap().matches());
        let hashes = list.entries().map(|entry| entry.unwrap().e_hash);
        prop_assert_eq!(Header::read(&block).unwrap().h_hash.get(), block_hash(hashes));
        let mut second = vec![0; 4096];
        write_block(&mut second, &sorted, 3, place, Some(Seed(8))).unwrap();
        prop_assert_eq!(second, block);
    }

    #[test]
    fn an_inode_is_read_as_written(entries in proptest::collection::vec(any_entry(), 0..4)) {
        let mut body = vec![9; 400];
        write_inode(&mut body, &entries).unwrap();
        prop_assert_eq!(read_back(List::of_inode(&body).unwrap()), entries);
    }

    #[test]
    fn what_does_not_fit_is_refused(entries in proptest::collection::vec(any_entry(), 0..9), room in 4_usize..200) {
        let mut body = vec![0; room];
        if write_inode(&mut body, &entries).is_ok() {
            prop_assert_eq!(read_back(List::of_inode(&body).unwrap()), entries);
        }
    }

    #[test]
    fn a_list_without_entries_needs_its_end(room in 0_usize..20) {
        let written = write_inode(&mut vec![0; room], &[]);
        prop_assert_eq!(written.is_ok(), room >= 8, "{:?}", written);
    }

    #[test]
    fn any_bytes_end(mut bytes in proptest::collection::vec(any::<u8>(), 0..1025)) {
        if bytes.len() >= 4 {
            bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
        }
        for list in [List::of_inode(&bytes), List::of_block(&bytes).ok()].into_iter().flatten() {
            for entry in list.entries().flatten() {
                let _ = list.value(&entry);
            }
            let _ = list.entries_len();
        }
        let _ = checksum(&bytes, 7, Seed(0));
    }
}
