use device::Op;
use device::replay::{Mode, Options, Recorded, Sender};

use super::*;
use crate::{Estimator, Job, Spooled};

/// A reader at depth 1 with 1 ms of think time, and one flushed write.
fn job() -> Job {
    let mut requests: Vec<Recorded> = (0..200)
        .map(|i| Recorded {
            process: 1,
            submitted: i * 3_000_000,
            completed: Some(i * 3_000_000 + 2_000_000),
            op: Op::Read,
            offset: i * 104_729 % 4096 * (1 << 20),
            len: 4096,
            fua: false,
            sender: Sender::Process,
        })
        .collect();
    let write = |op, submitted, len| Recorded {
        op,
        submitted,
        completed: Some(submitted + 1_000_000),
        len,
        ..requests[0]
    };
    let more = [
        write(Op::Write, 600_000_000, 65_536),
        write(Op::Flush, 602_000_000, 0),
    ];
    requests.extend(more);
    Job::Record {
        requests: Spooled::of(&requests).unwrap(),
        options: Options::new(Mode::Dependent { think_limit: None }),
        has_times: true,
    }
}

fn report() -> Report {
    let catalogue = Catalogue::shipped().unwrap();
    let estimator = Estimator::default();
    let job = job();
    let devices = ["cheetah-15k.5", "lun-2011"]
        .map(|name| estimator.estimate(&catalogue, name, &job).unwrap());
    Report {
        timing: "modelled",
        subject: "sda".into(),
        mode: job.mode(),
        cannot_tell: job.cannot_tell(),
        cpu: 1.0,
        runs: estimator.runs,
        seed: estimator.seed,
        doubts: Vec::new(),
        devices: devices.into(),
    }
}

#[test]
fn text_begins_with_the_answer() {
    let text = report().text();
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    insta::assert_snapshot!(text);
}

#[test]
fn json_calls_each_number_of_a_device_modelled() {
    let report = report();
    insta::assert_snapshot!(report.json().unwrap());
}

#[test]
fn intervals_contain_their_median_and_seeds_repeat() {
    let (one, two) = (report(), report());
    for (a, b) in one.devices.iter().zip(&two.devices) {
        let (a, b) = (&a.rows[0].modelled, &b.rows[0].modelled);
        assert_eq!(a.seconds, b.seconds);
        let (low, high) = (a.low_s.unwrap(), a.high_s.unwrap());
        assert!(low < a.seconds.unwrap() && a.seconds.unwrap() < high);
    }
}
