//! Options and profiles that make no sense for XFS are refused by name.

use super::common::{featured, forge, options, tools};

#[test]
fn what_a_filesystem_cannot_hold_is_named() {
    if !tools() {
        return;
    }
    for (text, says) in [
        ("files = 9\nprojects = 2", "projects: not possible"),
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
            "files = 9\n[kinds]\nsymlinks = 1\ntarget_length = 1024",
            "kinds.target_length: not possible",
        ),
        ("files = \"20M\"\nper_directory = \"20M\"", "names"),
        ("files = \"9M\"", "the files do not fit"),
        ("files = 90000", "the files do not fit"),
    ] {
        let error = forge(&options("300M"), text).err();
        let error = error.unwrap_or_else(|| panic!("{text}")).to_string();
        assert!(error.contains(says), "{text}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    for (feature, says) in [
        (
            "quota",
            "quota: not a feature of mkfs.xfs that can be set here",
        ),
        ("norsync", "norsync: not a feature"),
        ("nocrc,rmapbt", "mkfs.xfs 6"),
    ] {
        let error = forge(&featured("300M", feature), "files = 1").err();
        let error = error.unwrap_or_else(|| panic!("{feature}")).to_string();
        assert!(error.contains(says), "{feature}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let mut few = options("2G");
    few.inode_percent = Some(1);
    let error = forge(&few, "files = 90000\nfile_size = 0").err().unwrap();
    assert!(error.to_string().contains("--inode-percent"), "{error}");
    let mut long = options("300M");
    long.label = "thirteen chars".to_owned();
    let error = forge(&long, "files = 1").err().unwrap().to_string();
    assert!(error.contains("12 are possible"), "{error}");
    let error = forge(&options("1M"), "files = 1").err().unwrap();
    assert!(error.to_string().contains("mkfs.xfs"), "{error}");
}
