//! The heartbeat file: nodes write their blocks of it directly, so it must have them all.

use ondisk::ocfs2::extent::UNWRITTEN;

use crate::frame::finding::Finding;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::HEARTBEAT_FILE;
use crate::ocfs2::lookup;
use crate::ocfs2::refused::Refused;
use crate::ocfs2::tree::{self, Next};
use crate::ocfs2::volume::{Volume, head};

/// Judges the file.
pub(super) fn check(volume: &Volume<'_>, log: &mut Log) {
    let finding = Finding::new(&HEARTBEAT_FILE);
    match fault(volume) {
        Ok(None) | Err(Refused::Absent) => {}
        Ok(Some((inode, why))) => log.own(finding.inode(inode).note(why)),
        Err(refused) => log.own(finding.note(refused.words())),
    }
}

/// The file's inode and what is wrong with its extents.
fn fault(volume: &Volume<'_>) -> Result<Option<(u64, String)>, Refused> {
    let number = lookup::system(volume, "heartbeat")?;
    let inode = volume.inode(number)?;
    let (mut end, mut why) = (0, None);
    tree::extents(volume, &inode, &mut |record| {
        let first = u64::from(record.e_cpos.get());
        if first != end {
            why = Some(format!("no cluster for {end} of the file"));
        } else if record.flags() & UNWRITTEN != 0 {
            why = Some(format!(
                "the extent at cluster {end} of the file is unwritten"
            ));
        }
        end = first + u64::from(record.leaf_clusters());
        if why.is_some() {
            Next::Stop
        } else {
            Next::Continue
        }
    })?;
    let (size, bytes) = (
        head(&inode).i_size.get(),
        end * volume.layout.cluster_size(),
    );
    if why.is_none() && bytes < size {
        why = Some(format!(
            "{bytes} bytes are allocated, and its size is {size}"
        ));
    }
    Ok(why.map(|why| (number, why)))
}
