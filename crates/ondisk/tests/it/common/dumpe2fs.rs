//! dumpe2fs as an oracle: its header and its groups, read from its text.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;

use super::make::run;

/// What dumpe2fs prints.
pub(crate) struct Dump {
    pub(crate) header: BTreeMap<String, String>,
    pub(crate) groups: Vec<Group>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) blocks: Option<RangeInclusive<u64>>,
    pub(crate) checksum: Option<u64>,
    pub(crate) flags: Vec<String>,
    pub(crate) superblock: Option<u64>,
    pub(crate) descriptors: Option<RangeInclusive<u64>>,
    pub(crate) reserved: Option<RangeInclusive<u64>>,
    pub(crate) block_bitmap: u64,
    pub(crate) block_bitmap_csum: Option<u64>,
    pub(crate) inode_bitmap: u64,
    pub(crate) inode_bitmap_csum: Option<u64>,
    pub(crate) inode_table: Option<RangeInclusive<u64>>,
    pub(crate) free_blocks: u64,
    pub(crate) free_inodes: u64,
    pub(crate) directories: u64,
    pub(crate) unused_inodes: u64,
    pub(crate) free_block_list: Vec<RangeInclusive<u64>>,
    pub(crate) free_inode_list: Vec<RangeInclusive<u64>>,
}

pub(crate) fn dump(image: &Path) -> Dump {
    let output = run("dumpe2fs", &[image.to_str().unwrap()], &[0]);
    let text = String::from_utf8(output.stdout).unwrap();
    let mut dump = Dump {
        header: BTreeMap::new(),
        groups: Vec::new(),
    };
    for line in text.lines() {
        if line.starts_with("Group ") && line.contains("(Blocks ") {
            dump.groups.push(Group::default());
        }
        match dump.groups.last_mut() {
            Some(group) => group.line(line),
            None => {
                if let Some((key, value)) = line.split_once(':') {
                    dump.header.insert(key.to_owned(), value.trim().to_owned());
                }
            }
        }
    }
    dump
}

impl Group {
    fn line(&mut self, line: &str) {
        let flag = |name: &str| line.contains(name).then(|| name.to_owned());
        if line.starts_with("Group ") {
            self.blocks = range_after(line, "(Blocks ");
            self.checksum = hex_after(line, "csum 0x");
            self.flags = ["INODE_UNINIT", "BLOCK_UNINIT", "ITABLE_ZEROED"]
                .into_iter()
                .filter_map(flag)
                .collect();
        } else if line.contains("Block bitmap at ") {
            self.block_bitmap = number_after(line, "Block bitmap at ").unwrap();
            self.block_bitmap_csum = hex_after(line, "csum 0x");
        } else if line.contains("Inode bitmap at ") {
            self.inode_bitmap = number_after(line, "Inode bitmap at ").unwrap();
            self.inode_bitmap_csum = hex_after(line, "csum 0x");
        } else if line.contains("Inode table at ") {
            self.inode_table = range_after(line, "Inode table at ");
        } else if line.contains("Reserved GDT blocks at ") {
            self.reserved = range_after(line, "Reserved GDT blocks at ");
        } else if line.contains(" free inodes, ") {
            self.counts(line);
        } else if let Some(list) = line.trim().strip_prefix("Free blocks:") {
            self.free_block_list = ranges(list);
        } else if let Some(list) = line.trim().strip_prefix("Free inodes:") {
            self.free_inode_list = ranges(list);
        } else {
            self.superblock = self.superblock.or(number_after(line, "superblock at "));
            let table = range_after(line, "Group descriptors at ");
            let single = number_after(line, "Group descriptor at ").map(|block| block..=block);
            self.descriptors = self.descriptors.clone().or(table).or(single);
        }
    }

    /// "7161 free clusters, 8180 free inodes, 2 directories, 8180 unused inodes"
    fn counts(&mut self, line: &str) {
        let count = |piece: &str| -> u64 {
            let words: Vec<&str> = piece.split_whitespace().collect();
            words[0].parse().unwrap()
        };
        let pieces: Vec<u64> = line.split(", ").map(count).collect();
        [self.free_blocks, self.free_inodes, self.directories] = [pieces[0], pieces[1], pieces[2]];
        self.unused_inodes = pieces.get(3).copied().unwrap_or(0);
    }
}

fn digits(text: &str) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse().ok()
}

fn number_after(line: &str, key: &str) -> Option<u64> {
    digits(&line[line.find(key)? + key.len()..])
}

fn hex_after(line: &str, key: &str) -> Option<u64> {
    let rest = &line[line.find(key)? + key.len()..];
    let end = rest
        .find(|c: char| !c.is_ascii_hexdigit())
        .unwrap_or(rest.len());
    u64::from_str_radix(&rest[..end], 16).ok()
}

fn range_after(line: &str, key: &str) -> Option<RangeInclusive<u64>> {
    range(&line[line.find(key)? + key.len()..])
}

fn range(text: &str) -> Option<RangeInclusive<u64>> {
    let start = digits(text)?;
    let rest = &text[start.to_string().len()..];
    let end = rest.strip_prefix('-').and_then(digits).unwrap_or(start);
    Some(start..=end)
}

fn ranges(list: &str) -> Vec<RangeInclusive<u64>> {
    list.split(',')
        .filter_map(|piece| range(piece.trim()))
        .collect()
}
