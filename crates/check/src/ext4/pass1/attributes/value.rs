//! Values in inodes of their own.
//!
//! An entry that names such an inode carries a hash of its name and of the value's hash, which the inode stores; so a
//! wrong pair is recognised without reading the value. Lustre's value inodes came before that and have a back pointer
//! instead. The inode named is read from its table at once, not in order: they are rare, and lie near.

use ondisk::ext4::Inode;
use ondisk::ext4::inode::flag;
use ondisk::ext4::xattr::{Entry, Sign, entry_hash_of_inode};

use super::list::Values;
use crate::ext4::e2fsck::problems::{
    P1_ATTR_HASH, P1_ATTR_NO_EA_INODE_FL, P1_ATTR_SET_EA_INODE_FL, P1_ATTR_VALUE_EA_INODE,
    P1_ATTR_VALUE_SIZE, P1_EA_INODE_FEATURE, P1_ISCAN_ERROR,
};
use crate::ext4::options::Reference;
use crate::ext4::volume::Volume;
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use ondisk::ext4::feature::Incompat;

/// The inode that an attribute belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) ino: u32,
    /// Its generation; read from its table where it is not at hand.
    pub(super) generation: Option<u32>,
}

impl Owner {
    fn generation(self, volume: &Volume<'_>) -> Option<u32> {
        self.generation.or_else(|| {
            let mut slot = Vec::new();
            let inode = read_inode(volume, self.ino, &mut slot).ok()?;
            Some(inode.raw().i_generation.get())
        })
    }
}

/// Why an inode named by an entry could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// No such number, or its table lies nowhere.
    Nowhere,
    /// The device refuses.
    Failed,
    /// Its checksum is wrong.
    Checksum,
}

/// Reads an inode from its table. The bytes come in `slot`.
pub(super) fn read_inode<'s>(
    volume: &Volume<'_>,
    ino: u32,
    slot: &'s mut Vec<u8>,
) -> Result<Inode<'s>, Unread> {
    let geometry = &volume.geometry;
    let (group, _) = geometry.index_of_inode(ino).ok_or(Unread::Nowhere)?;
    let descriptor = volume
        .descriptors
        .get(group as usize)
        .ok_or(Unread::Nowhere)?;
    let (block, offset) = geometry
        .inode_position(ino, descriptor)
        .ok_or(Unread::Nowhere)?;
    let at = block
        .checked_mul(geometry.block_size.into())
        .and_then(|at| at.checked_add(offset.into()))
        .ok_or(Unread::Nowhere)?;
    slot.clear();
    slot.resize(usize::from(geometry.inode_size), 0);
    volume
        .source
        .read_at(slot, at)
        .map_err(|_| Unread::Failed)?;
    let inode = Inode::read(slot, geometry.inode_size).map_err(|_| Unread::Nowhere)?;
    match volume.seed {
        Some(seed) if !inode.is_zero() && !inode.checksum(seed, ino).matches() => {
            Err(Unread::Checksum)
        }
        _ => Ok(inode),
    }
}

/// Whether the verdict is to be that of 1.47.4, which looks at value inodes more closely.
fn is_newest(volume: &Volume<'_>) -> bool {
    volume.ext4.reference != Reference::E2fsck1470
}

/// A finding that 1.47.0 does not look for.
pub(super) fn since_1474(volume: &Volume<'_>, finding: Finding) -> Finding {
    if is_newest(volume) {
        finding
    } else {
        finding.beyond_reference()
    }
}

/// Judges value inodes for one owner.
pub(super) struct ValueJudge<'a> {
    pub(super) volume: &'a Volume<'a>,
    pub(super) owner: Owner,
    pub(super) slot: &'a mut Vec<u8>,
}

impl ValueJudge<'_> {
    fn about(&self, problem: &'static Problem, entry: &Entry<'_>) -> Finding {
        Finding::new(problem)
            .inode(self.owner.ino)
            .offset(entry.offset)
            .name(entry.name)
    }

    fn clusters(&self, size: u32) -> u64 {
        let geometry = &self.volume.geometry;
        let cluster = u64::from(geometry.block_size) * u64::from(geometry.cluster_blocks.max(1));
        u64::from(size).div_ceil(cluster)
    }
}

