//! Hashes of names against debugfs.
use crate::common;

use std::fmt::Write as _;
use std::fs;

use common::make::debugfs;
use ondisk::ext4::hash::{HashVersion, NameHash, name_hash};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const SEEDS: [(&str, [u32; 4]); 2] = [
    ("00000000-0000-0000-0000-000000000000", [0; 4]),
    // A UUID's text has its bytes in order; the hash takes them as little-endian words.
    (
        "01234567-89ab-cdef-0123-456789abcdef",
        [0x6745_2301, 0xefcd_ab89, 0x6745_2301, 0xefcd_ab89],
    ),
];

/// 900 names of 1 to 120 bytes, a third of them with letters beyond ASCII, through three functions and two
/// seeds. debugfs hashes with signed characters here.
#[test]
fn debugfs_hashes_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let image = dir.path().join("image");
    fs::write(&image, vec![0; 2 << 20]).unwrap();
    common::make::run(
        "mke2fs",
        &["-q", "-F", "-t", "ext4", image.to_str().unwrap()],
        &[0],
    );
    let mut runner = TestRunner::deterministic();
    let strategy = prop_oneof![2 => "[A-Za-z0-9._+-]{1,120}", 1 => "[a-zäöüßéñжç0-9]{1,60}"];
    let mut commands = String::new();
    let mut expected = Vec::new();
    for _ in 0..900 {
        let name = strategy.new_tree(&mut runner).unwrap().current();
        if name.starts_with('-') {
            continue;
        }
        for (text, version) in [
            ("legacy", HashVersion::Legacy),
            ("half_md4", HashVersion::HalfMd4),
            ("tea", HashVersion::Tea),
        ] {
            for (seed, words) in SEEDS {
                writeln!(commands, "dx_hash -h {text} -s {seed} {name}").unwrap();
                expected.push((
                    name.clone(),
                    name_hash(version, words, name.as_bytes()).unwrap(),
                ));
            }
        }
    }
    let output = debugfs(&image, false, &commands);
    let lines: Vec<&str> = output
        .lines()
        .filter(|line| line.starts_with("Hash of "))
        .collect();
    assert_eq!(lines.len(), expected.len());
    assert!(lines.len() > 5000);
    for (line, (name, NameHash { major, minor })) in lines.iter().zip(expected) {
        assert_eq!(
            *line,
            format!("Hash of {name} is 0x{major:x} (minor 0x{minor:x})")
        );
    }
}
