//! The layout of one file.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::error::{Error, io};
use crate::extent::{Extent, Flags};
use crate::fiemap::{Failure, Mapper, Request};
use crate::gaps::{self, Gap, Known};
use crate::geometry::{self, Geometry};
use crate::summary::LayoutSummary;
use crate::tally::{FileFacts, Tally};
use crate::{fibmap, fsmap, magic};

/// Options of a layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Write the file back before the map is taken. The bytes that were delayed until then are
    /// kept in [`FileLayout::delayed_before`].
    pub sync: bool,
    /// The map of the extended attributes.
    pub xattr: bool,
}

/// The layout of one file. Lengths and addresses are bytes.
#[derive(Clone, Debug, Serialize)]
pub struct FileLayout {
    /// The path as given.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// Inode number.
    pub inode: u64,
    /// `st_size`.
    pub size: u64,
    /// `st_blocks`, in bytes.
    pub allocated: u64,
    /// Bytes of a block.
    pub block_size: u32,
    /// `ext`, `xfs`, `btrfs`, `ocfs2`, `f2fs`, or the magic number.
    pub filesystem: String,
    /// `f_type` of statfs(2).
    pub magic: u64,
    /// `f_blocks` of statfs(2).
    pub filesystem_blocks: u64,
    /// `f_files` of statfs(2).
    pub filesystem_inodes: u64,
    /// `st_dev`.
    pub device: u64,
    /// ext: whether the map is of indirect blocks, not of extents.
    pub indirect: bool,
    /// `FIEMAP` or `FIBMAP`.
    pub source: &'static str,
    /// Delayed bytes before the file was written back; `None` when it was not asked to be.
    pub delayed_before: Option<u64>,
    /// The map, in the file's order.
    pub rows: Vec<Extent>,
    /// Places where the file is interrupted, with their causes.
    pub gaps: Vec<Gap>,
    /// The summary.
    pub summary: LayoutSummary,
    /// The geometry of its filesystem, where it is known.
    #[serde(skip)]
    pub geometry: Option<Arc<dyn Geometry>>,
}

impl FileLayout {
    /// Reads the layout of a file or directory (the directory's own blocks, not its files).
    ///
    /// # Errors
    /// [`Error`] of any kind but `NotXfs`.
    pub fn read(path: &Path, options: Options) -> Result<FileLayout, Error> {
        let file = open(path)?;
        let geometry = geometry::of(&file);
        FileLayout::of(&file, path, options, geometry)
    }

    /// The same, of an open file whose geometry is known.
    ///
    /// # Errors
    /// As [`FileLayout::read`].
    pub fn of(
        file: &File,
        path: &Path,
        options: Options,
        geometry: Option<Arc<dyn Geometry>>,
    ) -> Result<FileLayout, Error> {
        let stat = file.metadata().map_err(io("look at", path))?;
        let fs = rustix::fs::fstatfs(file).map_err(|e| io("look at", path)(e.into()))?;
        let magic = fs.f_type as u64;
        let block_size = fibmap::block_size(file).unwrap_or(fs.f_bsize as u32).max(1);
        let target = Target {
            file,
            path,
            magic,
            size: stat.len(),
            block_size,
            is_directory: stat.is_dir(),
        };
        let request = Request {
            xattr: options.xattr,
            ..Request::default()
        };
        let before = options.sync.then(|| target.rows(request)).transpose()?;
        let (rows, source) = target.rows(Request {
            sync: options.sync,
            ..request
        })?;
        let indirect = magic::is_ext(magic) && fibmap::has_extents_flag(file) == Some(false);
        // Again, because writing back allocates.
        let stat = file.metadata().map_err(io("look at", path))?;
        let mut layout = FileLayout {
            path: path.to_owned(),
            inode: stat.ino(),
            size: stat.len(),
            allocated: stat.blocks() * 512,
            block_size,
            filesystem: magic::name_of(magic),
            magic,
            filesystem_blocks: fs.f_blocks,
            filesystem_inodes: fs.f_files,
            device: stat.dev(),
            indirect,
            source,
            delayed_before: before.map(|(rows, _)| delayed(&rows)),
            rows,
            gaps: Vec::new(),
            summary: LayoutSummary::default(),
            geometry,
        };
        layout.explain(|at| layout_owner(file, at));
        Ok(layout)
    }

