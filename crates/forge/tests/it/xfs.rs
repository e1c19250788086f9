//! Filesystems of XFS, compared with xfs_repair, xfs_db and the kernel.

mod clean;
mod common;
mod damage;
mod forms;
mod kernel;
mod refused;
