//! A loop device backed by a sparse image file: a block device for any host.
//!
//! Direct I/O to the backing file matters more than anything else about it: without it the image's
//! blocks are in the page cache a second time, below the filesystem under test, and no dropping of
//! caches above makes a read cold. So the device is bound with `LO_FLAGS_DIRECT_IO` and a sector
//! size that the host's filesystem can serve directly (statx, `STATX_DIOALIGN`), and the kernel is
//! asked afterwards whether it really does. Where it cannot (overlay, some network and stacked
//! filesystems), the image is served through the page cache, and the facts and a warning say so.

use std::fs::{File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use probe::mountinfo;
use probe::superblock::Fields;
use rustix::io::Errno;
use workload::direct;

use super::{Device, free_loop, queue_facts};
use crate::host::{self, Host};
use crate::syscall::block;
use crate::undo::{Journal, Step, actions};
use crate::{Error, Result};

/// A bound loop device on its own image.
#[derive(Debug)]
pub struct LoopImage {
    journal: Arc<Journal>,
    host: Host,
    image: PathBuf,
    image_step: Option<u64>,
    node: PathBuf,
    name: String,
    loop_step: Option<u64>,
    /// Device and inode number of the image, once it is bound.
    bound: Option<(u64, u64)>,
    size: u64,
    direct: bool,
    warnings: Vec<String>,
}

impl LoopImage {
    /// Makes a sparse image of `size` bytes in `folder` and binds it.
    pub fn create(
        folder: &Path,
        name: &str,
        size: u64,
        journal: &Arc<Journal>,
    ) -> Result<LoopImage> {
        room_for(folder, size)?;
        let folder = folder
            .canonicalize()
            .map_err(|error| Error::io(folder, "cannot use it for images", error))?;
        let image = folder.join(name);
        let step = journal.will_make(Step::Image {
            path: image.clone(),
        })?;
        let mut made = LoopImage::unbound(journal, image, size);
        made.image_step = Some(step);
        // From here on an early return drops `made`, which undoes as much as was done.
        let file = made.make_file()?;
        made.bind(&file)?;
        made.warn();
        Ok(made)
    }

    /// Binds an image that is there already, and leaves it where it is on release.
    pub fn over(image: &Path, journal: &Arc<Journal>) -> Result<LoopImage> {
        let failed = |error| Error::io(image, "cannot use it as an image", error);
        let path = image.canonicalize().map_err(failed)?;
        let opened = OpenOptions::new().read(true).write(true).open(&path);
        let file = opened.map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        let mut made = LoopImage::unbound(journal, path, size);
        made.bind(&file)?;
        made.warn();
        Ok(made)
    }

    fn unbound(journal: &Arc<Journal>, image: PathBuf, size: u64) -> LoopImage {
        LoopImage {
            journal: journal.clone(),
            host: Host::default(),
            image,
            image_step: None,
            node: PathBuf::new(),
            name: String::new(),
            loop_step: None,
            bound: None,
            size,
            direct: false,
            warnings: Vec::new(),
        }
    }

    fn make_file(&mut self) -> Result<File> {
        let image = self.image.clone();
        let failed = |error| Error::io(&image, "cannot make the image", error);
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&image);
        let file = match opened {
            Ok(file) => file,
            Err(error) => {
                // Nothing was made: a file of that name is not ours to remove.
                if let Some(step) = self.image_step.take() {
                    self.journal.note_undone(step);
                }
                return Err(failed(error));
            }
        };
        file.set_len(self.size).map_err(failed)?;
        Ok(file)
    }

    /// Binds with the first of the possible modes that the kernel really grants.
    fn bind(&mut self, file: &File) -> Result<()> {
        let modes: &[(u32, u32)] = match direct::offset_alignment(file).unwrap_or(None) {
            Some(0) => &[(512, 0)],
            Some(align) if align <= 512 => &[(512, block::LOOP_DIRECT_IO), (512, 0)],
            Some(_) => &[(4096, block::LOOP_DIRECT_IO), (512, 0)],
            None => &[
                (512, block::LOOP_DIRECT_IO),
                (4096, block::LOOP_DIRECT_IO),
                (512, 0),
            ],
        };
        for &(sector, flags) in modes {
            match self.bind_once(file, sector, flags) {
                Ok(()) => {}
                // Some kernels refuse a sector size or flag outright instead of dropping it.
                Err(Error::Io { source, .. })
                    if flags != 0 && source.raw_os_error() == Some(Errno::INVAL.raw_os_error()) =>
                {
                    continue;
                }
                Err(error) => return Err(error),
            }
            self.direct = self.attribute("dio").as_deref() == Some("1");
            if self.direct || flags == 0 {
                return self.verify();
            }
            self.unbind()?;
        }
        Ok(())
    }

    fn bind_once(&mut self, file: &File, sector: u32, flags: u32) -> Result<()> {
        let name = self.image.as_os_str().as_bytes();
        let step = |node: &Path| Step::Loop {
            device: node.into(),
            image: self.image.clone(),
        };
        let bind = |device: &File| {
            block::loop_configure(device.as_fd(), file.as_fd(), sector, flags, name)
        };
        let taken = free_loop::take(&self.journal, &step, &bind)?;
        self.name = taken.name;
        self.node = taken.node;
        self.loop_step = Some(taken.step);
        let bound = block::loop_file(taken.device.as_fd());
        self.bound = Some(
            bound
                .map_err(|error| Error::io(&self.node, "cannot see what it is bound to", error))?,
        );
        Ok(())
    }

    fn attribute(&self, name: &str) -> Option<String> {
        self.host
            .text(format!("sys/block/{}/loop/{name}", self.name))
    }

    /// The kernel must show our image as the device's backing file before anything is written to it.
    fn verify(&self) -> Result<()> {
        let shown = self
            .host
            .line(format!("sys/block/{}/loop/backing_file", self.name))
            .unwrap_or_default();
        let shown = Path::new(&shown);
        let file = File::open(&self.node)
            .map_err(|error| Error::io(&self.node, "cannot open the loop device", error))?;
        let size = block::size(&file).unwrap_or(0);
        if shown == self.image && size == self.size / 512 * 512 {
            return Ok(());
        }
        Err(Error::NotUndone {
            thing: self.node.display().to_string(),
            why: format!(
                "it shows \"{}\" with {size} bytes instead of {} with {}",
                shown.display(),
                self.image.display(),
                self.size
            ),
            next: "see losetup -a".into(),
        })
    }

    fn unbind(&mut self) -> Result<()> {
        if let Some(step) = self.loop_step {
            let bound = self.bound;
            actions::detach(&self.host, &self.node, &|file| Some(file) == bound)?;
            self.loop_step = None;
            self.journal.note_undone(step);
        }
        Ok(())
    }

    fn warn(&mut self) {
        let host_kind = serving_kind(&self.image).unwrap_or_default();
        if !self.direct {
            self.warnings.push(format!(
                "the loop image is served through the page cache: {host_kind} below it gives no direct I/O, so reads may come from RAM"
            ));
        } else if host_kind == "tmpfs" || host_kind == "ramfs" {
            self.warnings.push(format!(
                "the loop image is in RAM ({host_kind}): no disk is measured"
            ));
        }
    }
}

