//! Debian's e2fsck finds nothing wrong with anything that is forged.

use crate::common;

use common::{
    RICH, SMALL, SMALL_AND_NOTED, assert_clean, census, debugfs, forge, options, profile,
};
use forge::ext4::FsType::{self, Ext2, Ext3, Ext4};
use forge::ext4::plan::{Kind, ObjectId, Objects as _};
use forge::population::Listed;

/// Forges, lets e2fsck look, and compares its count of inodes.
fn check(size: &str, fs_type: FsType, block_size: u32, features: &str, text: &str) {
    let options = options(size, fs_type, block_size, features);
    let what = format!("{fs_type:?}, {block_size}, {features:?}");
    let forged = forge(&options, profile(text)).unwrap_or_else(|error| panic!("{what}: {error}"));
    println!("{what}");
    let counted = assert_clean(&forged.image);
    let (inodes, _) = census(&forged.contents);
    // Inodes 1 to 11 are in use but the root, which the census counts.
    let orphan_file = u64::from(
        fs_type == Ext4 && !features.contains("^orphan_file") && features.contains("orphan_file"),
    );
    assert_eq!(counted, inodes + 10 + orphan_file, "{what}");
}

#[test]
fn plain_files_of_every_type_and_block_size() {
    for block_size in [1024, 2048, 4096] {
        for fs_type in [Ext2, Ext3, Ext4] {
            check(
                "600M",
                fs_type,
                block_size,
                "",
                "files = 7001\nper_directory = 1000",
            );
        }
    }
    for block_size in [8192, 16384, 32768, 65536] {
        check(
            "2G",
            Ext4,
            block_size,
            "",
            "files = 7001\nper_directory = 1000",
        );
    }
}

#[test]
fn everything_at_once_of_every_type_and_block_size() {
    for block_size in [1024, 2048, 4096] {
        for fs_type in [Ext2, Ext3, Ext4] {
            check("600M", fs_type, block_size, "", RICH);
        }
    }
    for block_size in [8192, 65536] {
        check("2G", Ext4, block_size, "", RICH);
    }
}

#[test]
fn features_of_ext4() {
    for features in [
        "^metadata_csum",
        "^metadata_csum,uninit_bg",
        "^64bit",
        "^extent,^64bit",
        "^flex_bg,^resize_inode,meta_bg",
        "metadata_csum_seed",
        "^dir_index",
        "large_dir",
        "sparse_super2",
        "^has_journal",
        "^resize_inode",
        "bigalloc",
        "^flex_bg",
        "^filetype",
        "orphan_file",
    ] {
        check("500M", Ext4, 4096, features, RICH);
        check("300M", Ext4, 1024, features, RICH);
    }
}

#[test]
fn files_and_directories_in_their_inodes() {
    for (block_size, inode_size) in [(1024, 256), (1024, 1024), (4096, 512), (65536, 256)] {
        for (features, text) in [
            ("inline_data", RICH),
            ("inline_data,^metadata_csum,^dir_index", SMALL),
            ("inline_data,bigalloc,large_dir", SMALL),
            ("inline_data", SMALL_AND_NOTED),
        ] {
            let size = if block_size > 4096 { "4G" } else { "400M" };
            let mut options = options(size, Ext4, block_size, features);
            options.inodes = Some(9000);
            options.inode_size = Some(inode_size);
            let what = format!("{block_size}, {inode_size}, {features:?}");
            let forged =
                forge(&options, profile(text)).unwrap_or_else(|error| panic!("{what}: {error}"));
            println!("{what}");
            assert_eq!(
                assert_clean(&forged.image),
                census(&forged.contents).0 + 10,
                "{what}"
            );
        }
    }
    let values = format!("{SMALL_AND_NOTED}\nvalue = 0.4\nvalue_size = 9000");
    check("300M", Ext4, 4096, "inline_data,ea_inode", &values);
    let folded = SMALL.replace("sets = 0", "casefold = true");
    check("300M", Ext4, 4096, "inline_data,casefold", &folded);
    let secret = "files = 900\nper_directory = \"1-9\"\nfile_size = 50\n[names]\nlength = 16\nencrypted = true";
    check("300M", Ext4, 4096, "inline_data,encrypt", secret);
    check(
        "300M",
        Ext4,
        4096,
        "inline_data",
        "files = 2000\nper_directory = 3\nfile_size = 100",
    );
}

