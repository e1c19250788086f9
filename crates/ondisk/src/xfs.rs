//! XFS, versions 4 and 5: every structure, read and written.
//!
//! Names of fields are those of the kernel's headers (fs/xfs/libxfs/xfs_format.h, xfs_da_format.h, xfs_log_format.h). All numbers are
//! big-endian but the checksums, which are little-endian.
//!
//! A fixed structure is a view at the start of a slice: [`Agf::read`] and its `read_mut`. Where versions 4 and 5 differ in the size of
//! a header, functions take the [`Geometry`], which has the features, the sizes and the arithmetic of block and inode numbers.
//!
//! [`checksum`] verifies and seals each object, [`hash`] has the hash of names.

pub mod ag;
pub mod attribute;
pub mod btree;
pub mod checksum;
pub mod da;
pub mod dinode;
pub mod directory;
pub mod dquot;
pub mod extent;
pub mod feature;
pub mod geometry;
pub mod hash;
pub mod log;
pub mod log_item;
pub mod realtime;
pub mod record;
pub mod remote;
pub mod shortform;
pub mod superblock;

pub use ag::{Agf, Agfl, Agi};
pub use dinode::Dinode;
pub use dquot::Dquot;
pub use extent::Extent;
pub use geometry::Geometry;
pub use superblock::Superblock;
