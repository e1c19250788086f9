//! Verdicts that random damage once found to differ from e2fsck's: each on the smallest image that shows it, beside e2fsck.
use crate::common;

use common::Image;
use ondisk::ext4::GroupDescriptor;
use ondisk::ext4::inode::flag;

/// Bytes of a superblock's fields.
const FIRST_DATA_BLOCK: usize = 1024 + 0x14;
const ENCODING: usize = 1024 + 0x27c;
/// Bytes of an inode's fields.
const MODE: usize = 0;
const LINKS: usize = 26;
const FLAGS: usize = 32;
const BLOCK: usize = 40;
const ACL: usize = 104;
/// The exit code's bit that says that e2fsck ended before it was through.
const ENDED: i32 = 8;
/// Without any checksum, so that what is changed is believed.
const PLAIN: &str = "^metadata_csum,^uninit_bg";

fn made(features: &str, block: &str, extended: &str) -> Image {
    let mut options = vec!["-t", "ext4", "-b", block, "-N", "64", "-O", features];
    if !extended.is_empty() {
        options.extend(["-E", extended]);
    }
    Image::make(&options, "8M", "write @large file\nmkdir dir\n")
}

/// Both exit codes, which are the same; what we find.
fn same(what: &str, image: &Image) -> (i32, Vec<&'static str>) {
    let (code, raised) = image.oracle();
    let report = image.judge();
    let list = report.findings.list.iter();
    let found: Vec<_> = list.map(|finding| finding.problem.name).collect();
    let raised = common::names(&raised);
    assert_eq!(
        i32::from(report.verdict(check::report::Judge::Reference).exit_code),
        code,
        "{what}: {found:?}, e2fsck {raised:?}"
    );
    (code, found)
}

/// The same, where e2fsck's exit code is to be this one.
fn ends_with(expected: i32, what: &str, image: &Image) -> Vec<&'static str> {
    let (code, found) = same(what, image);
    assert_eq!(code, expected, "{what}: {found:?}");
    found
}

/// Where an inode's bytes begin.
fn slot(image: &Image, ino: u32) -> usize {
    let geometry = &image.geometry;
    let size = geometry.block_size as usize;
    let (group, _) = geometry.index_of_inode(ino).unwrap();
    let (block, offset) = geometry.desc_position(group).unwrap();
    let at = block as usize * size + offset as usize;
    let descriptor = GroupDescriptor::read(&image.bytes[at..], geometry.desc_size).unwrap();
    let (block, offset) = geometry.inode_position(ino, &descriptor).unwrap();
    block as usize * size + offset as usize
}

/// Changes a field of an inode, and nothing else: its checksum is wrong then.
fn loosely(image: &mut Image, ino: u32, field: usize, bytes: &[u8]) {
    let at = slot(image, ino) + field;
    image.bytes[at..at + bytes.len()].copy_from_slice(bytes);
}

#[test]
fn an_unknown_encoding_ends_the_reference() {
    let mut image = made(&format!("{PLAIN},casefold"), "1024", "encoding=utf8");
    assert_eq!(same("sound", &image).0, 0);
    image.bytes[ENCODING] = 7;
    let (code, found) = same("s_encoding", &image);
    assert!(code & ENDED != 0, "{code}");
    assert!(found.contains(&"0_OPEN_FAILED"), "{found:?}");
}

#[test]
fn a_wrong_first_data_block_with_and_without_a_journal() {
    for journal in ["has_journal", "^has_journal"] {
        for (block, value) in [("1024", 0), ("1024", 2), ("4096", 1), ("4096", 3)] {
            let mut image = made(&format!("{PLAIN},{journal}"), block, "");
            image.bytes[FIRST_DATA_BLOCK] = value;
            let what = format!("{journal}, {block}: {value}");
            let (code, found) = same(&what, &image);
            assert!(code & ENDED != 0, "{what}: {code}");
            let ends = ["0_FIRST_DATA_BLOCK", "0_JOURNAL_BAD_INODE", "0_SB_CORRUPT"];
            assert!(
                ends.iter().any(|name| found.contains(name)),
                "{what}: {found:?}"
            );
        }
    }
}