/// debugfs, not only the checker, must see where things are.
#[test]
fn what_fits_is_in_the_inode_and_nothing_else() {
    let forged = forge(&options("300M", Ext4, 4096, "inline_data"), profile(SMALL)).unwrap();
    let contents = &forged.contents;
    // An inode of 256 bytes has 60 in `i_block` and 68 for the attribute.
    let (mut inside, mut outside) = ([0, 0], [0, 0]);
    for directory in 1..contents.directories() {
        contents.visit(
            directory,
            0..contents.slots(directory),
            &mut |slot, object| {
                let is_inside = object.flags & ondisk::ext4::inode::flag::INLINE_DATA != 0;
                let nth = match object.kind {
                    Kind::File => 0,
                    Kind::Directory => 1,
                    _ => return assert!(!is_inside, "{directory} {slot}"),
                };
                if is_inside {
                    inside[nth] += 1;
                    assert!(
                        (1..=128).contains(&object.size),
                        "{directory} {slot}: {}",
                        object.size
                    );
                    assert!(nth == 0 || [60, 128].contains(&object.size));
                } else {
                    outside[nth] += 1;
                    assert!(
                        object.size == 0 || object.size > 128,
                        "{directory} {slot}: {}",
                        object.size
                    );
                }
            },
        );
    }
    assert!(
        inside.iter().chain(&outside).all(|count| *count > 50),
        "{inside:?} {outside:?}"
    );
    let mut seen = 0;
    for named in contents.population().list(0) {
        let name = String::from_utf8_lossy(&named.name).into_owned();
        let stat = debugfs(&forged.image, &format!("stat \"/{name}\""));
        let Listed::Directory(directory) = named.what else {
            continue;
        };
        let size = contents.object(ObjectId { directory, slot: 0 }).size;
        assert_eq!(stat.contains("Size of inline data"), size < 4096, "{stat}");
        seen += 1;
    }
    assert!(seen > 2, "{seen}");
}

const ATTRIBUTES: &str = r#"
    files = 2000
    per_directory = 300
    file_size = "0-9k"
    [kinds]
    symlinks = 0.1
    special = 0.1
    hard_links = 0.1
    [attributes]
    inode = 0.4
    block = 0.3
"#;

#[test]
fn attributes_in_inodes_blocks_and_values() {
    check(
        "300M",
        Ext2,
        1024,
        "",
        &ATTRIBUTES.replace("inode = 0.4", ""),
    );
    for features in ["", "^metadata_csum", "^extent,^64bit"] {
        check("300M", Ext4, 4096, features, ATTRIBUTES);
    }
    for (size, sharing) in [(1, 1), (5000, 3), (65_536, 40)] {
        let more = format!("value = 0.2\nvalue_size = {size}\nvalue_sharing = {sharing}");
        for features in [
            "ea_inode",
            "ea_inode,^metadata_csum",
            "ea_inode,metadata_csum_seed",
        ] {
            check(
                "600M",
                Ext4,
                4096,
                features,
                &format!("{ATTRIBUTES}\n{more}"),
            );
        }
    }
}

#[test]
fn unwritten_pieces_and_extent_trees_of_two_levels() {
    let text = r#"
        files = 60
        per_directory = 7
        file_size = "2M-6M"
        contents = true
        [ageing]
        fragmented = 1
        pieces = 1
        free = 1
        unwritten = 0.5
        holes = 0.2
    "#;
    check("1200M", Ext4, 1024, "", text);
    check("1200M", Ext4, 4096, "", text);
}

