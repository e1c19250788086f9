//! Volumes of OCFS2, held against fsck.ocfs2 and debugfs.ocfs2.

mod clean;
mod common;
mod damage;
mod kernel;
mod readback;
mod refused;
