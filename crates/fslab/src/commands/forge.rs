//! `fslab forge`.

pub(crate) mod damage;
pub(crate) mod ext4;