#[test]
fn deep_indexes() {
    let text = "files = 40000\nper_directory = 40000\nfile_size = 0\n[names]\nlength = \"200-255\"";
    // 40000 names of some 230 bytes are more than two levels of 1 KiB blocks hold.
    check("1G", Ext4, 1024, "large_dir", text);
    check("1G", Ext4, 4096, "", text);
    let error = forge(&options("1G", Ext4, 1024, ""), profile(text))
        .err()
        .unwrap();
    assert!(error.to_string().contains("large_dir"), "{error}");
    // What can never fit is refused at once, before hundreds of millions of names are tried.
    let text = "files = \"200M\"\nper_directory = \"100M\"\nfile_size = 0";
    let mut huge = options("12T", Ext4, 4096, "");
    huge.inodes = Some(300_000_000);
    let error = forge(&huge, profile(text)).err().unwrap();
    assert!(
        error.to_string().contains("100000000 names are too many"),
        "{error}"
    );
}

#[test]
fn a_tree_by_weights_and_names_of_any_bytes() {
    let text = r#"
        files = 3000
        per_directory = "1-9"
        file_size = 10
        [directories]
        depth = [1, 2, 3, 4, 3, 2, 1, 0, 1]
        [names]
        alphabet = "bytes"
        sets = 0
    "#;
    check("300M", Ext4, 4096, "", text);
    check("300M", Ext3, 1024, "", text);
}

#[test]
fn an_empty_filesystem() {
    for fs_type in [Ext2, Ext3, Ext4] {
        check("64M", fs_type, 1024, "", "");
        check("512M", fs_type, 4096, "", "");
    }
}

#[test]
fn every_hash_with_characters_above_127() {
    use forge::ext4::HashVersion::{
        HalfMd4, HalfMd4Unsigned, Legacy, LegacyUnsigned, Tea, TeaUnsigned,
    };
    for hash in [
        Legacy,
        LegacyUnsigned,
        HalfMd4,
        HalfMd4Unsigned,
        Tea,
        TeaUnsigned,
    ] {
        let mut options = options("300M", Ext4, 1024, "");
        options.hash = hash;
        let forged = forge(&options, profile(RICH)).unwrap();
        println!("{hash:?}");
        assert_clean(&forged.image);
    }
}

/// A profile drawn from a seed: each key at one of a few values.
fn any_profile(seed: u64) -> String {
    let mut state = seed;
    let mut pick = |of: &[&'static str]| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        of[(state >> 33) as usize % of.len()]
    };
    let mut share = |name: &str| format!("{name} = {}\n", pick(&["0", "0.1", "0.5", "1"]));
    let [
        freed,
        reused,
        gaps,
        holes,
        fragmented,
        block,
        links,
        symlinks,
    ] = [
        "freed",
        "reused",
        "gaps",
        "holes",
        "fragmented",
        "block",
        "hard_links",
        "symlinks",
    ]
    .map(&mut share);
    let mut any = |name: &str, of: &[&'static str]| format!("{name} = {}\n", pick(of));
    let sizes = ["0", "1", "[[\"0-9k\", 3], [\"100k-300k\", 1]]", "\"1M\""];
    let per = ["1", "\"1-9\"", "300", "[[\"0-2\", 1], [\"100-700\", 1]]"];
    [
        any("files", &["1", "7", "600"]),
        any("per_directory", &per),
        any("file_size", &sizes),
        any("contents", &["true", "false"]),
        any("owners", &["0", "70000"]),
        "[directories]\n".to_owned(),
        any("fan_out", &["1", "3", "1000"]),
        "[names]\n".to_owned(),
        any("length", &["1", "\"1-255\"", "255"]),
        any("alphabet", &["\"plain\"", "\"utf8\"", "\"bytes\""]),
        format!("[kinds]\n{links}{symlinks}"),
        any("target_length", &["1", "\"50-70\"", "\"1-1000\""]),
        format!("[attributes]\n{block}[ageing]\n{freed}{reused}{gaps}{holes}{fragmented}"),
        any("removed_names", &["0", "0.5", "4"]),
        any("pieces", &["1", "\"1-4\"", "100"]),
        any("free", &["1", "\"1-20\""]),
    ]
    .concat()
}

#[test]
fn any_mixture_is_clean() {
    for seed in 0..12 {
        let block_size = [1024, 4096, 2048, 65_536][seed as usize % 4];
        let fs_type = if block_size == 65_536 {
            Ext4
        } else {
            [Ext4, Ext2, Ext3][seed as usize % 3]
        };
        check("1500M", fs_type, block_size, "", &any_profile(seed));
    }
}

/// The same with names, values and owners that need features, and some of all features.
fn any_features(seed: u64) -> (String, Vec<&'static str>) {
    let mut state = seed ^ 0x5eed;
    let mut one_in = |of: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33).is_multiple_of(of)
    };
    let all = testkit::mke2fs::FEATURES.iter().copied();
    let mut features: Vec<&str> = all.filter(|_| one_in(6)).collect();
    let mut text = any_profile(seed);
    let encrypted = one_in(3);
    if encrypted {
        features.push("encrypt");
        text = text
            .replace("[names]\nlength = 1\n", "[names]\nlength = 16\n")
            .replace("length = \"1-255\"", "length = \"16-255\"")
            .replace("[names]", "[names]\nencrypted = true");
    }
    if one_in(3) {
        features.push("casefold");
        text = text.replace("[names]", "[names]\ncasefold = true");
        if !encrypted {
            text = text
                .replace("\"utf8\"", "\"plain\"")
                .replace("\"bytes\"", "\"plain\"");
        }
    }
    if one_in(3) {
        features.push("ea_inode");
        let values = "[attributes]\nvalue = 0.4\nvalue_size = 9000\nvalue_sharing = 3";
        text = text.replace("[attributes]", values);
    }
    if one_in(3) {
        features.extend(["quota", "project"]);
        let lines = text.lines().filter(|line| !line.starts_with("hard_links"));
        text = format!("projects = 3\n{}", lines.collect::<Vec<_>>().join("\n"));
    }
    (text, features)
}

