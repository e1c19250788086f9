//! A real ext4 image, made by mke2fs, read through every source.
//!
//! Expected values come from other programs: `dumpe2fs` names the backups of the superblock and the
//! places of the bitmaps, `debugfs` prints a block. This crate knows nothing of ext4.
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

use blockio::layer::{Cache, Counting};
use blockio::{BlockSource, Content, Mode, Opened, Span, Sweep, open};

const BLOCK: u64 = 4096;
const GIB: u64 = 1 << 30;

/// Runs a program of e2fsprogs; its output.
fn run(program: &str, words: &[&str]) -> String {
    let path = ["/sbin", "/usr/sbin", "/usr/bin"]
        .map(|dir| Path::new(dir).join(program))
        .into_iter()
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("{program}: not found; apt install e2fsprogs"));
    let output = Command::new(path).args(words).output().unwrap();
    assert!(output.status.success(), "{program}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// An image of 64 GiB that takes a few megabytes, with a file in it.
fn image(dir: &Path) -> PathBuf {
    let path = dir.join("image");
    std::fs::File::create(&path)
        .unwrap()
        .set_len(64 * GIB)
        .unwrap();
    let name = path.to_str().unwrap();
    let options = "lazy_itable_init=0,lazy_journal_init=1,nodiscard";
    run(
        "mke2fs",
        &[
            "-q", "-F", "-t", "ext4", "-b", "4096", "-J", "size=4", "-E", options, name,
        ],
    );
    let content = dir.join("content");
    let bytes: Vec<u8> = (0..300_000_u32).map(|i| (i % 241) as u8).collect();
    std::fs::write(&content, bytes).unwrap();
    let command = format!("write {} content", content.display());
    run("debugfs", &["-w", "-R", &command, name]);
    path
}

/// Block numbers after each occurrence of a word in dumpe2fs's list of groups, first of the list.
fn blocks_named(list: &str, word: &str) -> Vec<u64> {
    list.match_indices(word)
        .filter_map(|(at, _)| {
            let rest = list[at + word.len()..].trim_start_matches(" at ");
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        })
        .collect()
}

/// The block that debugfs's block_dump shows: octal offset, 8 words in hex, a `*` for repeated lines.
fn bytes_of_dump(dump: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::new();
    for line in dump.lines().filter(|line| !line.is_empty() && *line != "*") {
        let (offset, rest) = line.split_once("  ").unwrap();
        let offset = usize::from_str_radix(offset, 8).unwrap();
        while bytes.len() < offset {
            bytes.extend_from_within(bytes.len() - 16..);
        }
        let hex = rest[..39].replace(' ', "");
        let byte = |i: usize| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap();
        bytes.extend((0..16).map(byte));
    }
    while bytes.len() < BLOCK as usize {
        bytes.extend_from_within(bytes.len() - 16..);
    }
    bytes
}

#[test]
fn backups_of_the_superblock_are_where_dumpe2fs_says_in_every_mode() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = image(dir.path());
    let list = run("dumpe2fs", &[path.to_str().unwrap()]);
    let backups = blocks_named(&list, "Backup superblock");
    assert!(backups.len() > 5, "{backups:?}");
    for mode in [Mode::Buffered, Mode::Direct, Mode::Mapped] {
        let Opened { source, .. } = open(&path, mode).unwrap();
        assert_eq!(source.len(), 64 * GIB);
        let mut first = [0; 1024];
        source.read_at(&mut first, 1024).unwrap();
        assert_eq!(first[56..58], [0x53, 0xef], "s_magic");
        for backup in &backups {
            let mut copy = [0; 1024];
            source.read_at(&mut copy, backup * BLOCK).unwrap();
            assert_eq!(copy[56..58], [0x53, 0xef], "backup at block {backup}");
            // s_uuid is that of the first; s_block_group_nr is its own group's.
            assert_eq!(copy[104..120], first[104..120]);
            let group = u64::from(u16::from_le_bytes([copy[90], copy[91]]));
            assert_eq!(group, backup / 32_768);
        }
    }
}

