//! Every row of the table: each of its signatures is made from the row, found and named.

use std::fs::File;
use std::os::unix::fs::FileExt;

use fskind::Kind;

use super::super::magic::ROWS;
use super::super::mark::{Mark, Row, all};
use super::super::*;

/// A sparse file, so that the largest of them takes no memory.
struct Blank(File, u64);

impl ReadAt for Blank {
    fn size(&self) -> u64 {
        self.1
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    /// Its holes are not read, or each file would take longer than all searches.
    fn next_data(&self, offset: u64) -> Option<Range<u64>> {
        (offset < 5 << 20).then_some(offset..5 << 20)
    }
}

fn blank(size: u64) -> Blank {
    let file = tempfile::tempfile().unwrap();
    file.set_len(size).unwrap();
    Blank(file, size)
}

const SIZE: u64 = (64 << 20) + 4096 * 5;

#[test]
fn a_blank_device_has_none_whatever_its_size() {
    for size in [0, 1, 511, 512, 4096, 100_000, SIZE] {
        assert_eq!(all(&blank(size)).unwrap(), Vec::new(), "{size}");
    }
}

#[test]
fn each_signature_of_each_row_is_found_and_named() {
    for row in ROWS {
        assert!(!row.marks.is_empty(), "{}", row.kind);
        for mark in row.marks {
            let first = mark.first(SIZE).unwrap();
            for offset in [first, first + mark.span()] {
                let file = blank(SIZE);
                file.0.write_all_at(mark.magic, offset).unwrap();
                let here = |file: &Blank| {
                    let found = all(file).unwrap();
                    found
                        .iter()
                        .any(|one| one.kind == row.kind && one.offset == offset)
                };
                let support = support(row, mark, offset);
                assert_eq!(
                    here(&file),
                    support.is_empty(),
                    "{}: its magic number alone at {offset:#x}",
                    row.kind
                );
                for (at, bytes) in support {
                    file.0.write_all_at(&bytes, at).unwrap();
                }
                assert!(
                    here(&file),
                    "{} at {offset:#x}: {:x?}",
                    row.kind,
                    all(&file).unwrap()
                );
                if row.format == Format::PartitionTable {
                    continue;
                }
                let Content::Known(named) = identify(&file).unwrap() else {
                    panic!("{}: {:?}", row.kind, identify(&file).unwrap());
                };
                assert_eq!(
                    (named.kind, named.blkid),
                    (row.kind, row.blkid),
                    "{offset:#x}"
                );
            }
        }
    }
}

#[test]
fn a_short_magic_number_has_a_proof_and_each_row_says_what_to_do() {
    for row in ROWS {
        let short = row.marks.iter().any(|mark| mark.magic.len() < 3);
        let family = matches!(row.format, Format::Ext | Format::PartitionTable);
        assert!(!short || row.proof.is_some() || family, "{}", row.kind);
        assert!(
            !row.next.is_empty() && !row.next.contains("ddrescue"),
            "{}",
            row.kind
        );
        assert!(
            row.kind.starts_with(|c: char| c.is_ascii_lowercase()),
            "{}",
            row.kind
        );
    }
}

#[test]
fn every_signature_of_the_table_of_filesystems_is_searched() {
    for kind in Kind::ALL {
        let known = kind.properties().signature;
        for &offset in known.offsets {
            let described = ROWS.iter().find(|row| {
                row.marks
                    .iter()
                    .any(|mark| mark.magic == known.magic && mark.first(SIZE) == Some(offset))
            });
            assert_eq!(
                described.map(|row| row.kind),
                Some(kind.family().described()),
                "{kind} at {offset}"
            );
        }
    }
    assert_eq!(ROWS[0].format, Format::Ext);
    assert_eq!(ROWS[1].blkid, "jbd");
}

/// What a proof needs beside the magic number at `at`; nothing where it does not look for more.
fn support(row: &Row, mark: &Mark, at: u64) -> Vec<(u64, Vec<u8>)> {
    let short = |value: u16| value.to_le_bytes().to_vec();
    let word = |value: u32| value.to_le_bytes().to_vec();
    let big = |value: u32| value.to_be_bytes().to_vec();
    match row.blkid {
        "jbd" => vec![(0x460, word(8)), (0x800, big(0xC03B_3998))],
        "xfs_external_log" => vec![(at + 8, big(2))],
        "bcachefs" if row.proof.is_some() => {
            vec![(0x1000 + 104, word(8)), (0x1000 + 123, vec![1])]
        }
        "nilfs2" => vec![
            (at - 6, word(2)),
            (at + 2, short(280)),
            (at + 18, word(7)),
            (at + 42, word(2048)),
        ],
        "minix" => minix(mark, at),
        "hfs" => vec![(at + 20, big(4096))],
        "hfsplus" if row.proof.is_some() => {
            vec![(at + 20, big(4096)), (at + 0x7C, b"H+".to_vec())]
        }
        "vfat" if row.proof.is_some() => vec![
            (0, vec![0xEB, 0x3C, 0x90]),
            (11, short(512)),
            (13, vec![4]),
            (14, short(1)),
            (16, vec![2]),
            (21, vec![0xF8]),
        ],
        "BitLocker" if row.proof.is_some() => vec![(
            424,
            vec![
                0x3B, 0xD6, 0x67, 0x49, 0x29, 0x2E, 0xD8, 0x4A, 0x83, 0x99, 0xF6, 0xA3, 0x39, 0xE3,
                0xD0, 0x01,
            ],
        )],
        "udf" if !mark.magic.starts_with(b"NSR") => vec![(at + 2048, b"NSR02".to_vec())],
        "hpfs" => vec![(0x2200, vec![0x49, 0x18, 0x91, 0xF9])],
        "gfs" => vec![(at + 24, big(1309))],
        "squashfs" => vec![(28, short(4))],
        "scoutfs_meta" => vec![(at + 44, vec![1])],
        "cs_fvault2" => vec![
            (8, short(1)),
            (10, short(0x10)),
            (90, word(1)),
            (168, word(16)),
            (172, word(2)),
        ],
        "LVM1_member" => vec![(2, short(1))],
        "via_raid_member" => vec![(at + 50, vec![0xFF])],
        "jmicron_raid_member" => {
            let name = u16::from_le_bytes(*b"JM");
            vec![(at + 4, short(name.wrapping_neg()))]
        }
        "silicon_medley_raid_member" => {
            vec![(at - 0x60 + 0x13E, short(0x2F00_u16.wrapping_neg()))]
        }
        "sun" => vec![(510, vec![0xDA, 0xBE])],
        "atari" => vec![
            (0x1C2, big(100)),
            (0x1C6, b"\x01GEM\0\0\0\x01\0\0\0\x32".to_vec()),
        ],
        _ if row.kind == "a bzip2 file" => vec![(3, b"91AY&SY".to_vec())],
        _ if row.kind == "text of blkparse" => vec![(
            0,
            b"  8,0    3        1     0.000000000   697  G   W 223490 + 8 [kjournald]\n".to_vec(),
        )],
        _ => Vec::new(),
    }
}

/// A superblock of 100 inodes and 200 zones, in the order of bytes and of the version of the magic number.
fn minix(mark: &Mark, at: u64) -> Vec<(u64, Vec<u8>)> {
    let swapped = matches!(mark.magic[0], 0x13 | 0x24 | 0x4D);
    let bytes = |value: u32, size: usize| {
        let mut bytes = value.to_le_bytes()[..size].to_vec();
        if swapped {
            bytes.reverse();
        }
        bytes
    };
    let fields: &[(u64, u32, usize)] = if at == 0x418 {
        &[(0, 100, 4), (6, 1, 2), (8, 1, 2), (10, 5, 2), (20, 200, 4)]
    } else {
        &[
            (0, 100, 2),
            (2, 200, 2),
            (4, 1, 2),
            (6, 1, 2),
            (8, 5, 2),
            (20, 200, 4),
        ]
    };
    fields
        .iter()
        .map(|&(at, value, size)| (0x400 + at, bytes(value, size)))
        .collect()
}
