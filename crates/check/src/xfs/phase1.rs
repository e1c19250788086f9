//! Phase 1: the superblocks.

use blockio::BlockSource;
use ondisk::xfs::superblock::SIZE;
use ondisk::xfs::{Geometry, Superblock};

use super::volume::Volume;
use super::xfs_repair::log::Log;
use super::xfs_repair::problems::{SB_BAD_MAGIC, SB_BAD_SIZE};
use crate::frame::finding::Finding;
use crate::frame::memory::Guard;
use crate::frame::observer::Observer;
use crate::frame::options::Options;

/// Opens a filesystem; none where its superblock is of no use.
pub(super) fn open<'a>(
    source: &'a dyn BlockSource,
    options: &Options,
    observer: &'a dyn Observer,
    log: &mut Log,
) -> Option<Volume<'a>> {
    let mut bytes = [0; SIZE];
    let read = source.read_at(&mut bytes, 0);
    let sb = match Superblock::read(&bytes) {
        Ok(sb) if read.is_ok() => *sb,
        _ => {
            log.add(Finding::new(&SB_BAD_MAGIC).group(0));
            return None;
        }
    };
    match Geometry::new(&sb) {
        Ok(geo) => {
            log.set_geometry(&geo);
            Some(Volume {
                source,
                sb,
                geo,
                options: options.clone(),
                guard: Guard::new(options.memory),
                progress: observer,
            })
        }
        Err(error) => {
            log.add(Finding::new(&SB_BAD_SIZE).group(0).note(error.to_string()));
            None
        }
    }
}
