//! Options of `fslab layout`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // flags are what they are
pub(crate) struct LayoutArgs {
    /// Files, or directories whose files are summed up
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Output format; in those of other tools a directory stands for its own blocks
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: LayoutFormat,
    /// Only the sum of all files
    #[arg(long)]
    pub(crate) summary: bool,
    /// Print the free space of the filesystem, too, as e2freefrag does
    #[arg(long)]
    pub(crate) free: bool,
    /// Write files back first, so that delayed blocks have their places
    #[arg(long)]
    pub(crate) sync: bool,
    /// filefrag: bytes of a block, as in 1k or 1m [default: the filesystem's]
    #[arg(long, value_name = "SIZE", value_parser = block_size)]
    pub(crate) block_size: Option<u64>,
    /// filefrag: hexadecimal numbers
    #[arg(long)]
    pub(crate) hex: bool,
    /// xfs_bmap: tell unwritten blocks apart (its -p)
    #[arg(long)]
    pub(crate) unwritten: bool,
    /// Threads for directories [default: four for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayoutFormat {
    /// For people: numbers, and each gap with its cause
    Text,
    /// filefrag -v of today
    Filefrag,
    /// filefrag -v of e2fsprogs 1.41
    #[value(name = "filefrag-1.41")]
    Filefrag141,
    /// xfs_bmap -v
    #[value(name = "xfs_bmap")]
    XfsBmap,
    /// One document
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
