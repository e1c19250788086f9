//! OCFS2: every structure, read and written.
//!
//! Names of fields are those of the kernel's headers (fs/ocfs2/ocfs2_fs.h). All numbers are little-endian; the
//! journal is jbd2's and big-endian ([`crate::ext4::journal`]).
//!
//! A structure is a view at the start of a slice: [`Dinode::read`] and its `read_mut`. Most blocks are a head and then a
//! list that fills the block. The lists ([`ExtentList`], [`ChainList`], ...) are views over the slice that starts at the list. Their
//! counts are returned as stored; `get` gives none for a record outside the slice, so a wrong count cannot cause a panic.
//!
//! [`volume`] has the arithmetic of block and cluster sizes, [`system`] the names of the system files, [`check`] the checksum of metadata
//! blocks, [`hash`] the hashes of names.

pub mod chain;
pub mod check;
pub mod dinode;
pub mod directory;
pub mod extent;
pub mod feature;
pub mod hash;
pub mod image;
pub mod index;
pub mod logs;
pub mod quota;
pub mod refcount;
pub mod slot_map;
pub mod superblock;
pub mod system;
pub mod volume;
pub mod xattr;

pub use chain::{ChainList, ChainRecord, GroupDescriptor};
pub use check::BlockCheck;
pub use dinode::Dinode;
pub use directory::{Entry, Trailer};
pub use extent::{ExtentBlock, ExtentList, ExtentRecord};
pub use index::{DxEntry, DxLeaf, DxRoot};
pub use logs::{LocalAlloc, TruncateLog, TruncateRecord};
pub use refcount::{RefcountBlock, RefcountList, RefcountRecord};
pub use superblock::Superblock;
pub use volume::Volume;
pub use xattr::{XattrBlock, XattrEntry, XattrHeader};