impl Device for LoopImage {
    fn kind(&self) -> &'static str {
        "loop image"
    }

    fn node(&self) -> Option<&Path> {
        Some(&self.node)
    }

    fn block_name(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn size(&self) -> Option<u64> {
        Some(self.size)
    }

    fn backing_file(&self) -> Option<&Path> {
        Some(&self.image)
    }

    fn facts(&self) -> Fields {
        let mut facts = queue_facts(&self.host, &self.name);
        let mut put = |name: &str, value: String| facts.insert(name.into(), value);
        put("backing_file", self.image.display().to_string());
        put("direct_io", self.direct.to_string());
        put("size", self.size.to_string());
        put(
            "host_filesystem",
            serving_kind(&self.image).unwrap_or_default(),
        );
        facts
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn release(&mut self) -> Result<()> {
        self.unbind()?;
        if let Some(step) = self.image_step {
            actions::remove_image_of(self.journal.dir(), &self.image)?;
            self.image_step = None;
            self.journal.note_undone(step);
        }
        Ok(())
    }

    fn abandon(&mut self) {
        self.loop_step = None;
        self.image_step = None;
    }

    /// A copy of the mount in another mount namespace may be all that uses it, and the run's folder may be gone before that ends.
    fn abandon_in_use(&mut self) {
        if self.loop_step.is_some()
            && let Some(bound) = self.bound
            && let Err(error) = actions::detach_at_last_close(&self.node, bound)
        {
            tracing::warn!("{error}");
        }
        self.abandon();
    }
}

impl Drop for LoopImage {
    fn drop(&mut self) {
        if let Err(error) = self.release() {
            tracing::warn!("{error}");
        }
    }
}

fn serving_kind(path: &Path) -> Option<String> {
    let mounts = mountinfo::own().ok()?;
    Some(mountinfo::serving(&mounts, path)?.kind.clone())
}

/// The least a host filesystem must have free: one that fills up under a loop device turns into I/O
/// errors above.
const MARGIN: u64 = 64 << 20;

/// An image is sparse and takes what is written to it, so its size says nothing about the room it
/// needs: the caller, who knows the workload, compares that with the free space. Here only a host that is
/// full already is refused.
pub(super) fn room_for(folder: &Path, asked: u64) -> Result<()> {
    enough(folder, asked, free(folder)?, MARGIN)
}

/// Room for an image that is written through.
pub(crate) fn room_to_fill(folder: &Path, asked: u64) -> Result<()> {
    enough(folder, asked, free(folder)?, asked.saturating_add(MARGIN))
}

fn free(folder: &Path) -> Result<u64> {
    host::free_bytes(folder)
        .map_err(|error| Error::io(folder, "cannot see how much space is free", error))
}

fn enough(folder: &Path, asked: u64, free: u64, margin: u64) -> Result<()> {
    if free < margin {
        return Err(Error::ImageTooLarge {
            folder: folder.into(),
            asked,
            free,
            margin,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparse_image_may_be_larger_than_the_free_space_but_not_on_a_full_host() {
        let folder = Path::new("/x");
        enough(folder, 1 << 40, MARGIN, MARGIN).unwrap();
        let error = enough(folder, 1 << 30, MARGIN - 1, MARGIN).unwrap_err();
        assert_eq!(
            error.to_string(),
            "/x: no room for an image of 1024 MiB: 63 MiB free, it takes at least 64 MiB; free some space or choose another --out folder"
        );
    }

    #[test]
    fn an_image_that_was_there_before_is_left_alone() {
        let run = tempfile::tempdir().unwrap();
        let journal = Journal::open(run.path()).unwrap();
        let image = run.path().join("there.img");
        std::fs::write(&image, "data").unwrap();
        let error = LoopImage::create(run.path(), "there.img", 1 << 20, &journal).unwrap_err();
        assert!(error.to_string().contains("there.img"), "{error}");
        assert_eq!(std::fs::read_to_string(&image).unwrap(), "data");
        assert_eq!(journal.left(), Vec::new());
    }
}
