//! Named devices of a study: read, looked up, and checked against the cells that use them.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::devices::Devices;
use crate::error::Problem;
use crate::factor::{Factor, plain};
use crate::model::{DeviceSpec, Hints, MODEL, PLAIN, Stack, StackFile};
use crate::node::{Node, Table};
use crate::placed::Placed;
use crate::skipped::Skipped;
use words::hint;

/// The devices of several layers that a study declares, and those that are models.
pub(crate) struct Stacks<'a> {
    declared: BTreeMap<String, Stack>,
    devices: &'a Devices,
}

/// Every `[stack.NAME]`.
pub(crate) fn declared<'a>(
    table: &Table,
    devices: &'a Devices,
) -> Result<Stacks<'a>, Vec<Problem>> {
    let mut all = BTreeMap::new();
    let mut problems = Vec::new();
    let stacks = table.get("stack").and_then(Node::as_table);
    for (name, node) in stacks.into_iter().flat_map(Table::iter) {
        match read(name, node) {
            Ok(stack) => drop(all.insert(name.to_owned(), stack)),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() {
        Ok(Stacks {
            declared: all,
            devices,
        })
    } else {
        Err(problems)
    }
}

fn read(name: &str, node: &Node) -> Result<Stack, Problem> {
    if name == PLAIN {
        let message = "a device that is no stack is called so (choose another name)";
        return Err(Problem::new(&node.at, message));
    }
    let written: StackFile = serde_json::from_value(node.to_json())
        .map_err(|error| Problem::new(&node.at, error.to_string()))?;
    written.settle(name).map_err(|(key, message)| {
        let at = node.find(&[key]).unwrap_or(node);
        Problem::new(&at.at, message)
    })
}

/// `[device]`, its stack looked up.
pub(crate) fn device(node: Option<&Node>, stacks: &Stacks<'_>) -> Result<DeviceSpec, Problem> {
    let Some(node) = node else {
        return Ok(DeviceSpec::default());
    };
    let mut json = node.to_json();
    if let Some(name) = node.find(&["stack"]) {
        let stack = find(name, &plain(name), stacks)?;
        json["stack"] = serde_json::to_value(stack).unwrap_or(Json::Null);
    }
    serde_json::from_value(json).map_err(|error| Problem::new(&node.at, error.to_string()))
}

/// The stack of a level of `device` that [`known`] has let pass; none: the target itself.
pub(crate) fn named(name: &str, stacks: &Stacks<'_>) -> Option<Stack> {
    let declared = stacks.declared.get(name).cloned();
    declared.or_else(|| stacks.devices.disk(name).ok().flatten())
}

fn find(at: &Node, name: &str, stacks: &Stacks<'_>) -> Result<Option<Stack>, Problem> {
    if name == PLAIN {
        return Ok(None);
    }
    let modelled = stacks.devices.disk(name).map_err(|why| {
        let message = format!("{} is not a modelled disk: {why}", at.show());
        Problem::new(&at.at, message)
    })?;
    if modelled.is_some() {
        return Ok(modelled);
    }
    let declared = &stacks.declared;
    declared.get(name).cloned().map(Some).ok_or_else(|| {
        let known = || std::iter::once(PLAIN).chain(declared.keys().map(String::as_str));
        let message = format!(
            "{} is not a device ({}{}, or {MODEL}NAME of fslab device list)",
            at.show(),
            hint(name, known()),
            known().collect::<Vec<_>>().join(", ")
        );
        Problem::new(&at.at, message)
    })
}

/// Whether every level of `device` is one.
pub(crate) fn known(rig: &[Factor], stacks: &Stacks<'_>) -> Result<(), Vec<Problem>> {
    let levels = rig.iter().filter(|factor| factor.name == "device");
    let levels = levels.flat_map(|factor| &factor.levels);
    let problems: Vec<Problem> = levels
        .filter_map(|level| find(&level.node, &level.name, stacks).err())
        .collect();
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems)
    }
}

/// Takes away the cells that would give or withhold what their device does not have: they would be
/// the same trial again.
pub(crate) fn without_stripes(cells: &mut Vec<Placed>) -> Option<Skipped> {
    let keep = |placed: &Placed| !placed.cell.levels.contains_key("hints") || has_a_say(placed);
    let words = "left out: a device without stripes has none to give or withhold";
    Skipped::take(cells, keep, words)
}

fn has_a_say(placed: &Placed) -> bool {
    let device = &placed.cell.device;
    let stack = device.stack.as_ref();
    device.hints == Hints::Auto || stack.is_some_and(|stack| stack.geometry().is_some())
}

