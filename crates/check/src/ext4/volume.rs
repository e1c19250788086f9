//! A filesystem that has been opened, as every pass sees it.

use std::ops::ControlFlow;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use blockio::{BlockSource, Piece, Span, Sweep};
use ondisk::ext4::{Checksum, Geometry, GroupDescriptor, Seed, Superblock};

use super::memory::Guard;
use super::pass1::attributes::Values;
use super::{Failure, pace};
use crate::log::DEFAULT_KEPT;
use crate::watch::Watch;

/// Whose verdict is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reference {
    /// e2fsprogs 1.47.4, the newest whose source the codes were taken from.
    #[default]
    E2fsck1474,
    /// e2fsprogs 1.47.0, that of Debian 12.
    E2fsck1470,
}

/// The device or file of a journal outside of the filesystem (e2fsck's `-j`).
#[derive(Clone)]
pub struct ExternalJournal {
    /// Its bytes.
    pub source: Arc<dyn BlockSource>,
    /// Its device number, as `s_journal_dev` has it; none for a file.
    pub device: Option<u32>,
}

impl ExternalJournal {
    /// That device, or that file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(path: &Path) -> Result<ExternalJournal, blockio::OpenError> {
        let opened = blockio::open(path, blockio::Mode::Buffered)?;
        // new_encode_dev() of the kernel: what s_journal_dev holds.
        let number = |rdev: u64| {
            let (major, minor) = (rustix::fs::major(rdev), rustix::fs::minor(rdev));
            (minor & 0xff) | major << 8 | (minor & !0xff) << 12
        };
        let device = std::fs::metadata(path)
            .ok()
            .filter(|metadata| metadata.file_type().is_block_device());
        Ok(ExternalJournal {
            source: Arc::from(opened.source),
            device: device.map(|metadata| number(metadata.rdev())),
        })
    }
}

impl std::fmt::Debug for ExternalJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ExternalJournal")
            .field(self.source.name())
            .finish()
    }
}

/// What the caller decides.
#[derive(Clone, Debug)]
pub struct Options {
    /// Threads of the passes that have several; at least 1.
    pub threads: usize,
    /// How to read. `block` and `threads` are set from the filesystem and from above.
    pub sweep: Sweep,
    /// Whether `sweep` is made smaller where there is little to be read.
    pub scale: bool,
    /// Most bytes of memory for maps, lists and buffers; none: what it needs. What counts is what the process takes from the
    /// beginning of the check on: two checks in one process, or a caller that allocates meanwhile, end each other.
    pub memory: Option<u64>,
    /// Findings kept of each problem.
    pub keep: usize,
    /// Whose verdict.
    pub reference: Reference,
    /// Now, seconds since 1970: times in the future are judged by it.
    pub now: i64,
    /// Superblock to use instead of the one at byte 1024, as a block number (e2fsck's `-b`).
    pub superblock: Option<u64>,
    /// Block size that goes with it, bytes (e2fsck's `-B`).
    pub block_size: Option<u32>,
    /// Where the journal is, if it is not in the filesystem. None are looked for.
    pub journal: Option<ExternalJournal>,
    /// Whether findings about inodes are to say the path, which costs one more reading of the directories where there are any.
    pub paths: bool,
}

impl Default for Options {
    /// A thread for each processor, requests of 1 MiB, no bound on memory, the newest reference, now.
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Options {
            threads,
            sweep: Sweep {
                depth: 4 * threads.max(2),
                ..Sweep::default()
            },
            scale: true,
            memory: None,
            keep: DEFAULT_KEPT,
            reference: Reference::default(),
            now: now.map_or(0, |since| {
                i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
            }),
            superblock: None,
            block_size: None,
            journal: None,
            paths: true,
        }
    }
}

/// What the descriptors claimed when they were read, as far as it is not to be taken at its word.
#[derive(Debug, Default)]
pub struct Claims {
    /// `bg_flags` of each group as on disk; cleared only where the reference clears them too, when a backup is in use.
    pub flags: Vec<u16>,
    /// Groups whose descriptor does not match its checksum, ascending.
    pub checksums: Vec<(u32, Checksum)>,
    /// Groups that are marked as never written, or have unused inodes, without any feature that allows it, ascending.
    pub uninit: Vec<u32>,
    /// The unused inodes of each of those.
    pub unused: Vec<u32>,
}

impl Claims {
    /// The unused inodes that a group claims without any feature that allows it; none where there is no such claim.
    pub fn unused(&self, group: u32) -> Option<u32> {
        let at = self.uninit.binary_search(&group).ok()?;
        self.unused.get(at).copied()
    }
}

/// An opened filesystem: where its bytes come from and what its superblock says.
pub struct Volume<'a> {
    /// The bytes.
    pub source: &'a dyn BlockSource,
    /// The superblock in use: the primary, or the backup it was opened by.
    pub sb: Superblock,
    /// Its arithmetic.
    pub geometry: Geometry,
    /// One for each group, as they lie in the table in use; flags that the reference would not trust are already cleared.
    pub descriptors: Vec<GroupDescriptor>,
    /// What they claimed.
    pub claims: Claims,
    /// The block of the backup it was opened by; none: the primary.
    pub backup: Option<u64>,
    /// Seed of metadata checksums; none without the feature.
    pub seed: Option<Seed>,
    /// What the caller decided.
    pub options: Options,
    /// Holds the check to its bound of memory.
    pub(crate) guard: Guard,
    /// Inodes of attributes' values that were looked at.
    pub(crate) values: Values,
    /// Who watches.
    pub watch: &'a dyn Watch,
}

impl Volume<'_> {
    /// Bytes of a block.
    pub fn block_size(&self) -> usize {
        self.geometry.block_size as usize
    }

    /// A sweep with the caller's wishes over this filesystem's blocks.
    pub fn sweep(&self) -> Sweep {
        Sweep {
            threads: self.options.threads.max(1),
            block: self.geometry.block_size,
            ..self.options.sweep.clone()
        }
    }

    /// Reads these spans with [`Volume::sweep`], fitted to their lengths, and tells who watches: first how much it is, then what each piece was. `make` gives
    /// each thread what it fills; these come back. After each piece the watch is asked whether to go on.
    ///
    /// # Errors
    /// There are no buffers or no queue, or the check was stopped.
    pub(crate) fn sweep_watched<T: Send>(
        &self,
        spans: Vec<Span>,
        make: impl Fn() -> T,
        each: impl Fn(&mut T, &Piece<'_>) + Sync,
    ) -> Result<Vec<T>, Failure> {
        let bytes = spans.iter().map(|span| span.range.end - span.range.start);
        self.watch.expect(bytes.fold(0, u64::saturating_add));
        let stopped = AtomicBool::new(false);
        let sweep = pace::fitted(&self.sweep(), &spans, self.source.geometry());
        let swept = sweep.run(
            self.source,
            spans,
            |_| make(),
            |state, piece| {
                each(state, &piece);
                let range = piece.range();
                self.watch.advance(range.end - range.start);
                if self.watch.cancelled() || self.guard.is_full() {
                    stopped.store(true, Relaxed);
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            },
        )?;
        self.guard.hold()?;
        if stopped.into_inner() {
            return Err(Failure::Stopped);
        }
        Ok(swept.states)
    }
}
