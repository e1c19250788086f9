//! mkfs.ocfs2 makes the empty volume.
//!
//! Its generation, the seed of directory hashes and all times are random or of the moment; [`super::volume`] replaces them afterwards.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitStatus;

use progress::{Progress, Step};

use super::options::{FeatureLevel, FsType, Options};
use crate::Error;
use crate::image_file::ImageFile;
use crate::maker::{Maker, Talk, system_error};

const MAKER: Maker<'static> = Maker {
    program: "mkfs.ocfs2",
    package: "ocfs2-tools",
};

/// Makes the volume of these options in an image that is one hole. Returns the version, `mkfs.ocfs2 1.8.7`.
pub(super) fn make(
    options: &Options,
    uuid: [u8; 16],
    image: &ImageFile,
    progress: &dyn Progress,
) -> Result<String, Error> {
    progress.begin(Step::new("mkfs.ocfs2"));
    // It checks by the path whether the volume is mounted, so it gets the path and not a descriptor.
    let path = std::path::absolute(image.path())
        .map_err(|source| image.failed("find the path of the image", source))?;
    let (status, talk) = MAKER.run(
        MAKER
            .command()
            .args(arguments(options, uuid, image)?)
            .arg(&path),
        "",
        progress,
    )?;
    let version = version(&talk);
    if !status.success() {
        return Err(failure(&version, &talk, status, path));
    }
    Ok(version)
}

/// The options of mkfs.ocfs2: `-x` asks no questions, `-F` overwrites.
fn arguments(options: &Options, uuid: [u8; 16], image: &ImageFile) -> Result<Vec<OsString>, Error> {
    let mut all: Vec<OsString> = ["-x", "-F", "-U"].map(OsString::from).into();
    all.push(format!("{:032X}", u128::from_be_bytes(uuid)).into());
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            all.extend([OsString::from(name), value.into()]);
        }
    };
    option("-b", options.block_size.map(|value| value.to_string()));
    option("-C", options.cluster_size.map(|value| value.to_string()));
    option("-N", options.slots.map(|value| value.to_string()));
    option("-J", options.journal_mib.map(|mib| format!("size={mib}M")));
    option("-M", options.local.then(|| "local".to_owned()));
    option(
        "-T",
        options.fs_type.map(|fs_type| {
            match fs_type {
                FsType::Datafiles => "datafiles",
                FsType::Mail => "mail",
                FsType::Vmstore => "vmstore",
            }
            .to_owned()
        }),
    );
    option(
        "-L",
        (!options.label.is_empty()).then(|| options.label.clone()),
    );
    match options.feature_level {
        FeatureLevel::Default => {}
        FeatureLevel::MaxCompat => all.push("--fs-feature-level=max-compat".into()),
        FeatureLevel::MaxFeatures => all.push("--fs-feature-level=max-features".into()),
    }
    if !options.features.is_empty() {
        all.push(format!("--fs-features={}", options.features.join(",")).into());
    }
    if options.label.len() > 63 {
        return Err(Error::Option(format!(
            "{}: the label has {} bytes and 63 are possible",
            image.path().display(),
            options.label.len()
        )));
    }
    Ok(all)
}

/// Name and version, of the line `mkfs.ocfs2 1.8.7`; another line ends with a word.
fn version(talk: &Talk) -> String {
    let texts = [&talk.out, &talk.errors].map(|bytes| String::from_utf8_lossy(bytes));
    let lines = texts.iter().flat_map(|text| text.lines());
    let mut named = lines.filter(|line| is_version(line));
    named.next().unwrap_or("mkfs.ocfs2").trim().to_owned()
}

/// Whether a line names the version.
fn is_version(line: &str) -> bool {
    let version = line.strip_prefix("mkfs.ocfs2 ");
    version.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// Why it failed, in one line.
fn failure(version: &str, talk: &Talk, status: ExitStatus, path: PathBuf) -> Error {
    let errors = String::from_utf8_lossy(&talk.errors);
    if let Some(source) = system_error(&errors) {
        return Error::Io {
            path,
            action: "make the empty volume with mkfs.ocfs2",
            source,
        };
    }
    let line = errors.lines().map(str::trim).find(|line| {
        // An image cannot be discarded, which is no fault.
        !(line.is_empty()
            || is_version(line)
            || line.starts_with("WARNING")
            || line.contains("Discard device blocks"))
    });
    let why = line.map_or_else(
        || status.to_string(),
        |line| line.trim_start_matches("mkfs.ocfs2: ").to_owned(),
    );
    Error::Option(format!(
        "{version} cannot make a volume of these options: {why}"
    ))
}
