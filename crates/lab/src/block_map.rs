//! The block map of a trial's device: it lets a trace distinguish data from metadata and journal.
//!
//! The trace alone knows too little (see [`blktrace::analysis::window`]); the mounted filesystem knows
//! where its log and its tables are (GETFSMAP), and the extents of the files. A sector in none of them is
//! metadata only where no file has come and gone since.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use blktrace::analysis::Kind;
use blktrace::analysis::window::Places;
use layout::fsmap::{self, Owner};
use layout::geometry::Xfs;
use layout::{FileLayout, Options};
use rig::Prepared;

use crate::layout::Walk;

/// Most files whose maps are read, and most regions that are kept.
const MOST_FILES: usize = 64;
const MOST_REGIONS: usize = 1 << 20;

/// The block map, in sectors of the disk; none in a directory, whose disk is not ours alone. `whole`:
/// the files that are there now are all there were.
pub(crate) fn of(prepared: &Prepared, whole: bool) -> Option<Places> {
    prepared.device_node()?;
    let start = start_of(prepared.block_name()?);
    let root = prepared.mount_point();
    let mut regions = fixed(root).unwrap_or_default();
    regions.extend(log_of_xfs(root));
    let files = if whole { files(root) } else { None };
    let elsewhere = files.as_ref().map(|_| Kind::Metadata);
    regions.extend(files.unwrap_or_default());
    for (begin, end, _) in &mut regions {
        (*begin, *end) = (*begin + start, *end + start);
    }
    Some(Places::new(regions, elsewhere))
}

/// The first sector of a partition on its disk: what its trace counts from.
fn start_of(name: &str) -> u64 {
    let text = fs::read_to_string(format!("/sys/class/block/{name}/start"));
    text.ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(0)
}

type Region = (u64, u64, Kind);

/// Bytes as sectors.
fn region(begin: u64, end: u64, kind: Kind) -> Region {
    (begin / 512, end.div_ceil(512), kind)
}

/// The filesystem's own structures, where it reports them.
fn fixed(root: &Path) -> Option<Vec<Region>> {
    let folder = File::open(root).ok()?;
    let device = folder.metadata().ok()?.dev();
    let device = fsmap::device_number(rustix::fs::major(device), rustix::fs::minor(device));
    let mut regions: Vec<Region> = Vec::new();
    fsmap::regions(&folder, device, 0..u64::MAX, |found| {
        let kind = match found.owner {
            Owner::Log => Kind::Journal,
            Owner::Fixed | Owner::Inodes | Owner::Group | Owner::Metadata => Kind::Metadata,
            Owner::Free | Owner::Unknown | Owner::Inode(_) => return true,
        };
        regions.push(region(found.physical, found.end(), kind));
        regions.len() < MOST_REGIONS
    })
    .ok()?;
    Some(regions)
}

/// XFS's log, which GETFSMAP reports only where there is a reverse-mapping tree.
fn log_of_xfs(root: &Path) -> Option<Region> {
    let xfs = Xfs::of(File::open(root).ok()?).ok()?;
    // A filesystem block's number has the AG in its upper bits.
    let bits = xfs.ag_blocks.next_power_of_two().trailing_zeros();
    let (ag, within) = (xfs.log_start >> bits, xfs.log_start & ((1 << bits) - 1));
    let start = ag.checked_mul(xfs.ag_blocks)?.checked_add(within)?;
    let bytes = |blocks: u64| blocks.checked_mul(xfs.block_size);
    let (begin, end) = (bytes(start)?, bytes(start.checked_add(xfs.log_blocks)?)?);
    (xfs.log_start > 0).then(|| region(begin, end, Kind::Journal))
}

/// The extents of all files; none when they are too many, or when one has no map.
fn files(root: &Path) -> Option<Vec<Region>> {
    let walk = Walk::of(root, MOST_FILES);
    if walk.files == 0 || walk.files > MOST_FILES as u64 {
        return None;
    }
    let mut regions = Vec::new();
    for path in &walk.largest {
        let layout = FileLayout::read(path, Options::default()).ok()?;
        let rows = layout.rows.iter().filter(|row| row.flags.has_location());
        regions.extend(rows.map(|row| region(row.physical, row.physical_end(), Kind::Data)));
    }
    (regions.len() <= MOST_REGIONS).then_some(regions)
}
