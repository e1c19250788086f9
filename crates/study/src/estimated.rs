//! `[estimate]`: whether its devices are there, and hold the volumes whose checks are estimated on them.

use crate::devices::Devices;
use crate::error::Problem;
use crate::model::{Cell, EstimateSpec, WorkloadSpec};
use crate::node::Node;
use crate::placed::Placed;
use crate::units::Bytes;

/// Most devices: each replays all requests of every check.
const MOST: usize = 32;

/// Whether a cell has something that is estimated.
fn has_requests(cell: &Cell) -> bool {
    cell.check.is_some() || matches!(cell.workload, WorkloadSpec::Scan(_))
}

/// Gives `spec` to the cells that have a check, or read as one does; what of it cannot be. `target` is the size of a device that
/// replaces the loop images.
pub(crate) fn give(
    spec: &EstimateSpec,
    node: Option<&Node>,
    cells: &mut [Placed],
    target: Option<Bytes>,
    devices: &Devices,
) -> Vec<Problem> {
    let Some(node) = node.filter(|_| !spec.devices.is_empty()) else {
        return Vec::new();
    };
    let list = node.find(&["devices"]).unwrap_or(node);
    if spec.devices.len() > MOST {
        let message = format!("{} devices are too many (1..={MOST})", spec.devices.len());
        return vec![Problem::new(&list.at, message)];
    }
    let sizes = cells.iter().filter(|placed| has_requests(&placed.cell));
    let sizes = sizes.map(|placed| target.unwrap_or(placed.cell.device.size));
    let Some(smallest) = sizes.min() else {
        let message = "no workload of this study is followed by a check, and none is a scan, so there is nothing to estimate \
             (set check.enabled = true, or leave it out)";
        return vec![Problem::new(&list.at, message)];
    };
    let mut problems = Vec::new();
    for (index, name) in spec.devices.iter().enumerate() {
        let named = list.as_list().and_then(|all| all.get(index));
        let at = named.map_or(&list.at, |named| &named.at);
        let message = match devices.capacity(name) {
            Err(why) => Some(why),
            Ok(_) if spec.devices[..index].contains(name) => {
                Some(format!("the device {name} is given twice"))
            }
            // Volumes that it does not hold have no estimate on it, which their records say.
            Ok(capacity) if capacity < smallest => Some(format!(
                "{name} has {}, and the smallest volume of this study {} (choose a larger device; {name}x2 is two of them)",
                words::bytes(capacity.get()),
                words::bytes(smallest.get())
            )),
            Ok(_) => None,
        };
        problems.extend(message.map(|message| Problem::new(at, message)));
    }
    if problems.is_empty() {
        for placed in cells.iter_mut() {
            let wanted = has_requests(&placed.cell);
            placed.cell.estimate = wanted.then(|| spec.clone());
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use crate::{Overrides, Plan, Study, plan};

    fn with(study: &str, profile: &str, set: &[&str]) -> Result<Plan, String> {
        let overrides = Overrides {
            profile: Some(profile.into()),
            set: set.iter().map(|&text| text.to_owned()).collect(),
            ..Overrides::default()
        };
        let study = Study::load(study).unwrap();
        plan(&study, &overrides).map_err(|error| error.to_string())
    }

    #[test]
    fn every_check_and_reading_gets_the_devices() {
        let plan = with(
            "fsck-io",
            "quick",
            &["estimate=lun-2011,7k500x4", "estimate.cpu=3"],
        );
        let plan = plan.unwrap();
        for cell in &plan.cells {
            let spec = cell.estimate.as_ref().unwrap();
            assert_eq!(spec.devices, ["lun-2011", "7k500x4"]);
            assert_eq!(spec.cpu, 3.0);
            assert!(!cell.levels.contains_key("estimate"));
        }
        let json = serde_json::to_string(&plan.cells[0]).unwrap();
        assert!(json.contains("\"estimate\":{"), "{json}");
        let one = with(
            "fsck-scale",
            "forged",
            &["estimate=['lun-2011']", "estimate.cpu=0.5"],
        );
        assert!(one.unwrap().cells.iter().all(|c| c.estimate.is_some()));
        let none = with("fsck-io", "quick", &[]).unwrap();
        assert!(none.cells.iter().all(|cell| cell.estimate.is_none()));
        let json = serde_json::to_string(&none.cells[0]).unwrap();
        assert!(!json.contains("estimate"), "{json}");
        let of_directory = with("fsck-scale", "quick", &["estimate=lun-2011"]);
        let of_directory = of_directory.unwrap().in_directory();
        assert!(of_directory.cells.iter().all(|c| c.estimate.is_none()));
        assert!(
            of_directory
                .notes
                .iter()
                .any(|n| n.contains("the estimates"))
        );
    }

    #[test]
    fn a_study_without_a_check_gets_one_with_it() {
        let checked = with(
            "journal",
            "quick",
            &["check.enabled=true", "estimate=nvme-2018"],
        );
        assert!(checked.unwrap().cells.iter().all(|c| c.estimate.is_some()));
        let plain = with("journal", "quick", &["estimate=nvme-2018"]).unwrap_err();
        assert!(plain.contains("there is nothing to estimate"), "{plain}");
    }

    #[test]
    fn what_cannot_be_is_refused_in_a_line() {
        let refused = |set: &[&str]| {
            let error = with("fsck-io", "quick", set).unwrap_err();
            assert_eq!(error.lines().count(), 1, "{error}");
            error
        };
        let unknown = refused(&["estimate=lun-2012"]);
        assert!(
            unknown.starts_with("--set estimate=lun-2012: ") && unknown.contains("lun-2011"),
            "{unknown}"
        );
        let small = refused(&["estimate=t7k250", "device_size=300g"]);
        assert!(small.contains("t7k250x2 is two of them"), "{small}");
        // One that holds some of the volumes is kept.
        let some = with(
            "fsck-scale",
            "forged",
            &["estimate=lun-2011", "device_size=['10t', '1t']"],
        );
        assert!(some.is_ok(), "{some:?}");
        let twice = refused(&["estimate=7k500,7k500"]);
        assert!(twice.contains("7k500 is given twice"), "{twice}");
        let factor = refused(&["estimate.cpu=-1"]);
        assert!(factor.contains("-1 is not a factor of times"), "{factor}");
        let key = refused(&["estimate.device=7k500"]);
        assert!(key.contains("no such key"), "{key}");
        let number = refused(&["estimate.devices=[1]"]);
        assert!(number.contains("no device is named \"1\""), "{number}");
        let many = format!("estimate={}", vec!["7k500"; 33].join(","));
        assert!(refused(&[&many]).contains("33 devices are too many"));
    }
}
