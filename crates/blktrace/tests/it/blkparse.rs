//! Our text against blkparse's, byte for byte, on forged traces.

use crate::common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{present, run_in};

use blktrace::{Trace, merged, text, verify};
use fixtures::block_trace::Forge;

fn theirs(folder: &Path, more: &[&str]) -> Vec<u8> {
    run_in(folder, "blkparse", &[&["-i", "sda"], more].concat())
}

fn ours(folder: &Path, options: &text::Options) -> Vec<u8> {
    print(
        folder,
        &mut Trace::open(&folder.join("sda")).unwrap(),
        options,
    )
}

fn print(folder: &Path, trace: &mut Trace, options: &text::Options) -> Vec<u8> {
    let mut out = Vec::new();
    text::write(trace, options, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    // blkparse runs in the folder.
    text.replace(&format!("{}/", folder.display()), "").into()
}

fn compare(folder: &Path, options: &text::Options, more: &[&str], what: &str) {
    same(&ours(folder, options), &theirs(folder, more), what);
}

fn same(ours: &[u8], theirs: &[u8], what: &str) {
    if ours == theirs {
        return;
    }
    let (ours, theirs) = (
        String::from_utf8_lossy(ours),
        String::from_utf8_lossy(theirs),
    );
    for (number, (a, b)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(a, b, "{what}: line {number}");
    }
    panic!(
        "{what}: {} lines and {} lines",
        ours.lines().count(),
        theirs.lines().count()
    );
}

#[test]
fn plain_and_hostile_traces_read_the_same_needs_blkparse() {
    if !present("blkparse") {
        return;
    }
    for seed in 0..24 {
        for forge in [Forge::plain(seed, 900), Forge::hostile(seed, 1500)] {
            let folder = tempfile::tempdir().unwrap();
            forge.write(folder.path(), "sda").unwrap();
            let what = format!("seed {seed}, hostile {}", forge.hostile);
            compare(folder.path(), &text::Options::default(), &[], &what);
            let processes = text::Options {
                processes: true,
                ..text::Options::default()
            };
            compare(folder.path(), &processes, &["-s"], &what);
            let quiet = text::Options {
                quiet: true,
                ..text::Options::default()
            };
            compare(folder.path(), &quiet, &["-q"], &what);
        }
    }
}

#[test]
fn devices_that_were_traced_together_read_the_same_needs_blkparse() {
    if !present("blkparse") {
        return;
    }
    for seed in 0..8 {
        let folder = tempfile::tempdir().unwrap();
        let sdb = Forge {
            devices: vec![(8 << 20) | 16],
            ..Forge::hostile(seed + 100, 400)
        };
        Forge::hostile(seed, 500)
            .write(folder.path(), "sda")
            .unwrap();
        sdb.write(folder.path(), "sdb").unwrap();
        let bases = ["sda", "sdb"].map(|name| folder.path().join(name));
        let mut trace = Trace::open_all(&bases).unwrap();
        let ours = print(folder.path(), &mut trace, &text::Options::default());
        let theirs = theirs(folder.path(), &["-i", "sdb"]);
        same(&ours, &theirs, &format!("seed {seed}"));
    }
}

#[test]
fn waits_of_each_io_are_the_same_needs_blkparse() {
    if !present("blkparse") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    test_vector(folder.path());
    let options = text::Options {
        track: true,
        processes: true,
        ..text::Options::default()
    };
    compare(folder.path(), &options, &["-t", "-s"], "test vector");
    compare(folder.path(), &text::Options::default(), &[], "test vector");
}

/// Six pairs of writes that merge, three reads; each step seen.
fn test_vector(folder: &Path) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for cpu in 0..2 {
        let name = format!("sda.blktrace.{cpu}");
        fs::copy(data.join(&name), folder.join(&name)).unwrap();
    }
}

#[test]
fn merged_files_are_the_same_needs_blkparse() {
    if !present("blkparse") {
        return;
    }
    for seed in 100..124 {
        let folder = tempfile::tempdir().unwrap();
        Forge::hostile(seed, 800)
            .write(folder.path(), "sda")
            .unwrap();
        theirs(folder.path(), &["-d", "theirs.bin"]);
        let mut ours = Vec::new();
        let mut trace = Trace::open(&folder.path().join("sda")).unwrap();
        merged::write(&mut trace, &mut ours).unwrap();
        let theirs = fs::read(folder.path().join("theirs.bin")).unwrap();
        assert!(ours == theirs, "seed {seed}");
    }
}

/// The report of blkrawverify, without what only ours says; seeds whose traces have no equal times.
#[test]
fn checks_find_the_same_needs_blkrawverify() {
    if !present("blkrawverify") {
        return;
    }
    for seed in 0..12 {
        let folder = tempfile::tempdir().unwrap();
        let forge = Forge {
            cpus: 2,
            devices: vec![8 << 20, 8 << 20 | 16],
            ..Forge::plain(seed, 40)
        };
        forge.write(folder.path(), "sda").unwrap();
        let status = Command::new("blkrawverify")
            .arg("sda")
            .current_dir(folder.path())
            .output()
            .unwrap();
        let report = verify::verify(&folder.path().join("sda")).unwrap();
        assert!(report.files.iter().all(|file| file.equal_times == 0));
        let theirs = fs::read_to_string(folder.path().join("sda.verify.out")).unwrap();
        let printed = String::from_utf8(status.stdout).unwrap();
        assert_eq!(
            report.progress() + "Wrote output to sda.verify.out\n",
            printed
        );
        assert!(report.invalid() > 0, "a second device is a fault");
        if report.files.iter().all(|file| file.invalid() < 100) {
            let ours = comparable(&report.to_string());
            assert!(ours == comparable(&theirs), "seed {seed}");
        }
    }
}

/// A report without what only ours says, and without the words of actions: blkrawverify calls META
/// DISCARD, and DISCARD FUA (its table leaves out two categories, but is asked by bit).
fn comparable(report: &str) -> String {
    let own = |line: &&str| {
        !line.contains(" not shown") && !line.contains("missing") && !line.contains("action:")
    };
    report
        .lines()
        .filter(own)
        .flat_map(|line| [line, "\n"])
        .collect()
}
