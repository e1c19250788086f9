//! What a plan needs of the kernel that its trials run in, and what a kernel lacks of it.
//!
//! Most of it is in the cells: filesystems, layers of devices, traces, limits. A study adds what no cell
//! says (`[needs]`): a range of versions, times of hardware, a further capability. All of it goes by the
//! names of `fslab kernel list`, so host and guests are asked the same questions.

use std::collections::BTreeSet;

use guest::kernel::{Form, Has, Host, Kernel};
use study::{Cell, KernelRange, Plan, Times};

use crate::crash::requirements;

/// Kernels whose btrfs writes zones in sequence.
const WITH_ZONES: &str = ">=5.12";

/// What a plan needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// What a kernel must have, by the names of `fslab kernel list`.
    pub capabilities: BTreeSet<String>,
    /// Whether block traces are recorded.
    pub traced: bool,
    /// Kernels that the study is about.
    pub range: Option<KernelRange>,
    /// Whether times must be of hardware.
    pub absolute: bool,
    /// Whether a disk's writes are to be logged, for the crash check.
    pub crash: bool,
    /// Cells for which that disk is below another device, where dm-log-writes cannot be put.
    pub crash_below: usize,
    /// Cells whose device has zones, which btrfs alone is given.
    pub zones: usize,
    /// Most disks that one trial's device is made of.
    pub disks: usize,
    /// Most memory that a trial is held to, and that its device fills; bytes.
    pub memory: u64,
    /// The same without modelled disks.
    pub held: u64,
    /// Bytes of the largest modelled disk.
    pub modelled: u64,
}

impl Needs {
    /// Of all cells.
    pub fn of(plan: &Plan) -> Needs {
        Needs::of_cells(plan, |_| true)
    }

    /// Of the cells that run in the kernel of this level; without one, of all.
    pub fn of_kernel(plan: &Plan, level: Option<&str>) -> Needs {
        let same = |cell: &Cell| level.is_none_or(|level| cell.kernel.as_deref() == Some(level));
        Needs::of_cells(plan, same)
    }

    fn of_cells(plan: &Plan, wanted: impl Fn(&Cell) -> bool) -> Needs {
        let mut needs = Needs {
            capabilities: plan.needs.capabilities.iter().cloned().collect(),
            range: plan.needs.kernel.clone(),
            absolute: plan.needs.times == Times::Absolute,
            ..Needs::default()
        };
        let mut add = |name: &str| {
            needs.capabilities.insert(name.to_owned());
        };
        for cell in plan.cells.iter().filter(|cell| wanted(cell)) {
            // A forged volume is not mounted.
            if cell.volume.is_filled() {
                add(cell.filesystem.kind.name());
            }
            cell.device.needs().into_iter().for_each(&mut add);
            if cell.device.limit.is_some() {
                add("io-throttle");
            }
            if cell.memory.is_some() {
                add("memcg");
            }
            needs.traced |= cell.trace;
            if requirements::is_cut(cell) {
                add(requirements::CUTS);
            }
            needs.crash |= requirements::is_logged(cell);
            let below =
                requirements::is_logged(cell) && requirements::stands_straight(&cell.device);
            needs.crash_below += usize::from(below);
            needs.zones += usize::from(has_zones(cell));
            needs.disks = needs.disks.max(cell.device.disks().len());
            let held = cell.memory.map_or(0, study::Bytes::get);
            let filled = cell.device.memory().get();
            if cell.device.is_modelled() {
                needs.held = needs.held.max(held);
                needs.modelled = needs.modelled.max(filled);
            } else {
                needs.held = needs.held.max(held.saturating_add(filled));
            }
            needs.memory = needs.memory.max(held.saturating_add(filled));
        }
        needs
    }

    /// What the running kernel lacks. What is not known of it does not count as lacking: the trial will show.
    pub fn lacking_here(&self, host: &Host) -> Vec<String> {
        let mut lacks = self.lacking(|name| host.get(name), &host.release);
        if self.traced
            && !probe::capture::methods()
                .iter()
                .any(|method| method.available)
        {
            lacks.push("block traces".to_owned());
        }
        lacks.extend(self.lacking_log(|name| host.get(name)));
        lacks
    }

    /// What a guest's kernel lacks.
    pub fn lacking_in(&self, kernel: &Kernel) -> Vec<String> {
        let mut lacks = self.lacking(|name| kernel.capabilities.get(name), &kernel.version);
        if self.traced && kernel.capabilities.get("blktrace") == Some(Has::No) {
            lacks.push("block traces".to_owned());
        }
        if kernel.form == Form::Uml {
            lacks.extend(self.lacking_log(|name| kernel.capabilities.get(name)));
        }
        if self.absolute {
            lacks.push("times of hardware".to_owned());
        }
        lacks
    }

    /// What a kernel lacks of logging a device's writes itself.
    fn lacking_log(&self, has: impl Fn(&str) -> Option<Has>) -> Vec<String> {
        let mut lacks = Vec::new();
        let known = self.capabilities.contains(requirements::CAPABILITY);
        if self.crash && !known && has(requirements::CAPABILITY).is_none_or(|has| has == Has::No) {
            lacks.push(requirements::LACKING.to_owned());
        }
        if self.crash_below > 0 {
            lacks.push(requirements::LACKING_BELOW.to_owned());
        }
        lacks
    }

