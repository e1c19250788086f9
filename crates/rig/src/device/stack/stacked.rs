//! A stack that was made: a [`Device`] like any other, with members.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use probe::superblock::Fields;
use progress::Progress;
use rustix::fs::{major, minor};

use super::members::Members;
use super::{Bases, Part, Served, Stack, Stacking, dm, kernel, lvm, md, model, null_blk, undo};
use crate::device::{ClosedLog, Device, PowerSwitch, queue_facts};
use crate::host::Host;
use crate::syscall::block;
use crate::undo::{Journal, Step, actions};
use crate::{Error, Result};

/// Seconds that no trial outlasts.
const FOR_GOOD: u32 = 1_000_000_000;

/// A device of several layers.
pub struct Stacked {
    journal: Arc<Journal>,
    host: Host,
    asked: Stacking,
    /// In the order they were made.
    parts: Vec<Part>,
    bases: Vec<Box<dyn Device>>,
    name: String,
    node: PathBuf,
    number: (u32, u32),
    size: u64,
    members: Vec<String>,
    log: Option<ClosedLog>,
    failing: Option<Failing>,
    modelled: Option<model::Modelled>,
    warnings: Vec<String>,
}

/// What a device that can fail is built on, and how it then fails.
struct Failing {
    data: PathBuf,
    /// The table of a device that is down for good.
    table: String,
    failure: &'static str,
}

impl Stacked {
    /// Makes the stack `asked` on what `bases` gives. `name` is its own among all runs of this
    /// machine: letters, digits and hyphens.
    ///
    /// # Errors
    /// When the kernel or a program lacks something; what was made is undone then.
    pub(crate) fn create(
        asked: &Stacking,
        bases: &Bases<'_>,
        name: &str,
        journal: &Arc<Journal>,
        progress: &dyn Progress,
    ) -> Result<Stacked> {
        let mut made = Stacked::unmade(asked, journal)?;
        let mut members = Members::none();
        let taken = bases.take(&asked.sizes, name, journal, &mut members, progress);
        // From here on an early return drops `made`, which undoes as much as was done.
        made.parts = members.parts;
        made.bases = members.bases;
        taken?;
        made.warn();
        made.members = members
            .pieces
            .iter()
            .filter_map(|piece| made.host.number_of_node(&piece.node))
            .collect();
        made.name = made.top(name, &members.pieces, bases, progress)?;
        made.look()?;
        Ok(made)
    }

    /// Makes a modelled disk whose bytes are in an image that is there already and stays.
    ///
    /// # Errors
    /// As [`Stacked::create`].
    pub(crate) fn over(
        asked: &Stacking,
        disk: &model::Model,
        image: &Path,
        name: &str,
        journal: &Arc<Journal>,
    ) -> Result<Stacked> {
        let size = fs::metadata(image)
            .map_err(|error| Error::io(image, "cannot use it as an image", error))?
            .len();
        let mut made = Stacked::unmade(asked, journal)?;
        made.asked.size = size;
        made.name = made.model(disk, &model::Store::Kept(image.to_owned()), name)?;
        made.look()?;
        Ok(made)
    }

    fn unmade(asked: &Stacking, journal: &Arc<Journal>) -> Result<Stacked> {
        kernel::available(&asked.stack)?;
        Ok(Stacked {
            journal: Arc::clone(journal),
            host: Host::default(),
            asked: asked.clone(),
            parts: Vec::new(),
            bases: Vec::new(),
            name: String::new(),
            node: PathBuf::new(),
            number: (0, 0),
            size: 0,
            members: Vec::new(),
            log: None,
            failing: None,
            modelled: None,
            warnings: Vec::new(),
        })
    }

