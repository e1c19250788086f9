//! The same exit and the same codes as fsck.ocfs2 -fn.

use std::collections::BTreeMap;
use std::path::Path;

use blockio::Ram;
use check::frame::verdict::Exit;
use check::report::{Judge, Report};
use check::{Checker as _, Options, Silent, ocfs2};
use testkit::fsck_ocfs2::{self, Ended};

use super::damage::{self, Patch};
use super::population::populated;
use super::volume::{Image, Made};
use crate::common::alone;

const BASES: [Made; 4] = [
    Made {
        block: 4096,
        cluster: 4096,
        options: &[],
    },
    Made {
        block: 1024,
        cluster: 4096,
        options: &["--fs-features=metaecc"],
    },
    Made {
        block: 512,
        cluster: 4096,
        options: &["--fs-feature-level=max-compat"],
    },
    Made {
        block: 2048,
        cluster: 16384,
        options: &["--fs-features=noindexed-dirs"],
    },
];

fn report(image: &Image) -> Report {
    let source = Ram::new(&image.bytes);
    ocfs2::Checker
        .check(&source, &Options::default(), &Silent)
        .unwrap()
}

/// How they differ; none where they do not. The image is written to `folder`.
fn difference(image: &Image, folder: &Path) -> Option<String> {
    let path = folder.join("image");
    std::fs::write(&path, &image.bytes).unwrap();
    let reference = fsck_ocfs2::run(&path).expect("mkfs.ocfs2 is there and fsck.ocfs2 is not");
    let report = report(image);
    let own = report.reference_run.unwrap();
    let ended = match own.exit {
        Exit::Complete => Ended::Code(0),
        Exit::Code(code) => Ended::Code(code.into()),
        Exit::Endless => Ended::Endless,
    };
    let codes: BTreeMap<String, u64> = own
        .codes
        .iter()
        .map(|(name, count)| ((*name).to_owned(), *count))
        .collect();
    let same = ended == reference.ended && codes == reference.codes;
    (!same).then(|| {
        format!(
            "ours {ended:?} {codes:?} at {:?}; fsck.ocfs2 {:?} {:?}",
            own.ends_at, reference.ended, reference.codes
        )
    })
}

/// Judges damaged volumes by both. `FSLAB_OCFS2_KEEP` names a folder in which those that differ are kept.
fn judge(image: &Image, patches: Vec<Patch>) {
    let folder = tempfile::tempdir().unwrap();
    let keep = std::env::var_os("FSLAB_OCFS2_KEEP");
    let total = patches.len();
    let (mut differ, mut by_chance) = (Vec::new(), 0);
    for patch in patches {
        let damaged = patch.applied(image);
        if patch.leaves_memory(&damaged) {
            by_chance += 1;
            report(&damaged);
            continue;
        }
        if let Some(how) = difference(&damaged, folder.path()) {
            if let Some(keep) = &keep {
                let path = Path::new(keep).join(patch.name.replace(['/', ' ', ':'], "_"));
                std::fs::write(path, &damaged.bytes).unwrap();
            }
            differ.push(format!("{}: {how}", patch.name));
        }
    }
    assert!(
        by_chance * 4 <= total,
        "{by_chance} of {total} are not compared"
    );
    assert!(
        differ.is_empty(),
        "{} of {total} differ:\n{}",
        differ.len(),
        differ.join("\n")
    );
}

/// What mkfs.ocfs2 makes by other options is sound to the strict verdict, too.
#[test]
fn volumes_of_other_options_are_sound_to_both() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let options: [&[&str]; 4] = [
        &["--fs-features=noinline-data"],
        &["-N", "1"],
        &["-N", "4"],
        &["-N", "8"],
    ];
    for (block, cluster) in [(1024, 4096), (4096, 4096)] {
        for options in options {
            let made = Made {
                block,
                cluster,
                options,
            };
            let Some(image) = Image::made(made) else {
                return;
            };
            if let Some(how) = difference(&image, folder.path()) {
                panic!("{made:?}: {how}");
            }
            let report = report(&image);
            let faults: Vec<_> = report.faults().collect();
            assert!(
                report.verdict(Judge::Strict).is_clean(),
                "{made:?}: {faults:#?}"
            );
        }
    }
}

#[test]
fn sound_volumes_are_sound_to_both() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    for made in BASES {
        let Some(image) = populated(made) else { return };
        if let Some(how) = difference(&image, folder.path()) {
            panic!("{made:?}: {how}");
        }
        let report = report(&image);
        let faults: Vec<_> = report.faults().collect();
        assert!(
            report.verdict(Judge::Strict).is_clean(),
            "{made:?}: {faults:#?}"
        );
    }
}

/// Dozens of fields in each base. `FSLAB_OCFS2_CASES` asks for another number.
#[test]
fn damaged_fields_have_the_codes_of_the_reference() {
    let _alone = alone();
    let count = std::env::var("FSLAB_OCFS2_CASES").map_or(24, |count| count.parse().unwrap());
    for (number, made) in BASES.into_iter().enumerate() {
        let Some(image) = populated(made) else { return };
        judge(
            &image,
            damage::sample(damage::fields(&image), count, number * 7),
        );
    }
}

#[test]
fn random_bytes_have_the_codes_of_the_reference() {
    let _alone = alone();
    let count = std::env::var("FSLAB_OCFS2_CASES").map_or(12, |count| count.parse().unwrap());
    for (number, made) in BASES.into_iter().enumerate() {
        let Some(image) = populated(made) else { return };
        judge(&image, damage::random(&image, 42 + number as u64, count));
    }
}

/// In pass 2 fsck.ocfs2 reads what is neither a regular file nor a directory once more, and leaves the rest of the block where it cannot.
#[test]
fn a_link_with_a_wrong_checksum_hides_the_names_after_it() {
    let _alone = alone();
    let Some(mut image) = populated(BASES[1]) else {
        return;
    };
    let link = image.files["fast"];
    image.block_mut(link)[0x30..0x34].fill(0x5a);
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(difference(&image, folder.path()), None);
    let codes = report(&image).reference_run.unwrap().codes;
    assert!(codes.contains_key("INODE_NOT_CONNECTED"), "{codes:?}");
}
