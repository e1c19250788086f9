//! Rules between parameters, which a schema cannot state.

use params::stream::Test;

use crate::error::{Problem, quote};
use crate::model::{CheckSpec, WorkloadSpec};
use crate::node::Node;
use crate::placed::Placed;
use crate::stacks;

/// A parameter that its workload cannot use, where it was written.
pub(crate) fn broken(placed: &Placed) -> Option<Problem> {
    let workload = &placed.cell.workload;
    if let WorkloadSpec::Stream(spec) = workload
        && spec.test == Test::Read
    {
        let message = "a trial's filesystem is fresh, with no file to read (use \"write_read\")";
        return Some(Problem::new(placed.place("test"), message));
    }
    if let Some(problem) = nothing_checked(placed) {
        return Some(problem);
    }
    let invalid = workload.parameters().validate().err()?;
    let message = if placed.is_written(invalid.option) {
        format!("{} cannot be used: {}", invalid.value, invalid.reason)
    } else {
        // The place is the workload's entry, which does not name the parameter.
        invalid.to_string()
    };
    Some(Problem::new(placed.place(invalid.option), message))
}

/// A checker that is varied without a check.
fn nothing_checked(placed: &Placed) -> Option<Problem> {
    let varied = placed.cell.check.is_none() && placed.cell.levels.contains_key("checker");
    let message = "factors.checker: nothing is checked (set check.enabled = true)";
    varied.then(|| Problem::new(placed.place(""), message))
}

/// What cannot be of the cells that are left when filters have been applied: a checker that does not know its filesystem, and
/// modelled devices beside others.
pub(crate) fn unfit(cells: &[Placed], tree: &Node) -> Vec<Problem> {
    let unknown = cells.iter().filter_map(|placed| {
        let kind = placed.cell.filesystem.kind;
        let check = placed.cell.check.as_ref()?;
        let message = || {
            format!(
                "fslab check knows no {kind} (set check.checker = \"own\", or leave {kind} out)"
            )
        };
        (!check.checker.knows(kind)).then(|| Problem::new(placed.place(""), message()))
    });
    let mut problems: Vec<Problem> = Vec::new();
    for problem in unknown.chain(stacks::mixed(cells, tree)) {
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    problems
}

/// The program whose extra words would make a check write, and how. A trial's check reads only:
/// what it finds is a result, and a second block must find the same.
pub(crate) fn check(spec: &CheckSpec) -> Option<(&'static str, String)> {
    // Letters of e2fsck that answer questions or write, before a letter that takes a value.
    let e2fsck = |word: &str| {
        let letters = word.strip_prefix('-').filter(|w| !w.starts_with('-'));
        let letters = letters.unwrap_or_default().chars();
        let mut letters = letters.take_while(|c| !"bBCEjPz".contains(*c));
        letters.any(|c| "aplycDL".contains(c))
    };
    let btrfs = |word: &str| {
        let writing = ["--repair", "--init-", "--clear-", "--force"];
        writing.iter().any(|start| word.starts_with(start))
    };
    // xfs_repair refuses to zero a log with -n, but -f, -l and -r name other files.
    let xfs = |word: &str| {
        matches!(
            word.as_bytes(),
            [b'-', b'L' | b'd' | b'e' | b'l' | b'r', ..]
        )
    };
    // Letters: -y, -p and -a mend, -r restores a superblock, -F and -G ask, -D rewrites directories, and -b and
    // -B take a value.
    let ocfs2 = |word: &str| {
        let letters = word.strip_prefix('-').unwrap_or_default().chars();
        let mut letters = letters.take_while(|c| !"bB".contains(*c));
        letters.any(|c| "ypaFGDr".contains(c))
    };
    let f2fs = |word: &str| {
        let mending = matches!(word.as_bytes(), [b'-', b'a' | b'f' | b'p' | b'y', ..]);
        mending || word.starts_with("--fix")
    };
    let first = |words: &[String], writes: &dyn Fn(&str) -> bool| {
        words.iter().find(|word| writes(word)).cloned()
    };
    let found = [
        ("e2fsck", first(&spec.e2fsck, &e2fsck)),
        ("xfs_repair", first(&spec.xfs_repair, &xfs)),
        ("btrfs", first(&spec.btrfs, &btrfs)),
        ("fsck_ocfs2", first(&spec.fsck_ocfs2, &ocfs2)),
        ("fsck_f2fs", first(&spec.fsck_f2fs, &f2fs)),
    ];
    found.into_iter().find_map(|(program, word)| {
        let word = quote(&word?);
        let message = format!("{word} cannot be used: the check only reads (remove it)");
        Some((program, message))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, Study, plan};

    #[test]
    fn a_filter_may_leave_out_what_a_checker_does_not_know() {
        let with = |filter: &[&str]| {
            let overrides = Overrides {
                profile: Some("quick".into()),
                set: vec!["check.enabled=true".into(), "check.checker=fslab".into()],
                filter: filter.iter().map(|&text| text.to_owned()).collect(),
                ..Overrides::default()
            };
            let plan = plan(&Study::load("journal").unwrap(), &overrides);
            plan.map_err(|error| error.to_string())
        };
        let refused = with(&[]).unwrap_err();
        assert!(refused.contains("fslab check knows no btrfs"), "{refused}");
        assert!(with(&["filesystem=ext4,xfs"]).is_ok());
    }

    #[test]
    fn words_that_make_a_check_write_are_refused() {
        let with = |program: &str, word: &str| {
            let mut spec = CheckSpec::default();
            let words = vec![word.to_owned()];
            match program {
                "e2fsck" => spec.e2fsck = words,
                "xfs_repair" => spec.xfs_repair = words,
                "fsck_ocfs2" => spec.fsck_ocfs2 = words,
                "fsck_f2fs" => spec.fsck_f2fs = words,
                _ => spec.btrfs = words,
            }
            check(&spec).map(|(program, _)| program)
        };
        for word in ["-y", "-p", "-fy", "-D", "-vc"] {
            assert_eq!(with("e2fsck", word), Some("e2fsck"), "{word}");
        }
        for word in ["-v", "-Efragcheck", "-E", "fragcheck", "-C0", "-m"] {
            assert_eq!(with("e2fsck", word), None, "{word}");
        }
        assert_eq!(with("xfs_repair", "-L"), Some("xfs_repair"));
        assert_eq!(with("xfs_repair", "-m"), None);
        assert_eq!(with("btrfs", "--repair"), Some("btrfs"));
        assert_eq!(with("btrfs", "--check-data-csum"), None);
        for word in ["-y", "-fp", "-a", "-F", "-G", "-D", "-r"] {
            assert_eq!(with("fsck_ocfs2", word), Some("fsck_ocfs2"), "{word}");
        }
        for word in ["-ttt", "-v", "-u", "-P", "-b", "4", "-B4096"] {
            assert_eq!(with("fsck_ocfs2", word), None, "{word}");
        }
        for word in ["-a", "-y", "-p1"] {
            assert_eq!(with("fsck_f2fs", word), Some("fsck_f2fs"), "{word}");
        }
        assert_eq!(with("fsck_f2fs", "-d1"), None);
    }
}
