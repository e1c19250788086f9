//! The layout of files: extents, free space, gaps and their causes, on a mounted filesystem.
//!
//! When two filesystems differ by a factor of two, the first question on a mailing list is "what
//! does filefrag say", and the second "is that good or bad". This crate answers both. It asks the
//! kernel (FIEMAP, GETBMAPX, GETFSMAP), prints what the reader's own tool would have printed, byte
//! for byte, and adds what the tool leaves to the reader: which gap is the filesystem's own
//! metadata, which no allocator could have avoided, and which is fragmentation.
//!
//! Three decisions. First, numbers are kept in bytes, as FIEMAP gives them; blocks are a matter of
//! printing. Second, "extent" has one meaning here, that of filefrag's last line; the kernel's
//! records are `rows` (ext4 cuts them at 128 MiB, so their number does not show fragmentation) and
//! `runs` are rows merged where both logical and physical addresses continue and the flags agree.
//! Third, one pass over the rows of a file feeds one [`Tally`], for one file as for a million: the
//! summary of a tree is the sum of what would be printed for each of its files.
//!
//! Running `filefrag` and reading its text was rejected: its counts depend on its version, it names
//! no causes, and a process for each batch of files costs more than the ioctl. Reading the
//! device's own structures was rejected, too: on a mounted filesystem they are out of date.
//! Only facts that do not change while it is mounted are read from the superblock.
//!
//! What a physical address is depends on the filesystem: the byte of its device for ext2/3/4 and
//! XFS; an address of btrfs's own, which its chunk tree maps to devices. A partition's or a RAID's
//! offset is in none of them.

pub mod bmapx;
mod cause;
mod count;
pub mod e2freefrag;
mod error;
mod extent;
pub mod fibmap;
pub mod fiemap;
mod file;
pub mod filefrag;
pub mod fsmap;
mod gaps;
pub mod geometry;
mod magic;
pub mod report;
mod score;
mod summary;
mod tally;
mod text;
pub mod tree;
pub mod xfs_bmap;

pub use cause::Cause;
pub use count::{expected, extents, runs};
pub use error::Error;
pub use extent::{Extent, Flags};
pub use file::{FileLayout, Options};
pub use gaps::{Gap, explain};
pub use geometry::Geometry;
pub use score::{Defrag, Frag};
pub use summary::{LayoutSummary, Quantiles};
pub use tally::{FileFacts, Tally};
pub use text::{describe, summarize};
