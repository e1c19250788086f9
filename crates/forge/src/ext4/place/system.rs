//! The inodes of the filesystem's own whose size depends on the population: the root and the quota files.

use ondisk::ext4::inode::Inode;
use ondisk::ext4::quota;

use super::{Cursor, Full, Mapping, Placer, Usage};
use crate::Error;
use crate::ext4::layout::{Layout, Taken};
use crate::ext4::plan::{Home, Kind, Object, ObjectId, Objects, Owed};

/// A quota file.
#[derive(Debug)]
pub(in crate::ext4) struct QuotaFile {
    pub(in crate::ext4) kind: quota::Kind,
    pub(in crate::ext4) ino: u32,
    pub(in crate::ext4) object: Object,
    pub(in crate::ext4) mapping: Mapping,
}

/// Their blocks.
#[derive(Debug, Default)]
pub(in crate::ext4) struct System {
    /// The root's object, as the population has it.
    pub(in crate::ext4) root_object: Object,
    pub(in crate::ext4) root: Mapping,
    pub(in crate::ext4) quotas: Vec<QuotaFile>,
    /// Blocks of these, and all that mke2fs took.
    pub(in crate::ext4) taken: Taken,
}

impl System {
    /// The root from the block on that mke2fs gave it, with as many as the population needs; the quota files after it.
    pub(in crate::ext4) fn place(
        layout: &Layout,
        population: &dyn Objects,
        usage: &Usage,
    ) -> Result<Self, Full> {
        let root = ObjectId {
            directory: 0,
            slot: 0,
        };
        let object = population.object(root);
        if object.kind != Kind::Directory || object.size == 0 {
            return Err(Full::Other(Error::Population(
                "slot 0 of directory 0 is not a directory of at least one block".to_owned(),
            )));
        }
        let mut placer = Placer::new(layout);
        let mut taken = layout.taken.clone();
        let unit = layout.unit_of_block(layout.root);
        let mut take = |object: &Object| {
            let mut mapping = Mapping::default();
            let mut cursor = Cursor::new(layout, &taken, unit, layout.root);
            placer.place(population, root, object, &mut cursor, &mut mapping)?;
            for range in mapping.ranges() {
                taken.insert(whole_clusters(layout, &range));
            }
            Ok::<_, Full>(mapping)
        };
        let mut this = Self {
            root_object: object,
            root: take(&object)?,
            ..Self::default()
        };
        for (kind, ino) in layout.quotas() {
            let object = usage.object(kind);
            this.quotas.push(QuotaFile {
                kind,
                ino,
                mapping: take(&object)?,
                object,
            });
        }
        this.taken = taken;
        Ok(this)
    }

    /// Blocks that mke2fs did not take.
    pub(in crate::ext4) fn added(&self) -> impl Iterator<Item = std::ops::Range<u64>> {
        let quotas = self.quotas.iter().flat_map(|file| file.mapping.ranges());
        self.root.ranges().chain(quotas)
    }

    /// Counts what root has before the population comes: the first directory and `lost+found`.
    pub(in crate::ext4) fn charge(&self, usage: &mut Usage, layout: &Layout) -> Result<(), Error> {
        let block_size = layout.geometry.block_size;
        let nothing = Owed::default();
        let root = self.root.blocks * u64::from(block_size);
        usage.add(&self.root_object, root, nothing);
        let size = layout.geometry.inode_size;
        let at = (Home::LOST_AND_FOUND as usize - 1) * usize::from(size);
        let inode = Inode::read(&layout.reserved[at..], size)?;
        let bytes = inode.sectors(layout.huge_file(), block_size) * 512;
        usage.add(&Object::default(), bytes, nothing);
        Ok(())
    }
}

/// A range and what it takes of its last cluster.
pub(in crate::ext4) fn whole_clusters(
    layout: &Layout,
    range: &std::ops::Range<u64>,
) -> std::ops::Range<u64> {
    let cluster = u64::from(layout.geometry.cluster_blocks);
    let end = range
        .end
        .next_multiple_of(cluster)
        .min(layout.geometry.blocks_count.max(range.end));
    range.start..end
}
