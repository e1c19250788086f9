//! Forged filesystems, and what xfs_repair prints of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use forge::population::{Population, Profile};
use forge::xfs::{Options, Xfs};
use forge::{Image as _, Written};

/// A forged filesystem in a folder of its own.
pub(crate) struct Forged {
    pub(crate) population: Population,
    pub(crate) written: Written,
    pub(crate) image: PathBuf,
    _dir: tempfile::TempDir,
}

/// Whether the programs of xfsprogs are installed; otherwise the skip is reported.
pub(crate) fn tools() -> bool {
    let found = Command::new("mkfs.xfs").arg("-V").output().is_ok();
    if !found {
        testkit::skip!("needs xfsprogs");
    }
    found
}

/// Options for a size.
pub(crate) fn options(size: &str) -> Options {
    let mut options = Options::new(forge::amount::bytes(size).unwrap());
    options.seed = 11;
    options
}

/// Options with features as `--features` takes them.
pub(crate) fn featured(size: &str, features: &str) -> Options {
    let mut options = options(size);
    options.features = features
        .split(',')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    options
}

pub(crate) fn forge(options: &Options, text: &str) -> Result<Forged, forge::Error> {
    let profile = Profile::parse("profile", text).unwrap();
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let image = dir.path().join("image");
    let written = Xfs::new(options.clone(), profile.clone())?.write(&image, &forge::Silent)?;
    Ok(Forged {
        population: Population::new(profile)?,
        written,
        image,
        _dir: dir,
    })
}

/// Exit code of `xfs_repair -n`, and what it prints.
pub(crate) fn repair(image: &Path) -> (Option<i32>, String) {
    let output = Command::new("xfs_repair")
        .args(["-n", "-f"])
        .arg(image)
        .output()
        .expect("xfs_repair starts");
    let text = [&output.stdout, &output.stderr].map(|part| String::from_utf8_lossy(part));
    (output.status.code(), text.concat())
}

/// Lines that `xfs_repair -n` prints of a sound filesystem.
pub(crate) fn is_progress(line: &str) -> bool {
    let line = line.trim_start();
    [
        "Phase ",
        "- ",
        "No modify flag set",
        "would be ",
        "zero_log:",
        // Of the filesystem that holds the image.
        "Cannot get host filesystem geometry",
        "Repair may fail if there is a sector size mismatch",
        "the image and the host filesystem",
    ]
    .iter()
    .any(|start| line.starts_with(start))
        || line.is_empty()
}

/// Asserts that xfs_repair finds nothing, and that each block has an owner as xfs_db counts them.
pub(crate) fn assert_clean(image: &Path, what: &str) {
    let (code, text) = repair(image);
    let odd: Vec<&str> = text
        .lines()
        .filter(|line| !is_progress(line))
        .take(20)
        .collect();
    assert!(odd.is_empty(), "{what}: {odd:#?}");
    assert_eq!(code, Some(0), "{what}: {text}");
    let output = Command::new("xfs_db")
        .args(["-r", "-f", "-c", "blockget"])
        .arg(image)
        .output()
        .expect("xfs_db starts");
    let text = [&output.stdout, &output.stderr].map(|part| String::from_utf8_lossy(part));
    let text = text.concat();
    let odd: Vec<&str> = text.lines().take(20).collect();
    assert!(odd.is_empty(), "{what}: {odd:#?}");
    assert_eq!(output.status.code(), Some(0), "{what}");
}

/// What xfs_db prints for these commands.
pub(crate) fn xfs_db(image: &Path, commands: &[&str]) -> String {
    let mut command = Command::new("xfs_db");
    command.args(["-r", "-f"]);
    for one in commands {
        command.args(["-c", one]);
    }
    let output = command.arg(image).output().expect("xfs_db starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
