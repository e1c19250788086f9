//! `fslab forge ext4`.

use std::fmt::Write as _;
use std::io;
use std::time::Instant;

use ::forge::ext4::{Ext4, FsType, HashVersion, Options};
use ::forge::population::{Distribution, Profile};
use ::forge::{Error, Image as _, Written};
use serde::Serialize;

use crate::cli::{ForgeArgs, ForgeOutput, FsTypeArg, HashArg};
use crate::terminal::Terminal;
use crate::{exit, out};

pub(crate) fn run(args: &ForgeArgs) -> anyhow::Result<u8> {
    match work(args) {
        Ok(made) => {
            out::print(&match args.format {
                ForgeOutput::Text => made.text(),
                ForgeOutput::Json => serde_json::to_string_pretty(&made)?,
            })?;
            Ok(exit::OK)
        }
        Err(error) => {
            out::say(&format!("fslab: {}", out::line(&error.to_string())));
            Ok(code(&error))
        }
    }
}

fn code(error: &Error) -> u8 {
    match error {
        Error::Option(_) | Error::Room { .. } | Error::Population(_) | Error::Start { .. } => {
            exit::USAGE
        }
        Error::Io { source, .. } if source.kind() == io::ErrorKind::AlreadyExists => exit::USAGE,
        Error::Stopped => exit::INTERRUPTED,
        Error::Io { .. } | Error::Format(_) | Error::Unexpected { .. } => exit::TROUBLE,
    }
}

/// What was made.
#[derive(Debug, Serialize)]
struct Made {
    image: String,
    size_bytes: u64,
    written_bytes: u64,
    inodes: u64,
    directories: u64,
    blocks: u64,
    free_blocks: u64,
    free_inodes: u64,
    seconds: f64,
    inodes_per_second: f64,
    /// Name and version of the program that made the empty filesystem.
    mkfs: String,
}

fn work(args: &ForgeArgs) -> Result<Made, Error> {
    let profile = profile(args)?;
    let began = Instant::now();
    let image = Ext4::new(options(args, profile.seed)?, profile)?;
    let terminal = Terminal::stopped_by_signals();
    let written = image.write(&args.image, &terminal);
    drop(terminal);
    Ok(Made::new(args, written?, began.elapsed().as_secs_f64()))
}

/// The profile from the file, if one is given, with the options on top.
fn profile(args: &ForgeArgs) -> Result<Profile, Error> {
    let mut profile = match &args.profile {
        None => Profile::default(),
        Some(path) => {
            let name = out::path(path);
            let text = std::fs::read_to_string(path).map_err(|error| {
                Error::Option(format!(
                    "{name}: {error}; give a profile as docs/forge.md describes it"
                ))
            })?;
            Profile::parse(&name, &text)?
        }
    };
    if let Some(files) = args.files {
        profile.files = files;
    }
    if let Some(number) = args.per_directory {
        profile.per_directory = Distribution::fixed(number);
    }
    if let Some(size) = args.file_size {
        profile.file_size = Distribution::fixed(size);
    }
    if let Some(seed) = args.seed {
        profile.seed = seed;
    }
    profile.contents |= args.contents;
    Ok(profile)
}

fn options(args: &ForgeArgs, seed: u64) -> Result<Options, Error> {
    let format = &args.mke2fs;
    let fs_type = match format.fs_type {
        FsTypeArg::Ext2 => FsType::Ext2,
        FsTypeArg::Ext3 => FsType::Ext3,
        FsTypeArg::Ext4 => FsType::Ext4,
    };
    let small = |what: &str, bytes: Option<u64>| {
        bytes
            .map(|bytes| {
                u32::try_from(bytes).map_err(|_| {
                    Error::Option(format!(
                        "{what}: {bytes} bytes are more than any filesystem of the family takes"
                    ))
                })
            })
            .transpose()
    };
    let mut options = Options::new(args.size, fs_type);
    options.block_size = small("--block-size", format.block_size)?;
    options.cluster_size = small("--cluster-size", format.cluster_size)?;
    options.inode_size = format.inode_size;
    options.inode_ratio = format.inode_ratio;
    options.inodes = format.inodes;
    options.features.names.clone_from(&format.features);
    options.hash = match format.hash {
        HashArg::HalfMd4 => HashVersion::HalfMd4,
        HashArg::Tea => HashVersion::Tea,
        HashArg::Legacy => HashVersion::Legacy,
        HashArg::HalfMd4Unsigned => HashVersion::HalfMd4Unsigned,
        HashArg::TeaUnsigned => HashVersion::TeaUnsigned,
        HashArg::LegacyUnsigned => HashVersion::LegacyUnsigned,
    };
    options.flex_groups = format.flex_groups;
    options.journal_mib = format.journal_size;
    if let Some(percent) = format.reserved {
        options.reserved_percent = percent;
    }
    if let Some(label) = &format.label {
        options.label.clone_from(label);
    }
    options.seed = seed;
    options.spread = !args.packed;
    options.sync = args.sync;
    Ok(options)
}

impl Made {
    fn new(args: &ForgeArgs, written: Written, seconds: f64) -> Self {
        Self {
            image: args.image.to_string_lossy().into_owned(),
            size_bytes: written.size,
            written_bytes: written.bytes,
            inodes: written.inodes,
            directories: written.directories,
            blocks: written.blocks,
            free_blocks: written.free_blocks,
            free_inodes: written.free_inodes,
            seconds,
            inodes_per_second: written.inodes as f64 / seconds.max(1e-9),
            mkfs: written.maker,
        }
    }

    fn text(&self) -> String {
        let mebi = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{}: {:.1} GiB, {} inodes in use ({} directories), {} free",
            out::line(&self.image),
            mebi(self.size_bytes) / 1024.0,
            self.inodes,
            self.directories,
            self.free_inodes
        );
        let _ = writeln!(
            text,
            "blocks: {} in use, {} free",
            self.blocks, self.free_blocks
        );
        let _ = writeln!(
            text,
            "written: {:.1} MiB in {:.2} s, {:.0} inodes/s; the rest are holes; empty filesystem by {}",
            mebi(self.written_bytes),
            self.seconds,
            self.inodes_per_second,
            out::line(&self.mkfs)
        );
        text
    }
}
