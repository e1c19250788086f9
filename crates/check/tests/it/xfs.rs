//! XFS, compared with what `xfs_repair -n` says of sound and damaged filesystems.

mod codes;
mod damage;
mod kernel;
mod sound;
mod volume;