    fn lacking(&self, has: impl Fn(&str) -> Option<Has>, version: &str) -> Vec<String> {
        let lacks = |name: &&String| !matches!(has(name), Some(has) if has != Has::No);
        let mut lacks: Vec<String> = self.capabilities.iter().filter(lacks).cloned().collect();
        if let Some(range) = self.range.as_ref().filter(|range| !range.holds(version)) {
            lacks.push(format!("a version {range}"));
        }
        let knows_zones = |range: KernelRange| range.holds(version);
        if self.zones > 0 && !WITH_ZONES.parse().is_ok_and(knows_zones) {
            lacks.push(format!("btrfs on zones (Linux {WITH_ZONES})"));
        }
        lacks
    }

    /// Names in [`Needs::capabilities`] that are none.
    pub fn unknown(&self) -> Vec<&str> {
        let known = |name: &str| guest::kernel::CAPABILITIES.iter().any(|c| c.name == name);
        let names = self.capabilities.iter().map(String::as_str);
        names.filter(|name| !known(name)).collect()
    }
}

fn has_zones(cell: &Cell) -> bool {
    let layers = cell.device.stack.as_ref().map(|stack| &stack.layers);
    matches!(layers, Some(study::Layers::NullBlk(null)) if null.zone_size.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(set: &[&str]) -> Plan {
        plan_of("ext4", set)
    }

    fn plan_of(filesystem: &str, set: &[&str]) -> Plan {
        let study = study::Study::load("journal").unwrap();
        let overrides = study::Overrides {
            set: set.iter().map(|&text| text.to_owned()).collect(),
            filter: vec![format!("filesystem={filesystem}")],
            ..study::Overrides::default()
        };
        study::plan(&study, &overrides).unwrap()
    }

    fn names(needs: &Needs) -> Vec<&str> {
        needs.capabilities.iter().map(String::as_str).collect()
    }

    #[test]
    fn cells_say_most_of_it() {
        assert_eq!(names(&Needs::of(&plan(&[]))), ["ext4"]);
        let all = [
            "limit=70m",
            "memory=512m",
            "trace=true",
            "needs.capabilities=[\"btf\"]",
        ];
        let needs = Needs::of(&plan(&all));
        assert_eq!(names(&needs), ["btf", "ext4", "io-throttle", "memcg"]);
        assert!(needs.traced && !needs.absolute && !needs.crash);
        assert_eq!(needs.memory, 512 << 20);
        let needs = Needs::of(&plan(&["needs.capabilities=[\"warp\"]"]));
        assert_eq!(needs.unknown(), ["warp"]);
    }

    #[test]
    fn what_is_not_known_is_not_lacking() {
        let needs = Needs::of(&plan(&["limit=70m", "needs.kernel=>=6.12"]));
        let has = |name: &str| match name {
            "ext4" => Some(Has::No),
            "io-throttle" => Some(Has::Unknown),
            _ => None,
        };
        assert_eq!(
            needs.lacking(has, "6.1.0-56-amd64"),
            ["ext4", "a version >=6.12"]
        );
        let all = |_: &str| Some(Has::Module);
        assert!(needs.lacking(all, "6.12.117+deb12").is_empty());
    }

    #[test]
    fn zones_need_a_kernel_whose_btrfs_knows_them() {
        let mut zoned = plan_of("btrfs", &["device=null_blk"]);
        // Of a plan with other filesystems as well a device with zones is refused before they are left out.
        for stack in zoned
            .cells
            .iter_mut()
            .filter_map(|c| c.device.stack.as_mut())
        {
            if let study::Layers::NullBlk(null) = &mut stack.layers {
                null.zone_size = Some(study::Bytes(16 << 20));
            }
        }
        let lacks = |plan: &Plan, version: &str| {
            Needs::of(plan).lacking(|_: &str| Some(Has::Module), version)
        };
        assert_eq!(lacks(&zoned, "5.10.262"), ["btrfs on zones (Linux >=5.12)"]);
        assert!(lacks(&zoned, "6.1.192").is_empty());
        assert!(lacks(&plan(&["device=null_blk"]), "5.10.262").is_empty());
    }

    #[test]
    fn a_crash_check_needs_a_kernel_that_logs() {
        let crash = plan(&["crash.enabled=true"]);
        let log = |plan: &Plan, has| Needs::of(plan).lacking_log(|_| has);
        assert_eq!(log(&crash, Some(Has::Module)), Vec::<String>::new());
        assert_eq!(log(&crash, Some(Has::Unknown)), Vec::<String>::new());
        assert_eq!(log(&crash, Some(Has::No)), [requirements::LACKING]);
        assert!(log(&plan(&[]), Some(Has::No)).is_empty());
        let mut below = crash.clone();
        below.cells[0].device.stack = Some(study::Stack {
            name: "delay".into(),
            about: String::new(),
            layers: study::Layers::Delay(study::Delay {
                read_ms: 1,
                write_ms: 1,
            }),
        });
        assert_eq!(
            log(&below, Some(Has::Builtin)),
            [requirements::LACKING_BELOW]
        );
    }

    #[test]
    fn each_kernel_is_asked_for_its_own_cells() {
        let plan = plan(&["kernel=5.10,6.1"]);
        assert_eq!(Needs::of_kernel(&plan, Some("6.1")), Needs::of(&plan));
        assert_eq!(Needs::of_kernel(&plan, None), Needs::of(&plan));
        assert!(names(&Needs::of_kernel(&plan, Some("7.2"))).is_empty());
    }
}
