//! `fslab check --estimate`.

use std::path::Path;

use ::blockio::BlockSource;
use ::check::{device, forecast};

use super::{checker, operational, options, target};
use crate::cli::check::{CheckArgs, CheckFormat};
use crate::{exit, out};

/// Estimates and checks nothing. What has no checker has no estimate: fsck's operational error.
pub(super) fn run(args: &CheckArgs) -> anyhow::Result<u8> {
    let offset = args.offset.map_or(0, study::Bytes::get);
    let source = target::from_offset(open(args.target())?, offset).map_err(anyhow::Error::msg)?;
    if let Some(other) = target::other(args.target(), &*source) {
        return Ok(operational(&format!(
            "no estimate: fslab check reads ext2, ext3, ext4, OCFS2 and XFS only; {}",
            other.message
        )));
    }
    let options = options(args, false);
    let found = match checker(args, &*source)?.forecast(&*source, &options) {
        Ok(found) => found,
        Err(why) => {
            return Ok(operational(&format!("{}: {why}", out::path(args.target()))));
        }
    };
    match args.format {
        CheckFormat::Json => out::print(&serde_json::to_string_pretty(&found)?)?,
        CheckFormat::Csv => out::print(&forecast::csv(&found))?,
        CheckFormat::Text | CheckFormat::E2fsck | CheckFormat::Ocfs2 | CheckFormat::XfsRepair => {
            out::print(&forecast::text(&found))?;
        }
    }
    if device::writable(args.target()).is_some() {
        out::say("fslab: it is mounted read-write: the descriptors on disk may be old");
    }
    Ok(exit::OK)
}

/// Past the page cache: what is cached now may not be when the check runs.
fn open(path: &Path) -> anyhow::Result<Box<dyn BlockSource>> {
    match ::blockio::open(path, ::blockio::Mode::Direct) {
        Ok(opened) => Ok(opened.source),
        Err(::blockio::OpenError::NoDirect { .. }) => {
            out::say(&format!(
                "fslab: {}: its filesystem has no direct I/O; the sample may come from the page cache, \
                 and the times are then those of a cached check",
                out::path(path)
            ));
            Ok(::blockio::open(path, ::blockio::Mode::Buffered)?.source)
        }
        Err(error) => Err(error.into()),
    }
}
