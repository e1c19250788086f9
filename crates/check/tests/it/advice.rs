//! What a report advises is done: each command on an image of its kind, and it must do what its step says.
//!
//! Damage is that of forge's cases. Many have the same advice, so a few of each are followed; with `FSLAB_ALL_ADVICE` all are.

pub(crate) mod bases;
mod follow;
mod special;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use check::{Checker, ext4, ocfs2, xfs};
use fixtures::undo::Undo;
use forge::damage::{self, Filesystem, Medium};

use self::bases::Bases;
use self::follow::{Followed, Place};

/// What a case does to an image.
type Damage<'a> = Box<dyn Fn(&mut dyn Medium) + 'a>;

/// Cases of one kind of problem and one advice that are followed.
const OF_EACH: usize = 2;

/// Follows the advice on each case, given by its name and what it does to the base of that name.
fn follow_all<'a>(
    checker: &dyn Checker,
    bases: &mut Bases,
    cases: impl Iterator<Item = (String, String, Damage<'a>)>,
) {
    let all = std::env::var_os("FSLAB_ALL_ADVICE").is_some();
    let mut followed: BTreeMap<String, usize> = BTreeMap::new();
    let (mut lines, mut kinds, mut wrong) = (0, BTreeMap::new(), String::new());
    for (name, base, apply) in cases {
        let place = Place::new();
        let mut undo = Undo::open(bases.get(&base)).unwrap();
        apply(&mut undo);
        place.put(bases.get(&base));
        undo.back().unwrap();
        let (report, steps) = place.advice(checker);
        let kind: String = steps.iter().fold(String::new(), |mut kind, step| {
            let _ = write!(kind, "{}\n{}\n", step.what, step.commands.join("\n"));
            kind
        });
        let worst = report.faults().map(|fault| fault.problem.severity).min();
        let of_kind = followed.entry(format!("{kind} {worst:?}")).or_default();
        *of_kind += 1;
        if *of_kind > OF_EACH && !all {
            continue;
        }
        let Followed {
            ran,
            mut failed,
            fell_back,
        } = place.follow(checker, &report, &steps);
        lines += ran;
        // A kernel that mounts the sound filesystem mounts this one.
        if fell_back && bases.mounts(&base) {
            failed.push("refused, although the sound filesystem is mounted".into());
        }
        *kinds.entry(kind).or_insert(0) += 1;
        for line in failed {
            let codes: Vec<&str> = report.faults().map(|fault| fault.problem.name).collect();
            let first = &codes[..codes.len().min(6)];
            let _ = writeln!(wrong, "## {name} ({base}) {first:?}\n    {line}");
        }
    }
    println!("{lines} commands in {} kinds of advice", kinds.len());
    for (kind, count) in kinds {
        println!("--- {count}\n{kind}");
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(lines > 20, "only {lines} commands were run");
}

#[test]
fn of_ext4_works_needs_root() {
    let cases = damage::all().map(|case| {
        let apply = move |medium: &mut dyn Medium| {
            let mut bytes = vec![0; usize::try_from(medium.size()).unwrap()];
            medium.read(0, &mut bytes).unwrap();
            let mut changed = bytes.clone();
            case.apply(&mut Filesystem::open(&mut changed).unwrap())
                .unwrap();
            for (number, (old, new)) in bytes.chunks(4096).zip(changed.chunks(4096)).enumerate() {
                if old != new {
                    medium.write(number as u64 * 4096, new).unwrap();
                }
            }
        };
        let apply: Damage<'_> = Box::new(apply);
        (case.name.to_owned(), case.base.to_owned(), apply)
    });
    let options = ext4::Options {
        reference: ext4::Reference::E2fsck1470,
        ..ext4::Options::default()
    };
    let checker = ext4::Checker::new(options);
    follow_all(&checker, &mut Bases::new(bases::ext4), cases);
}

#[test]
fn of_xfs_works_needs_root() {
    if !special::has("mkfs.xfs") {
        return;
    }
    let cases = damage::xfs::all().map(|case| {
        let apply = move |medium: &mut dyn Medium| {
            let mut volume = damage::xfs::Volume::open(medium).unwrap();
            case.apply(&mut volume).unwrap();
        };
        let apply: Damage<'_> = Box::new(apply);
        (case.name.to_owned(), format!("{:?}", case.base), apply)
    });
    let checker = xfs::Checker::default();
    follow_all(&checker, &mut Bases::new(bases::xfs), cases);
}

#[test]
fn of_ocfs2_works() {
    if !special::has("mkfs.ocfs2") {
        return;
    }
    let cases = damage::ocfs2::all()
        .filter(|case| bases::ocfs2_has(case.base))
        .map(|case| {
            let apply = move |medium: &mut dyn Medium| {
                let mut volume = damage::ocfs2::Volume::open(medium).unwrap();
                case.apply(&mut volume).unwrap();
            };
            let apply: Damage<'_> = Box::new(apply);
            (case.name.to_owned(), format!("{:?}", case.base), apply)
        });
    follow_all(&ocfs2::Checker, &mut Bases::new(bases::ocfs2), cases);
}
