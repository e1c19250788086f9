//! The measured filesystem and the one that holds the run: items 22 to 36.

mod items;

use std::path::Path;

use fskind::{DelayedAllocation, Extents, Family, Journal, Kind, Properties};
use serde_json::{Value, json};

use super::collect::{Collector, number};
use super::stack::{Stacks, Target, disk_of, folder};
use crate::superblock::{self, Facts};
use crate::tasks;

pub(super) use items::ENTRIES;

pub(super) fn collect(c: &mut Collector<'_>, stacks: &Stacks) {
    let timer = c
        .path("/etc/systemd/system/timers.target.wants/fstrim.timer")
        .exists();
    c.put("discard.fstrim_timer", Ok(timer));
    for (role, target) in [("measured", &stacks.measured), ("host", &stacks.host)] {
        if let Some(target) = target {
            View::new(c, role, target).collect();
        }
    }
}

/// One filesystem while its items are collected.
struct View<'a, 'c> {
    c: &'a mut Collector<'c>,
    role: &'static str,
    target: &'a Target,
    kind: String,
    /// What is known of filesystems of this kind.
    known: Option<&'static Properties>,
    facts: Result<Facts, String>,
    /// ext4: every option, defaults included; others: the superblock's options.
    options: Result<Vec<String>, String>,
    /// ext4 lists its defaults too, so that an option which is absent is off.
    complete: bool,
}

fn read_facts(target: &Target) -> Result<Facts, String> {
    let node = target.node.as_deref().ok_or("it has no block device")?;
    match superblock::read(node) {
        Ok(Some(facts)) => Ok(facts),
        Ok(None) => Err(format!(
            "{}: no {} superblock",
            node.display(),
            Family::listed()
        )),
        Err(e) if e.raw_os_error() == Some(1) => Err(format!(
            "{}: not permitted: the device control group must allow it, too",
            node.display()
        )),
        Err(e) => Err(format!("{}: {e}", node.display())),
    }
}

impl<'a, 'c> View<'a, 'c> {
    fn new(c: &'a mut Collector<'c>, role: &'static str, target: &'a Target) -> Self {
        let facts = read_facts(target);
        let mount = target.mount.as_ref();
        let kind = mount.map_or_else(
            || {
                facts
                    .as_ref()
                    .map_or(String::new(), |f| f.format.name().to_owned())
            },
            |m| m.kind.clone(),
        );
        let listed = target
            .device
            .as_ref()
            .and_then(|d| c.read(&format!("/proc/fs/ext4/{d}/options")).ok());
        let complete = listed.is_some();
        let options = match (listed, mount) {
            (Some(text), _) => Ok(text.lines().map(ToOwned::to_owned).collect()),
            (None, Some(mount)) => Ok(mount.super_options.clone()),
            (None, None) => Err("it is not mounted".to_owned()),
        };
        let format = facts
            .as_ref()
            .ok()
            .map(|facts| Kind::of_family(facts.format));
        let known = Kind::of_name(&kind).or(format.filter(|_| mount.is_none()));
        View {
            c,
            role,
            target,
            kind,
            known: known.map(Kind::properties),
            facts,
            options,
            complete,
        }
    }

    fn put<V: Into<Value>>(&mut self, item: &str, outcome: Result<V, String>) {
        let name = format!("filesystem.{}.{item}", self.role);
        self.c.put(&name, outcome);
    }

    /// A fact of the superblock, or why there is none.
    fn fact<V: Into<Value>>(&mut self, item: &str, get: impl Fn(&Facts) -> Option<V>) {
        let outcome = self.facts.as_ref().map_err(Clone::clone).and_then(|facts| {
            get(facts).ok_or_else(|| format!("{} superblocks do not hold it", facts.format.name()))
        });
        self.put(item, outcome);
    }

    /// The value of the running kernel, or the superblock's where the kernel has none.
    fn live_or_fact(&mut self, item: &str, live: Option<u64>, get: impl Fn(&Facts) -> Option<u64>) {
        match live {
            Some(value) => self.put(item, Ok(value)),
            None => self.fact(item, get),
        }
    }

    fn is_ext(&self) -> bool {
        self.known.is_some_and(|known| known.family == Family::Ext)
    }

    fn has(&self, option: &str) -> bool {
        self.options
            .as_ref()
            .is_ok_and(|all| all.iter().any(|o| o == option))
    }

    fn value_of(&self, key: &str) -> Option<String> {
        let all = self.options.as_ref().ok()?;
        all.iter()
            .find_map(|o| o.strip_prefix(key)?.strip_prefix('='))
            .map(ToOwned::to_owned)
    }