/// Why the devices of these cells are not of one run: no table sets modelled times beside measured ones.
pub(crate) fn mixed(cells: &[Placed], tree: &Node) -> Option<Problem> {
    let name = |placed: &Placed| {
        let stack = placed.cell.device.stack.as_ref();
        stack.map_or_else(|| PLAIN.to_owned(), |stack| stack.name.clone())
    };
    let first = |modelled: bool| {
        let mut cells = cells.iter();
        cells
            .find(|placed| placed.cell.device.is_modelled() == modelled)
            .map(name)
    };
    let (modelled, measured) = first(true).zip(first(false))?;
    let factor = tree.find(&["factors", "device"]);
    let node = factor.or_else(|| tree.find(&["device"]));
    let at = node.map_or(&cells[0].entry, |node| &node.at);
    let message = format!(
        "{modelled} has modelled times and {measured} measured ones, which are not compared (one run for each)"
    );
    Some(Problem::new(at, message))
}

/// What cannot be made: a filesystem on zones, hints about a plain disk.
pub(crate) fn problems(cells: &[Placed], device: Option<&Node>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for placed in cells {
        let stack = placed.cell.device.stack.as_ref();
        let size = placed.cell.device.size;
        let refused = stack.and_then(|stack| {
            let refused = stack.refuses(placed.cell.filesystem.kind);
            refused.or_else(|| stack.is_too_small(size))
        });
        let message = refused.or_else(|| {
            (!has_a_say(placed)).then(|| {
                "the device has no stripes to pass to mkfs (hints = \"auto\", or a \
                 striped device)"
                    .to_owned()
            })
        });
        if let Some(message) = message {
            let at = device.map_or(&placed.entry, |node| &node.at);
            let at = device
                .and_then(|node| node.find(&["hints"]))
                .map_or(at, |node| &node.at);
            let problem = Problem::new(at, message);
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use crate::{DevicesFile, Hints, Overrides, Plan, Study, plan};

    fn with(study: &str, set: &[&str]) -> Result<Plan, String> {
        let overrides = Overrides {
            profile: Some("quick".into()),
            set: set.iter().map(|&text| text.to_owned()).collect(),
            ..Overrides::default()
        };
        let study = Study::load(study).unwrap();
        plan(&study, &overrides).map_err(|error| error.to_string())
    }

    #[test]
    fn any_study_runs_on_a_named_device() {
        let streaming = with("streaming", &["device=stripe8"]).unwrap();
        for cell in &streaming.cells {
            let stack = cell.device.stack.as_ref().unwrap();
            assert_eq!(stack.to_string(), "dm stripe of 8 disks, chunk 128k");
            assert_eq!(cell.device.disks().len(), 8);
        }
        assert!(
            streaming
                .cells
                .iter()
                .any(|c| c.device.readahead == Some(65536))
        );
        let changed = with(
            "allocation",
            &[
                "device=raid5",
                "stack.raid5.members=4",
                "stack.raid5.chunk=256k",
            ],
        );
        let stack = changed.unwrap().cells[0].device.stack.clone().unwrap();
        assert_eq!(stack.to_string(), "md raid5 of 4 disks, chunk 256k");
        let plain = with("allocation", &["device=plain"]).unwrap();
        assert_eq!(plain.cells[0].device.needs(), Vec::<&str>::new());
    }

    #[test]
    fn devices_and_hints_are_factors_and_what_has_no_stripes_has_no_hints() {
        let plan = with(
            "streaming",
            &[
                "device=['plain', 'raid0x11']",
                "hints=['auto', 'given', 'withheld']",
                "factors.mount=['']",
                "readahead=256",
            ],
        )
        .unwrap();
        // Three filesystems, each plain once and on the array three times.
        assert_eq!(plan.cells.len(), 3 * 4);
        let withheld = plan.cells.iter().find(|c| c.levels["hints"] == "withheld");
        assert_eq!(withheld.unwrap().device.hints, Hints::Withheld);
        assert_eq!(withheld.unwrap().levels["device"], "raid0x11");
        assert!(
            plan.notes.iter().any(|n| n.starts_with("6 cells are left")),
            "{:?}",
            plan.notes
        );
    }

    #[test]
    fn a_modelled_disk_is_a_device_that_no_study_declares() {
        let plan = with("journal", &["device=['model:7k500', 'model:7k500x2']"]).unwrap();
        let stacks = plan.cells.iter().filter_map(|c| c.device.stack.as_ref());
        let stacks: Vec<_> = stacks.collect();
        assert_eq!(stacks.len(), plan.cells.len());
        let striped = |stack: &&&crate::Stack| stack.to_string() == "modelled disk 7k500x2";
        assert_eq!(stacks.iter().filter(striped).count() * 2, stacks.len());
        let json = serde_json::to_string(stacks[0]).unwrap();
        assert_eq!(
            &serde_json::from_str::<crate::Stack>(&json).unwrap(),
            stacks[0]
        );
        let wrong = with("journal", &["device=model:7k501"]).unwrap_err();
        assert!(wrong.contains("is not a modelled disk"), "{wrong}");
        assert!(wrong.contains("7k500"), "{wrong}");
        let large = with("journal", &["device=model:t7k250", "device.size=1t"]).unwrap_err();
        assert!(large.contains("model:t7k250 has "), "{large}");
    }

    #[test]
    fn devices_of_a_file_are_named_like_those_that_fslab_has() {
        let text = "[device.mine]\nkind = \"disk\"\ncapacity = \"80 GB\"\nrpm = 5400\n\
            seek_ms = { track = 1.0, average = 9.0, full = 18.0 }\n\
            rate = { outer = \"40 MB/s\", inner = \"20 MB/s\" }\nsurfaces = 2\n";
        let of = |text: &str, set: &[&str]| {
            let overrides = Overrides {
                profile: Some("quick".into()),
                set: set.iter().map(|&text| text.to_owned()).collect(),
                ..Overrides::default()
            };
            let file = DevicesFile {
                name: "own.toml".into(),
                text: text.into(),
            };
            let study = Study::load_with("journal", Some(&file));
            let plan = study.and_then(|study| plan(&study, &overrides));
            plan.map_err(|error| error.to_string())
        };
        let disk = of(text, &["device=model:mine"]).unwrap();
        let cell = &disk.cells[0];
        assert_eq!(cell.device.stack.as_ref().unwrap().name, "model:mine");
        // The record has the file: it may be gone when the run is resumed.
        assert_eq!(disk.devices_file.as_deref(), Some(text));
        // Runs on a disk of other figures are not of the same cell.
        let crate::Layers::Model(model) = &cell.device.stack.as_ref().unwrap().layers else {
            panic!("{cell:?}");
        };
        let figures = model.figures.as_ref().unwrap();
        assert!(
            figures.starts_with("mine: capacity 80 GB, rpm 5,400"),
            "{figures}"
        );
        let estimated = of(text, &["check.enabled=true", "estimate=minex2"]).unwrap();
        assert_eq!(estimated.devices_file.as_deref(), Some(text));
        for shipped in [&["device=plain"], &["device=model:7k500"]] {
            let plan = of(text, shipped).unwrap();
            assert_eq!(plan.devices_file, None);
        }
        let unknown = with("journal", &["device=model:mine"]).unwrap_err();
        assert!(unknown.contains("is not a modelled disk"), "{unknown}");
        let wrong = of("[device.mine]\nkind = 1\n", &[]).unwrap_err();
        assert!(wrong.starts_with("--devices-file: own.toml:2: "), "{wrong}");
    }

    #[test]
    fn modelled_and_measured_disks_are_not_of_one_run() {
        for device in ["['plain', 'model:7k500']", "['model:7k500', 'plain']"] {
            let refused = with("journal", &[&format!("device={device}")]).unwrap_err();
            assert_eq!(refused.lines().count(), 1, "{refused}");
            assert!(
                refused.starts_with("--set device=[")
                    && refused.contains("model:7k500 has modelled times and")
                    && refused.contains("one run for each"),
                "{refused}"
            );
        }
        let overrides = Overrides {
            profile: Some("quick".into()),
            set: vec!["device=['plain', 'model:7k500']".into()],
            filter: vec!["device=plain".into()],
            ..Overrides::default()
        };
        let left = plan(&Study::load("journal").unwrap(), &overrides).unwrap();
        assert!(left.cells.iter().all(|cell| cell.device.stack.is_none()));
    }

    #[test]
    fn what_is_no_device_is_refused_with_those_there_are() {
        let wrong = with("streaming", &["device=raid0x12"]).unwrap_err();
        assert!(
            wrong.contains("\"raid0x12\" is not a device (did you mean raid0x11?"),
            "{wrong}"
        );
        let wrong = with("streaming", &["device=['plain', 'nul']"]).unwrap_err();
        assert!(wrong.contains("\"nul\" is not a device"), "{wrong}");
        let wrong = with("streaming", &["device=null_blk-zoned"]).unwrap_err();
        assert!(
            wrong.contains("which this filesystem cannot (btrfs)"),
            "{wrong}"
        );
        let wrong = with("streaming", &["hints=given"]).unwrap_err();
        assert!(wrong.contains("no stripes to pass to mkfs"), "{wrong}");
        let wrong = with("streaming", &["stack.raid1.chunk=64k"]).unwrap_err();
        assert!(wrong.contains("a raid1 has no such key"), "{wrong}");
        let wrong = with("streaming", &["stack.raid1.members=99"]).unwrap_err();
        assert!(
            wrong.contains("99 is not a number of members (1..=24)"),
            "{wrong}"
        );
        let wrong = with("streaming", &["hints=sometimes"]).unwrap_err();
        assert!(wrong.contains("auto, given, withheld"), "{wrong}");
        let wrong = with("streaming", &["stack.plain.kind=raid0"]).unwrap_err();
        assert!(wrong.contains("choose another name"), "{wrong}");
    }
}
