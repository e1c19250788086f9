//! OCFS2: sound volumes from our forge, and its two judges.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use blockio::Buffered;
use check::frame::verdict::Exit;
use check::{Checker as _, Options};
use forge::Image as _;
use forge::damage::ocfs2::{Base, Survey};
use forge::ocfs2::{FeatureLevel, Ocfs2};
use forge::population::Profile;
use testkit::fsck_ocfs2::{Ended, Limits, run_within};

use crate::check_differential::judges::{Deadline, Judgement};
use crate::check_differential::pool::{Overlay, PAGE, Sound};

/// The exit code of a judge that does not end: that of a program which `timeout -s KILL` ends.
const ENDLESS: i32 = 137;

/// Address space of fsck.ocfs2, KiB: a small cache, which it need not clear first.
const MEMORY_KIB: u64 = 160_000;

/// More clusters than any volume here has.
const MANY: u32 = 1 << 24;

/// Every kind of file and tree that a case may need, in as few blocks as possible.
const PROFILE: &str = r#"
    files = 700
    per_directory = [["8-20", 4], ["190-260", 1]]
    file_size = [["0", 1], ["1-3k", 6], ["13k-90k", 3], ["3M-4M", 0.2]]
    [directories]
    fan_out = 5
    [names]
    length = "9-20"
    [kinds]
    symlinks = 0.05
    target_length = [["9-99", 2], ["3950-4000", 1]]
    [ageing]
    fragmented = 0.3
    pieces = "1-3"
"#;
const ATTRIBUTES: &str = "
    [attributes]
    inode = 0.1
    block = 0.1
";

/// How a volume is made.
struct Making {
    name: &'static str,
    block: u32,
    cluster: u32,
    level: FeatureLevel,
    features: &'static [&'static str],
    slots: u16,
    mib: u64,
}

const fn making(name: &'static str, block: u32, cluster: u32) -> Making {
    Making {
        name,
        block,
        cluster,
        level: FeatureLevel::Default,
        features: &[],
        slots: 2,
        mib: if cluster > 4096 { 320 } else { 160 },
    }
}

/// The volume that mkfs.ocfs2 makes with quotas, without files: our forge makes no quotas.
const QUOTA: &str = "quota";

/// Block and cluster sizes, and features, as the specification of the checker asks for.
static BASES: [Making; 8] = [
    making("rich", 4096, 4096),
    Making {
        features: &["metaecc"],
        ..making("checksums", 4096, 4096)
    },
    Making {
        level: FeatureLevel::MaxCompat,
        ..making("old", 4096, 4096)
    },
    making("large-clusters", 4096, 16_384),
    Making {
        level: FeatureLevel::MaxCompat,
        ..making("smallest", 512, 4096)
    },
    Making {
        features: &["metaecc", "discontig-bg"],
        slots: 4,
        ..making("kilobyte", 1024, 4096)
    },
    Making {
        features: &["noindexed-dirs"],
        ..making("plain-directories", 2048, 16_384)
    },
    Making {
        mib: 112,
        ..making("one-group", 4096, 4096)
    },
];

/// The volume that a case was written for.
pub(crate) fn home(base: Base) -> &'static str {
    match base {
        Base::Rich => "rich",
        Base::Checksums => "checksums",
        Base::Old => "old",
        Base::LargeClusters => "large-clusters",
        Base::OneGroup => "one-group",
        Base::Quota => QUOTA,
    }
}

