//! `fslab forge damage`.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;

use anyhow::anyhow;
use forge::damage::{
    self, Case, Filesystem, ImageFile, Medium, Random, Reference, Seal, ocfs2, xfs,
};

use crate::cli::forge::ForgeDamageArgs;
use crate::{exit, loop_image, out};

pub(crate) fn run(args: &ForgeDamageArgs) -> anyhow::Result<u8> {
    if args.list {
        out::print(&list())?;
        return Ok(exit::OK);
    }
    let Some(image) = &args.image else {
        return Ok(usage("no image is named; give one, or --list"));
    };
    if args.case.is_empty() && args.random.is_none() {
        return Ok(usage(
            "nothing is to be damaged: give --case NAME (see --list) or --random N",
        ));
    }
    // All names are looked up before anything is written.
    let mut cases = Vec::new();
    for name in &args.case {
        match named(name) {
            Ok(case) => cases.push(case),
            Err(error) => return Ok(usage(&error.to_string())),
        }
    }
    if let Some(why) = refused(image) {
        out::say(&format!("fslab: {}: {why}", out::path(image)));
        return Ok(exit::REFUSED);
    }
    let file = File::options().read(true).write(true).open(image);
    let file = file.map_err(|error| {
        anyhow!(
            "cannot open {} for writing: {error}; name an image that is there",
            out::path(image)
        )
    })?;
    let about = |error: &dyn std::fmt::Display| anyhow!("{}: {error}", out::path(image));
    let mut medium = ImageFile::new(file).map_err(|error| about(&error))?;
    let seal = if args.stale_checksums {
        Seal::Keep
    } else {
        Seal::Again
    };
    for case in cases {
        let applied = case.apply(&mut medium, seal);
        applied.map_err(|error| anyhow!("{}: {}: {error}", out::path(image), case.name()))?;
        out::print(&case.line())?;
    }
    let other = if ocfs2::is_volume(&mut medium) {
        Some("an OCFS2 volume")
    } else {
        xfs::is_volume(&mut medium).then_some("an XFS filesystem")
    };
    if let Some(what) = other.filter(|_| args.random.is_some()) {
        return Ok(usage(&format!(
            "{}: {what}; --random is for ext2, ext3 and ext4: give --case NAME (see --list)",
            out::path(image)
        )));
    }
    if let Some(count) = args.random {
        let what = Random {
            count,
            seed: args.seed,
            seal: Some(seal),
        };
        let changes = damage::random(&mut medium, &what).map_err(|error| about(&error))?;
        let mut text = String::new();
        for change in changes {
            let _ = writeln!(text, "{change}");
        }
        out::print(&text)?;
    }
    Ok(exit::OK)
}

/// A case of ext4, of OCFS2 or of XFS; no two have the same name, since those of XFS begin with `xfs-`.
enum Named {
    Ext4(&'static Case),
    Ocfs2(&'static ocfs2::Case),
    Xfs(&'static xfs::Case),
}

fn named(name: &str) -> Result<Named, damage::Error> {
    if let Some(case) = xfs::all().find(|case| case.name == name) {
        return Ok(Named::Xfs(case));
    }
    match ocfs2::all().find(|case| case.name == name) {
        Some(case) => Ok(Named::Ocfs2(case)),
        // The names of ext4's cases begin with a digit.
        None if name.starts_with(|first: char| first.is_ascii_digit()) => {
            damage::case(name).map(Named::Ext4)
        }
        None if name.starts_with("xfs-") => xfs::case(name).map(Named::Xfs),
        None => ocfs2::case(name)
            .map(Named::Ocfs2)
            .or_else(|error| damage::case(name).map(Named::Ext4).map_err(|_| error)),
    }
}

impl Named {
    fn name(&self) -> &'static str {
        match self {
            Self::Ext4(case) => case.name,
            Self::Ocfs2(case) => case.name,
            Self::Xfs(case) => case.name,
        }
    }

    fn apply(&self, medium: &mut dyn Medium, seal: Seal) -> Result<(), damage::Error> {
        match self {
            Self::Ext4(case) => {
                let mut fs = Filesystem::open(medium)?;
                fs.seal = seal;
                case.apply(&mut fs)
            }
            Self::Ocfs2(case) => {
                let mut volume = ocfs2::Volume::open(medium)?;
                volume.seal = seal == Seal::Again;
                case.apply(&mut volume)
            }
            Self::Xfs(case) => {
                let mut volume = xfs::Volume::open(medium)?;
                volume.seal = seal == Seal::Again;
                case.apply(&mut volume)
            }
        }
    }

    /// What was done, with the code that the reference prints.
    fn line(&self) -> String {
        match self {
            Self::Ext4(case) => format!("{} ({:#08x}): {}\n", case.name, case.code, case.about),
            Self::Ocfs2(case) => format!("{} ({}): {}\n", case.name, codes(case), case.about),
            Self::Xfs(case) => format!("{} ({}): {}\n", case.name, case.code, case.about),
        }
    }
}

/// The code of a case: that of fsck.ocfs2 or, where it does not look for the fault, that of our own check. Without any, fsck.ocfs2 ends early.
fn codes(case: &ocfs2::Case) -> &'static str {
    match (case.code, case.strict) {
        ("", "") => "no code",
        ("", strict) => strict,
        (code, _) => code,
    }
}

fn usage(why: &str) -> u8 {
    out::say(&format!("fslab: {why}"));
    exit::USAGE
}

/// Only image files are damaged, and only while they are not mounted: damage to a device in use could crash the machine.
fn refused(image: &Path) -> Option<&'static str> {
    let path = fs::canonicalize(image).ok()?;
    if !path.is_file() {
        return Some(
            "not a regular file; damage an image of the device instead (e2image -r DEVICE IMAGE)",
        );
    }
    let attached = fs::metadata(&path).is_ok_and(|file| loop_image::device_of(&file).is_some());
    attached.then_some("a loop device has it open; detach that first (losetup --detach)")
}

fn list() -> String {
    let mut text = String::new();
    let width = damage::all().map(|case| case.name.len()).max().unwrap_or(0);
    for case in damage::all() {
        let _ = write!(
            text,
            "{:width$}  {:#08x}  {}",
            case.name, case.code, case.about
        );
        if let Reference::Silent(why) = case.reference {
            let _ = write!(text, " [e2fsck 1.47.0 does not raise it: {why}]");
        }
        text.push('\n');
    }
    let width = ocfs2::all().map(|case| case.name.len()).max().unwrap_or(0);
    for case in ocfs2::all() {
        let _ = write!(
            text,
            "{:width$}  {}  {}",
            case.name,
            codes(case),
            case.about
        );
        match case.end {
            ocfs2::End::Complete if !case.strict.is_empty() => {
                text.push_str(" [fsck.ocfs2 1.8.7 does not look for it]");
            }
            ocfs2::End::Complete => {}
            ocfs2::End::Exit(code) => {
                let _ = write!(text, " [fsck.ocfs2 1.8.7 ends with exit code {code}]");
            }
            ocfs2::End::Signal(signal) => {
                let _ = write!(text, " [fsck.ocfs2 1.8.7 ends with signal {signal}]");
            }
        }
        text.push('\n');
    }
    let width = xfs::all().map(|case| case.name.len()).max().unwrap_or(0);
    for case in xfs::all() {
        let _ = write!(text, "{:width$}  {}  {}", case.name, case.code, case.about);
        if case.says.is_none() {
            text.push_str(" [xfs_repair 6.1.0 -n does not see it and ends with 0]");
        }
        text.push('\n');
    }
    text
}
