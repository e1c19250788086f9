//! The system calls that no safe crate wraps: loop devices, block device ioctls, page residency.

pub(crate) mod block;
pub(crate) mod residency;