/// Makes the volumes.
pub(crate) fn bases(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<Sound>> {
    let making = BASES.iter().filter(|making| wanted(making.name));
    let mut bases: Vec<Sound> = making
        .map(|making| sound(folder, making))
        .collect::<Result<_>>()?;
    if wanted(QUOTA) {
        bases.push(with_quota(folder)?);
    }
    Ok(bases)
}

fn with_quota(folder: &Path) -> Result<Sound> {
    let path = folder.join(QUOTA);
    fs::File::create(&path)?.set_len(64 << 20)?;
    let image = path.display().to_string();
    let words =
        "-q -x -F -b 4096 -C 4096 -M local -J size=4M --fs-features=usrquota,grpquota,metaecc";
    let words: Vec<&str> = words.split(' ').chain([&image[..]]).collect();
    crate::run::output("mkfs.ocfs2", &words)?;
    read(QUOTA, &path)
}

/// A sound volume in memory; its file is removed.
fn read(name: &str, path: &Path) -> Result<Sound> {
    let mut bytes = fs::read(path)?;
    fs::remove_file(path)?;
    let survey = Survey::of(&mut bytes)?;
    Ok(Sound {
        name: name.to_owned(),
        bytes,
        survey: Some(survey),
    })
}

fn sound(folder: &Path, making: &Making) -> Result<Sound> {
    let mut options = forge::ocfs2::Options::new(making.mib << 20);
    options.seed = 11;
    options.block_size = Some(making.block);
    options.cluster_size = Some(making.cluster);
    options.slots = (making.slots > 1).then_some(making.slots);
    options.local = making.slots == 1;
    options.journal_mib = Some(4);
    options.feature_level = making.level;
    options.features = making
        .features
        .iter()
        .map(|&name| name.to_owned())
        .collect();
    let attributes = match making.level {
        FeatureLevel::MaxCompat => "",
        _ => ATTRIBUTES,
    };
    let profile = Profile::parse(making.name, &(PROFILE.to_owned() + attributes))?;
    let path = folder.join(making.name);
    Ocfs2::new(options, profile)?
        .write(&path, &forge::Silent)
        .with_context(|| format!("the base {}", making.name))?;
    read(making.name, &path)
}

/// Whether a damaged block makes fsck.ocfs2 read outside its memory.
pub(crate) fn leaves_memory(sound: &Sound, overlay: &Overlay<'_>) -> bool {
    use forge::damage::ocfs2::leaves_memory;
    let size = sound.survey.as_ref().map_or(PAGE, Survey::block_size);
    overlay.pages.iter().any(|(page, over)| {
        let before = sound.bytes[page * PAGE..].chunks(size);
        let mut both = over.chunks(size).zip(before);
        both.any(|(over, before)| leaves_memory(over) && !leaves_memory(before))
    })
}

/// What fsck.ocfs2 needs: a superblock that claims many clusters makes it allocate maps of them all, and fill them.
fn limits(image: &Path, patience: Duration) -> Result<Limits> {
    use std::os::unix::fs::FileExt as _;
    let file = fs::File::open(image)?;
    let claims_many = [512, 1024, 2048, 4096].into_iter().any(|size: u64| {
        let mut block = [0; 0x40];
        let read = file.read_exact_at(&mut block, 2 * size);
        let clusters = u32::from_le_bytes([block[0x14], block[0x15], block[0x16], block[0x17]]);
        read.is_ok() && block.starts_with(b"OCFSV2") && clusters > MANY
    });
    Ok(if claims_many {
        Limits {
            seconds: patience.as_secs().max(60),
            memory_kib: 8_000_000,
            ..Limits::default()
        }
    } else {
        Limits {
            seconds: patience.as_secs(),
            memory_kib: MEMORY_KIB,
            ..Limits::default()
        }
    })
}

/// Asks the installed fsck.ocfs2.
pub(crate) fn reference(image: &Path, patience: Duration, astray: bool) -> Result<Judgement> {
    if astray {
        return Ok(Judgement::failed("reads outside its memory"));
    }
    let limits = limits(image, patience)?;
    let run = run_within(image, limits).context("fsck.ocfs2 cannot be started")?;
    let code = match run.ended {
        Ended::Code(code) => code,
        Ended::Endless => ENDLESS,
    };
    Ok(judgement(code, run.codes))
}

/// Runs ours, in this process, with this many threads.
pub(crate) fn ours(image: &Path, patience: Duration, threads: usize) -> Judgement {
    let mut options = Options {
        keep: 64,
        paths: false,
        ..Options::default()
    };
    options.set_threads(threads);
    let judged = catch_unwind(AssertUnwindSafe(|| {
        let source = Buffered::open(image).map_err(|error| error.to_string())?;
        let deadline = Deadline(Instant::now() + patience);
        let report = check::ocfs2::Checker.check(&source, &options, &deadline);
        report.map_err(|error| error.to_string())
    }));
    match judged {
        Err(_) => Judgement::failed("panicked"),
        Ok(Err(error)) => Judgement::failed(error),
        Ok(Ok(report)) => {
            let run = report.reference_run.unwrap_or_default();
            let code = match run.exit {
                Exit::Complete => 0,
                Exit::Code(code) => code.into(),
                Exit::Endless => ENDLESS,
            };
            let codes = run.codes.into_iter();
            judgement(
                code,
                codes
                    .map(|(name, count)| (name.to_owned(), count))
                    .collect(),
            )
        }
    }
}

fn judgement(code: i32, codes: BTreeMap<String, u64>) -> Judgement {
    let lines = codes.iter().map(|(name, count)| format!("{name}:{count}"));
    Judgement {
        code: Some(code),
        problems: lines.take(12).collect(),
        codes,
        ..Judgement::default()
    }
}