/// Blocks of the journal that the superblock's copy of its map names, before a first block far past it.
#[test]
fn a_first_data_block_past_the_journal() {
    let options = ["-t", "ext3", "-b", "1024", "-N", "64"];
    let sound = Image::make(&options, "8M", "");
    for value in [3_u32, 0x200, 0x270, 0x1000] {
        let mut image = sound.clone();
        image.bytes[FIRST_DATA_BLOCK..FIRST_DATA_BLOCK + 4].copy_from_slice(&value.to_le_bytes());
        let (code, found) = same(&format!("{value}"), &image);
        assert!(code & ENDED != 0, "{value}: {code} {found:?}");
    }
}

#[test]
fn unused_inodes_without_the_feature_for_them() {
    let image = made(PLAIN, "1024", "");
    let (block, offset) = image.geometry.desc_position(0).unwrap();
    let at = block as usize * image.geometry.block_size as usize + offset as usize;
    let inodes = image.geometry.inodes_per_group as u16;
    for unused in [1, inodes - 11, inodes, inodes + 1, inodes + 2, u16::MAX] {
        let mut image = image.clone();
        image.bytes[at + 28..at + 30].copy_from_slice(&unused.to_le_bytes());
        let (_, found) = same(&format!("{unused} unused"), &image);
        assert!(found.contains(&"0_GDT_UNINIT"), "{unused}: {found:?}");
    }
}

#[test]
fn inline_content_where_nothing_is_inline() {
    for extents in ["extent", "^extent,^64bit"] {
        let mut image = made(&format!("{PLAIN},{extents}"), "1024", "");
        let at = slot(&image, 12) + FLAGS;
        let flags = u32::from_le_bytes(image.bytes[at..at + 4].try_into().unwrap());
        loosely(
            &mut image,
            12,
            FLAGS,
            &(flags | flag::INLINE_DATA).to_le_bytes(),
        );
        let (code, found) = same(extents, &image);
        assert!(code != 0 && !found.is_empty(), "{extents}: {found:?}");
    }
}

/// A link with a block of attributes is asked for its blocks whatever its flags say.
#[test]
fn a_link_with_a_block_of_attributes_that_claims_to_be_inline() {
    for extents in ["extent", "^extent,^64bit"] {
        let features = format!("{PLAIN},{extents}");
        let options = [
            "-t", "ext4", "-b", "1024", "-I", "128", "-N", "64", "-O", &features,
        ];
        let commands = format!(
            "symlink link {}\nea_set link user.colour blue\n",
            "x".repeat(80)
        );
        let sound = Image::make(&options, "8M", &commands);
        assert_eq!(same("sound", &sound).0, 0, "{extents}");
        let at = slot(&sound, 12);
        assert_ne!(
            sound.bytes[at + ACL..at + ACL + 4],
            [0; 4],
            "{extents}: a block of attributes"
        );
        for with_extents in [0, flag::EXTENTS] {
            let mut image = sound.clone();
            let flags = flag::INLINE_DATA | with_extents;
            loosely(&mut image, 12, FLAGS, &flags.to_le_bytes());
            let what = format!("{extents}: flags {flags:#x}");
            let (code, found) = same(&what, &image);
            let stuck = found.contains(&"1_BLOCK_ITERATE");
            assert_eq!(
                stuck,
                with_extents == 0 || extents != "extent",
                "{what}: {code} {found:?}"
            );
        }
    }
}

#[test]
fn an_orphan_file_that_was_never_written() {
    let mut image = made("metadata_csum,orphan_file", "1024", "");
    let ino = image.sb.s_orphan_file_inum.get();
    let size = usize::from(image.geometry.inode_size);
    loosely(&mut image, ino, 0, &vec![0; size]);
    let (code, found) = same("zero", &image);
    assert_eq!(code, 4, "{found:?}");
}

#[test]
fn an_inline_directory_in_an_inode_with_another_purpose() {
    for ino in [5, 9, 10] {
        let mut image = made("inline_data", "1024", "");
        loosely(&mut image, ino, MODE, &0o040_755_u16.to_le_bytes());
        loosely(&mut image, ino, LINKS, &2_u16.to_le_bytes());
        loosely(&mut image, ino, FLAGS, &flag::INLINE_DATA.to_le_bytes());
        image.inode(ino, |_| ());
        let (code, found) = same(&format!("inode {ino}"), &image);
        assert!(code & ENDED != 0, "inode {ino}: {code}");
        assert!(found.contains(&"2_NO_DIRINFO"), "inode {ino}: {found:?}");
    }
}