    /// Makes the upper layer; returns its sysfs name.
    fn top(
        &mut self,
        name: &str,
        pieces: &[dm::Piece],
        bases: &Bases<'_>,
        progress: &dyn Progress,
    ) -> Result<String> {
        let nodes: Vec<PathBuf> = pieces.iter().map(|piece| piece.node.clone()).collect();
        let stack = self.asked.stack.clone();
        let first = || {
            pieces.first().ok_or_else(|| Error::Cannot {
                thing: self.asked.words.clone(),
                what: "cannot be made".into(),
                why: "it has no member".into(),
                next: "this is a defect: please report it".into(),
            })
        };
        let table = match &stack {
            Stack::Md(array) => {
                let node = md::free_node(&self.host)?;
                let uuid = md::uuid(&format!("{} {name}", self.journal.run().display()));
                self.will_make(Step::Array {
                    device: node.clone(),
                    uuid: uuid.clone(),
                })?;
                let made = md::create(&self.host, array, &node, &uuid, &nodes)?;
                if !array.assume_clean && array.level != "raid0" {
                    md::in_sync(&self.host, &made, progress)?;
                }
                return Ok(made);
            }
            Stack::Lvm { chunk } => {
                let group = name.replace('-', "_");
                self.will_make(Step::Mapped {
                    name: lvm::mapped(&group),
                })?;
                return lvm::create(&self.host, &group, &nodes, *chunk);
            }
            Stack::NullBlk(null) => {
                let folder = null_blk::free_name(&self.host)?;
                self.will_make(Step::NullBlk {
                    name: folder.clone(),
                })?;
                return null_blk::create(&self.host, &folder, null, self.asked.size);
            }
            Stack::Model(disk) => {
                return self.model(disk, &bases.store(name, self.asked.size), name);
            }
            Stack::Stripe { chunk } => dm::striped(pieces, *chunk),
            Stack::Delay { read_ms, write_ms } => dm::delay(first()?, *read_ms, *write_ms),
            Stack::Flakey {
                up_seconds,
                down_seconds,
                feature,
            } => {
                self.failing = Some(Failing {
                    data: first()?.node.clone(),
                    table: dm::flakey(first()?, 0, FOR_GOOD, *feature),
                    failure: feature.unwrap_or("error"),
                });
                dm::flakey(first()?, *up_seconds, *down_seconds, *feature)
            }
            Stack::LogWrites => {
                let log = nodes.get(1).cloned().unwrap_or_default();
                let table = dm::log_writes(first()?, &log);
                let data = first()?.node.clone();
                self.log = Some(ClosedLog { log, data });
                // Its counters are the log's, not a member's share.
                self.members.truncate(1);
                table
            }
        };
        let name = format!("{name}-top");
        self.will_make(Step::Mapped { name: name.clone() })?;
        dm::create(&self.host, &name, &table)
    }

    /// Makes a modelled disk; returns its sysfs name.
    fn model(&mut self, disk: &model::Model, store: &model::Store, name: &str) -> Result<String> {
        let size = self.asked.size;
        let served = model::serve(disk, size, name, store, &self.journal, &mut self.parts)?;
        let name = served.name().to_owned();
        self.modelled = Some(served);
        Ok(name)
    }

    fn will_make(&mut self, step: Step) -> Result<()> {
        // A name of ours that is there already is another run's, and not ours to undo.
        if super::is_there(&self.host, &step) {
            return Err(Error::Cannot {
                thing: format!("{step:?}"),
                what: "cannot make a device of that name".into(),
                why: "there is one already".into(),
                next: "remove it, or fslab clean the run that left it".into(),
            });
        }
        let number = self.journal.will_make(step.clone())?;
        self.parts.push(Part { number, step });
        Ok(())
    }

    /// What came out.
    fn look(&mut self) -> Result<()> {
        self.node = Path::new("/dev").join(&self.name);
        let failed =
            |error: std::io::Error| Error::io(&self.node, "cannot open the new device", error);
        let file = fs::File::open(&self.node).map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        self.number = (major(meta.rdev()), minor(meta.rdev()));
        self.size = block::size(&file)
            .map_err(|error| Error::io(&self.node, "cannot see its size", error))?;
        Ok(())
    }

    fn warn(&mut self) {
        for warning in self.bases.iter().flat_map(|base| base.warnings()) {
            if !self.warnings.contains(warning) {
                self.warnings.push(warning.clone());
            }
        }
    }

    fn undo_last(&mut self) -> Result<()> {
        if let Some(part) = self.parts.last() {
            match &part.step {
                Step::Image { path } => actions::remove_image_of(self.journal.dir(), path)?,
                step => undo(&self.host, step)?,
            }
            self.journal.note_undone(part.number);
            self.parts.pop();
        }
        Ok(())
    }

    /// device-mapper's name of the upper layer.
    fn mapped(&self) -> Option<&str> {
        match &self.parts.last()?.step {
            Step::Mapped { name } => Some(name),
            _ => None,
        }
    }
}

impl Device for Stacked {
    fn kind(&self) -> &'static str {
        "stacked device"
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

    fn backing_files(&self) -> Vec<&Path> {
        let bases = self.bases.iter();
        bases.flat_map(|base| base.backing_files()).collect()
    }

    fn members(&self) -> &[String] {
        &self.members
    }

