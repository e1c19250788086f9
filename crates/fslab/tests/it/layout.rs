//! `fslab layout` from the command line.

use crate::common;

use common::{Scratch, assert_code, error_line, run_in, stdout};

#[test]
fn what_cannot_be_read_is_one_line_and_the_rest_is_printed() {
    let scratch = Scratch::new();
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let output = run_in(
        scratch.path(),
        &["layout", "--format", "filefrag", "/proc/self/status", here],
    );
    assert_code(&output, 1);
    assert!(error_line(&output).contains("(proc) does not report where files are"));
    assert!(
        stdout(&output).contains("Cargo.toml: 1 extent found"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn a_directory_is_summed_up_and_json_is_one_document() {
    let scratch = Scratch::new();
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let output = run_in(scratch.path(), &["layout", here]);
    assert_code(&output, 0);
    assert!(
        stdout(&output).contains("directories\n  extents"),
        "{}",
        stdout(&output)
    );
    let output = run_in(scratch.path(), &["layout", "--format", "json", here]);
    assert_code(&output, 0);
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let (tree, all) = (&document["trees"][0]["summary"], &document["summary"]);
    assert!(tree["files"].as_u64() > Some(10));
    assert_eq!(tree["extents"], all["extents"]);
}

#[test]
fn another_filesystem_than_xfs_has_no_xfs_bmap() {
    let scratch = Scratch::new();
    let output = run_in(
        scratch.path(),
        &["layout", "--format", "xfs_bmap", "/proc/self/status"],
    );
    assert_code(&output, 1);
    assert!(error_line(&output).contains("needs XFS, and this is proc"));
    let output = run_in(scratch.path(), &["layout", "--block-size", "0", "/"]);
    assert_code(&output, 2);
    assert!(
        error_line(&output).contains("give 1 to 1g bytes"),
        "{}",
        error_line(&output)
    );
}