    fn collect(mut self) {
        self.mount();
        self.superblock();
        self.journal();
        self.alignment();
        self.allocation();
        self.flushing();
        self.extras();
        self.age();
        self.health();
        self.readahead();
    }

    fn mount(&mut self) {
        let mount = self
            .target
            .mount
            .clone()
            .ok_or_else(|| "it is not mounted".to_owned());
        let device = self.target.device.clone();
        self.put("type", Ok(self.kind.clone()));
        self.put(
            "device",
            device.ok_or_else(|| "it has no block device".to_owned()),
        );
        let point = mount
            .as_ref()
            .map(|m| m.point.to_string_lossy().into_owned());
        self.put("mount_point", point.map_err(Clone::clone));
        let per_mount = mount
            .as_ref()
            .map(|m| m.mount_options.clone())
            .map_err(Clone::clone);
        // lazytime is the superblock's, the others are the mount's.
        let atime = mount
            .as_ref()
            .map_err(Clone::clone)
            .map(|m| atime(&[m.mount_options.as_slice(), m.super_options.as_slice()].concat()));
        self.put("options.per_mount", per_mount);
        self.put("options.per_superblock", mount.map(|m| m.super_options));
        let effective = match (&self.options, self.complete) {
            (Ok(options), true) => Ok(options.clone()),
            (Ok(_), false) => Err(format!(
                "{} lists no defaults; see per_superblock",
                self.kind
            )),
            (Err(reason), _) => Err(reason.clone()),
        };
        self.put("options.effective", effective);
        self.put("atime", atime);
    }

    fn superblock(&mut self) {
        self.fact("uuid", |f| Some(f.uuid.clone()));
        self.fact("label", |f| Some(f.label.clone()));
        self.fact("created", |f| f.created.map(date));
        self.fact("features.compat", |f| Some(f.features.compat.clone()));
        self.fact("features.incompat", |f| Some(f.features.incompat.clone()));
        self.fact("features.ro_compat", |f| Some(f.features.ro_compat.clone()));
        self.fact("bytes", |f| Some(f.bytes));
        // A container may refuse the device itself to root; statvfs still has these two.
        let mount = self.target.mount.as_ref();
        let space = mount.and_then(|m| rustix::fs::statvfs(&m.point).ok());
        if let (Err(_), Some(space)) = (&self.facts, space) {
            self.put("block_size", Ok(space.f_frsize));
            self.put("inodes", Ok(space.f_files));
        } else {
            self.fact("block_size", |f| Some(f.block_size));
            self.fact("inodes", |f| f.inodes);
        }
        self.fact("sector_size", |f| f.sector_size);
        self.fact("node_size", |f| f.node_size);
        self.fact("inode_size", |f| f.inode_size);
        self.fact("groups", |f| f.groups);
        self.fact("group_bytes", |f| f.group_bytes);
        self.fact("flex_groups", |f| f.flex_groups);
        self.fact("stripe_unit", |f| f.stripe_unit);
        self.fact("stripe_width", |f| f.stripe_width);
    }

    fn journal(&mut self) {
        self.fact("journal.bytes", |f| {
            f.journal.as_ref().and_then(|j| j.bytes)
        });
        self.fact("journal.location", |f| {
            let external = f.journal.as_ref().map(|j| j.external)?;
            Some(if external { "external" } else { "internal" })
        });
        self.fact("journal.fast_commit", |f| f.journal.as_ref()?.fast_commit);
        self.fact("journal.stripe_unit", |f| f.journal.as_ref()?.stripe_unit);
        self.fact("journal.lazy_count", |f| f.journal.as_ref()?.lazy_count);
        let mode = self.journal_mode();
        self.put("journal.mode", mode);
        self.ext4_option("journal.async_commit", "journal_async_commit");
        self.ext4_option("journal.checksum", "journal_checksum");
    }

    fn journal_mode(&self) -> Result<String, String> {
        match self.known.map(|known| known.journal) {
            Some(Journal::Always(name)) => return Ok(name.to_owned()),
            Some(Journal::DataMode) if !self.is_ext() => {
                let listed = self.value_of("data");
                return listed
                    .ok_or_else(|| "it is not mounted: the mode is chosen by mount".to_owned());
            }
            Some(_) => {}
            None => return Err(format!("not known for {}", self.kind)),
        }
        // A complete list names the mode of every journal: without a mode there is none.
        let listed = self
            .value_of("data")
            .or_else(|| self.complete.then(|| "none".to_owned()));
        match (listed, &self.facts) {
            (Some(mode), _) => Ok(mode),
            (None, Ok(facts)) if facts.journal.is_none() => Ok("none".to_owned()),
            (None, Ok(_)) => Err("it is not mounted: the mode is chosen by mount".to_owned()),
            (None, Err(reason)) => Err(reason.clone()),
        }
    }

