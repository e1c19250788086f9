//! The summary of a forged filesystem, and exit codes.

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::time::Instant;

use ::forge::{Error, Image, Written};
use serde::Serialize;

use crate::cli::ForgeOutput;
use crate::terminal::Terminal;
use crate::{exit, out};

/// Prints what was made, or why it was not; returns the exit code.
pub(super) fn report(format: ForgeOutput, result: Result<Made, Error>) -> anyhow::Result<u8> {
    match result {
        Ok(made) => {
            out::print(&match format {
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

/// Writes an image; a signal stops it and removes the image. `began` is when the work began.
pub(super) fn make(image: impl Image, path: &Path, began: Instant) -> Result<Made, Error> {
    let terminal = Terminal::stopped_by_signals();
    let written = image.write(path, &terminal);
    drop(terminal);
    Ok(Made::new(path, written?, began.elapsed().as_secs_f64()))
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
pub(super) struct Made {
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

impl Made {
    fn new(path: &Path, written: Written, seconds: f64) -> Self {
        Self {
            image: path.to_string_lossy().into_owned(),
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
