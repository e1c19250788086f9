//! OCFS2 against fsck.ocfs2 -fn: volumes of mkfs.ocfs2 with contents, damaged field by field and at random.

mod damage;
mod differential;
mod population;
mod volume;
