//! What power cuts would have left, in every format.

use crate::common;

use common::{between, in_format};
use record::{Crash, CrashAgreement, CrashDamage, Run};
use report::Format;
use serde_json::Value;

/// A check whose every image was clean.
fn clean() -> Crash {
    Crash {
        filesystem: "ext4".into(),
        writer: "dm-log-writes".into(),
        device_bytes: 64 << 20,
        log_bytes: 20_500_000,
        entries: 412,
        from: 100,
        boundary: "flush".into(),
        boundaries: 57,
        judged: 57,
        recovery: "mount".into(),
        checker: ["e2fsck -fn -tt".into(), "e2fsck 1.47.0 (5-Feb-2023)".into()],
        clean: 57,
        agreement: Some(CrashAgreement {
            before: [57, 57],
            after: [57, 57],
            differences: Vec::new(),
        }),
        ..Crash::default()
    }
}

/// One with an image that is damaged, one without a verdict, and names that want to be markup.
fn damaged() -> Crash {
    Crash {
        judged: 20,
        clean: 18,
        damaged: 1,
        unjudged: 1,
        damages: vec![CrashDamage {
            entry: 231,
            mark: Some("<b>mounted</b>".into()),
            refused: Some("Structure needs cleaning (os error 117)".into()),
            checker: "exit code 4: errors left uncorrected".into(),
            said: vec!["Inode 13, i_blocks is 8, should be 16.  Fix? no".into()],
            own_exit: Some(4),
            own_problems: vec!["1_BAD_I_BLOCKS".into()],
        }],
        agreement: Some(CrashAgreement {
            before: [19, 20],
            after: [20, 20],
            differences: vec![
                "as of entry 231, before recovery: the checker's exit code is 4, fslab check's 0"
                    .into(),
            ],
        }),
        ..clean()
    }
}

/// The example with crash checks of the first two trials on ext4, and their numbers.
pub(crate) fn run() -> (Run, [usize; 2]) {
    let mut run = common::wohlgemuth();
    let plan = &run.plan;
    let on_ext4 = |cell: u32| plan.cells[cell as usize].levels["filesystem"] == "ext4";
    let slots = plan.slots.iter().filter(|slot| on_ext4(slot.cell));
    let found: Vec<usize> = slots.take(2).map(|slot| slot.trial as usize).collect();
    run.trials[found[0]].crash = Some(clean());
    run.trials[found[1]].crash = Some(damaged());
    (run, [found[0], found[1]])
}

#[test]
fn crash_checks_in_a_mail() {
    let out = in_format(&run().0, Format::Text);
    insta::assert_snapshot!(between(&out, "Crash check:", "\nClock (a)"));
}

#[test]
fn crash_checks_in_markdown() {
    let out = in_format(&run().0, Format::Md);
    insta::assert_snapshot!(between(&out, "## Crash check:", "\n## "));
}

#[test]
fn crash_checks_on_the_page() {
    let out = in_format(&run().0, Format::Html);
    assert!(out.contains("href=\"#crash\""));
    insta::assert_snapshot!(between(&out, "<section id=\"crash\"", "</section>"));
}

#[test]
fn crash_checks_in_json_are_those_of_the_log() {
    let (run, [first, second]) = run();
    let document: Value = serde_json::from_str(&in_format(&run, Format::Json)).unwrap();
    let read = |at: usize| -> Option<Crash> {
        serde_json::from_value(document["trials"][at]["crash"].clone()).unwrap()
    };
    assert_eq!(read(first), Some(clean()));
    assert_eq!(read(second), Some(damaged()));
    let others = (0..run.trials.len()).filter(|at| ![first, second].contains(at));
    assert!(others.map(read).all(|crash| crash.is_none()));
}

#[test]
fn a_run_without_says_nothing_of_it() {
    let run = common::wohlgemuth();
    for format in [Format::Text, Format::Md, Format::Html] {
        let out = in_format(&run, format);
        assert!(!out.contains("Crash check"), "{format:?}");
    }
}
