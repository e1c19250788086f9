//! mkfs.xfs makes the empty filesystem.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitStatus;

use progress::{Progress, Step};

use super::options::Options;
use crate::Error;
use crate::image_file::ImageFile;
use crate::maker::{Maker, Talk, system_error};

const MAKER: Maker<'static> = Maker {
    program: "mkfs.xfs",
    package: "xfsprogs",
};

/// Features that are switches, by the option that has them.
const SWITCHES: [(&str, &[&str]); 3] = [
    (
        "-m",
        &[
            "crc",
            "finobt",
            "rmapbt",
            "reflink",
            "inobtcount",
            "bigtime",
        ],
    ),
    ("-i", &["sparse", "nrext64", "projid32bit"]),
    ("-n", &["ftype"]),
];

/// Makes the filesystem of these options in an image that is one hole. Returns the version, `mkfs.xfs 6.1.0`.
pub(super) fn make(
    options: &Options,
    uuid: [u8; 16],
    image: &ImageFile,
    progress: &dyn Progress,
) -> Result<String, Error> {
    progress.begin(Step::new("mkfs.xfs"));
    let path = std::path::absolute(image.path())
        .map_err(|source| image.failed("find the path of the image", source))?;
    let (_, talk) = MAKER.run(MAKER.command().arg("-V"), "", progress)?;
    let version = version(&talk);
    let (status, talk) = MAKER.run(
        MAKER.command().args(arguments(options, uuid)?).arg(&path),
        "",
        progress,
    )?;
    if !status.success() {
        return Err(failure(&version, &talk, status, path));
    }
    Ok(version)
}

/// The options of mkfs.xfs: `-f` overwrites, `-K` discards nothing.
fn arguments(options: &Options, uuid: [u8; 16]) -> Result<Vec<OsString>, Error> {
    let mut all: Vec<OsString> = ["-q", "-f", "-K"].map(OsString::from).into();
    let mut option = |name: &str, value: String| {
        all.extend([OsString::from(name), value.into()]);
    };
    for (name, switches) in switches(options, uuid)? {
        option(name, switches.join(","));
    }
    let number = |value: Option<u32>| value.map(|value| format!("size={value}"));
    for (name, value) in [
        ("-b", number(options.block_size)),
        ("-s", number(options.sector_size)),
        ("-i", number(options.inode_size)),
        ("-n", number(options.directory_block_size)),
        ("-d", options.groups.map(|count| format!("agcount={count}"))),
        (
            "-d",
            options
                .stripe
                .map(|stripe| format!("su={},sw={}", stripe.unit, stripe.width)),
        ),
        ("-l", options.log_size.map(|size| format!("size={size}"))),
        (
            "-i",
            options
                .inode_percent
                .map(|percent| format!("maxpct={percent}")),
        ),
    ] {
        if let Some(value) = value {
            option(name, value);
        }
    }
    if options.label.len() > 12 {
        return Err(Error::Option(format!(
            "{}: the label has {} bytes and 12 are possible",
            options.label,
            options.label.len()
        )));
    }
    if !options.label.is_empty() {
        option("-L", options.label.clone());
    }
    Ok(all)
}

/// The switches of each option.
fn switches(options: &Options, uuid: [u8; 16]) -> Result<Vec<(&'static str, Vec<String>)>, Error> {
    let mut all = vec![("-m", vec![format!("uuid={}", words::uuid(&uuid))])];
    for feature in &options.features {
        let (name, value) = match feature.strip_prefix("no") {
            Some(name) => (name, 0),
            None => (feature.as_str(), 1),
        };
        let known = SWITCHES.iter().find(|(_, names)| names.contains(&name));
        let Some(&(option, _)) = known else {
            let names = SWITCHES.map(|(_, names)| names.join(", ")).join(", ");
            return Err(Error::Option(format!(
                "{feature}: not a feature of mkfs.xfs that can be set here; there are {names}, each also with no before it"
            )));
        };
        let switch = format!("{name}={value}");
        match all.iter_mut().find(|(other, _)| *other == option) {
            Some((_, switches)) => switches.push(switch),
            None => all.push((option, vec![switch])),
        }
    }
    Ok(all)
}

/// Name and version, of the line `mkfs.xfs version 6.1.0`.
fn version(talk: &Talk) -> String {
    let text = String::from_utf8_lossy(&talk.out).into_owned();
    let number = text
        .trim()
        .rsplit(' ')
        .next()
        .unwrap_or_default()
        .to_owned();
    format!("mkfs.xfs {number}").trim().to_owned()
}

/// Why it failed, in one line.
fn failure(version: &str, talk: &Talk, status: ExitStatus, path: PathBuf) -> Error {
    let texts = [&talk.errors, &talk.out].map(|bytes| String::from_utf8_lossy(bytes));
    let text = texts.join("\n");
    if let Some(source) = system_error(&text) {
        return Error::Io {
            path,
            action: "make the empty filesystem with mkfs.xfs",
            source,
        };
    }
    let line = text.lines().map(str::trim).find(|line| {
        !(line.is_empty() || line.starts_with("V4 filesystems") || line.starts_with("Usage"))
    });
    let why = line.map_or_else(
        || status.to_string(),
        |line| line.trim_start_matches("mkfs.xfs: ").to_owned(),
    );
    Error::Option(format!(
        "{version} cannot make a filesystem of these options: {why}"
    ))
}
