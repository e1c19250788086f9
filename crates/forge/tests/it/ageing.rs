//! Age as e2fsprogs' own tools see it: free space by e2freefrag, extents by debugfs, freed inodes by dumpe2fs.

use crate::common;

use std::path::Path;
use std::process::Command;

use common::{assert_clean, forge, options, profile};
use forge::ext4::FsType::Ext4;
use forge::ext4::plan::{Kind, ObjectId, Objects as _};

fn tool(program: &str, args: &[&str], image: &Path) -> String {
    let output = Command::new(program)
        .args(args)
        .arg(image)
        .output()
        .unwrap();
    assert!(output.status.success(), "{program}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Free extents by the size in KiB at which their range of e2freefrag begins.
fn free_extents(image: &Path) -> Vec<(u64, u64)> {
    let text = tool("e2freefrag", &[], image);
    let lines = text
        .lines()
        .skip_while(|line| !line.contains("Extent Size Range"));
    lines
        .skip(1)
        .filter_map(|line| {
            let (range, counts) = line.split_once(':')?;
            let from = range.split("...").next()?.trim();
            let (digits, unit) = from.split_at(from.len() - 1);
            let factor = match unit {
                "K" => 1,
                "M" => 1024,
                _ => 1 << 20,
            };
            let count = counts.split_whitespace().next()?.parse().ok()?;
            Some((digits.parse::<u64>().ok()? * factor, count))
        })
        .collect()
}

#[test]
fn free_space_and_extents_follow_the_histograms() {
    let text = r#"
        files = 4000
        per_directory = 500
        file_size = "256k"
        [ageing]
        fragmented = 1
        pieces = 8
        free = [[1, 50], ["2-3", 25], ["4-7", 25]]
    "#;
    let forged = forge(&options("4G", Ext4, 4096, ""), profile(text)).unwrap();
    assert_clean(&forged.image);
    let free = free_extents(&forged.image);
    let count = |from: u64| {
        free.iter()
            .find(|(low, _)| *low == from)
            .map_or(0, |(_, n)| *n)
    };
    // 4000 files of eight pieces, and a free extent after each but where it meets other free space.
    for (from, expected) in [(4, 16_000_u64), (8, 8000), (16, 8000)] {
        assert!(
            count(from).abs_diff(expected) < expected / 25,
            "{from}: {free:?}"
        );
    }
    let large: u64 = free
        .iter()
        .filter(|(low, _)| *low >= 32)
        .map(|(_, n)| n)
        .sum();
    assert!(large < 200, "{free:?}");
    // A file in the middle, by its name.
    let listed = forged.contents.population().list(3);
    let root = forged.contents.population().list(0);
    let home = root
        .iter()
        .find(|named| named.what == forge::population::Listed::Directory(3))
        .unwrap();
    let path = format!(
        "/{}/{}",
        String::from_utf8_lossy(&home.name),
        String::from_utf8_lossy(&listed[250].name)
    );
    let extents = tool(
        "debugfs",
        &["-R", &format!("dump_extents -l {path}")],
        &forged.image,
    );
    let lengths: Vec<&str> = extents
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().last())
        .collect();
    assert_eq!(lengths, ["8"; 8], "{extents}");
}

#[test]
fn freed_inodes_are_holes_among_those_in_use() {
    let text =
        "files = 3000\nper_directory = 3000\nfile_size = 0\n[ageing]\nfreed = 0.25\nreused = 0.3";
    let forged = forge(&options("300M", Ext4, 4096, ""), profile(text)).unwrap();
    assert_clean(&forged.image);
    let mut kinds = Vec::new();
    forged
        .contents
        .visit(1, 1..forged.contents.slots(1), &mut |_, object| {
            kinds.push(object.kind);
        });
    assert_eq!(
        kinds.iter().filter(|kind| **kind == Kind::Free).count(),
        750
    );
    let runs = kinds
        .chunk_by(|one, other| (*one == Kind::Free) == (*other == Kind::Free))
        .count();
    assert!(runs > 800, "{runs} runs of inodes in use and free");
    // dumpe2fs lists the free inodes of each group as ranges.
    let text = tool("dumpe2fs", &[], &forged.image);
    let ranges: usize = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Free inodes: "))
        .map(|list| list.split(", ").filter(|range| !range.is_empty()).count())
        .sum();
    assert!(ranges.abs_diff(runs / 2) < 20, "{ranges} ranges");
}

#[test]
fn removed_names_leave_directories_sparse() {
    let size = |removed: &str| {
        let text = format!(
            "files = 3000\nper_directory = 3000\nfile_size = 0\n[ageing]\nremoved_names = {removed}"
        );
        let forged = forge(&options("300M", Ext4, 4096, ""), profile(&text)).unwrap();
        assert_clean(&forged.image);
        forged
            .contents
            .object(ObjectId {
                directory: 1,
                slot: 0,
            })
            .size
    };
    let (full, sparse) = (size("0"), size("3"));
    assert!(
        (3 * full..5 * full).contains(&sparse),
        "{full} and {sparse} bytes"
    );
}
