//! Options and profiles that make no sense for OCFS2 are refused by name.

use forge::Error;
use forge::ocfs2::FeatureLevel;

use super::common::{forge, options, tools};

#[test]
fn what_a_volume_cannot_hold_is_named() {
    if !tools() {
        return;
    }
    for (text, says) in [
        (
            "files = 9\nprojects = 2",
            "projects: not possible in this volume: OCFS2 has no project quotas",
        ),
        (
            "files = 9\n[names]\ncasefold = true",
            "names.casefold: not possible",
        ),
        (
            "files = 9\n[names]\nencrypted = true",
            "names.encrypted: not possible",
        ),
        (
            "files = 9\n[attributes]\nvalue = 0.5",
            "attributes.value: not possible",
        ),
        (
            "files = 9\n[attributes]\nblock = 0.5\nblock_sharing = 3",
            "attributes.block_sharing: not possible",
        ),
        (
            "files = 9\n[kinds]\nsymlinks = 1\ntarget_length = 5000",
            "kinds.target_length: not possible",
        ),
        ("files = \"5M\"\nper_directory = \"5M\"", "names"),
        ("files = \"9M\"", "the files do not fit"),
        ("files = 90000", "the files do not fit"),
    ] {
        let folder = forge(&options("300M"), text);
        let error = folder.err().unwrap_or_else(|| panic!("{text}")).to_string();
        assert!(error.contains(says), "{text}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    for (feature, text, says) in [
        (
            "usrquota",
            "files = 1",
            "the feature usrquota is not possible here",
        ),
        (
            "noxattr",
            "files = 1\n[attributes]\ninode = 1",
            "[attributes]: not possible in this volume: it needs the feature xattr",
        ),
        ("nosparse", "files = 1\n[ageing]\nholes = 1", "ageing.holes"),
        (
            "noinline-data",
            "files = 1",
            "indexed-dirs without inline-data",
        ),
        (
            "nounwritten",
            "files = 1\n[ageing]\nunwritten = 1",
            "ageing.unwritten",
        ),
        (
            "nonsense",
            "files = 1",
            "mkfs.ocfs2 cannot make a volume of these options: Unsupported feature",
        ),
    ] {
        let mut options = options("300M");
        options.features = vec![feature.to_owned()];
        let error = forge(&options, text)
            .err()
            .unwrap_or_else(|| panic!("{feature}"))
            .to_string();
        assert!(error.contains(says), "{feature}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let mut options = options("300M");
    options.feature_level = FeatureLevel::MaxFeatures;
    assert!(matches!(
        forge(&options, "files = 1"),
        Err(Error::Option(_))
    ));
    options.feature_level = FeatureLevel::Default;
    options.used_slots = 9;
    let error = forge(&options, "files = 1").err().unwrap().to_string();
    assert!(error.contains("9 slots are to be used"), "{error}");
    let mut options = super::common::options("1M");
    options.block_size = Some(3000);
    let error = forge(&options, "files = 1").err().unwrap();
    assert!(matches!(error, Error::Option(_)), "{error}");
}
