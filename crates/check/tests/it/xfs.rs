//! XFS, compared with what `xfs_repair -n` says of sound and damaged filesystems.

mod alike;
mod bounds;
mod codes;
mod damage;
pub(crate) mod disk;
mod duplicates;
mod estimate;
mod forks;
mod fuzz;
mod guest;
mod kernel;
mod log;
mod metadump;
mod mounted;
mod opened;
mod program;
mod sound;
mod strict;
pub(crate) mod volume;
mod work;
