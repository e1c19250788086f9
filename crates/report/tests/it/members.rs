//! How phases were shared among the disks of a device, in every format.

use crate::common;

use common::{between, in_format};
use record::{Member, Members, Run};
use report::Format;
use serde_json::Value;
use study::{Bytes, Layers, Md, Metadata, RaidLevel, Stack};

/// The example with ext3 and ext4 on a RAID-5 of three, whose last member was spared a little.
pub(crate) fn run() -> Run {
    let mut run = common::wohlgemuth();
    for cell in &mut run.plan.cells {
        cell.device.stack = Some(Stack {
            name: "raid<5>".into(),
            about: String::new(),
            layers: Layers::Md(Md {
                level: RaidLevel::Raid5,
                members: 3,
                chunk: Some(Bytes(64 << 10)),
                metadata: Metadata::V1_2,
                assume_clean: true,
            }),
        });
    }
    for trial in &mut run.trials {
        let member = |place: u64| Member {
            name: format!("vd{place}"),
            writes: 1600 - 10 * place,
            written: (100 - place) << 20,
            ..Member::default()
        };
        trial.members = vec![Members {
            phase: "initial_create".into(),
            members: (0..3).map(member).collect(),
        }];
    }
    run
}

#[test]
fn members_in_markdown() {
    let out = in_format(&run(), Format::Md);
    insta::assert_snapshot!(between(&out, "## Members:", "\n## "));
}

#[test]
fn members_on_the_page() {
    let out = in_format(&run(), Format::Html);
    assert!(out.contains("href=\"#members\""));
    insta::assert_snapshot!(between(&out, "<section id=\"members\"", "</section>"));
}

#[test]
fn members_in_json_are_numbers() {
    let document: Value = serde_json::from_str(&in_format(&run(), Format::Json)).unwrap();
    let members = &document["members"];
    assert_eq!(members["devices"][0]["name"], "raid<5>");
    let phases = members["phases"].as_array().unwrap();
    assert_eq!(phases.len(), run().plan.cells.len());
    let first = &phases[0];
    assert_eq!(first["phase"], "initial_create");
    assert_eq!(first["members"], 3);
    assert_eq!(first["bytes"], f64::from(297 << 20));
    let share = |name: &str| first[name].as_f64().unwrap();
    assert!((share("least_share") - 98.0 / 297.0).abs() < 1e-12);
    assert!((share("most_share") - 100.0 / 297.0).abs() < 1e-12);
    assert!(
        first["by_device"].is_null(),
        "the example has no such counters"
    );
}

#[test]
fn a_run_without_says_nothing_of_it() {
    let run = common::wohlgemuth();
    for format in [Format::Text, Format::Md, Format::Html] {
        let out = in_format(&run, format);
        assert!(!out.contains("Members:"), "{format:?}");
    }
    let document: Value = serde_json::from_str(&in_format(&run, Format::Json)).unwrap();
    assert!(document["members"].is_null());
}