    /// A layout from rows that were taken elsewhere, such as an old listing.
    pub fn from_rows(path: &Path, size: u64, block_size: u32, rows: Vec<Extent>) -> FileLayout {
        FileLayout {
            path: path.to_owned(),
            inode: 0,
            size,
            allocated: rows.iter().map(|row| row.length).sum(),
            block_size,
            filesystem: magic::name_of(magic::EXT),
            magic: magic::EXT,
            filesystem_blocks: 0,
            filesystem_inodes: 0,
            device: 0,
            indirect: false,
            source: "FIEMAP",
            delayed_before: None,
            rows,
            gaps: Vec::new(),
            summary: LayoutSummary::default(),
            geometry: None,
        }
    }

    /// Finds the gaps and their causes anew and computes the summary.
    pub fn explain(&mut self, owner_at: impl FnMut(u64) -> Option<fsmap::Owner>) {
        let known = Known {
            geometry: self.geometry.as_deref(),
            indirect: self.indirect,
        };
        self.gaps = gaps::explain(&self.rows, known, owner_at);
        let mut tally = Tally::default();
        self.add_to(&mut tally);
        self.summary = tally.summary();
    }

    /// Adds this file to a sum.
    pub fn add_to(&self, tally: &mut Tally) {
        let facts = FileFacts {
            inode: self.inode,
            size: self.size,
            allocated: self.allocated,
            indirect: self.indirect,
        };
        tally.add_explained(facts, &self.rows, self.geometry.as_deref(), &self.gaps);
    }
}

/// Opens what a user named. Not blocking: a FIFO must not hold us.
pub(crate) fn open(path: &Path) -> Result<File, Error> {
    let file = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
        .map_err(io("open", path))?;
    let kind = file.metadata().map_err(io("look at", path))?.file_type();
    let no_file = |kind| Error::NoFile {
        path: path.to_owned(),
        kind,
    };
    match kind {
        kind if kind.is_file() || kind.is_dir() => Ok(file),
        kind if kind.is_fifo() => Err(no_file("FIFO")),
        kind if kind.is_socket() => Err(no_file("socket")),
        _ => Err(no_file("device")),
    }
}

/// The file that is mapped.
struct Target<'a> {
    file: &'a File,
    path: &'a Path,
    magic: u64,
    size: u64,
    block_size: u32,
    is_directory: bool,
}

impl Target<'_> {
    /// The rows and the call that gave them: FIEMAP, or FIBMAP without it.
    fn rows(&self, request: Request) -> Result<(Vec<Extent>, &'static str), Error> {
        let mut rows = Vec::new();
        match Mapper::default().map(self.file, request, &mut rows) {
            Ok(()) => Ok((rows, "FIEMAP")),
            Err(Failure::Unsupported(source)) if request.xattr => {
                Err(self.no_map("FIEMAP", source))
            }
            Err(Failure::Unsupported(_)) => {
                if request.sync {
                    self.file.sync_all().map_err(io("sync", self.path))?;
                }
                fibmap::map(self.file, self.size, self.block_size, &mut rows)
                    .map_err(|source| self.no_map("FIBMAP", source))?;
                Ok((rows, "FIBMAP"))
            }
            Err(Failure::UnknownFlags(flags)) => Err(Error::UnknownFlags {
                path: self.path.to_owned(),
                flags,
            }),
            Err(Failure::Io(source)) => Err(io("map", self.path)(source)),
        }
    }

    fn no_map(&self, call: &'static str, source: std::io::Error) -> Error {
        Error::NoMap {
            path: self.path.to_owned(),
            filesystem: magic::name_of(self.magic),
            what: if self.is_directory {
                "directories"
            } else {
                "files"
            },
            call,
            source,
        }
    }
}

/// A path in JSON, which has no other text than Unicode.
pub(crate) fn lossy<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

