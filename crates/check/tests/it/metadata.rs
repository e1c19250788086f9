//! Random damage to what the filesystem has of its own: superblock, descriptors, journal, bitmaps. Whatever is
//! changed, the exit code is that of Debian's `e2fsck -fn`.
//!
//! `FSLAB_DAMAGES` sets how many images are damaged, and `FSLAB_SEED` the first of their seeds; each case can be made again from
//! its seed alone.

use std::collections::BTreeMap;
use std::process::Command;

use crate::common::debian;
use blockio::Ram;
use check::ext4::check;
use check::{Options, Silent};
use ondisk::ext4::group_descriptor::DescriptorChecksum;
use ondisk::ext4::journal::JournalSuperblock;
use ondisk::ext4::{Geometry, Superblock};
use testkit::reference::{Outcome, e2fsck};
use zerocopy::FromBytes;

/// splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

fn made(options: &[&str], kib: u32) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let (path, tree) = (dir.path().join("image"), dir.path().join("tree"));
    std::fs::create_dir_all(tree.join("a/b")).unwrap();
    for nth in 0..40 {
        let name = tree.join(format!("a/file-{nth}"));
        std::fs::write(name, vec![nth as u8; nth * 301]).unwrap();
    }
    let status = Command::new("mke2fs")
        .args(["-q", "-F", "-d"])
        .arg(&tree)
        .args(options)
        .arg(&path)
        .arg(format!("{kib}k"))
        .status();
    assert!(status.expect("these tests need e2fsprogs").success());
    std::fs::read(&path).unwrap()
}

/// Changes a field of two or four bytes.
fn field(bytes: &mut [u8], random: &mut Random) -> String {
    let width = if random.below(2) == 0 { 2 } else { 4 };
    let at = random.below(bytes.len() / width) * width;
    let place = &mut bytes[at..at + width];
    let old = place
        .iter()
        .rev()
        .fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    let new = match random.below(7) {
        0 => 0,
        1 => u64::MAX,
        2 => old.wrapping_add(1),
        3 => old.wrapping_sub(1),
        4 => old ^ 1 << random.below(width * 8),
        5 => random.next() % 64,
        _ => random.next(),
    };
    place.copy_from_slice(&new.to_le_bytes()[..width]);
    format!("{at}: {old:#x} -> {new:#x}")
}

struct Layout {
    geometry: Geometry,
    sb: Superblock,
    journal: usize,
}

fn layout(image: &[u8]) -> Layout {
    let sb = *Superblock::read(&image[1024..]).unwrap();
    let geometry = Geometry::new(&sb).unwrap();
    let size = geometry.block_size as usize;
    let journal = image
        .chunks(size)
        .position(|block| block.starts_with(&[0xc0, 0x3b, 0x39, 0x98, 0, 0, 0, 4]));
    Layout {
        geometry,
        sb,
        journal: journal.unwrap_or(0) * size,
    }
}

fn damage(image: &mut [u8], layout: &Layout, random: &mut Random) -> String {
    let sealed = random.below(4) != 0;
    let geometry = &layout.geometry;
    let size = geometry.block_size as usize;
    match random.below(8) {
        0..=2 => {
            // Fields in use lie in the first part.
            let change = field(&mut image[1024..1024 + 0x290], random);
            if sealed && let Ok(sb) = Superblock::read_mut(&mut image[1024..]) {
                sb.seal();
            }
            format!("superblock {change}, sealed {sealed}")
        }
        3 | 4 => {
            let group = random.below(geometry.groups as usize) as u32;
            let (block, offset) = geometry.desc_position(group).unwrap();
            let at = block as usize * size + offset as usize;
            let bytes = &mut image[at..at + usize::from(geometry.desc_size)];
            let change = field(bytes, random);
            if sealed {
                DescriptorChecksum::of(&layout.sb).seal(group, bytes);
            }
            format!("descriptor {group} {change}, sealed {sealed}")
        }
        5 => {
            let at = layout.journal;
            if at == 0 {
                return "no journal".into();
            }
            let change = field(&mut image[at..at + 256], random);
            if sealed {
                let (journal, _) = JournalSuperblock::mut_from_prefix(&mut image[at..]).unwrap();
                journal.seal();
            }
            format!("journal {change}, sealed {sealed}")
        }
        _ => {
            let group = random.below(geometry.groups as usize) as u32;
            let (block, offset) = geometry.desc_position(group).unwrap();
            let at = block as usize * size + offset as usize;
            let words: [u32; 2] = std::array::from_fn(|nth| {
                u32::from_le_bytes(image[at + nth * 4..at + nth * 4 + 4].try_into().unwrap())
            });
            let which = random.below(2);
            let at = words[which] as usize * size;
            let Some(bitmap) = image.get_mut(at..at + size) else {
                return "a bitmap that lies nowhere".into();
            };
            let change = field(bitmap, random);
            format!("bitmap {which} of group {group} {change}")
        }
    }
}

