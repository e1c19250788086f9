//! xfs_repair finds nothing, whatever the sizes, features and populations.

use forge::xfs::{Placement, Stripe, paper_2012};

use super::common::{assert_clean, featured, forge, options, repair, tools};

/// One profile with every kind, attribute and trace of age.
pub(super) const RICH: &str = r#"
    files = 2500
    per_directory = [["0-3", 2], ["4-40", 4], ["40-900", 8]]
    file_size = [["0", 1], ["1-4k", 6], ["3k-200k", 2], ["500k-1M", 0.1]]
    contents = true
    owners = 3
    seed = 5
    [directories]
    fan_out = 3
    [names]
    length = [["1-12", 5], ["13-60", 5], ["200-255", 1]]
    [kinds]
    symlinks = 0.1
    target_length = "1-1023"
    special = 0.05
    hard_links = 0.2
    [attributes]
    inode = 0.2
    block = 0.2
    [ageing]
    freed = 0.15
    reused = 0.2
    removed_names = 0.7
    fragmented = 0.5
    pieces = [["1-3", 5], ["4-20", 3]]
    gaps = 0.2
    free = [["1-2", 3], ["3-9", 1]]
    holes = 0.1
    unwritten = 0.1
"#;

/// Directories in every form, of names that were removed and made again, and each with its own names.
pub(super) const NAMES: &str = r#"
    files = 30000
    per_directory = [["0-12", 9], ["13-80", 6], ["90-900", 4], ["2000-9000", 1]]
    file_size = 100
    seed = 9
    [directories]
    fan_out = 5
    [names]
    length = [["2-9", 5], ["10-40", 5], ["100-255", 1]]
    alphabet = "bytes"
    sets = 0
    [ageing]
    freed = 0.5
    reused = 0.4
    removed_names = 0.8
"#;

/// Files whose extents need a btree, some of two levels.
pub(super) const PIECES: &str = r#"
    files = 60
    per_directory = 20
    file_size = [["20k-400k", 5], ["1M-4M", 2], ["20M", 1]]
    [attributes]
    inode = 0.3
    block = 0.3
    [ageing]
    fragmented = 1
    pieces = [["1-2", 5], ["3-4", 1]]
    free = 1
"#;

#[test]
fn every_set_of_features() {
    if !tools() {
        return;
    }
    for features in [
        "",
        "rmapbt",
        "rmapbt,nrext64",
        "nocrc",
        "nocrc,noftype",
        "nofinobt,noinobtcount",
        "noreflink,nobigtime",
        "nosparse",
    ] {
        let mut options = featured("400M", features);
        if features.starts_with("nocrc") {
            options.inode_size = Some(256);
        }
        for (name, profile) in [("rich", RICH), ("names", NAMES), ("pieces", PIECES)] {
            let what = format!("{features} {name}");
            let forged = forge(&options, profile).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(
                forged.written.maker.starts_with("mkfs.xfs "),
                "{}",
                forged.written.maker
            );
            assert_clean(&forged.image, &what);
        }
    }
}

#[test]
fn every_size_of_blocks_inodes_sectors_and_directory_blocks() {
    if !tools() {
        return;
    }
    for (block, inode, directory, sector, features) in [
        (512, 256, 4096, 512, "nocrc"),
        (1024, 512, 4096, 512, ""),
        (1024, 256, 8192, 512, "nocrc"),
        (2048, 1024, 16_384, 512, "rmapbt"),
        (4096, 2048, 4096, 4096, "rmapbt"),
        (4096, 512, 65_536, 512, ""),
        (16_384, 512, 16_384, 4096, "rmapbt"),
        (65_536, 512, 65_536, 512, "rmapbt"),
        (65_536, 256, 65_536, 512, "nocrc"),
    ] {
        let mut options = featured("500M", features);
        options.block_size = Some(block);
        options.inode_size = Some(inode);
        options.directory_block_size = Some(directory);
        options.sector_size = Some(sector);
        for (name, profile) in [("rich", RICH), ("names", NAMES)] {
            let what = format!("{block} {inode} {directory} {sector} {features} {name}");
            let profile = if block > 16_384 {
                profile.replace("pieces = [[\"1-3\", 5], [\"4-20\", 3]]", "pieces = 1")
            } else {
                profile.to_owned()
            };
            let options = if block > 4096 {
                let mut larger = options.clone();
                larger.size = 3 << 30;
                larger
            } else {
                options.clone()
            };
            let forged =
                forge(&options, &profile).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_clean(&forged.image, &what);
        }
    }
}

