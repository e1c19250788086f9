//! OCFS2 against fsck.ocfs2 -fn: volumes of mkfs.ocfs2 with contents, damaged field by field and at random.

mod bounds;
mod buckets;
mod codes;
mod cut;
mod damage;
mod differential;
mod ends;
mod forecast;
mod fuzz;
mod layout;
mod memory;
mod o2image;
mod own;
mod population;
mod program;
mod signs;
mod volume;

pub(crate) use population::populated;
pub(crate) use volume::Made;