/// The fields of a value inode that identify its owner.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    hash: u32,
    lustre_owner: u32,
    generation: u32,
}

impl Marks {
    pub(super) fn of(inode: &Inode<'_>) -> Marks {
        Marks {
            hash: inode.ea_hash(),
            lustre_owner: inode.ea_lustre_owner(),
            generation: inode.raw().i_generation.get(),
        }
    }
}

/// How the hash of an entry and the inode it names belong together.
enum Tie {
    Hash,
    Lustre,
    None,
}

fn tie(volume: &Volume<'_>, owner: Owner, entry: &Entry<'_>, of: Marks) -> Tie {
    let fits = |sign| entry_hash_of_inode(entry.name, of.hash, sign) == entry.e_hash;
    if fits(Sign::Unsigned) || fits(Sign::Signed) {
        return Tie::Hash;
    }
    if of.lustre_owner == owner.ino && Some(of.generation) == owner.generation(volume) {
        return Tie::Lustre;
    }
    Tie::None
}

/// The same, for code that reads attributes without judging them.
pub(super) fn is_tied(volume: &Volume<'_>, owner: Owner, entry: &Entry<'_>, of: Marks) -> bool {
    !matches!(tie(volume, owner, entry, of), Tie::None)
}

impl Values for ValueJudge<'_> {
    fn without_feature(&self, entry: &Entry<'_>) -> Option<Finding> {
        if self.volume.sb.has_incompat(Incompat::EA_INODE) {
            return None;
        }
        let fault = self
            .about(&P1_EA_INODE_FEATURE, entry)
            .found(entry.e_value_inum);
        Some(since_1474(self.volume, fault))
    }

    fn judge(&mut self, entry: &Entry<'_>, found: &mut Vec<Finding>) -> Option<u64> {
        let ino = entry.e_value_inum;
        let sb = &self.volume.sb;
        let (first, last) = (sb.first_ino(), sb.s_inodes_count.get());
        let illegal = self.about(&P1_ATTR_VALUE_EA_INODE, entry).found(ino);
        if !(first..=last).contains(&ino) {
            found.push(illegal.expected(format!("{first} to {last}")));
            return None;
        }
        let unread = |why| {
            Finding::new(&P1_ISCAN_ERROR)
                .inode(self.owner.ino)
                .name(entry.name)
                .found(ino)
                .note(format!("the inode that holds the value {why}"))
        };
        let inode = match read_inode(self.volume, ino, self.slot) {
            Ok(inode) => inode,
            Err(why) => {
                found.push(match why {
                    Unread::Nowhere => illegal,
                    Unread::Failed => unread("cannot be read"),
                    Unread::Checksum => unread("has a wrong checksum"),
                });
                return None;
            }
        };
        let flagged = inode.has_flags(flag::EA_INODE);
        let size = inode.size();
        let right = entry_hash_of_inode(entry.name, inode.ea_hash(), Sign::Unsigned);
        let tied = tie(self.volume, self.owner, entry, Marks::of(&inode));
        if entry.e_value_size == 0 || u64::from(entry.e_value_size) != size {
            let fault = self.about(&P1_ATTR_VALUE_SIZE, entry);
            let fault = fault.found(entry.e_value_size).expected(size);
            found.push(since_1474(self.volume, fault));
            if is_newest(self.volume) {
                return None;
            }
        }
        let clusters = match tied {
            Tie::Hash => self.clusters(entry.e_value_size),
            Tie::Lustre => 0,
            Tie::None if !flagged => {
                found.push(illegal.note("it has no flag EA_INODE either"));
                return None;
            }
            Tie::None => {
                let fault = self.about(&P1_ATTR_HASH, entry);
                let fault = fault.found(format!("{:#010x}", entry.e_hash));
                found.push(fault.expected(format!("{right:#010x}")));
                return None;
            }
        };
        if !flagged {
            found.push(self.about(&P1_ATTR_SET_EA_INODE_FL, entry).found(ino));
            found.push(self.about(&P1_ATTR_NO_EA_INODE_FL, entry).found(ino));
            return None;
        }
        Some(clusters)
    }
}
