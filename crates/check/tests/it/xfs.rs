//! XFS, compared with what `xfs_repair -n` says of sound and damaged filesystems.

mod alike;
mod bounds;
mod codes;
mod damage;
mod disk;
mod duplicates;
mod estimate;
mod forks;
mod fuzz;
mod guest;
mod kernel;
mod log;
mod memory;
mod metadump;
mod mounted;
mod opened;
mod program;
mod sound;
mod strict;
mod volume;
mod work;
