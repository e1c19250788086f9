//! Every case, compared with what `xfs_repair -n` prints and how it ends.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fixtures::undo::Undo;
use forge::damage::xfs::{Base, Volume, all, is_volume};
use testkit::xfs_profile::every_form;

use super::common::{Forged, assert_clean, featured, forge, repair, tools};

fn base(base: Base) -> Forged {
    let mut options = featured(
        "400M",
        match base {
            Base::Plain => "",
            Base::Mapped => "rmapbt",
            Base::Old => "nocrc",
        },
    );
    if base == Base::Old {
        options.inode_size = Some(256);
    }
    let forged = forge(&options, &every_form(0.9, "1-2")).unwrap();
    assert_clean(&forged.image, &format!("{base:?}"));
    forged
}

#[test]
fn every_case_is_reported_as_it_says() {
    if !tools() {
        return;
    }
    let mut images: BTreeMap<Base, Forged> = BTreeMap::new();
    let mut wrong = String::new();
    for case in all() {
        let forged = images.entry(case.base).or_insert_with(|| base(case.base));
        let mut undo = Undo::open(&forged.image).unwrap();
        let mut volume = Volume::open(&mut undo).unwrap();
        if let Err(error) = case.apply(&mut volume) {
            writeln!(wrong, "## {}: {error}", case.name).unwrap();
            undo.back().unwrap();
            continue;
        }
        let changed = undo.changed().unwrap();
        let (code, text) = repair(&forged.image);
        let said = match case.says {
            Some(words) => code == Some(1) && text.contains(words),
            None => code == Some(0),
        };
        if !said || !changed {
            writeln!(wrong, "## {}: exit {code:?}, changed {changed}", case.name).unwrap();
            let lines = text
                .lines()
                .filter(|line| !super::common::is_progress(line) && !line.contains("would"));
            for line in lines.take(6) {
                writeln!(wrong, "    {line}").unwrap();
            }
        }
        undo.back().unwrap();
    }
    for (base, forged) in images {
        assert_clean(&forged.image, &format!("{base:?} at the end"));
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn names_are_unique_and_say_the_code() {
    let mut seen = std::collections::BTreeSet::new();
    for case in all() {
        assert!(seen.insert(case.name), "{} twice", case.name);
        assert!(case.code.starts_with("XFS-"), "{}", case.name);
        assert!(case.about.len() <= 90, "{}", case.name);
    }
    assert!(seen.len() > 150);
    assert!(!is_volume(&mut vec![0; 9000]));
}
