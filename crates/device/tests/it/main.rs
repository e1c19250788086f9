//! The models from outside: against real drives.

mod real_drives;
mod trees;
