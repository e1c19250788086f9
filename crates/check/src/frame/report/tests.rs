//! One report in every format.

use blockio::Histogram;

use super::*;
use crate::ext4;
use crate::ext4::e2fsck::PASSES;
use crate::ext4::e2fsck::problems::{
    P0_GDT_CSUM, P1_BAD_I_BLOCKS, P2_DIR_CORRUPTED, P4_BAD_REF_COUNT, P5_BLOCK_RANGE_USED,
    P5_FREE_BLOCK_COUNT,
};
use crate::frame::affected::{Affected, Unreachable};
use crate::frame::finding::Finding;
use crate::frame::log::{Findings, Log};

fn cost(pass: &'static str, wall_s: f64, mib: u64, requests: u64) -> Cost {
    let stage = PASSES.iter().find(|stage| stage.name == pass);
    Cost {
        pass,
        title: stage.map_or("all passes", |stage| stage.title),
        wall_s,
        user_s: wall_s * 1.5,
        system_s: wall_s / 4.0,
        io_wait_s: wall_s / 2.0,
        bytes: mib << 20,
        device_bytes: Some((mib << 20) / 4),
        cache_bytes: Some((mib << 20) / 4 * 3),
        requests,
        mean_request: (mib << 20) as f64 / requests.max(1) as f64,
        seeks: requests / 3,
        seek_bytes: requests / 3 * 65_536,
        errors: 0,
        objects: requests * 1000,
        objects_are: stage.map_or("passes", |stage| stage.objects),
        peak_memory: 40 << 20,
        ideal_s: None,
        sizes: Histogram::default(),
        ahead: Histogram::default(),
        back: Histogram::default(),
    }
}

fn filesystem() -> Filesystem {
    Filesystem {
        format: "ext4",
        label: "home".into(),
        uuid: "00000000-1111-2222-3333-444444444444".into(),
        features: "has_journal ext_attr resize_inode dir_index filetype extent 64bit flex_bg \
                   sparse_super large_file huge_file dir_nlink extra_isize metadata_csum"
            .split(' ')
            .map(str::to_owned)
            .collect(),
        block_size: 4096,
        blocks: 16 << 20,
        facts: Facts(vec![("inode_size", 256.into()), ("groups", 512.into())]),
        inodes: 4 << 20,
        free_blocks: 15_000_000,
        free_inodes: 4_000_000,
    }
}

#[test]
fn nothing_of_an_image_steers_the_terminal() {
    let foreign = "\u{1b}[2J\u{9b}31m\"";
    let mut report = sample();
    report.subject.name = foreign.into();
    if let Some(fs) = &mut report.subject.filesystem {
        fs.label = foreign.into();
    }
    let text = text(&report, Judge::Reference, Shown::default());
    assert!(text.contains("\\u{1b}[2J\\u{9b}31m"), "{text}");
    assert!(
        !text.chars().any(|c| c.is_control() && c != '\n'),
        "{text:?}"
    );
}

fn findings() -> Findings {
    let mut log = Log::new(4);
    log.add(
        Finding::new(&P0_GDT_CSUM)
            .group(3)
            .found("0x1234")
            .expected("0xabcd"),
    );
    for inode in 12..40_u32 {
        let mut finding = Finding::new(&P1_BAD_I_BLOCKS)
            .inode(inode)
            .found(8_u32)
            .expected(16_u32);
        finding.path = (inode == 12).then(|| "/home/a file".into());
        log.add(finding);
    }
    log.add(
        Finding::new(&P2_DIR_CORRUPTED)
            .directory(2_u64)
            .logical(0)
            .block(9000)
            .offset(24)
            .note("rec_len is below 12")
            .stops_reference(),
    );
    log.add(
        Finding::new(&P4_BAD_REF_COUNT)
            .inode(77_u64)
            .found(3_u32)
            .expected(2_u32),
    );
    log.add(
        Finding::new(&P5_BLOCK_RANGE_USED)
            .group(0)
            .found("5000-5999"),
    );
    log.add(
        Finding::new(&P5_FREE_BLOCK_COUNT)
            .found(15_000_000_u32)
            .expected(14_999_000_u32),
    );
    log.finish()
}

