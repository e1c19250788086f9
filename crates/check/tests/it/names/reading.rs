//! How blocks come in: not at all, or to several threads.

use blockio::Ram;
use check::{Options, Silent, ext4};

use crate::names::images::{D, SUB, TREE, base, dir_block, indexed};

#[test]
#[allow(
    clippy::single_range_in_vec_init,
    reason = "one bad range is a list of one"
)]
fn what_cannot_be_read_is_reported() {
    let mut image = base("^dir_index", TREE);
    let block = dir_block(&mut image, SUB, 0) * 1024;
    let source = Ram::new(&image.bytes).failing([block..block + 1], 5);
    let options = Options {
        threads: 2,
        ..Options::default()
    };
    let report = check::ext4::check(&source, &options, &ext4::Options::default(), &Silent).unwrap();
    let list = &report.findings.list;
    let unread = list
        .iter()
        .find(|f| f.problem.name == "2_READ_DIRBLOCK")
        .unwrap();
    assert_eq!(unread.place.block, Some(block / 1024));
    assert!(unread.reference_stops);
    assert_eq!(
        report.verdict(check::report::Judge::Reference).exit_code,
        12
    );
}

#[test]
fn threads_change_nothing() {
    let mut image = indexed("^metadata_csum");
    for logical in 1..8 {
        let block = dir_block(&mut image, D, logical);
        image.block(block)[8] = b'/';
        image.block(block)[7] = 9;
    }
    let of = |threads| {
        let options = Options {
            threads,
            now: 0,
            ..Options::default()
        };
        let report = check::ext4::check(
            &Ram::new(&image.bytes),
            &options,
            &ext4::Options::default(),
            &Silent,
        )
        .unwrap();
        report.findings.list
    };
    let one = of(1);
    assert!(one.len() > 14);
    assert_eq!(one, of(4));
}