fn delayed(rows: &[Extent]) -> u64 {
    let delayed = rows.iter().filter(|row| row.flags.has(Flags::DELALLOC));
    delayed.map(|row| row.length).sum()
}

/// The owner of a byte of a file's filesystem, by GETFSMAP.
fn layout_owner(file: &File, at: u64) -> Option<fsmap::Owner> {
    let device = device_number(file)?;
    let mut owner = None;
    let range = at..at.checked_add(1)?;
    fsmap::regions(file.as_fd(), device, range, |region| {
        if (region.physical..region.end()).contains(&at) {
            owner = Some(region.owner);
        }
        true
    })
    .ok()?;
    owner
}

/// The number of a file's device, as GETFSMAP wants it.
pub(crate) fn device_number(file: &File) -> Option<u32> {
    let device = file.metadata().ok()?.dev();
    Some(fsmap::device_number(
        rustix::fs::major(device),
        rustix::fs::minor(device),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::Cause;

    #[test]
    fn what_cannot_be_told_is_one_clear_line() {
        let message = |path: &str| {
            FileLayout::read(Path::new(path), Options::default())
                .unwrap_err()
                .to_string()
        };
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from(0o600),
            0,
        )
        .unwrap();
        let text = [
            message("/proc/self/status"),
            message("/no/such/file"),
            message("/dev/null"),
            message(fifo.to_str().unwrap()).replace(folder.path().to_str().unwrap(), "/folder"),
        ];
        insta::assert_snapshot!(text.join("\n"));
    }

    #[test]
    fn the_listings_of_2010_with_the_causes_of_their_gaps() {
        let blocks = |list: &[(u64, u64)]| {
            let mut logical = 0;
            let row = |&(physical, length): &(u64, u64)| {
                let row = crate::count::tests::row(logical << 12, physical << 12, length << 12, 0);
                logical += length;
                row
            };
            list.iter().map(row).collect::<Vec<_>>()
        };
        let rows = blocks(&crate::filefrag::tests::PISZCZ_ORDERED);
        let mut layout = FileLayout::from_rows(Path::new("/r1/bigfile"), 10 << 30, 4096, rows);
        layout.geometry = Some(Arc::new(crate::geometry::piszcz()));
        layout.inode = 12;
        layout.explain(|_| None);
        let seen: Vec<(u64, Vec<Cause>)> = layout
            .gaps
            .iter()
            .map(|gap| (gap.expected >> 12, gap.causes.clone()))
            .collect();
        let (copy, flex) = (Cause::BackupSuperblock, Cause::FlexMetadata);
        let wanted = vec![
            (98304, vec![copy]),
            (163_840, vec![copy]),
            (229_376, vec![copy]),
            (294_912, vec![copy]),
            (524_288, vec![flex]),
            (819_200, vec![copy]),
            (884_736, vec![copy]),
            (1_048_576, vec![flex]),
            (1_572_864, vec![flex, copy]),
            (2_097_152, vec![flex]),
            (2_621_440, vec![flex, copy]),
            (2_805_760, vec![Cause::GroupBoundary]),
        ];
        assert_eq!(seen, wanted);
        let sum = &layout.summary;
        assert_eq!((sum.rows, sum.extents, sum.runs), (81, 13, 13));
        assert_eq!(
            (sum.discontiguities, sum.metadata_discontiguities),
            (12, 11)
        );
        assert_eq!((sum.avoidable(), sum.mapped), (1, 10 << 30));
        // The second listing was taken before the tail was written back.
        let mut second = blocks(&crate::filefrag::tests::PISZCZ_ORDERED[..78]);
        second.push(crate::count::tests::row(
            2_539_520 << 12,
            2_754_560 << 12,
            16384 << 12,
            0,
        ));
        layout.rows = second;
        layout.explain(|_| None);
        assert_eq!((layout.summary.rows, layout.summary.extents), (79, 12));
        assert_eq!(layout.summary.avoidable(), 0);
        assert_eq!(layout.summary.hole_bytes, (2_621_440 - 2_555_904) << 12);
    }
}