#[test]
fn an_inode_of_a_wrong_checksum_is_read_for_the_resize_inode() {
    let sound = made("metadata_csum,resize_inode", "1024", "");
    // The map of the last of inodes 3 to 6 decides.
    for ino in 3..=6 {
        let mut image = sound.clone();
        loosely(&mut image, ino, FLAGS, &flag::INLINE_DATA.to_le_bytes());
        let (code, found) = same(&format!("inode {ino}"), &image);
        assert!(code & ENDED != 0, "inode {ino}: {code}");
        assert!(found.contains(&"1_BLOCK_ITERATE"), "inode {ino}: {found:?}");
        if ino < 6 {
            loosely(&mut image, 6, FLAGS, &flag::NOATIME.to_le_bytes());
            let (code, _) = same(&format!("inodes {ino} and 6"), &image);
            assert_eq!(code, 4, "inodes {ino} and 6");
        }
    }
}

/// Inode 5 with the resize inode's name in e2fsck's cache: a wrong checksum, these flags, this map.
fn misread(sound: &Image, flags: u32, words: &[(usize, u32)]) -> Image {
    let mut image = sound.clone();
    loosely(&mut image, 5, FLAGS, &flags.to_le_bytes());
    for (nth, word) in words {
        loosely(&mut image, 5, BLOCK + 4 * nth, &word.to_le_bytes());
    }
    image
}

/// The first words of an extent node: magic and entries, room and depth.
fn head(magic: u32, entries: u32, max: u32, depth: u32) -> [(usize, u32); 3] {
    [(0, magic | entries << 16), (1, max | depth << 16), (2, 0)]
}

#[test]
fn an_extent_tree_that_is_read_for_the_resize_inode() {
    const MAGIC: u32 = 0xf30a;
    let mut sound = made("metadata_csum,resize_inode", "1024", "");
    // A free block, for a node: empty, or with one extent of one block.
    let last = sound.geometry.blocks_count as u32 - 1;
    let node = |image: &mut Image, words: &[(usize, u32)]| {
        for (nth, word) in words {
            image.block(last.into())[4 * nth..][..4].copy_from_slice(&word.to_le_bytes());
        }
    };
    let extent = [(3, 0), (4, 1), (5, 100)];
    let index = |block| [(3, 0), (4, block), (5, 0)];
    let tree = |sound: &Image, head: [(usize, u32); 3], entry: [(usize, u32); 3]| {
        misread(sound, flag::EXTENTS, &[head, entry].concat())
    };
    for (what, head) in [
        ("no magic", head(0, 0, 4, 0)),
        ("too many entries", head(MAGIC, 9, 4, 0)),
        ("no entries", head(MAGIC, 0, 4, 0)),
        ("no entries of indexes", head(MAGIC, 0, 4, 1)),
        ("a legal leaf", head(MAGIC, 1, 4, 0)),
    ] {
        ends_with(4, what, &tree(&sound, head, extent));
    }
    let above = head(MAGIC, 1, 4, 1);
    for (what, block) in [("zeros", last), ("outside", last + 1), ("nothing", 0)] {
        let found = ends_with(12, what, &tree(&sound, above, index(block)));
        assert!(found.contains(&"1_BLOCK_ITERATE"), "{what}: {found:?}");
    }
    node(&mut sound, &[head(MAGIC, 1, 84, 0), extent].concat());
    ends_with(4, "a sound node", &tree(&sound, above, index(last)));
    // Deep by the root, whatever the node says of itself.
    node(&mut sound, &index(last - 1));
    let deep = tree(&sound, head(MAGIC, 1, 4, 2), index(last));
    ends_with(12, "zeros below", &deep);
    node(&mut sound, &index(last));
    for (depth, code) in [(1, 4), (2, 12), (3, 12)] {
        let round = tree(&sound, head(MAGIC, 1, 4, depth), index(last));
        ends_with(code, "its own child", &round);
    }
    node(&mut sound, &head(MAGIC, 0, 84, 0));
    ends_with(12, "an empty node", &tree(&sound, above, index(last)));
}