fn judged(image: &[u8]) -> Outcome {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    std::fs::write(&path, image).unwrap();
    e2fsck::<&str>(&path, &[])
}

fn number(variable: &str, default: u64) -> u64 {
    let value = std::env::var(variable).ok();
    value.map_or(default, |value| value.parse().expect(variable))
}

#[test]
fn damaged_metadata_has_the_references_verdict() {
    let kinds: [(&[&str], u32); 6] = [
        (&["-t", "ext4", "-b", "1024"], 20 << 10),
        (&["-t", "ext4", "-b", "1024", "-O", "bigalloc"], 20 << 10),
        (&["-t", "ext3", "-b", "1024", "-I", "128"], 20 << 10),
        (
            &[
                "-t",
                "ext2",
                "-b",
                "1024",
                "-g",
                "1024",
                "-O",
                "^resize_inode",
            ],
            6 << 10,
        ),
        (
            &["-t", "ext4", "-b", "4096", "-O", "quota,orphan_file"],
            24 << 10,
        ),
        (
            &[
                "-t",
                "ext4",
                "-b",
                "1024",
                "-O",
                "^metadata_csum,uninit_bg,meta_bg,^resize_inode",
            ],
            20 << 10,
        ),
    ];
    let bases: Vec<_> = kinds
        .iter()
        .map(|(options, kib)| {
            let image = made(options, *kib);
            let layout = layout(&image);
            (options, image, layout)
        })
        .collect();
    let (first, count) = (number("FSLAB_SEED", 1), number("FSLAB_DAMAGES", 60));
    let mut different = Vec::new();
    let mut verdicts = BTreeMap::new();
    for seed in first..first + count {
        let mut random = Random(seed);
        let (options, base, layout) = &bases[random.below(bases.len())];
        let mut image = base.clone();
        let damages: Vec<_> = (0..=random.below(2))
            .map(|_| damage(&mut image, layout, &mut random))
            .collect();
        let theirs = judged(&image);
        let Some(expected) = theirs.verdict() else {
            continue;
        };
        *verdicts.entry(expected).or_insert(0) += 1;
        let checked = Options {
            threads: 2,
            ..Options::default()
        };
        let report = check(&Ram::new(&image), &checked, &debian(), &Silent).unwrap();
        let found = i32::from(report.verdict(check::report::Judge::Reference).exit_code);
        if found != expected {
            let codes: Vec<_> = report
                .findings
                .list
                .iter()
                .map(|f| f.problem.name)
                .collect();
            different.push(format!(
                "seed {seed}, {options:?}, {damages:?}: {found} instead of {expected}\n{codes:?}\n{}",
                theirs.text
            ));
        }
    }
    println!(
        "{} of {count} verdicts differ; how often each: {verdicts:?}",
        different.len()
    );
    assert!(verdicts.len() > 2 || count < 50, "{verdicts:?}");
    assert!(different.is_empty(), "{}", different.join("\n"));
}
