//! Rules between parameters, which a schema cannot state.

use params::stream::Test;

use crate::error::{Problem, quote};
use crate::model::{CheckSpec, WorkloadSpec};
use crate::placed::Placed;

/// A parameter that its workload cannot use, where it was written.
pub(crate) fn broken(placed: &Placed) -> Option<Problem> {
    let workload = &placed.cell.workload;
    if let WorkloadSpec::Stream(spec) = workload
        && spec.test == Test::Read
    {
        let message = "a trial's filesystem is fresh, with no file to read (use \"write_read\")";
        return Some(Problem::new(placed.place("test"), message));
    }
    if let Some(problem) = checker(placed) {
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

/// A checker that is varied without a check, or that does not know the filesystem.
fn checker(placed: &Placed) -> Option<Problem> {
    let cell = &placed.cell;
    let at = placed.place("");
    let Some(check) = &cell.check else {
        let varied = cell.levels.contains_key("checker");
        let message = "factors.checker: nothing is checked (set check.enabled = true)";
        return varied.then(|| Problem::new(at, message));
    };
    let kind = cell.filesystem.kind;
    let message = || {
        format!("fslab check knows no {kind} (set check.checker = \"own\", or leave {kind} out)")
    };
    (!check.checker.knows(kind)).then(|| Problem::new(at, message()))
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
