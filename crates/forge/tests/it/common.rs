//! Images of a test, e2fsck's word on them, and mounts that are undone.

#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod mounted;
pub(crate) mod unmount;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use forge::Error;
use forge::ext4::Contents;
use forge::ext4::plan::Objects as _;
use forge::ext4::{FsType, Layout, Options, write};
use forge::population::{Population, Profile};

/// A forged filesystem in a folder of its own.
pub(crate) struct Forged {
    pub(crate) contents: Contents,
    pub(crate) options: Options,
    pub(crate) image: PathBuf,
    _dir: tempfile::TempDir,
}

/// Options with features as `mke2fs -O` takes them.
pub(crate) fn options(size: &str, fs_type: FsType, block_size: u32, features: &str) -> Options {
    let mut options = Options::new(forge::amount::bytes(size).unwrap(), fs_type);
    options.block_size = Some(block_size);
    options.features.names = features
        .split(',')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    options.seed = 11;
    options
}

/// A profile, as a file would say it.
pub(crate) fn profile(text: &str) -> Profile {
    Profile::parse("profile", text).unwrap()
}

/// One profile with every kind, attribute and trace of age that any filesystem can hold.
pub(crate) const RICH: &str = r#"
    files = 2500
    per_directory = [["0-3", 2], ["40-900", 8]]
    file_size = [["0", 1], ["1-3k", 6], ["3k-200k", 2], ["500k-1M", 0.1]]
    contents = true
    owners = 3
    seed = 5
    [directories]
    fan_out = 3
    [names]
    length = [["1-12", 5], ["13-60", 5], ["200-255", 1]]
    alphabet = "utf8"
    [kinds]
    symlinks = 0.1
    target_length = "1-900"
    special = 0.05
    hard_links = 0.2
    [ageing]
    freed = 0.15
    reused = 0.2
    removed_names = 0.7
    fragmented = 0.5
    pieces = [["1-3", 5], ["4-20", 3]]
    gaps = 0.2
    free = [["1-2", 3], ["3-9", 1]]
    holes = 0.1
"#;

/// Directories of few names and files of few bytes, at every size around what an inode has room for, and some beyond; names come and go.
pub(crate) const SMALL: &str = r#"
    files = 3000
    per_directory = [["0-2", 3], ["3-12", 8], ["13-80", 1]]
    file_size = [["0", 1], ["1-59", 2], ["60-160", 8], ["161-1k", 2], ["1k-9k", 1]]
    contents = true
    seed = 8
    [directories]
    fan_out = 4
    [names]
    length = [["2-9", 5], ["10-40", 5], ["100-255", 1]]
    sets = 0
    [kinds]
    symlinks = 0.1
    target_length = "1-90"
    hard_links = 0.1
    [ageing]
    freed = 0.1
    reused = 0.2
    removed_names = 0.5
    fragmented = 0.3
    gaps = 0.3
"#;

/// As [`SMALL`], with other attributes beside the content.
pub(crate) const SMALL_AND_NOTED: &str = r#"
    files = 1500
    per_directory = "1-9"
    file_size = "1-160"
    contents = true
    [attributes]
    inode = 0.5
    block = 0.3
"#;

pub(crate) fn forge(options: &Options, profile: Profile) -> Result<Forged, Error> {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let image = dir.path().join("image");
    let population = Population::new(profile)?;
    let layout = Layout::new(options, &image, &forge::Silent)?;
    let contents = Contents::new(population, layout.superblock())?;
    write(layout, &contents, &forge::Silent)?;
    Ok(Forged {
        contents,
        options: options.clone(),
        image,
        _dir: dir,
    })
}

/// The output of a tool; of a long one, the beginning.
fn text(output: &Output) -> String {
    let all =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let lines = all.iter().flat_map(|part| part.lines());
    let short = lines.filter(|line| !line.is_empty()).take(200);
    short
        .map(|line| line.chars().take(160).collect::<String>() + "\n")
        .collect()
}

/// Asserts that e2fsck prints no error, question or advice; returns the number of files it counts.
pub(crate) fn assert_clean(image: &Path) -> u64 {
    let output = Command::new("e2fsck")
        .arg("-fn")
        .arg(image)
        .output()
        .expect("e2fsck starts");
    let report = text(&output);
    assert_eq!(output.status.code(), Some(0), "{report}");
    let odd = report.lines().find(|line| {
        !(line.starts_with("e2fsck 1.") || line.starts_with("Pass ") || line.contains(" files ("))
    });
    assert_eq!(odd, None, "{report}");
    // `IMAGE: N/M files (...), N/M blocks`, of which the name may hold anything.
    let line = report
        .lines()
        .find(|line| line.contains(" files ("))
        .expect(&report);
    let (before, _) = line.split_once(" files (").expect(line);
    let counts = before.rsplit(": ").next().expect(line);
    counts.split('/').next().unwrap().parse().expect(line)
}

/// What debugfs answers.
pub(crate) fn debugfs(image: &Path, request: &str) -> String {
    let output = Command::new("debugfs")
        .args(["-R", request])
        .arg(image)
        .output()
        .expect("debugfs starts");
    text(&output)
}

/// The inodes of a population in use, and directories among them.
pub(crate) fn census(contents: &Contents) -> (u64, u64) {
    let mut all = 0;
    for directory in 0..contents.directories() {
        contents.visit(directory, 0..contents.slots(directory), &mut |_, object| {
            all += u64::from(object.kind != forge::ext4::plan::Kind::Free);
        });
    }
    (all, contents.directories().into())
}

pub(crate) use testkit::is_root;
