//! Rules between parameters, which a schema cannot state.

use crate::error::quote;
use crate::model::{
    AgeSpec, CheckSpec, EngineName, FillSpec, ScanSpec, StreamSpec, StreamTest, ThroughputSpec,
    WorkloadSpec,
};

/// The parameter that breaks a rule, and how.
pub(crate) fn broken(workload: &WorkloadSpec) -> Option<(&'static str, String)> {
    match workload {
        WorkloadSpec::Throughput(spec) => throughput(spec),
        WorkloadSpec::Tree(_) => None,
        WorkloadSpec::Age(spec) => age(spec),
        WorkloadSpec::Stream(spec) => stream(spec),
        WorkloadSpec::Fill(spec) => fill(spec),
        WorkloadSpec::Scan(spec) => scan(spec),
    }
}

/// Bytes of a sector: what O_DIRECT needs at least.
const SECTOR: u64 = 512;

fn stream(spec: &StreamSpec) -> Option<(&'static str, String)> {
    let block = spec.block;
    if spec.direct && !block.get().is_multiple_of(SECTOR) {
        let message =
            format!("{block} is not a multiple of {SECTOR}, which direct = true needs (as in 4k)");
        return Some(("block", message));
    }
    if spec.test == StreamTest::Read {
        let message = "a trial's filesystem is fresh, with no file to read (use \"write_read\")";
        return Some(("test", message.into()));
    }
    depth(spec.queue_depth, spec.engine)
}

fn fill(spec: &FillSpec) -> Option<(&'static str, String)> {
    if spec.directories == 1 {
        let message = "one subdirectory is none to walk (0 for none, or at least 2)";
        return Some(("directories", message.into()));
    }
    if spec.directories > MOST_DIRECTORIES {
        return Some(("directories", too_many_directories(spec.directories)));
    }
    if spec.random_length > spec.name_length {
        let message = format!(
            "{} random characters do not fit into a name of {}",
            spec.random_length, spec.name_length
        );
        return Some(("random_length", message));
    }
    None
}

/// Everything that a population of this kind breaks; the reader's own parameters have plain ranges.
fn scan(spec: &ScanSpec) -> Option<(&'static str, String)> {
    let directories = spec.directories();
    (directories > MOST_DIRECTORIES.into()).then(|| {
        let message = format!(
            "{directories} directories are too many (at most {MOST_DIRECTORIES}: more files in each)"
        );
        ("per_directory", message)
    })
}

/// Most subdirectories of a base: a walk of them keeps a bit for each.
pub(crate) const MOST_DIRECTORIES: u32 = 1 << 24;
/// Most bases of one process each, as fs_mark's -d.
const MOST_BASES: u32 = 64;

fn age(spec: &AgeSpec) -> Option<(&'static str, String)> {
    if !spec.shared && spec.processes > MOST_BASES {
        let message = format!(
            "{} processes cannot each have a base of their own (at most {MOST_BASES}, or shared = \
             true)",
            spec.processes
        );
        return Some(("processes", message));
    }
    if spec.directories > MOST_DIRECTORIES {
        return Some(("directories", too_many_directories(spec.directories)));
    }
    // The last round removes the most, and what is removed takes what is inside along.
    let bases = u64::from(if spec.shared { 1 } else { spec.processes });
    let dealt = spec.files.div_ceil(spec.per_directory.max(1));
    let there = bases * dealt.min(spec.directories.into());
    let most = u64::from(spec.step) * u64::from(spec.rounds);
    (most.saturating_mul(2) > there).then(|| {
        let message = format!(
            "round {} would remove {most} of {there} directories (at most half: a smaller step, \
             fewer rounds or more directories)",
            spec.rounds
        );
        ("step", message)
    })
}

fn too_many_directories(count: u32) -> String {
    format!("{count} subdirectories are too many (at most {MOST_DIRECTORIES})")
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
        let message = format!("{word} does not go with a check that only reads (take it away)");
        Some((program, message))
    })
}

fn depth(queue_depth: u32, engine: EngineName) -> Option<(&'static str, String)> {
    if queue_depth > 1 && !matches!(engine, EngineName::IoUring | EngineName::Aio) {
        let message = format!(
            "{queue_depth} needs engine = \"io_uring\" or \"aio\" (the other engines have one \
             request in flight)"
        );
        return Some(("queue_depth", message));
    }
    None
}

fn throughput(spec: &ThroughputSpec) -> Option<(&'static str, String)> {
    let ThroughputSpec { size, record, .. } = spec;
    if size < record {
        let message = format!("{size} is smaller than one record of {record} (at least {record})");
        return Some(("size", message));
    }
    if spec.direct && record.get() % SECTOR != 0 {
        let message =
            format!("{record} is not a multiple of {SECTOR}, which direct = true needs (as in 4k)");
        return Some(("record", message));
    }
    depth(spec.queue_depth, spec.engine)
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
