//! The estimate of a check, against the check.

use std::process::Command;
use std::time::Instant;

use blockio::Mode;
use blockio::layer::{Throttle, ThrottleLimits};
use check::{Checker as _, Options, Silent, forecast, ocfs2};
use forge::Image as _;
use forge::ocfs2::Ocfs2;
use forge::population::Profile;

use crate::common::alone;

/// A volume whose inodes take seconds to read at 10 MB/s.
#[test]
fn an_estimate_holds_the_time_on_a_slow_device() {
    if Command::new("mkfs.ocfs2").arg("-V").output().is_err() {
        testkit::skip!("mkfs.ocfs2 is not installed");
        return;
    }
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    let mut options = forge::ocfs2::Options::new(256 << 20);
    options.local = true;
    let profile = "files = 8000\nper_directory = [[\"200-400\", 1]]\nfile_size = 0\n";
    let profile = Profile::parse("profile", profile).unwrap();
    Ocfs2::new(options, profile)
        .and_then(|made| made.write(&image, &forge::Silent))
        .unwrap();
    let slow = ThrottleLimits {
        bytes_per_second: Some(10e6),
        requests_per_second: None,
    };
    let source = Throttle::new(blockio::open(&image, Mode::Buffered).unwrap().source, slow);
    let holds = || {
        let found = ocfs2::Checker
            .forecast(&source, &Options::default())
            .unwrap();
        let begin = Instant::now();
        let report = ocfs2::Checker
            .check(&source, &Options::default(), &Silent)
            .unwrap();
        let real = begin.elapsed().as_secs_f64();
        let files = report.inventory.as_ref().unwrap().files;
        assert_eq!(found.inodes, files.inodes);
        let share = found.directories as f64 / files.directories as f64;
        assert!((0.5..2.0).contains(&share), "{share}");
        let [own, reference] = &found.programs[..] else {
            panic!("{found:#?}");
        };
        assert_eq!(reference.program, "fsck.ocfs2 -fn");
        assert!(
            real > 0.5 && found.sample.parallel_rate.likely < 20e6,
            "{real} s, {found:#?}"
        );
        let stated = report.memory.stated_total.unwrap() as f64;
        assert!(own.memory.high >= stated, "{found:#?}, {stated}");
        assert!(forecast::text(&found).contains("fsck.ocfs2 -fn"));
        println!("{real} s, {:?} expected", own.seconds);
        own.seconds.holds(real)
    };
    // Other programs may begin or end between the forecast and the check.
    assert!((0..3).any(|_| holds()));
}
