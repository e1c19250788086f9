//! Hashes of names over signed and unsigned characters: fsck.ocfs2 on x86 takes the latter for faults, and the strict verdict does not.

use blockio::Ram;
use check::report::{Judge, Report};
use check::{Checker as _, Options, Silent};
use forge::ocfs2::{Ocfs2, Options as Making};
use forge::population::Profile;
use forge::{Image as _, Silent as Quiet};
use ondisk::ocfs2::hash::Sign;
use testkit::fsck_ocfs2;

use super::volume::{Image, Made};
use crate::common::alone;

/// Directories with an index, and names with bytes above 127.
const PROFILE: &str = r#"
    files = 600
    per_directory = [["200-300", 1]]
    file_size = [["1-3k", 1]]
    [names]
    length = "9-20"
    alphabet = "utf8"
"#;

fn report(bytes: &[u8]) -> Report {
    let checker = check::ocfs2::Checker;
    checker
        .check(&Ram::new(bytes), &Options::default(), &Silent)
        .unwrap()
}

#[test]
fn unsigned_hashes_are_a_false_alarm_of_the_reference() {
    let _alone = alone();
    let made = Made {
        block: 4096,
        cluster: 4096,
        options: &[],
    };
    if Image::made(made).is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (sign, is_alarm) in [(Sign::Signed, false), (Sign::Unsigned, true)] {
        let path = folder.path().join(format!("{sign:?}"));
        let mut making = Making::new(160 << 20);
        making.local = true;
        making.block_size = Some(4096);
        making.cluster_size = Some(4096);
        making.name_hash = sign;
        let profile = Profile::parse("profile", PROFILE).unwrap();
        Ocfs2::new(making, profile)
            .unwrap()
            .write(&path, &Quiet)
            .unwrap();
        let reference = fsck_ocfs2::run(&path).unwrap();
        let alarms = reference.codes.get("DX_LOOKUP_FAILED").copied();
        assert_eq!(alarms.is_some(), is_alarm, "{:?}", reference.codes);
        let report = report(&std::fs::read(&path).unwrap());
        let own = report.reference_run.as_ref().unwrap();
        assert_eq!(own.codes.get("DX_LOOKUP_FAILED").copied(), alarms);
        assert_eq!(
            report.verdict(Judge::Reference).exit_code,
            if is_alarm { 4 } else { 0 }
        );
        assert_eq!(report.verdict(Judge::Strict).exit_code, 0);
    }
}
