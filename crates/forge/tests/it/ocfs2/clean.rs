//! fsck.ocfs2 finds nothing, whatever the sizes, features and populations.

use forge::ocfs2::{ChainOrder, FeatureLevel, FsType, Groups, Options, Sign};

use super::common::{assert_clean, forge, options, tools};

/// One profile with every kind, attribute and trace of age that a volume with the default features can hold.
pub(super) const RICH: &str = r#"
    files = 2500
    per_directory = [["0-3", 2], ["40-900", 8]]
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
    target_length = "1-4095"
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

/// What every volume can hold, the oldest features included.
const PLAIN: &str = r#"
    files = 1500
    per_directory = [["0-3", 2], ["40-300", 8]]
    file_size = [["0", 1], ["1-4k", 6], ["3k-100k", 2]]
    [directories]
    fan_out = 4
    [names]
    length = [["1-12", 5], ["13-60", 5], ["200-255", 1]]
    sets = 0
    [kinds]
    symlinks = 0.1
    target_length = "1-600"
    hard_links = 0.1
    [ageing]
    freed = 0.1
    reused = 0.1
    removed_names = 0.3
    fragmented = 0.3
"#;

/// Options of a volume for one node with these sizes.
pub(super) fn sizes(size: &str, block: u32, cluster: u32) -> Options {
    let mut options = options(size);
    options.block_size = Some(block);
    options.cluster_size = Some(cluster);
    options.local = true;
    options
}

#[test]
fn every_block_and_cluster_size() {
    if !tools() {
        return;
    }
    for (size, block, cluster) in [
        ("300M", 512, 4096),
        ("300M", 1024, 4096),
        ("600M", 2048, 16_384),
        ("400M", 4096, 4096),
        ("800M", 4096, 32_768),
        ("4G", 4096, 1 << 20),
        ("6G", 512, 1 << 20),
    ] {
        for (name, profile) in [("rich", RICH), ("plain", PLAIN)] {
            let what = format!("{size} {block} {cluster} {name}");
            let forged = forge(&sizes(size, block, cluster), profile)
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_clean(&forged, &what);
        }
    }
}

#[test]
fn every_set_of_features() {
    if !tools() {
        return;
    }
    let cases: [(&str, FeatureLevel, &[&str], &str); 9] = [
        (
            "all",
            FeatureLevel::MaxFeatures,
            &["nousrquota", "nogrpquota"],
            RICH,
        ),
        ("few", FeatureLevel::MaxCompat, &[], PLAIN),
        ("metaecc", FeatureLevel::Default, &["metaecc"], RICH),
        (
            "no inline",
            FeatureLevel::Default,
            &["noinline-data", "noindexed-dirs"],
            RICH,
        ),
        ("no index", FeatureLevel::Default, &["noindexed-dirs"], RICH),
        (
            "no index, metaecc",
            FeatureLevel::Default,
            &["noindexed-dirs", "metaecc"],
            RICH,
        ),
        (
            "no discontig",
            FeatureLevel::Default,
            &["nodiscontig-bg"],
            RICH,
        ),
        (
            "no sparse",
            FeatureLevel::Default,
            &["nosparse", "nounwritten"],
            PLAIN,
        ),
        (
            "old slot map",
            FeatureLevel::Default,
            &["noextended-slotmap"],
            PLAIN,
        ),
    ];
    for (what, level, features, profile) in cases {
        let mut options = sizes("400M", 4096, 4096);
        options.feature_level = level;
        options.features = features.iter().map(|name| (*name).to_owned()).collect();
        let forged = forge(&options, profile).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_clean(&forged, what);
    }
}

#[test]
fn slots_layouts_and_large_directories() {
    if !tools() {
        return;
    }
    let many = "files = 90000\nper_directory = 45000\nfile_size = \"5k-40k\"\n[names]\nlength = 12";
    let mut all = Vec::new();
    for (groups, order) in [
        (Groups::Kernel, ChainOrder::Head),
        (Groups::Packed, ChainOrder::Tail),
        (Groups::Scattered, ChainOrder::Head),
    ] {
        let mut options = options("6G");
        options.slots = Some(4);
        options.used_slots = 3;
        options.groups = groups;
        options.chain_order = order;
        all.push((options, many));
    }
    let mut mail = options("2G");
    mail.fs_type = Some(FsType::Mail);
    mail.journal_mib = Some(64);
    mail.label = "a label".to_owned();
    all.push((mail, RICH));
    let mut unsigned = options("1G");
    unsigned.name_hash = Sign::Unsigned;
    all.push((unsigned, PLAIN));
    all.push((
        options("900M"),
        "files = 40000\nper_directory = \"5-30\"\nfile_size = \"1-4k\"\n",
    ));
    // Extent blocks in three levels.
    all.push((
        sizes("700M", 512, 4096),
        "files = 3\nfile_size = \"90M\"\n[ageing]\nfragmented = 1\npieces = 8\nfree = 8",
    ));
    for (nth, (options, profile)) in all.into_iter().enumerate() {
        let what = format!("case {nth}");
        let forged = forge(&options, profile).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_clean(&forged, &what);
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    if !tools() {
        return;
    }
    let options = options("300M");
    let one = forge(&options, RICH).unwrap();
    let two = forge(&options, RICH).unwrap();
    let read = |path| std::fs::read(path).unwrap();
    assert!(read(&one.image) == read(&two.image));
    let mut other = options.clone();
    other.seed = 12;
    let three = forge(&other, RICH).unwrap();
    assert!(read(&one.image) != read(&three.image));
}
