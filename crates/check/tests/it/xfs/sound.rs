//! Sound filesystems are sound to both verdicts.

use check::report::{Judge, Report};
use testkit::xfs_profile::every_form;

use super::volume::{Forged, forged, lines, made, report, tools};

fn assert_sound(image: &Forged, what: &str) -> Report {
    let found = report(&image.image, 2);
    let lines = lines(&found);
    assert!(
        found.verdict(Judge::Reference).is_clean(),
        "{what}: {lines:#?}"
    );
    assert!(
        found.verdict(Judge::Strict).is_clean(),
        "{what}: {lines:#?}"
    );
    found
}

#[test]
fn what_mkfs_makes() {
    if !tools() {
        return;
    }
    for (size, words) in [
        ("300M", &[][..]),
        ("1G", &["-m", "rmapbt=1"]),
        ("1G", &["-m", "crc=0"]),
        ("1G", &["-m", "crc=0,finobt=0", "-i", "size=256"]),
        ("1G", &["-m", "reflink=0"]),
        ("1G", &["-i", "sparse=0"]),
        ("1G", &["-i", "nrext64=1"]),
        ("1G", &["-b", "size=1024"]),
        ("1G", &["-b", "size=64k"]),
        ("1G", &["-b", "size=16k", "-n", "size=64k"]),
        ("1G", &["-i", "size=2048"]),
        ("1G", &["-s", "size=4096"]),
        ("1G", &["-d", "su=64k,sw=4"]),
        ("1G", &["-n", "version=ci"]),
        ("9T", &[]),
    ] {
        assert_sound(&made(size, words), &format!("{size} {words:?}"));
    }
}

#[test]
fn what_forge_makes() {
    if !tools() {
        return;
    }
    for features in ["", "rmapbt", "nocrc", "rmapbt,nrext64"] {
        let image = forged("400M", features, &every_form(0.5, "1-20"));
        let found = assert_sound(&image, features);
        let files = found.inventory.unwrap().files;
        assert!(files.regular > 5000 && files.directories > 50, "{files:?}");
    }
}

#[test]
fn threads_do_not_change_the_report() {
    if !tools() {
        return;
    }
    let image = forged("400M", "rmapbt", &every_form(0.5, "1-20"));
    let one = lines(&report(&image.image, 1));
    let four = lines(&report(&image.image, 4));
    assert_eq!(one, four);
}