#[test]
fn any_features_with_any_profile_are_clean_or_refused() {
    let mut made = 0;
    for seed in 0..50 {
        let (text, features) = any_features(seed);
        let block_size = [1024, 4096, 2048, 8192][seed as usize % 4];
        let mut options = options("1200M", Ext4, block_size, &features.join(","));
        options.inode_size = [None, Some(512)][seed as usize / 4 % 2];
        println!("{seed}: {block_size} {features:?}");
        match forge(&options, profile(&text)) {
            Ok(forged) => {
                assert_clean(&forged.image);
                made += 1;
            }
            // Contradictions, and what needs a larger inode or another feature.
            Err(forge::Error::Option(why)) => println!("  {why}"),
            Err(error) => panic!("{seed}: {error}"),
        }
    }
    assert!(made >= 15, "{made} were made");
}

/// Quota files hold what e2fsck counts; owners are drawn.
#[test]
fn quotas_say_what_each_owner_has() {
    for (fs_type, block_size, features) in [
        (Ext4, 1024, "quota"),
        (Ext4, 4096, "quota,project,orphan_file"),
        (Ext4, 4096, "quota,bigalloc"),
        (Ext4, 1024, "quota,bigalloc"),
        (Ext3, 2048, "quota"),
    ] {
        let text = format!("{RICH}\n[attributes]\nblock = 0.3\nblock_sharing = 4")
            .replace("owners = 3", "owners = 100");
        let options = options("600M", fs_type, block_size, features);
        let forged = forge(&options, profile(&text)).unwrap();
        assert_clean(&forged.image);
        let output = common::debugfs(&forged.image, "list_quota user");
        let owners = output.lines().filter(|line| {
            let mut words = line.split_whitespace().map(str::parse::<u64>);
            words.all(|word| word.is_ok()) && !line.trim().is_empty()
        });
        assert_eq!(owners.count(), 101, "{output}");
    }
    // A value is charged to each of its owners, and its own inode is not charged.
    for (block_size, features, size, sharing) in [
        (1024, "quota,ea_inode", 9000, 3),
        (4096, "quota,project,ea_inode", 100, 1),
        (4096, "quota,ea_inode,bigalloc,inline_data", 65_536, 40),
        (4096, "quota,project,ea_inode,^metadata_csum", 4096, 2),
    ] {
        let text = format!(
            "{RICH}\n[attributes]\nblock = 0.2\nblock_sharing = 4\ninode = 0.2\nvalue = 0.3\nvalue_size = {size}\nvalue_sharing = {sharing}"
        );
        let options = options("600M", Ext4, block_size, features);
        println!("{features}");
        assert_clean(&forge(&options, profile(&text)).unwrap().image);
    }
    // A project is inherited, and its quota file has the usage.
    for (inode_size, features) in [(256, "quota,project"), (512, "quota,project,ea_inode")] {
        let mut text = RICH.replace("owners = 3", "owners = 3\nprojects = 5");
        text = text.replace("hard_links = 0.2", "");
        if features.contains("ea_inode") {
            text += "\n[attributes]\nvalue = 0.3\nvalue_sharing = 4";
        }
        let mut options = options("600M", Ext4, 4096, features);
        options.inode_size = Some(inode_size);
        let forged = forge(&options, profile(&text)).unwrap();
        assert_clean(&forged.image);
        let output = debugfs(&forged.image, "list_quota project");
        let projects: Vec<u64> = output
            .lines()
            .filter_map(|line| line.split_whitespace().next()?.parse().ok())
            .collect();
        // Of three directories in the root, each draws one of five.
        assert!(projects.len() >= 2 && projects[0] == 0, "{output}");
        assert!(projects.iter().all(|project| *project <= 5), "{output}");
    }
    // Of files that are all alike, every one is counted.
    let options = options("400M", Ext4, 4096, "quota");
    let forged = forge(&options, profile("files = 5000\nfile_size = 9000")).unwrap();
    assert_clean(&forged.image);
    let output = common::debugfs(&forged.image, "list_quota user");
    // Owner, then bytes and inodes, each with both limits.
    let root = output.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words.first() == Some(&"0"))
            .then(|| words.get(4).and_then(|word| word.parse::<u64>().ok()))
    });
    assert_eq!(root, Some(Some(5000 + 2 + 2)), "{output}");
}

