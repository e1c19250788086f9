//! What an inode is beside its blocks: flags, attributes, kind, encryption, index.
//!
//! The walk over the inodes (`pass1`) calls a [`Worker`] at four points of each inode, in the order in which e2fsck looks at
//! these things, so that the findings of one inode come in its order:
//!
//! 1. [`Worker::check_flags`]: flags that exclude each other, or a feature, or the kind of the inode;
//! 2. [`Worker::check_body`]: `i_extra_isize`, the attributes behind it, times that cannot be;
//! 3. [`Worker::check_kind`]: whether device, pipe, socket and link are what they say, and what they are encrypted with;
//! 4. [`Worker::check_block`]: the number of the attribute block, before the inode's own blocks are counted;
//!    [`Worker::check_index`] when they have been.
//!
//! What needs a block of its own is only noted there, and read ascending by [`Shared::finish`] when all inodes have been seen: each
//! attribute block once, however many inodes share it, and the root of each index. Under "answer no to everything" the reference counts
//! an attribute block for its inode whatever is in it, so the count of blocks need not wait for that.

use ondisk::ext4::{FileType, Inode};

/// What the attributes of an inode add to what it is charged for: i_blocks, and the quota of its owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Charge {
    /// Clusters (`pb.num_blocks` counts these).
    pub clusters: u64,
    /// Inodes that hold values.
    pub inodes: u64,
}

/// What an inode turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// What its mode says, if it says anything.
    pub file_type: Option<FileType>,
    /// It is not what it says, or has a field that must be 0: pass 2 looks at it where a name leads to it (e2fsck's
    /// `inode_bad_map`). C adds its own reasons (i_faddr, size_high of a directory, ...).
    pub bad: bool,
    /// A sound link whose target is inline: no blocks to count, check_blocks is not called at all.
    pub done: bool,
}

impl Shared {
    /// Before the sweep.
    pub(crate) fn new(volume: &Volume<'_>) -> Result<Shared, OutOfMemory>;

    /// After the sweep, when each worker has called `Worker::hand_in`. `claim(block, inode)` is called once for each attribute block in
    /// use, ascending, and must mark its cluster (and note it as shared if it was marked before).
    /// Raises what is wrong with attribute blocks, their reference counts, index roots; P2_FEATURE_LARGE_DIRS.
    pub(crate) fn finish(
        self,
        volume: &Volume<'_>,
        claim: &mut dyn FnMut(u64, u32),
        log: &mut Log,
    ) -> Result<Attributes, Failure>;
}

/// What passes 2 and 4 and the quota sums want to know.
pub(crate) struct Attributes {
    /// Attribute entries that name each inode as the holder of their value (pass 4: 4_EA_INODE_REF_COUNT; pass 2: 2_EA_INODE_DIR_LINK).
    pub value_refs: Links,
    /// Inodes with the flag EA_INODE, ascending.
    pub value_inodes: Vec<u32>,
    /// Policy of each encrypted inode: `policies.of(ino) -> Option<PolicyId>`.
    pub policies: Policies,
    /// What values named by shared attribute blocks add to their users' quota (only filled in with quota and ea_inode both).
    pub charges: Vec<OwnedCharge>,
}
pub(crate) struct OwnedCharge { pub uid: u32, pub gid: u32, pub projid: u32, pub charge: Charge }

/// One for each thread.
impl<'a> Worker<'a> {
    pub(crate) fn new(volume: &'a Volume<'a>, shared: &'a Shared) -> Worker<'a>;
    /// At the end of the thread.
    pub(crate) fn hand_in(self);

    /// Right after i_links_count was found not to be 0 (and dtime judged), before the extent flags and the special inodes:
    /// 1_CASEFOLD_NONDIR, 1_CASEFOLD_FEATURE, 1_EA_INODE_NONREG, both flags (1_CLEAR_*), 1_INLINE_DATA_FEATURE, _SET, _NO_ATTR.
    /// `sound_checksum`: whether the inode's checksum matches.
    /// true: go on with this inode; false: the reference ends here (1.47: a failed read).
    pub(crate) fn check_flags(&mut self, ino: u32, inode: &Inode<'_>, sound_checksum: bool, log: &mut Log);

    /// After 1_SET_IMAGIC: 1_EXTRA_ISIZE, attributes in the inode, 1_EA_TIME_OUT_OF_RANGE. The charge is counted with the inode's blocks.
    pub(crate) fn check_body(&mut self, ino: u32, inode: &Inode<'_>, log: &mut Log) -> Charge;

    /// Right after it: 1_TREAT_AS_DIRECTORY, 1_FAST_SYMLINK_EXTENT_FL, encryption, device, pipe, socket, link.
    pub(crate) fn check_kind(&mut self, ino: u32, inode: &Inode<'_>, log: &mut Log) -> Kind;

    /// First thing of check_blocks, for every inode whose blocks are counted (special ones too). `None`: the block
    /// number cannot be, mark the inode bad; `Some(charge)`: count it (0 clusters where there is no block).
    pub(crate) fn check_block(&mut self, ino: u32, inode: &Inode<'_>) -> Option<Charge>;

    /// For every inode with the flag INDEX, after its blocks were walked; `first` is the block that logical block 0 maps to.
    pub(crate) fn check_index(&mut self, ino: u32, inode: &Inode<'_>, first: Option<u64>, log: &mut Log);

    /// ext2fs_inline_data_size: bytes of inline content (60 + the attribute), None without the attribute. For check_blocks_inline_data and
    /// bad_size 7 (1_BAD_I_SIZE of an inline directory).
    pub(crate) fn inline_size(inode: &Inode<'_>) -> Option<u64>;
}
