//! Faults of an inode that pass 1 noted and left until a name leads to it, so that the name can be reported.
//!
//! e2fsck asks this for each name of such an inode, and in pass 4 for each inode that no name leads to, noted or not.

use ondisk::ext4::feature::{Compat, Incompat, RoCompat};
use ondisk::ext4::inline::IN_BLOCK;
use ondisk::ext4::inode::flag;
use ondisk::ext4::{FileType, Inode};

use crate::ext4::e2fsck::problems::{
    P2_BAD_BLOCK_DEV, P2_BAD_CHAR_DEV, P2_BAD_FIFO, P2_BAD_MODE, P2_BAD_SOCKET, P2_BLOCKS_HI_ZERO,
    P2_DIR_SIZE_HIGH_ZERO, P2_FADDR_ZERO, P2_FILE_ACL_BAD, P2_FILE_ACL_ZERO, P2_FRAG_ZERO,
    P2_FSIZE_ZERO, P2_I_FILE_ACL_HI_ZERO, P2_INVALID_SYMLINK,
};
use crate::ext4::pass1::attributes::inline_tail;
use crate::ext4::pass1::attributes::search::Values;
use crate::ext4::pass1::special::{self, Link};
use crate::ext4::volume::Volume;
use crate::frame::finding::{Finding, Value};
use crate::frame::problem::Problem;

/// `s_creator_os`.
const LINUX: u32 = 0;
const HURD: u32 = 1;
/// `h_i_frag` and `h_i_fsize` of the Hurd's inodes.
const FRAGMENT: usize = 116;
const FRAGMENT_SIZE: usize = 117;

/// One thing that is wrong with it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) problem: &'static Problem,
    found: Option<Value>,
    expected: Option<Value>,
}

impl Fault {
    /// With its values.
    pub(crate) fn into_finding(self, mut finding: Finding) -> Finding {
        finding.found = self.found;
        finding.expected = self.expected;
        finding
    }
}

fn fault(problem: &'static Problem) -> Fault {
    Fault {
        problem,
        found: None,
        expected: None,
    }
}

/// A field that must be 0 and is not.
fn not_zero(problem: &'static Problem, found: impl Into<Value>) -> Fault {
    Fault {
        found: Some(found.into()),
        expected: Some(Value::Number(0)),
        ..fault(problem)
    }
}

/// All faults, in e2fsck's order.
pub(crate) fn judge(
    volume: &Volume<'_>,
    values: &Values,
    ino: u32,
    inode: &Inode<'_>,
) -> Vec<Fault> {
    let (sb, raw) = (&volume.sb, inode.raw());
    let mut faults = Vec::new();
    let block = volume.attribute_block(inode);
    if block != 0 && !sb.has_compat(Compat::EXT_ATTR) {
        faults.push(not_zero(&P2_FILE_ACL_ZERO, block));
    }
    faults.extend(kind(volume, values, ino, inode));
    if raw.i_obso_faddr.get() != 0 {
        faults.push(not_zero(&P2_FADDR_ZERO, raw.i_obso_faddr.get()));
    }
    let creator = sb.s_creator_os.get();
    if creator == HURD {
        for (at, problem) in [(FRAGMENT, &P2_FRAG_ZERO), (FRAGMENT_SIZE, &P2_FSIZE_ZERO)] {
            if inode.bytes()[at] != 0 {
                faults.push(not_zero(problem, u32::from(inode.bytes()[at])));
            }
        }
    }
    let blocks_high = raw.l_i_blocks_high.get();
    if creator == LINUX && blocks_high != 0 && !sb.has_ro_compat(RoCompat::HUGE_FILE) {
        faults.push(not_zero(&P2_BLOCKS_HI_ZERO, blocks_high));
    }
    let acl_high = raw.l_i_file_acl_high.get();
    if creator == LINUX && acl_high != 0 && !sb.has_incompat(Incompat::BIT64) {
        faults.push(not_zero(&P2_I_FILE_ACL_HI_ZERO, acl_high));
    }
    if block != 0 && !volume.is_block(block) {
        let most = volume.geometry.blocks_count;
        faults.push(Fault {
            found: Some(block.into()),
            expected: Some(format!("a block below {most}").into()),
            ..fault(&P2_FILE_ACL_BAD)
        });
    }
    if is_too_high(volume, inode) {
        faults.push(not_zero(&P2_DIR_SIZE_HIGH_ZERO, raw.i_size_high.get()));
    }
    faults
}

/// Whether a directory has a high half of its size and no blocks that could fill it.
fn is_too_high(volume: &Volume<'_>, inode: &Inode<'_>) -> bool {
    /// Sectors of 2 GiB are 2^22; e2fsck's bound is by the bits of a block: 2^29 for 1 byte.
    const BITS: u32 = 29;
    let bits = volume.geometry.block_size.trailing_zeros();
    inode.file_type() == Some(FileType::Directory)
        && inode.raw().i_size_high.get() != 0
        && !volume.sb.has_incompat(Incompat::LARGEDIR)
        && inode.raw().i_blocks_lo.get() < 1 << (BITS - bits)
}

/// Whether it matches its mode.
fn kind(volume: &Volume<'_>, values: &Values, ino: u32, inode: &Inode<'_>) -> Option<Fault> {
    let device = |problem| (!special::is_device_like(inode)).then(|| fault(problem));
    match inode.file_type() {
        None => Some(Fault {
            found: Some(format!("{:#o}", inode.raw().i_mode.get()).into()),
            ..fault(&P2_BAD_MODE)
        }),
        Some(FileType::CharDevice) => device(&P2_BAD_CHAR_DEV),
        Some(FileType::BlockDevice) => device(&P2_BAD_BLOCK_DEV),
        Some(FileType::Fifo) => device(&P2_BAD_FIFO),
        Some(FileType::Socket) => device(&P2_BAD_SOCKET),
        Some(FileType::Symlink) => {
            let room = || Some((IN_BLOCK + inline_tail(volume, values, ino, inode)?.len()) as u64);
            let target = special::link(volume, inode, room);
            let sound = match target {
                Link::Sound => true,
                Link::Bad => false,
                Link::InBlock(block) => is_sound(volume, inode, block),
            };
            (!sound).then(|| fault(&P2_INVALID_SYMLINK))
        }
        Some(FileType::Directory | FileType::Regular) => None,
    }
}

/// Whether the target of a link lies in that block.
fn is_sound(volume: &Volume<'_>, inode: &Inode<'_>, block: u64) -> bool {
    let mut bytes = Vec::new();
    let size = inode.raw().i_size_lo.get();
    volume.read_into(block, &mut bytes).is_ok()
        && special::is_target(&bytes, size, inode.has_flags(flag::ENCRYPT))
}