fn sample() -> Report {
    let findings = findings();
    let parts = vec![
        ("inodes", 2 << 20),
        ("blocks", 4 << 20),
        ("directories", 1 << 20),
        ("descriptors", 64 << 10),
        ("buffers", 9 << 20),
        ("rest", 24 << 20),
    ];
    let estimate = Estimate {
        parts,
        ..Estimate::default()
    };
    let mut report = Report {
        subject: Subject {
            name: "disk.img".into(),
            bytes: 64 << 30,
            filesystem: Some(filesystem()),
        },
        reference: Some(ext4::Reference::default().program()),
        verdicts: ext4::e2fsck::verdicts(&findings, ext4::Reference::default()),
        reference_run: None,
        unstable: true,
        mounted: true,
        affected: Affected::of(
            &findings,
            ext4::e2fsck::HARMS,
            4096,
            &Unreachable::default(),
        ),
        findings,
        next: vec![
            Step::new("copy it, and work on the copy: a repair cannot be undone")
                .run("cp --sparse=always disk.img copy.img"),
        ],
        unjudged: Unjudged { names: 12 },
        inventory: Some(Inventory {
            blocks: 1_777_216,
            files: FileCounts {
                inodes: 194_304,
                regular: 180_000,
                directories: 14_000,
                symlinks: 300,
                sockets: 4,
                fragmented_files: 1000,
                ..FileCounts::default()
            },
            facts: Facts(vec![
                ("fast_symlinks", 0.into()),
                ("indirect", [0; 3].as_slice().into()),
                ("extent_depth", [0; 6].as_slice().into()),
                ("large_files", 0.into()),
                ("bad_blocks", 0.into()),
            ]),
        }),
        passes: vec![
            cost("0", 0.01, 1, 4),
            cost("1", 1.5, 1000, 1100),
            cost("2", 0.5, 300, 320),
            cost("3", 0.02, 0, 0),
            cost("4", 0.03, 0, 0),
            cost("5", 0.2, 64, 70),
            cost("after", 0.0, 0, 0),
            cost("paths", 0.1, 30, 40),
        ],
        total: cost("all", 2.36, 1395, 1534),
        memory: Memory {
            stated_total: Some(estimate.total()),
            stated: Some(estimate),
            peak: 40 << 20,
        },
        sequential_rate: None,
    };
    report.set_sequential_rate(2e9);
    report
}

#[test]
fn for_people() {
    let shown = Shown {
        list: 3,
        costs: true,
    };
    let text = text(&sample(), Judge::Reference, shown);
    // Values from the image may be longer than 78 columns.
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    insta::assert_snapshot!(text);
}

#[test]
fn in_brief() {
    insta::assert_snapshot!(brief(&sample(), Judge::Reference));
}

#[test]
fn commands_name_the_target_and_begin_where_the_filesystem_does() {
    let commands = |target: &Target, change: &dyn Fn(&mut Report)| {
        let mut report = sample();
        change(&mut report);
        let steps = advice::unmounted(&report, target)
            .into_iter()
            .chain(advice::copy(&report, target))
            .chain(advice::after_repair(&report, target, &["e2fsck -fy"]));
        steps.flat_map(|step| step.commands).collect::<Vec<_>>()
    };
    let file = Target {
        path: "a b.img".into(),
        ..Target::default()
    };
    assert_eq!(
        commands(&file, &|_| ()),
        [
            "umount 'a b.img'",
            "fslab check 'a b.img'",
            "cp --sparse=always 'a b.img' copy.img",
            "fslab check copy.img",
            "e2fsck -fy 'a b.img'",
        ]
    );
    let within = Target {
        path: "/dev/sda".into(),
        is_device: true,
        offset: 1 << 20,
    };
    let commands_within = commands(&within, &|report| report.mounted = false);
    assert_eq!(
        commands_within,
        [
            "dd if=/dev/sda of=copy.img bs=1M iflag=skip_bytes,count_bytes skip=1048576 \
             count=68719476736 conv=sparse",
            "fslab check copy.img",
            "LOOP=$(losetup --find --show --offset 1048576 /dev/sda)",
            "e2fsck -fy $LOOP",
            "losetup --detach $LOOP",
        ]
    );
    let failing = commands(&within, &|report| report.total.errors = 3);
    assert!(
        failing.contains(
            &"ddrescue --sparse --input-position=1048576 --size=68719476736 /dev/sda copy.img copy.img.map".into()
        ),
        "{failing:?}"
    );
    let short = commands(&file, &|report| report.subject.bytes = 1 << 20);
    assert!(
        short.contains(&"truncate --size=68719476736 copy.img".into()),
        "{short:?}"
    );
}

#[test]
fn as_e2fsck_prints_it() {
    insta::assert_snapshot!(e2fsck(&sample(), Judge::Reference, 2));
}

#[test]
fn as_fsck_ocfs2_prints_it() {
    insta::assert_snapshot!(ocfs2(&sample(), Judge::Strict, 1));
}

#[test]
fn as_one_document() {
    insta::assert_snapshot!(json(&sample(), Judge::Reference).unwrap());
}

#[test]
fn clean_is_short() {
    let mut report = sample();
    report.findings = Findings::default();
    report.affected = Affected::default();
    report.next.clear();
    report.verdicts = ext4::e2fsck::verdicts(&report.findings, ext4::Reference::default());
    report.unstable = false;
    report.passes.truncate(1);
    report.sequential_rate = None;
    insta::assert_snapshot!(text(
        &report,
        Judge::Strict,
        Shown {
            list: 10,
            costs: false
        }
    ));
    insta::assert_snapshot!(brief(&report, Judge::Strict), @"disk.img: ext4: clean, exit code 0");
}
