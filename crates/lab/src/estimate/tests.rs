use std::fs;
use std::path::Path;

use blockio::layer::{Entries, Entry};
use modelled::checker::Pass;

use super::*;

const MS: u64 = 1_000_000;

/// Two hundred reads, one after the other, in two passes.
fn record() -> Record {
    record_at(|i| (i * 37 % 200) << 28)
}

/// The same at other places.
fn record_at(offset: impl Fn(u64) -> u64) -> Record {
    let entry = |i: u64| Entry {
        offset: offset(i),
        len: 4096,
        thread: 1,
        submitted: (3 * i + 2) * MS,
        called: (3 * i + 2) * MS,
        delivered: (3 * i + 3) * MS,
        is_taken: true,
    };
    let pass = |name: &str, began| Pass {
        name: name.into(),
        began,
    };
    let mut entries = Entries::holding(1 << 20);
    for i in 0..200 {
        entries.push(entry(i)).unwrap();
    }
    Record {
        entries,
        passes: vec![pass("0a", 0), pass("1", 300 * MS)],
        end: 600 * MS,
    }
}

fn spec() -> EstimateSpec {
    EstimateSpec {
        devices: vec!["lun-2011".into(), "7k500x4".into(), "t7k250".into()],
        cpu: 2.0,
    }
}

fn estimate(folder: &Path, of: Of) -> Estimate {
    let folder = &RunDir::open(folder).unwrap();
    let left = Left {
        folder,
        trial: 3,
        volume: 1 << 40,
        devices_file: None,
        traced: None,
        spans: &Spans::default(),
    };
    let requests = Requests {
        phase: "scan",
        reader: "model".into(),
        of,
    };
    left.estimate(&spec(), requests)
}

#[test]
fn a_record_is_replayed_on_each_device_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let found = estimate(folder.path(), Of::Memory(Ok(record())));
    assert_eq!(
        (found.missing.as_deref(), found.stream),
        (None, Stream::OwnRecord)
    );
    assert_eq!((found.mode.as_str(), found.cpu), ("program", 2.0));
    let file = found.file.clone().unwrap();
    assert_eq!(file, "reads/trial-0004.scan");
    let mut written = Vec::new();
    record().write(&mut written).unwrap();
    assert_eq!(fs::read(folder.path().join(file)).unwrap(), written);
    let names: Vec<&str> = found.devices.iter().map(|d| d.device.as_str()).collect();
    assert_eq!(names, ["lun-2011", "7k500x4", "t7k250"]);
    assert_eq!(found.devices[0].studies, ["mushran2011"]);
    assert!(found.devices[1].studies.is_empty());
    let small = &found.devices[2];
    assert!(small.passes.is_empty());
    let why = small.missing.as_deref().unwrap();
    assert!(why.contains("and the volume 1"), "{why}");
    for device in &found.devices[..2] {
        let phases: Vec<&str> = device.passes.iter().map(|p| p.phase.as_str()).collect();
        assert_eq!(phases, ["scan", "scan_pass_0a", "scan_pass_1"]);
        let [whole, first, second] = &device.passes[..] else {
            panic!("{device:?}");
        };
        assert_eq!(whole.requests, first.requests + second.requests);
        assert_eq!(whole.recorded_s, Some(0.6));
        // 0.4 s of computing at half the speed, and a seek for each read.
        assert!(whole.modelled_s > Some(0.8 + 200.0 * 0.002), "{whole:?}");
        assert!(
            whole.modelled_low_s < whole.modelled_s && whole.modelled_s < whole.modelled_high_s
        );
        for pass in &device.passes {
            assert!(pass.limit.is_some() && pass.modelled_busy_percent > Some(0.0));
        }
    }
    // The same requests from a file that a program wrote.
    let again = estimate(folder.path(), Of::File);
    assert_eq!(again, found);
    // It goes through the log.
    let json = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<Estimate>(&json).unwrap(), found);
}

#[test]
fn without_requests_the_record_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let why = |of| {
        let found = estimate(folder.path(), of);
        assert!(found.devices.is_empty());
        assert_eq!(found.stream, Stream::None);
        found.missing.unwrap()
    };
    assert!(why(Of::Program).contains("set trace = true"));
    let file = why(Of::File);
    assert!(file.contains("reads/trial-0004.scan"), "{file}");
    assert_eq!(why(Of::Memory(Err("no room".into()))), "no room");
    let mut nothing = record();
    nothing.entries = Entries::holding(0);
    assert_eq!(why(Of::Memory(Ok(nothing))), "it read nothing");
    let beyond = record_at(|i| if i == 7 { 1 << 50 } else { 0 });
    let beyond = why(Of::Memory(Ok(beyond)));
    assert!(beyond.starts_with("lun-2011: "), "{beyond}");
}

#[test]
fn published_numbers_belong_to_the_device_of_that_size() {
    let catalogue = Catalogue::shipped().unwrap();
    let here = RunDir::open(Path::new(".")).unwrap();
    let is_of = |volume, name: &str| {
        let left = Left {
            folder: &here,
            trial: 0,
            volume,
            devices_file: None,
            traced: None,
            spans: &Spans::default(),
        };
        let device = EstimatedDevice {
            device: name.into(),
            ..EstimatedDevice::default()
        };
        left.is_of("layton2012", &device, &catalogue)
    };
    let (large, small) = (72 << 40, 38 << 40);
    assert!(is_of(large, "layton-72t") && is_of(small, "layton-38t"));
    assert!(!is_of(small, "layton-72t") && !is_of(large, "layton-38t"));
}