#[test]
fn an_extent_node_below_itself() {
    let sound = made("^metadata_csum", "1024", "");
    let last = sound.geometry.blocks_count as u32 - 1;
    let index = [(3, 0), (4, last), (5, 0)];
    for depth in [2, 3, 5] {
        let mut image = sound.clone();
        let root = [head(0xf30a, 1, 4, depth), index].concat();
        let node = [head(0xf30a, 1, 84, depth - 1), index].concat();
        for (nth, word) in root {
            loosely(&mut image, 12, BLOCK + 4 * nth, &word.to_le_bytes());
        }
        for (nth, word) in node {
            image.block(last.into())[4 * nth..][..4].copy_from_slice(&word.to_le_bytes());
        }
        let found = ends_with(12, &format!("depth {depth}"), &image);
        let ends = ["1_EXTENT_ITERATE_FAILURE", "1_BLOCK_ITERATE"];
        assert!(ends.iter().all(|name| found.contains(name)), "{found:?}");
    }
}

#[test]
fn without_lost_and_found_the_resize_inode_is_itself() {
    let sound = made("metadata_csum,resize_inode", "1024", "");
    let wrong = misread(&sound, flag::INLINE_DATA, &[]);
    ends_with(12, "with lost+found", &wrong);
    let mut gone = sound.clone();
    let root = gone.field(2, |inode| inode.block_words());
    let block = u64::from(root[5]);
    let bytes = gone.block(block);
    let at = bytes.windows(10).position(|name| name == b"lost+found");
    bytes[at.unwrap()] = b'L';
    let seed = gone.seed().unwrap();
    let of_root = gone.field(2, |inode| inode.seed(seed, 2));
    let bytes = gone.block(block);
    let end = bytes.len();
    let sum = of_root.over(&bytes[..end - 12]).to_le_bytes();
    bytes[end - 4..].copy_from_slice(&sum);
    ends_with(0, "another name", &gone);
    ends_with(4, "without", &misread(&gone, flag::INLINE_DATA, &[]));
}

#[test]
fn blocks_in_use_in_a_map_that_is_read_for_the_resize_inode() {
    let mut sound = made("metadata_csum,resize_inode", "1024", "");
    let free = sound.geometry.blocks_count as u32 - 1;
    let reserved = 10;
    for (what, words, code) in [
        ("double indirect", [(13, reserved)], 12),
        ("indirect", [(12, reserved)], 4),
        ("a block", [(0, reserved)], 4),
        ("double indirect and free", [(13, free)], 4),
        ("triple indirect and free", [(14, free)], 4),
    ] {
        let found = ends_with(code, what, &misread(&sound, 0, &words));
        let ends = found.contains(&"1B_ISCAN_ERROR");
        assert_eq!(ends, code == 12, "{what}: {found:?}");
    }
    ends_with(
        4,
        "extents",
        &misread(&sound, flag::EXTENTS, &[(13, reserved)]),
    );
    sound.block(free.into())[4..8].copy_from_slice(&reserved.to_le_bytes());
    ends_with(12, "below", &misread(&sound, 0, &[(14, free)]));
}

#[test]
fn a_journal_where_the_superblock_counts_no_inodes() {
    for count in [0, 5, 7, 8, 11, 12, 1000] {
        let mut image = made("metadata_csum", "1024", "");
        image.sb.s_inodes_count.set(count);
        image.sb.seal();
        let sb = zerocopy::IntoBytes::as_bytes(&image.sb).to_vec();
        image.bytes[1024..2048].copy_from_slice(&sb);
        let found = ends_with(12, &format!("{count} inodes"), &image);
        let bad = found.contains(&"0_JOURNAL_BAD_INODE");
        assert_eq!(bad, count < 8, "{count}: {found:?}");
    }
}