    fn logs_as(&self) -> Option<&str> {
        self.log.as_ref().and_then(|_| self.mapped())
    }

    fn close_log(&mut self) -> Result<Option<ClosedLog>> {
        if self.log.is_some() {
            self.undo_last()?;
        }
        Ok(self.log.take())
    }

    fn served(&self) -> Option<Result<Served>> {
        self.modelled.as_ref().map(model::Modelled::served)
    }

    fn power_switch(&self) -> Option<PowerSwitch> {
        let failing = self.failing.as_ref()?;
        Some(PowerSwitch {
            name: self.mapped()?.to_owned(),
            table: failing.table.clone(),
            failure: failing.failure,
        })
    }

    fn uncover(&mut self) -> Result<Option<PathBuf>> {
        if self.failing.is_some() {
            self.undo_last()?;
        }
        Ok(self.failing.take().map(|failing| failing.data))
    }

    fn facts(&self) -> Fields {
        let mut facts = queue_facts(&self.host, &self.name);
        let mut put = |name: &str, value: String| drop(facts.insert(name.into(), value));
        put("stack", self.asked.words.clone());
        put("size", self.size.to_string());
        for item in ["minimum_io_size", "optimal_io_size"] {
            if let Some(value) = self
                .host
                .text(format!("sys/block/{}/queue/{item}", self.name))
            {
                put(item, value);
            }
        }
        for item in [
            "level",
            "raid_disks",
            "chunk_size",
            "metadata_version",
            "layout",
        ] {
            if let Some(value) = self.host.text(format!("sys/block/{}/md/{item}", self.name)) {
                put(&format!("md_{item}"), value);
            }
        }
        if let Stack::Md(array) = &self.asked.stack
            && array.level != "raid0"
        {
            let resync = if array.assume_clean {
                "left out (--assume-clean)"
            } else {
                "waited for"
            };
            put("md_first_resync", resync.into());
        }
        if let (Stack::Model(disk), Some(served)) = (&self.asked.stack, &self.modelled) {
            put("modelled", disk.device.clone());
            put("store", served.store.into());
            put("front", served.front.into());
            put("front_ns", served.way.to_string());
        }
        if let Some(table) = self.mapped().and_then(dm::table) {
            put("dm_table", table);
        }
        if !self.members.is_empty() {
            put("members", self.members.join(" "));
            let size = self
                .members
                .first()
                .and_then(|name| self.host.text(format!("sys/class/block/{name}/size")))
                .and_then(|sectors| sectors.parse::<u64>().ok());
            if let Some(sectors) = size {
                put("member_size", (sectors * 512).to_string());
            }
        }
        if let Some(base) = self.bases.first() {
            // Slices are parts below the upper one.
            let cut = self.parts.len() > 1;
            let what = match (cut, self.bases.len()) {
                (true, _) => format!(
                    "slices of {} by dm-linear",
                    base.block_name().unwrap_or_default()
                ),
                (false, 1) => base.kind().to_owned(),
                (false, _) => format!("{}s", base.kind()),
            };
            put("members_are", what);
            for (name, value) in base.facts() {
                if matches!(name.as_str(), "direct_io" | "host_filesystem" | "scheduler") {
                    put(&format!("member_{name}"), value);
                }
            }
        }
        facts
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn still_the_same(&self) -> Result<()> {
        let now = fs::metadata(&self.node)
            .map(|meta| (major(meta.rdev()), minor(meta.rdev())))
            .map_err(|error| Error::io(&self.node, "the device is gone", error))?;
        if now == self.number {
            return Ok(());
        }
        Err(Error::NotUndone {
            thing: self.node.display().to_string(),
            why: "the node leads to another device now".into(),
            next: "nothing was written to it; see who makes devices meanwhile".into(),
        })
    }

    fn release(&mut self) -> Result<()> {
        let ended = self.modelled.take().map(model::Modelled::release);
        ended.unwrap_or(Ok(()))?;
        while !self.parts.is_empty() {
            self.undo_last()?;
        }
        while let Some(base) = self.bases.last_mut() {
            base.release()?;
            self.bases.pop();
        }
        Ok(())
    }

    fn abandon(&mut self) {
        self.parts.clear();
        self.modelled = None;
        for base in &mut self.bases {
            base.abandon();
        }
    }
}

impl Drop for Stacked {
    fn drop(&mut self) {
        if let Err(error) = self.release() {
            tracing::warn!("{error}");
            // Devices built on the members hold them: `clean` undoes both in order.
            for base in &mut self.bases {
                base.abandon();
            }
        }
    }
}
