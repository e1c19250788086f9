//! `fslab forge`.

pub(crate) mod damage;
pub(crate) mod ext4;
mod made;
pub(crate) mod ocfs2;
mod population;
pub(crate) mod xfs;
