//! The system calls that no safe crate wraps: loop devices and block device ioctls.

pub(crate) mod block;