#[test]
fn blocks_of_attributes_have_several_owners() {
    for (block_size, features, sharing) in [
        (1024, "", 3),
        (4096, "", 1024),
        (4096, "bigalloc", 7),
        (4096, "^flex_bg", 100),
        (2048, "^metadata_csum,^extent,^64bit", 2),
    ] {
        let text =
            format!("{RICH}\n[attributes]\nblock = 0.6\nblock_sharing = {sharing}\ninode = 0.2");
        check("600M", Ext4, block_size, features, &text);
    }
}

#[test]
fn names_that_ignore_case_or_are_encrypted() {
    for names in [
        "casefold = true",
        "alphabet = \"bytes\"\nencrypted = true",
        "alphabet = \"bytes\"\nencrypted = true\ncasefold = true",
    ] {
        for (block_size, files) in [(1024, 3000), (4096, 9000)] {
            let text = format!(
                "files = {files}\nper_directory = \"0-2k\"\n[names]\nlength = \"16-90\"\nsets = 0\n{names}\n[ageing]\nfreed = 0.1\nreused = 0.2\nremoved_names = 0.5"
            );
            check("400M", Ext4, block_size, "casefold,encrypt", &text);
        }
    }
}

/// Everything that can be encrypted, and unencrypted objects in encrypted directories.
const SECRET: &str = r#"
    files = 4000
    per_directory = [["0-20", 2], ["300-900", 3]]
    file_size = "0-9k"
    [names]
    length = "16-80"
    alphabet = "bytes"
    encrypted = true
    [kinds]
    symlinks = 0.4
    target_length = [["1-60", 5], ["61-1020", 5]]
    special = 0.1
    hard_links = 0.1
    [attributes]
    block = 0.2
    [ageing]
    removed_names = 0.5
"#;

