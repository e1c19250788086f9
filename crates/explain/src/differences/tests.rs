use record::Status;

use super::*;

fn found(options: &Options) -> Found {
    find(&fixtures::example::run(), options).unwrap()
}

#[test]
fn the_tables_of_the_example_give_their_differences() {
    let found = found(&Options::default());
    assert_eq!(found.compared, 16, "six rows and ten, two columns each");
    let clean = found
        .differences
        .iter()
        .find(|d| d.phase == "clean")
        .unwrap();
    assert_eq!(clean.slower, Slower::Other, "1102 MB/s on ext4, 640 on xfs");
    assert!(
        (clean.times - 1102.0 / 640.0).abs() < 0.05,
        "{}",
        clean.times
    );
    assert!(clean.interval.0 < clean.times && clean.times < clean.interval.1);
    assert_eq!(
        (clean.base.level.as_str(), clean.other.level.as_str()),
        ("ext4", "xfs")
    );
    let deleted = found
        .differences
        .iter()
        .find(|d| d.phase == "delete_tree")
        .unwrap();
    assert_eq!(deleted.slower, Slower::Other, "seconds: more is slower");
    assert!(found.differences.iter().all(|d| d.times > 1.0));
    assert!(
        !found.differences.iter().any(|d| d.phase == "reread"),
        "1490 against 1491"
    );
}

#[test]
fn a_base_turns_the_pair_around() {
    let options = Options {
        base: Some("xfs".into()),
        ..Options::default()
    };
    let turned = found(&options);
    let clean = turned
        .differences
        .iter()
        .find(|d| d.phase == "clean")
        .unwrap();
    assert_eq!(
        (clean.base.level.as_str(), clean.slower),
        ("xfs", Slower::Base)
    );
}

#[test]
fn names_that_are_not_there_are_refused() {
    let answer = |options: Options| {
        let error = find(&fixtures::example::run(), &options).unwrap_err();
        error.to_string()
    };
    let factor = answer(Options {
        factors: vec!["colour".into()],
        ..Options::default()
    });
    assert!(
        factor.contains("--factor \"colour\"") && factor.contains("filesystem"),
        "{factor}"
    );
    let level = answer(Options {
        filter: vec![("filesystem".into(), "zfs".into())],
        ..Options::default()
    });
    assert!(level.contains("zfs") && level.contains("ext4"), "{level}");
    let phase = answer(Options {
        phase: Some("sleep".into()),
        ..Options::default()
    });
    assert!(
        phase.contains("sleep") && phase.contains("rewrite"),
        "{phase}"
    );
    let nothing = answer(Options {
        filter: vec![("filesystem".into(), "ext4".into())],
        ..Options::default()
    });
    assert!(nothing.contains("loosen --filter"), "{nothing}");
}

#[test]
fn a_run_in_which_all_failed_gives_that_reason() {
    let mut run = fixtures::example::run();
    for trial in &mut run.trials {
        trial.status = Status::Pending;
    }
    let answer = find(&run, &Options::default()).unwrap_err().to_string();
    assert!(answer.contains("no trial finished"), "{answer}");
}

#[test]
fn a_run_of_one_cell_has_no_difference() {
    let mut run = fixtures::example::run();
    run.plan.cells.truncate(1);
    let answer = find(&run, &Options::default()).unwrap_err().to_string();
    assert!(answer.contains("its plan has one cell"), "{answer}");
}

#[test]
fn a_silent_study_compares_headlines() {
    let mut run = fixtures::example::run();
    run.plan.tables.clear();
    let found = find(&run, &Options::default()).unwrap();
    assert!(found.compared > 0);
    let metrics: BTreeSet<&str> = found
        .differences
        .iter()
        .map(|d| d.metric.as_str())
        .collect();
    assert!(
        metrics.is_subset(&["throughput", "seconds"].into()),
        "{metrics:?}"
    );
}

#[test]
fn cpu_time_is_evidence_and_no_difference() {
    for metric in [
        "throughput",
        "seconds",
        "mean_seconds",
        "fsync_p99",
        "children",
    ] {
        assert!(is_wall_time(metric), "{metric}");
    }
    for metric in [
        "system_seconds",
        "mean_user_seconds",
        "trace_d2c_mean",
        "app_overhead",
    ] {
        assert!(!is_wall_time(metric), "{metric}");
    }
}

#[test]
fn a_phase_alone_is_corrected_with_its_table() {
    let options = Options {
        phase: Some("clean".into()),
        ..Options::default()
    };
    let (alone, all) = (found(&options), found(&Options::default()));
    assert_eq!((alone.compared, alone.differences.len()), (1, 1));
    let of_all = all.differences.iter().find(|d| d.phase == "clean");
    assert_eq!(of_all, alone.differences.first());
}

/// Blocks that only one side finished are not compared with anything.
#[test]
fn too_few_blocks_are_counted_not_compared() {
    let mut run = fixtures::example::run();
    for slot in run.plan.slots.clone() {
        if slot.block > 0 {
            run.trials[slot.trial as usize].status = Status::Pending;
        }
    }
    let found = find(&run, &Options::default()).unwrap();
    assert_eq!((found.compared, found.differences.len()), (0, 0));
    assert_eq!(found.too_few, 16);
}

/// A table that names one of two factors: the other is compared, too.
#[test]
fn every_varied_factor_is_compared() {
    let run = fixtures::mail_server::run(&fixtures::mail_server::FAST_COMMIT);
    let found = find(&run, &Options::default()).unwrap();
    let along: BTreeSet<&str> = found
        .differences
        .iter()
        .map(|d| d.factor.as_str())
        .collect();
    assert_eq!(along, ["mkfs"].into(), "{:?}", found.differences);
    assert_eq!(found.differences.len(), 2, "with each mount option");
    for difference in &found.differences {
        assert_eq!(difference.other.level, "-O fast_commit");
        assert!((difference.times - 5565.0 / 2430.0).abs() < 0.02);
    }
}