#[test]
fn every_placement_stripe_and_number_of_groups() {
    if !tools() {
        return;
    }
    for placement in [Placement::Inode64, Placement::Inode32, Placement::Packed] {
        for (size, groups, features) in [("600M", 8, "rmapbt"), ("1G", 4, "nocrc")] {
            let mut options = featured(size, features);
            options.groups = Some(groups);
            options.placement = placement;
            let what = format!("{placement:?} {size} {groups} {features}");
            let forged = forge(&options, RICH).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_clean(&forged.image, &what);
        }
    }
    let mut options = featured("2G", "rmapbt");
    options.stripe = Some(Stripe {
        unit: 65_536,
        width: 4,
    });
    options.log_size = Some(80 << 20);
    options.label = "striped".to_owned();
    let forged = forge(&options, RICH).unwrap();
    assert_clean(&forged.image, "stripe");
}

#[test]
fn files_that_do_not_fit_one_group_are_in_several() {
    if !tools() {
        return;
    }
    for (features, profile) in [
        // One directory with more data than a group has.
        (
            "rmapbt",
            "files = 300\nper_directory = 300\nfile_size = \"2M\"",
        ),
        // One file larger than a group.
        ("rmapbt", "files = 1\nfile_size = \"700M\""),
        (
            "nocrc",
            "files = 40\nper_directory = 40\nfile_size = \"10M\"\n[ageing]\nfragmented = 1",
        ),
    ] {
        let forged = forge(&featured("1G", features), profile).unwrap();
        assert_clean(&forged.image, profile);
    }
}

#[test]
fn an_empty_population_changes_only_times() {
    if !tools() {
        return;
    }
    for features in ["", "nocrc", "rmapbt"] {
        let forged = forge(&featured("300M", features), "files = 0").unwrap();
        assert_clean(&forged.image, features);
        assert_eq!(forged.written.inodes, 0);
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    if !tools() {
        return;
    }
    for features in ["rmapbt", "nocrc"] {
        let image = |seed| {
            let mut options = featured("300M", features);
            options.seed = seed;
            let forged = forge(
                &options,
                &RICH.replace("seed = 5", &format!("seed = {seed}")),
            );
            std::fs::read(forged.unwrap().image).unwrap()
        };
        let first = image(5);
        assert!(first == image(5), "{features}");
        assert!(first != image(6), "{features}");
    }
}

#[test]
fn the_population_of_2012_scaled_down() {
    if !tools() {
        return;
    }
    let mut options = options("40G");
    let mut profile = paper_2012(&mut options).unwrap();
    profile.files = 50_000;
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let image = dir.path().join("image");
    let xfs = forge::xfs::Xfs::new(options, profile).unwrap();
    let written = forge::Image::write(xfs, &image, &forge::Silent).unwrap();
    assert_eq!(written.inodes, 50_000 + 17);
    assert_clean(&image, "paper");
    // A fault must be seen, or the tests above show nothing.
    let file = std::fs::File::options().write(true).open(&image).unwrap();
    std::os::unix::fs::FileExt::write_at(&file, b"XX", 512).unwrap();
    assert_eq!(repair(&image).0, Some(1));
}

/// A group with more inodes than one stretch has is written by several threads; what they find free and in use is joined.
#[test]
fn groups_in_several_stretches() {
    if !tools() {
        return;
    }
    let many = r#"
        files = 70000
        per_directory = [["3-30", 9], ["30-90", 3]]
        file_size = [["0", 1], ["1-9k", 1]]
        [directories]
        fan_out = 90
        [ageing]
        freed = 0.05
        gaps = 0.2
    "#;
    for features in ["nocrc,noftype", "rmapbt"] {
        let mut options = featured("2G", features);
        options.placement = Placement::Packed;
        let forged = forge(&options, many).unwrap();
        let directories = forged.written.directories - 1;
        assert_eq!(forged.written.inodes, 70_000 + directories);
        assert_clean(&forged.image, features);
    }
}
