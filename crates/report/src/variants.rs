//! How each filesystem variant was really made and mounted.
//!
//! A study asks for an `ext2`; today's kernel serves it with the ext4 driver. What was requested is in
//! the plan, what came of it only in the trials, and a report shows the second.

use std::collections::{BTreeMap, BTreeSet};

use record::Run;

/// How the cells of one filesystem variant were really made and mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Name in the study.
    pub name: String,
    /// The variant's line in the study.
    pub about: String,
    /// Everything seen, each distinct combination once, with the number of trials that had it.
    pub seen: Vec<(Served, usize)>,
}

/// What served a variant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Served {
    /// Driver, with the type asked for when they differ.
    pub driver: String,
    /// Mount options that the study asked for; the kernel does not list those that are its defaults.
    pub asked: String,
    /// Effective options.
    pub options: String,
    /// The mkfs command without the device.
    pub mkfs: String,
    /// Its version.
    pub mkfs_version: String,
    /// Superblock features, when recorded.
    pub features: String,
}

/// Every variant as it was really made and mounted.
pub fn of(run: &Run) -> Vec<Variant> {
    let order: Vec<&String> = run
        .plan
        .factors
        .iter()
        .flat_map(|(_, levels)| levels)
        .collect();
    let mut names: Vec<_> = run.plan.filesystems.iter().collect();
    // In the order of the study's columns; those it does not vary come last.
    names.sort_by_key(|(name, _)| {
        order
            .iter()
            .position(|level| level == name)
            .unwrap_or(usize::MAX)
    });
    names
        .into_iter()
        .map(|(name, variant)| {
            let cells: BTreeSet<u32> = run
                .plan
                .cells
                .iter()
                .filter(|c| c.levels.values().any(|level| level == name))
                .map(|c| c.id)
                .collect();
            let mut seen: BTreeMap<Served, usize> = BTreeMap::new();
            for slot in run.plan.slots.iter().filter(|s| cells.contains(&s.cell)) {
                let trial = run.trials.get(slot.trial as usize);
                let mounted = trial.and_then(|t| t.mounted.as_ref());
                let cell = run.plan.cells.iter().find(|c| c.id == slot.cell);
                if let (Some(mounted), Some(cell)) = (mounted, cell) {
                    *seen.entry(served(mounted, cell)).or_default() += 1;
                }
            }
            Variant {
                name: name.clone(),
                about: variant.about.clone(),
                seen: seen.into_iter().collect(),
            }
        })
        .collect()
}

fn served(mounted: &record::Mounted, cell: &study::Cell) -> Served {
    let driver = if cell.volume.is_forged() {
        format!("{}, not mounted", mounted.asked_type)
    } else if mounted.driver == mounted.asked_type || mounted.asked_type.is_empty() {
        mounted.driver.clone()
    } else {
        format!("{} (asked for {})", mounted.driver, mounted.asked_type)
    };
    // The device and the mount point change from trial to trial and say nothing here.
    let mkfs: Vec<&str> = mounted
        .mkfs
        .iter()
        .map(String::as_str)
        .filter(|word| *word != mounted.device)
        .collect();
    Served {
        driver,
        asked: cell.filesystem.mount.join(","),
        options: mounted.options.join(","),
        mkfs: mkfs.join(" "),
        mkfs_version: mounted.mkfs_version.clone(),
        features: mounted
            .superblock
            .iter()
            .filter(|(name, _)| name.contains("feature"))
            .map(|(_, value)| value.as_str())
            .collect::<Vec<_>>()
            .join(" "),
    }
}