/// Directories that all name nearly the whole filesystem, several times: who comes too late is the same for one thread and for many.
#[test]
fn what_has_no_end_is_cut_off_the_same_by_any_number_of_threads() {
    let made_by = [
        "-t",
        "ext4",
        "-b",
        "1024",
        "-N",
        "256",
        "-O",
        "^metadata_csum,^dir_index",
    ];
    let commands: Vec<String> = (0..60).map(|nth| format!("mkdir d{nth}\n")).collect();
    let commands = commands.concat();
    let mut image = Image::make(&made_by, "8M", &commands);
    let mut root = head(0xf30a, 4, 4, 0).to_vec();
    for nth in 0..4 {
        let at = 3 + 3 * nth;
        root.extend([(at, nth as u32 * 8000), (at + 1, 8000), (at + 2, 100)]);
    }
    for (ino, (nth, word)) in (20..60).flat_map(|ino| root.iter().map(move |word| (ino, word))) {
        loosely(&mut image, ino, BLOCK + 4 * nth, &word.to_le_bytes());
    }
    let judge = |threads: usize| {
        let mut options = check::Options {
            threads,
            ..check::Options::default()
        };
        options.sweep.request = 4096;
        let ram = blockio::Ram::new(&image.bytes);
        let report = check::ext4::check(
            &ram,
            &options,
            &check::ext4::Options::default(),
            &check::Silent,
        )
        .unwrap();
        let strict = report.verdicts.strict.exit_code;
        let list = report.findings.list.iter();
        let lines = list.map(|finding| {
            let (name, place) = (finding.problem.name, &finding.place);
            format!("{name} {place:?} {:?}\n", finding.note)
        });
        (lines.collect::<String>(), strict)
    };
    let (alone, strict) = judge(1);
    assert_eq!(strict, 4);
    assert!(alone.contains("is not read for names"), "{alone}");
    for threads in [2, 8, 8, 8] {
        let (many, _) = judge(threads);
        let first = alone
            .lines()
            .zip(many.lines())
            .find(|(one, two)| one != two);
        assert!(alone == many, "{threads} threads: {first:?}");
    }
}

/// With `inline_data`, e2fsck passes over the blocks of a directory whose inode has a wrong checksum. It only ends where the names
/// that it has seen elsewhere are not as many as the links, because it then reads the inode again.
#[test]
fn a_directory_of_a_wrong_checksum_is_passed_over_where_content_may_be_inline() {
    let commands = "mkdir dir\ncd dir\nwrite @small a\nwrite @large b\nmkdir sub\n";
    let sound = inline(commands);
    let (dir, a, b, sub) = (12, 13, 14, 15);
    let with = |changes: &[(u32, u16)]| {
        let mut image = sound.clone();
        for (ino, links) in changes {
            loosely(&mut image, *ino, LINKS, &links.to_le_bytes());
        }
        image
    };
    // `.` is not seen, nor are the names within.
    let mut image = sound.clone();
    let flags = image.field(dir, |inode| inode.flags()) ^ flag::NOATIME;
    loosely(&mut image, dir, FLAGS, &flags.to_le_bytes());
    let found = ends_with(12, "as many links as names", &image);
    assert!(found.contains(&"4_INCONSISTENT_COUNT"), "{found:?}");
    ends_with(4, "as many links as are seen", &with(&[(dir, 2)]));
    ends_with(12, "one link", &with(&[(dir, 1)]));
    // An inode that is named there alone has no name.
    for (what, ino) in [("inline", a), ("in blocks", b), ("a directory", sub)] {
        let found = ends_with(12, what, &with(&[(dir, 2), (ino, 3)]));
        assert!(found.contains(&"4_INCONSISTENT_COUNT"), "{what}: {found:?}");
    }
    let mut broken = with(&[(dir, 2)]);
    loosely(&mut broken, dir, BLOCK + 8, &[3, 0]);
    let found = ends_with(4, "and it is broken", &broken);
    assert!(found.contains(&"2_DIR_CORRUPTED"), "{found:?}");
}

fn inline(commands: &str) -> Image {
    let features = "inline_data,^has_journal";
    let options = ["-t", "ext4", "-b", "1024", "-N", "64", "-O", features];
    Image::make(&options, "8M", commands)
}

/// As the last before, after other directories. After two, e2fsck takes it for the root and stops (12), which is not followed.
#[test]
fn a_file_that_became_a_directory_after_others() {
    for before in [0, 1, 3, 4] {
        let directories = ["mkdir a\n", "mkdir b\n", "mkdir c\n", "mkdir d\n"];
        let commands = directories[..before as usize].concat() + "write @small file\n";
        let mut image = inline(&commands);
        let file = 12 + before;
        loosely(&mut image, file, MODE, &0o040_755_u16.to_le_bytes());
        let found = ends_with(4, &format!("after {before}"), &image);
        assert!(
            !found.contains(&"2_DBLIST_ITERATE"),
            "after {before}: {found:?}"
        );
        loosely(&mut image, file, LINKS, &[2]);
        ends_with(12, &format!("after {before}, of two links"), &image);
    }
}
