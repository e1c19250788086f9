//! OCFS2, on one machine: `mkfs.ocfs2 -M local`, mounted with `heartbeat=none`.
//!
//! A cluster filesystem wants to know who else has the volume. Made for a local mount it has no
//! heartbeat, needs no o2cb and no configuration; current kernels refuse to mount it without
//! `heartbeat=none` and older ones accept it too, so it is always given.
//!
//! mkfs.ocfs2 asks before it writes over another OCFS2 (`Proceed (y/N)`), whatever its options say:
//! `-F` leaves out the cluster check and not the question. It is answered.

use fskind::Kind;
use probe::superblock::{Fields, Source, ocfs2::Superblock};

use super::Filesystem;
use crate::host::Host;

/// OCFS2.
#[derive(Clone, Copy, Debug)]
pub struct Ocfs2;

impl Filesystem for Ocfs2 {
    fn kind(&self) -> Kind {
        Kind::Ocfs2
    }

    fn superblock(&self, device: &Source) -> std::io::Result<Fields> {
        Ok(Superblock::read(device)?.fields())
    }

    /// sysfs knows OCFS2's cluster stack, and none of its mounts.
    fn driver(&self, _host: &Host, _block_name: &str) -> Option<String> {
        None
    }
}