    /// Whether an option of ext4 is in force.
    fn ext4_option(&mut self, item: &str, option: &str) {
        let outcome = match (&self.options, self.complete) {
            (Ok(_), true) => Ok(self.has(option)),
            (Ok(_), false) => Err(format!("{} has no such option", self.kind)),
            (Err(reason), _) => Err(reason.clone()),
        };
        self.put(item, outcome);
    }

    /// Item 28: whether the partition and the groups begin on stripe boundaries.
    fn alignment(&mut self) {
        let Some(device) = self.target.device.clone() else {
            return self.put::<Value>("alignment", Err("it has no block device".to_owned()));
        };
        let disk = disk_of(self.c, &device).unwrap_or_else(|| device.clone());
        let number = |c: &Collector<'_>, file: String| c.read(&file).ok()?.parse::<u64>().ok();
        let start = number(self.c, format!("{}/start", folder(&device))).map_or(0, |s| s * 512);
        let optimal = number(self.c, format!("{}/queue/optimal_io_size", folder(&disk)));
        let made_for = self.facts.as_ref().ok().and_then(|f| f.stripe_width);
        let stripe = made_for.filter(|w| *w > 0).or(optimal.filter(|w| *w > 0));
        let group = self.facts.as_ref().ok().and_then(|f| f.group_bytes);
        let outcome = match stripe {
            None => Err("no stripe: neither the filesystem nor the device has one".to_owned()),
            Some(stripe) => Ok(json!({
                "stripe_bytes": stripe,
                "partition_start_bytes": start,
                "start_modulo_stripe": start % stripe,
                "group_modulo_stripe": group.map(|g| g % stripe),
            })),
        };
        self.put("alignment", outcome);
    }

    fn allocation(&mut self) {
        let delalloc = match self.known.map(|known| known.delayed_allocation) {
            Some(DelayedAllocation::Always) => Ok(true),
            Some(DelayedAllocation::Never) => Ok(false),
            Some(DelayedAllocation::Option(false)) if !self.complete => Ok(false),
            _ => match &self.options {
                Ok(_) if self.complete => Ok(self.has("delalloc")),
                Ok(_) => Err(format!("not known for {}", self.kind)),
                Err(reason) => Err(reason.clone()),
            },
        };
        self.put("delalloc", delalloc);
        self.fact("extents", |f| {
            Some(match Kind::of_family(f.format).properties().extents {
                Extents::Always => true,
                Extents::Never => false,
                Extents::Feature(name) => f.features.incompat.iter().any(|n| n == name),
            })
        });
        self.ext4_option("dioread_nolock", "dioread_nolock");
        self.ext4_option("auto_da_alloc", "auto_da_alloc");
        let commit = match self.value_of("commit") {
            Some(text) => text
                .parse::<u64>()
                .map_err(|_| format!("not a number: {text:?}")),
            None => self
                .known
                .and_then(|known| known.commit_seconds)
                .ok_or_else(|| format!("{} lists no commit interval", self.kind)),
        };
        self.put("commit_s", commit);
    }

    fn flushing(&mut self) {
        let barriers = match &self.options {
            Err(reason) => Err(reason.clone()),
            Ok(_) if self.has("nobarrier") || self.value_of("barrier").as_deref() == Some("0") => {
                Ok(false)
            }
            Ok(_) if self.complete => Ok(self.has("barrier")),
            Ok(_) if self.known.is_some() && !self.is_ext() => Ok(true),
            Ok(_) => Err(format!("not known for {}", self.kind)),
        };
        self.put("barriers", barriers);
        let listed = |o: &String| o == "discard" || o.starts_with("discard=");
        let discard = self.options.clone().map(|all| all.iter().any(listed));
        self.put("discard", discard);
    }

