//! Multiple mount protection: is the filesystem in use?

use ondisk::ext4::feature::Incompat;
use ondisk::ext4::mmp::{Holder, MAGIC, Mmp};

use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{
    P0_MMP_CSUM_INVALID, P0_MMP_INVALID_BLK, P0_MMP_INVALID_MAGIC, P0_OPEN_FAILED,
};
use crate::ext4::e2fsck::stops;
use crate::ext4::volume::Volume;
use crate::frame::finding::Finding;

/// The block that `s_mmp_block` names. e2fsck ends at each of these findings; a mount that is alive, or died, it does not mind
/// when it only reads.
pub(super) fn check(volume: &Volume<'_>, log: &mut Log) {
    let (sb, geometry) = (&volume.sb, &volume.geometry);
    if !sb.has_incompat(Incompat::MMP) {
        return;
    }
    let block = sb.s_mmp_block.get();
    let first = u64::from(geometry.first_data_block) + 1;
    if !(first..geometry.blocks_count).contains(&block) {
        log.add(
            Finding::new(&P0_MMP_INVALID_BLK)
                .found(block)
                .expected(format!("{first}-{}", geometry.blocks_count - 1)),
        );
        return;
    }
    let finding = match volume.read_block(block) {
        Err(error) => Some(Finding::new(&P0_OPEN_FAILED).note(format!(
            "whether the filesystem is in use cannot be read: {error}"
        ))),
        Ok(bytes) => judge(volume, &bytes),
    };
    if let Some(finding) = finding {
        log.add(stops::here(finding.block(block)));
    }
}

fn judge(volume: &Volume<'_>, bytes: &[u8]) -> Option<Finding> {
    let mmp = match Mmp::read(bytes) {
        Ok(mmp) => mmp,
        Err(error) => {
            return Some(
                Finding::new(&P0_MMP_INVALID_MAGIC)
                    .expected(format!("{MAGIC:#010x}"))
                    .note(error.to_string()),
            );
        }
    };
    let sum = volume.seed.map(|seed| mmp.checksum(seed));
    if let Some(sum) = sum.filter(|sum| !sum.matches()) {
        return Some(
            Finding::new(&P0_MMP_CSUM_INVALID)
                .found(format!("{:#010x}", sum.stored))
                .expected(format!("{:#010x}", sum.computed)),
        );
    }
    let note = match mmp.holder() {
        Holder::Clean | Holder::Mount(_) => return None,
        Holder::Fsck => format!(
            "a checker uses the filesystem, or died doing so, on {}",
            host(mmp)
        ),
        Holder::Unknown(seq) => format!("mmp_seq {seq:#010x} means nothing"),
    };
    Some(Finding::new(&P0_OPEN_FAILED).note(note))
}

fn host(mmp: &Mmp) -> String {
    let name = &mmp.mmp_nodename;
    let end = name
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}