#[test]
fn a_sweep_of_the_bitmaps_reads_what_debugfs_prints() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = image(dir.path());
    let name = path.to_str().unwrap();
    let list = run("dumpe2fs", &[name]);
    let bitmaps = blocks_named(&list, "Block bitmap");
    assert_eq!(bitmaps.len(), 512, "64 GiB have 512 groups");
    let spans = || {
        bitmaps.iter().enumerate().map(|(group, block)| Span {
            tag: group as u64,
            range: block * BLOCK..(block + 1) * BLOCK,
        })
    };
    let mut seen: Vec<BTreeMap<u64, Vec<u8>>> = Vec::new();
    for mode in [Mode::Buffered, Mode::Direct, Mode::Mapped] {
        let source = Counting::new(open(&path, mode).unwrap().source);
        let sweep = Sweep {
            threads: 2,
            ..Sweep::default()
        };
        let swept = sweep.run(
            &source,
            spans(),
            |_| BTreeMap::new(),
            |map, piece| {
                let bytes = match piece.content {
                    Content::Data(bytes) => bytes.to_vec(),
                    Content::Hole(len) => vec![0; len as usize],
                    Content::Failed(error) => panic!("{error}"),
                };
                map.insert(piece.tag, bytes);
                ControlFlow::Continue(())
            },
        );
        let swept = swept.unwrap();
        let counts = source.counts();
        // With flex_bg the bitmaps of 16 groups are neighbours: one request for all of them, at most.
        assert!(counts.requests <= 512 / 16, "{counts:?}");
        assert_eq!(counts.requests, swept.counts.requests);
        seen.push(swept.states.into_iter().flatten().collect());
    }
    assert_eq!(seen[0].len(), 512);
    assert!(seen[0] == seen[1] && seen[1] == seen[2], "the modes differ");
    // Group 0 as debugfs reads it: free blocks are bits that are 0.
    let free: u32 = seen[0][&0].iter().map(|byte| byte.count_zeros()).sum();
    let expected = list.split_once("free blocks").unwrap().0;
    let expected: u32 = expected.split_whitespace().last().unwrap().parse().unwrap();
    assert_eq!(free, expected);
    for group in [0, 1, 511] {
        let block = format!("block_dump {}", bitmaps[group]);
        let dump = bytes_of_dump(&run("debugfs", &["-R", &block, name]));
        assert!(seen[0][&(group as u64)] == dump, "group {group}");
    }
}

#[test]
fn a_sweep_of_the_whole_image_costs_its_data_and_reads_the_file_back() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = image(dir.path());
    let blocks = run("debugfs", &["-R", "blocks content", path.to_str().unwrap()]);
    let blocks: Vec<u64> = blocks
        .split_whitespace()
        .map(|word| word.parse().unwrap())
        .collect();
    assert_eq!(blocks.len(), 300_000_usize.div_ceil(4096));
    let source = Counting::new(open(&path, Mode::Auto).unwrap().source);
    let all = Span {
        tag: 0,
        range: 0..source.len(),
    };
    let mut found = BTreeMap::new();
    let swept = Sweep::default().each(&source, [all], |piece| {
        if let Content::Data(bytes) = piece.content {
            for (block, bytes) in (piece.offset / BLOCK..).zip(bytes.chunks(BLOCK as usize)) {
                if blocks.contains(&block) {
                    found.insert(block, bytes.to_vec());
                }
            }
        }
        ControlFlow::Continue(())
    });
    let counts = swept.unwrap();
    assert_eq!(counts.data + counts.holes, 64 * GIB);
    assert_eq!(counts.failed, 0);
    let taken = std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(&path).unwrap()) * 512;
    // What is read is what is there, but for the small gaps that are read over.
    assert!(
        source.counts().bytes <= taken * 2 + GIB / 64,
        "{:?} of {taken}",
        source.counts()
    );
    let read: Vec<u8> = blocks
        .iter()
        .flat_map(|block| found[block].clone())
        .collect();
    let content = std::fs::read(dir.path().join("content")).unwrap();
    assert!(read[..content.len()] == content, "the file's bytes differ");
}

/// The first law of the published experiments, on this image: with a cache smaller than what is read
/// twice, the second time reads all of it again; with a larger one, nothing.
#[test]
fn precaching_doubles_the_bytes_exactly_when_the_cache_is_too_small() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = image(dir.path());
    let list = run("dumpe2fs", &[path.to_str().unwrap()]);
    let bitmaps = blocks_named(&list, "Block bitmap");
    let bytes = bitmaps.len() as u64 * BLOCK;
    for (size, passes) in [(bytes - BLOCK, 2), (bytes, 1)] {
        let source = open(&path, Mode::Direct).unwrap().source;
        let cache = Cache::new(Counting::new(source), size, BLOCK as u32);
        for _pass in 0..2 {
            for block in &bitmaps {
                cache
                    .read_at(&mut [0; BLOCK as usize], block * BLOCK)
                    .unwrap();
            }
        }
        assert_eq!(
            cache.inner().counts().bytes,
            passes * bytes,
            "cache of {size}"
        );
        assert_eq!(cache.counts().hit_bytes, (2 - passes) * bytes);
        assert!(cache.held() <= size);
    }
}
