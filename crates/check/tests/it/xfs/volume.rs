//! Forged filesystems, and what the checker says of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use blockio::Mode;
use check::report::Report;
use check::{Checker as _, Options, Silent, xfs};
use forge::Image as _;
use forge::population::Profile;
use forge::xfs::Xfs;

/// A forged filesystem in a folder of its own.
pub(crate) struct Forged {
    pub(crate) image: PathBuf,
    _folder: tempfile::TempDir,
}

/// Where images are made; the fuzz target has no folder of its own.
fn temporary() -> PathBuf {
    option_env!("CARGO_TARGET_TMPDIR").map_or_else(std::env::temp_dir, PathBuf::from)
}

/// Whether mkfs.xfs is installed; otherwise the skip is reported.
pub(crate) fn tools() -> bool {
    let found = Command::new("mkfs.xfs").arg("-V").output().is_ok();
    if !found {
        testkit::skip!("needs xfsprogs");
    }
    found
}

/// A filesystem of this size with features as `--features` takes them.
pub(crate) fn forged(size: &str, features: &str, profile: &str) -> Forged {
    let mut options = forge::xfs::Options::new(forge::amount::bytes(size).unwrap());
    options.seed = 11;
    options.features = features
        .split(',')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    if features.contains("nocrc") {
        options.inode_size = Some(256);
    }
    let folder = tempfile::tempdir_in(temporary()).unwrap();
    let image = folder.path().join("image");
    let profile = Profile::parse("profile", profile).unwrap();
    Xfs::new(options, profile)
        .and_then(|made| made.write(&image, &forge::Silent))
        .unwrap();
    Forged {
        image,
        _folder: folder,
    }
}

/// What mkfs.xfs makes with these options.
pub(crate) fn made(size: &str, words: &[&str]) -> Forged {
    let folder = tempfile::tempdir_in(temporary()).unwrap();
    let image = folder.path().join("image");
    let file = std::fs::File::create(&image).unwrap();
    file.set_len(forge::amount::bytes(size).unwrap()).unwrap();
    let output = Command::new("mkfs.xfs")
        .args(["-q", "-f"])
        .args(words)
        .arg(&image)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "mkfs.xfs {words:?}: {text}");
    Forged {
        image,
        _folder: folder,
    }
}

/// The report on an image.
pub(crate) fn report(image: &Path, threads: usize) -> Report {
    let source = blockio::open(image, Mode::Buffered).unwrap().source;
    let mut options = Options::default();
    options.set_threads(threads);
    xfs::Checker::default()
        .check(&*source, &options, &Silent)
        .unwrap()
}

/// The findings, a line each.
pub(crate) fn lines(report: &Report) -> Vec<String> {
    let line = |finding: &check::Finding| {
        format!(
            "{} {:?} found {:?} expected {:?} {}",
            finding.problem.name,
            finding.place,
            finding.found,
            finding.expected,
            finding.note.as_deref().unwrap_or("")
        )
    };
    report.findings.list.iter().map(line).collect()
}
