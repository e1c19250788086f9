//! Options of `fslab layout`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // flags are what they are
pub(crate) struct LayoutArgs {
    /// Files, or directories whose files are summarised
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Output format; the formats of other tools show the blocks of a directory itself
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: LayoutFormat,
    /// Print only the total of all files
    #[arg(long)]
    pub(crate) summary: bool,
    /// Also print the free space of the filesystem, as e2freefrag does
    #[arg(long)]
    pub(crate) free: bool,
    /// Sync files first, so that delayed allocations are done
    #[arg(long)]
    pub(crate) sync: bool,
    /// Block size for filefrag formats, as in 1k or 1m [default: the filesystem's]
    #[arg(long, value_name = "SIZE", value_parser = block_size)]
    pub(crate) block_size: Option<u64>,
    /// Hexadecimal numbers in filefrag formats
    #[arg(long)]
    pub(crate) hex: bool,
    /// Mark unwritten extents in the xfs_bmap format (xfs_bmap -p)
    #[arg(long)]
    pub(crate) unwritten: bool,
    /// Threads that scan directories [default: four per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayoutFormat {
    /// Text: figures and the cause of each gap
    Text,
    /// filefrag -v of current e2fsprogs
    Filefrag,
    /// filefrag -v of e2fsprogs 1.41
    #[value(name = "filefrag-1.41")]
    Filefrag141,
    /// xfs_bmap -v
    #[value(name = "xfs_bmap")]
    XfsBmap,
    /// One JSON document
    Json,
}

/// A number of bytes with k, m or g, at least 1 and at most 1g: filefrag's own bounds.
fn block_size(text: &str) -> Result<u64, String> {
    let size = words::parse_bytes(text).ok();
    size.filter(|size| (1..=1 << 30).contains(size))
        .ok_or_else(|| "give 1 to 1g bytes, as in 4096, 4k or 1m".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_blocks() {
        assert_eq!(block_size("4096"), Ok(4096));
        assert_eq!(block_size("64K"), Ok(65536));
        assert_eq!(block_size("1g"), Ok(1 << 30));
        for bad in ["", "k", "0", "2g", "-1", "4é", "99999999999999999999k"] {
            assert!(block_size(bad).is_err(), "{bad}");
        }
    }
}