#[test]
fn encrypted_links_and_what_is_beside_them() {
    for (block_size, features) in [
        (1024, "encrypt"),
        (4096, "encrypt"),
        (4096, "encrypt,^metadata_csum,^extent,^64bit"),
        (4096, "encrypt,inline_data,bigalloc"),
        (2048, "encrypt,^dir_index"),
    ] {
        check("400M", Ext4, block_size, features, SECRET);
        let folded = SECRET.replace("[names]", "[names]\ncasefold = true");
        let both = format!("{features},casefold");
        check("400M", Ext4, block_size, &both, &folded);
    }
    // Other attributes beside the context need more room than an inode of 256 bytes has.
    let text = SECRET.replace(
        "[attributes]",
        "[attributes]\ninode = 0.5\nvalue = 0.2\nvalue_sharing = 3",
    );
    let mut options = options("400M", Ext4, 1024, "encrypt,ea_inode,quota");
    let error = forge(&options, profile(&text)).err().unwrap().to_string();
    assert!(error.contains("inodes of 512 bytes"), "{error}");
    options.inode_size = Some(512);
    let forged = forge(&options, profile(&text)).unwrap();
    assert_clean(&forged.image);
    // A target whose ciphertext and length fill a block but for the NUL fits, and a longer one does not.
    let longest = |bytes: u32| {
        let target = format!("target_length = {bytes}");
        SECRET.replace("target_length = [[\"1-60\", 5], [\"61-1020\", 5]]", &target)
    };
    check("400M", Ext4, 1024, "encrypt", &longest(1021));
    options.inode_size = None;
    let error = forge(&options, profile(&longest(1022)));
    let error = error.err().unwrap().to_string();
    assert!(error.contains("kinds.target_length"), "{error}");
}

/// e2fsck believes the hash after a name, so the hash must be right: one that is another is found.
#[test]
fn the_hash_after_an_encrypted_and_folded_name_is_what_counts() {
    use std::os::unix::fs::FileExt as _;

    let text = "files = 2000\nper_directory = 2000\n[names]\nencrypted = true\ncasefold = true";
    let options = options("100M", Ext4, 1024, "encrypt,casefold,^metadata_csum");
    let forged = forge(&options, profile(text)).unwrap();
    assert_clean(&forged.image);
    let home = forged.contents.population().list(0).into_iter();
    let home = home.map(|named| String::from_utf8(named.name).unwrap());
    let mut home = home.filter(|name| name != "lost+found");
    let home = home.next().unwrap();
    let dump = debugfs(&forged.image, &format!("htree_dump /{home}"));
    assert!(dump.contains("Hash Version: 6"), "{dump}");
    let block = debugfs(&forged.image, &format!("bmap /{home} 1"));
    let at = block.trim().lines().next().unwrap().parse::<u64>().unwrap() * 1024;
    let image = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&forged.image)
        .unwrap();
    let mut leaf = [0; 1024];
    image.read_exact_at(&mut leaf, at).unwrap();
    let first = ondisk::ext4::directory::entries(&leaf, 1024)
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(first.name.len(), 16);
    let hash = first.stored_hash().unwrap();
    assert!(hash.major > 0 && hash.major.is_multiple_of(2), "{hash:?}");
    let after = at + first.offset as u64 + 24;
    image
        .write_all_at(&0xffff_fff0_u32.to_le_bytes(), after)
        .unwrap();
    let output = std::process::Command::new("e2fsck")
        .arg("-fn")
        .arg(&forged.image)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4));
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.contains("bad max hash"), "{output}");
}

#[test]
fn guards_and_room_for_fast_commits() {
    for features in ["mmp", "fast_commit", "mmp,fast_commit,^flex_bg"] {
        check("500M", Ext4, 4096, features, RICH);
        check("300M", Ext4, 1024, features, RICH);
    }
}

/// More names than are grown in one piece.
#[test]
fn a_directory_of_more_than_a_million_names() {
    let text = "files = 1100000\nper_directory = 1100000\nfile_size = 0\n[names]\nlength = 8";
    let mut options = options("2G", Ext4, 4096, "");
    options.inodes = Some(1_200_000);
    let forged = forge(&options, profile(text)).unwrap();
    assert_eq!(assert_clean(&forged.image), 1_100_000 + 12);
}