    fn extras(&mut self) {
        let quota = self.options.clone().map(|all| {
            all.into_iter()
                .filter(|o| o.contains("quota") && o != "noquota" || o.starts_with("jqfmt"))
                .map(Value::from)
                .collect::<Vec<Value>>()
        });
        self.put("quota", quota);
        let feature = |name: &'static str| {
            move |f: &Facts| {
                let all = [
                    &f.features.compat,
                    &f.features.incompat,
                    &f.features.ro_compat,
                ];
                Some(all.iter().any(|word| word.iter().any(|n| n == name)))
            }
        };
        self.fact("project", feature("project"));
        self.fact("encryption", feature("encrypt"));
        self.fact("verity", feature("verity"));
        let names = self.known.map_or(&[][..], |known| known.compression);
        let compression = self.options.clone().map(|_| {
            let algorithm = names.iter().find_map(|name| self.value_of(name));
            algorithm.unwrap_or_else(|| "none".to_owned())
        });
        self.put("compression", compression);
        let dax = self.options.clone().map(|all| {
            all.into_iter()
                .find(|o| o == "dax" || o.starts_with("dax="))
                .unwrap_or_else(|| "not asked for".to_owned())
        });
        self.put("dax", dax);
    }

    fn age(&mut self) {
        let space = match &self.target.mount {
            Some(mount) => usage(&mount.point),
            None => Err("it is not mounted".to_owned()),
        };
        self.put("fill_percent", space.clone().map(|(fill, _)| fill));
        self.put("free_inodes", space.map(|(_, inodes)| inodes));
        self.put::<Value>(
            "free_extents",
            Err(
                "not read: listing free extents loads every bitmap and would warm the cache"
                    .to_owned(),
            ),
        );
        self.fact("last_mounted", |f| f.last_mounted.map(date));
        self.fact("mount_count", |f| f.mount_count);
        let device = self.target.device.clone().unwrap_or_default();
        let live = self
            .c
            .read(&format!("/sys/fs/ext4/{device}/lifetime_write_kbytes"))
            .ok()
            .and_then(|text| text.parse::<u64>().ok());
        self.live_or_fact("lifetime_write_kib", live, |f| f.lifetime_kib);
    }

    fn readahead(&mut self) {
        let source = match (&self.facts, &self.target.device) {
            (Ok(facts), _) if Kind::of_family(facts.format).properties().spans_devices => {
                format!(
                    "/sys/fs/{}/{}/bdi/read_ahead_kb",
                    facts.format.name(),
                    facts.uuid
                )
            }
            (_, Some(device)) => {
                let disk = disk_of(self.c, device).unwrap_or_else(|| device.clone());
                format!("{}/bdi/read_ahead_kb", folder(&disk))
            }
            _ => {
                return self
                    .put::<Value>("read_ahead_kb", Err("it has no block device".to_owned()));
            }
        };
        let name = format!("filesystem.{}.read_ahead_kb", self.role);
        let value = self.c.read(&source).and_then(|text| number(&text));
        self.c.put_from(&name, Some(&source), value);
    }

    fn health(&mut self) {
        // The thread serves all ext4 filesystems of the machine: while it is alive, one of them
        // may still be initialised.
        let lazy = if self.is_ext() {
            Ok(if tasks::lives(self.c.roots(), "ext4lazyinit") {
                "ext4lazyinit runs, for this or another filesystem"
            } else {
                "finished"
            })
        } else {
            Err(format!("{} has no lazy initialisation", self.kind))
        };
        self.put("lazy_init", lazy);
        let device = self.target.device.clone().unwrap_or_default();
        let live = self
            .c
            .read(&format!("/sys/fs/ext4/{device}/errors_count"))
            .ok()
            .and_then(|text| text.parse::<u64>().ok());
        self.live_or_fact("errors", live, |f| f.errors);
        self.fact("state", |f| f.state);
        self.fact("last_checked", |f| f.last_checked.map(date));
    }
}

fn date(seconds: u64) -> String {
    superblock::fields::time(seconds).unwrap_or_else(|| seconds.to_string())
}

/// The mode by which access times are written; strictatime shows as the absence of the others.
fn atime(options: &[String]) -> String {
    let has = |name: &str| options.iter().any(|o| o == name);
    let mut words = vec![match (has("noatime"), has("relatime")) {
        (true, _) => "noatime",
        (false, true) => "relatime",
        (false, false) => "strictatime",
    }];
    words.extend(["nodiratime", "lazytime"].into_iter().filter(|n| has(n)));
    words.join(",")
}

/// Percent of blocks in use, and free inodes.
fn usage(point: &Path) -> Result<(f64, u64), String> {
    let fs = rustix::fs::statvfs(point).map_err(|e| e.to_string())?;
    let used = fs.f_blocks.saturating_sub(fs.f_bfree);
    let fill = if fs.f_blocks == 0 {
        0.0
    } else {
        (1000.0 * used as f64 / fs.f_blocks as f64).round() / 10.0
    };
    Ok((fill, fs.f_ffree))
}
