//! A reader of a whole log.

use ondisk::ext4::checksum::crc32_be;
use ondisk::ext4::journal::block::{Commit, commit_checksum, revoked, tail_checksum};
use ondisk::ext4::journal::descriptor::{LAST_TAG, data_checksum, tags};
use ondisk::ext4::journal::{BlockType, Header, JournalSuperblock};
use ondisk::ext4::{Geometry, inode};

use super::{Image, files};

/// The blocks of the journal in their order.
pub(crate) fn blocks(image: &Image, geometry: &Geometry) -> Vec<Vec<u8>> {
    let inode = image.inode(geometry, inode::number::JOURNAL).unwrap();
    let mut map = files::map(image, geometry, &inode, None).data;
    map.sort_unstable();
    map.into_iter()
        .map(|(_, place, _)| image.block(geometry, place).unwrap().to_vec())
        .collect()
}

#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) transactions: u32,
    pub(crate) tags: u32,
    pub(crate) revoked: usize,
    /// Commit blocks with a CRC-32 over their transaction.
    pub(crate) commit_checksums: u32,
}

/// Reads a log from its start to the first block that does not belong to it, comparing every checksum.
pub(crate) fn read_log(blocks: &[Vec<u8>], journal: &JournalSuperblock) -> Log {
    let (format, seed) = (journal.tag_format(), journal.seed());
    let range = journal.log().unwrap();
    let next = |at: u32| {
        if at + 1 == range.end {
            range.start
        } else {
            at + 1
        }
    };
    let mut log = Log::default();
    // The kernel's sum leaves revocation blocks out, debugfs's counts them.
    let mut crc = [!0, !0];
    let (mut at, mut sequence) = (journal.s_start.get(), journal.s_sequence.get());
    while at != 0 {
        let block = &blocks[at as usize];
        let Some(header) = Header::read(block).filter(|header| header.h_sequence == sequence)
        else {
            break;
        };
        match header.kind() {
            Some(BlockType::Descriptor) => {
                assert!(!format.has_tail() || tail_checksum(block, seed).unwrap().matches());
                crc = crc.map(|crc| crc32_be(crc, block));
                let list: Vec<_> = tags(block, format).collect();
                assert!(list.last().unwrap().flags & LAST_TAG != 0);
                for tag in list {
                    at = next(at);
                    let data = &blocks[at as usize];
                    let sum = data_checksum(format, seed, sequence, data);
                    assert_eq!(
                        sum.unwrap_or(tag.checksum),
                        tag.checksum,
                        "block {}",
                        tag.block
                    );
                    crc = crc.map(|crc| crc32_be(crc, data));
                    log.tags += 1;
                }
            }
            Some(BlockType::Revoke) => {
                assert!(!format.has_tail() || tail_checksum(block, seed).unwrap().matches());
                crc[1] = crc32_be(crc[1], block);
                log.revoked += revoked(block, format).unwrap().count();
            }
            Some(BlockType::Commit) => {
                let commit = Commit::read(block).unwrap();
                if format.has_tail() {
                    assert!(commit_checksum(block, seed).unwrap().matches());
                } else if commit.h_chksum_type == 1 {
                    assert!(crc.contains(&commit.h_chksum), "transaction {sequence}");
                    log.commit_checksums += 1;
                }
                crc = [!0, !0];
                log.transactions += 1;
                sequence += 1;
            }
            other => panic!("{other:?} in the log"),
        }
        at = next(at);
    }
    log
}
