//! The list of affected files: what is wrong with each, how much of it, and what is below a directory that no name leads to.

use std::fs::File;

use blockio::Mode;
use check::frame::affected::{AffectedFile, Harm};
use check::report::{self, Judge, Report, Shown};
use check::{Checker, Options, Silent, ext4, xfs};
use fixtures::undo::Undo;
use forge::damage;

use crate::advice::bases::{self, Bases, scratch};
use crate::common::run;

fn report(checker: &dyn Checker, image: &std::path::Path) -> Report {
    let source = blockio::open(image, Mode::Buffered).unwrap().source;
    checker
        .check(&*source, &Options::default(), &Silent)
        .unwrap()
}

fn of_path<'a>(report: &'a Report, path: &str) -> &'a AffectedFile {
    let mut files = report.affected.files.iter();
    let found = files.find(|file| file.path.as_deref() == Some(path));
    found.unwrap_or_else(|| panic!("{path}: {:#?}", report.affected))
}

#[test]
fn what_is_below_a_lost_directory_is_listed_with_its_way_from_there() {
    let folder = scratch();
    let image = folder.path().join("disk.img");
    File::create(&image).unwrap().set_len(16 << 20).unwrap();
    let name = image.to_str().unwrap();
    run("mke2fs", &["-q", "-F", "-t", "ext4", name], "", &[0]);
    let commands = "mkdir a\nmkdir a/b\nmkdir a/b/c\nwrite /etc/passwd a/b/c/file\nwrite /etc/passwd sound\nunlink a\n";
    run("debugfs", &["-w", "-f", "-", name], commands, &[0]);
    let report = report(&ext4::Checker::default(), &image);
    let lost = report.affected.files.iter();
    let lost = lost
        .filter(|file| file.wrong.contains(&Harm::Unreachable))
        .count();
    // The directory itself, and all that is below.
    assert_eq!(lost, 4, "{:#?}", report.affected);
    let directory = of_path(&report, "<12>/b").inode;
    assert_eq!(directory, Some(13));
    assert_eq!(of_path(&report, "<12>/b/c/file").inode, Some(15));
    let brief = report::brief(&report, Judge::Strict);
    let (files, problems) = (
        brief.find("affected files"),
        brief.find("3_UNCONNECTED_DIR"),
    );
    assert!(files < problems && files.is_some(), "{brief}");
    let csv = report::csv(&report);
    assert!(
        csv.contains("AFFECTED_FILE") && csv.contains("<12>/b/c/file"),
        "{csv}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&report::json(&report, Judge::Strict).unwrap()).unwrap();
    assert_eq!(
        json["affected"]["files"].as_array().unwrap().len(),
        report.affected.files.len()
    );
    let text = report::text(
        &report,
        Judge::Strict,
        Shown {
            list: 1,
            costs: false,
        },
    );
    assert!(text.contains("  and 3 others\n"), "{text}");
}

#[test]
fn shared_blocks_are_counted_for_each_file() {
    let case = damage::case("1b-dup-range").unwrap();
    let mut bases = Bases::new(bases::ext4);
    let image = bases.get(case.base).to_owned();
    let mut bytes = std::fs::read(&image).unwrap();
    case.apply(&mut damage::Filesystem::open(&mut bytes).unwrap())
        .unwrap();
    let damaged = image.with_extension("damaged");
    std::fs::write(&damaged, &bytes).unwrap();
    let report = report(&ext4::Checker::default(), &damaged);
    let block = u64::from(report.subject.filesystem.as_ref().unwrap().block_size);
    let sharing: Vec<&AffectedFile> = report
        .affected
        .files
        .iter()
        .filter(|file| file.bytes > 0)
        .collect();
    assert!(sharing.len() >= 2, "{:#?}", report.affected);
    for file in &sharing {
        assert_eq!(file.wrong[0], Harm::Contents, "{file:?}");
        assert!(file.path.is_some() && file.bytes >= 2 * block, "{file:?}");
    }
    let bytes: Vec<u64> = sharing.iter().map(|file| file.bytes).collect();
    assert!(bytes.is_sorted_by(|one, next| one >= next), "{bytes:?}");
}

#[test]
fn an_xfs_directory_without_a_name_is_followed() {
    let mut bases = Bases::new(bases::xfs);
    let mut followed = 0;
    for case in damage::xfs::all().filter(|case| case.code.starts_with("XFS-DIR-")) {
        let image = bases.get(&format!("{:?}", case.base)).to_owned();
        let mut undo = Undo::open(&image).unwrap();
        let mut volume = damage::xfs::Volume::open(&mut undo).unwrap();
        case.apply(&mut volume).unwrap();
        let report = report(&xfs::Checker::default(), &image);
        undo.back().unwrap();
        let lost = report.affected.files.iter();
        followed += lost
            .filter(|file| file.path.as_ref().is_some_and(|path| path.starts_with('<')))
            .count();
    }
    assert!(followed > 0);
}

#[test]
fn the_list_is_as_long_as_what_is_kept_and_the_rest_is_counted() {
    let folder = scratch();
    let image = folder.path().join("disk.img");
    File::create(&image).unwrap().set_len(16 << 20).unwrap();
    let name = image.to_str().unwrap();
    run(
        "mke2fs",
        &["-q", "-F", "-t", "ext4", "-N", "200", name],
        "",
        &[0],
    );
    let names = (0..30).map(|n| format!("write /etc/passwd f{n}\nclri f{n}\n"));
    run(
        "debugfs",
        &["-w", "-f", "-", name],
        &names.collect::<String>(),
        &[0],
    );
    let source = blockio::open(&image, Mode::Buffered).unwrap().source;
    let options = Options {
        keep: 10,
        ..Options::default()
    };
    let report = ext4::Checker::default()
        .check(&*source, &options, &Silent)
        .unwrap();
    let files = report.affected.files.len() as u64;
    let of_names = |tally: &&check::Tally| tally.problem.name == "2_UNUSED_INODE";
    let all = report.findings.tallies.iter().find(of_names).unwrap().count;
    assert_eq!(all, 30);
    assert!((10..30).contains(&files), "{:#?}", report.affected);
    assert!(report.affected.more >= 20, "{:#?}", report.affected);
}
