use device::Op;
use device::replay::{Mode, Options, Recorded, Sender};

use super::*;
use crate::{DEPTH, Estimator, Job, Spooled, modes_beside};

/// A job in the mode dependent.
fn job_of(requests: &[Recorded]) -> Job {
    let mode = Mode::Dependent { think_limit: None };
    Job::Record {
        requests: Spooled::of(requests).unwrap(),
        source: Source::Issue,
        options: Options::new(mode),
        beside: modes_beside(mode, None, DEPTH),
        has_times: true,
    }
}

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
    job_of(&requests)
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
        from: job.source(),
        depth: None,
        place: None,
        think_limit_ms: None,
        live: false,
        answers: None,
        cannot_tell: job.cannot_tell(),
        cpu: 1.0,
        runs: estimator.runs,
        seed: estimator.seed,
        sampled: None,
        commands: 0,
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

#[test]
fn the_interval_of_a_long_record_comes_from_stretches_and_says_so() {
    let record: Vec<Recorded> = (0..70_000_u64)
        .map(|number| Recorded {
            process: (number % 3) as u32,
            submitted: number * 1_000_000,
            completed: Some(number * 1_000_000 + 2_500_000),
            op: Op::Read,
            offset: number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (1 << 26) * 4096,
            len: 4096,
            fua: false,
            sender: Sender::Process,
        })
        .collect();
    let job = job_of(&record);
    let catalogue = Catalogue::shipped().unwrap();
    let report = |whole| {
        let estimator = Estimator {
            runs: 4,
            seed: 1,
            whole,
        };
        let names = ["7k500".to_owned()];
        let report = estimator.report(&catalogue, &names, "sda".into(), &job, Vec::new());
        report.unwrap()
    };
    let (sampled, whole) = (report(false), report(true));
    assert_eq!((sampled.sampled, whole.sampled), (Some(32_768), None));
    let text = sampled.text();
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(
        words
            .join(" ")
            .contains("intervals of 4 runs of 32,768 requests, seed 1"),
        "{text}"
    );
    assert!(!whole.json().unwrap().contains("sampled"));
    let modes = |report: &Report| report.devices[0].modelled_other_modes_s.clone();
    let others = (modes(&sampled), modes(&whole));
    assert_eq!(others.0.len(), 2);
    let of = |report: &Report| report.devices[0].whole().unwrap().modelled.clone();
    let (sampled, whole) = (of(&sampled), of(&whole));
    assert_eq!(sampled.nominal_s, whole.nominal_s);
    for (one, other) in others.0.iter().zip(&others.1) {
        assert_eq!(one.0, other.0);
        let ratio = one.1 / other.1;
        assert!((0.98..1.02).contains(&ratio), "{one:?} {other:?}");
    }
    for (one, other) in [
        (sampled.low_s, whole.low_s),
        (sampled.seconds, whole.seconds),
        (sampled.high_s, whole.high_s),
    ] {
        let ratio = one.unwrap() / other.unwrap();
        assert!((0.99..1.01).contains(&ratio), "{one:?} {other:?}");
    }
}
