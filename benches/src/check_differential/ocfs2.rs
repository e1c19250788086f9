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
use testkit::fsck_ocfs2::{Ended, run_within};

use crate::check_differential::judges::{Deadline, Judgement};
use crate::check_differential::pool::{Overlay, PAGE, Sound};

/// The exit code of a judge that does not end: that of a program which `timeout -s KILL` ends.
const ENDLESS: i32 = 137;

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
}

const fn making(name: &'static str, block: u32, cluster: u32) -> Making {
    Making {
        name,
        block,
        cluster,
        level: FeatureLevel::Default,
        features: &[],
        slots: 2,
    }
}

/// Block and cluster sizes, and features, as the specification of the checker asks for.
static BASES: [Making; 7] = [
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
];

/// The volume that a case was written for.
pub(crate) fn home(base: Base) -> &'static str {
    match base {
        Base::Rich => "rich",
        Base::Checksums => "checksums",
        Base::Old => "old",
        Base::LargeClusters => "large-clusters",
    }
}

/// Makes the volumes.
pub(crate) fn bases(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<Sound>> {
    let making = BASES.iter().filter(|making| wanted(making.name));
    making.map(|making| sound(folder, making)).collect()
}

fn sound(folder: &Path, making: &Making) -> Result<Sound> {
    let mut options = forge::ocfs2::Options::new(if making.cluster > 4096 {
        320 << 20
    } else {
        160 << 20
    });
    options.seed = 11;
    options.block_size = Some(making.block);
    options.cluster_size = Some(making.cluster);
    options.local = true;
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
    let mut bytes = fs::read(&path)?;
    fs::remove_file(path)?;
    let survey = Survey::of(&mut bytes)?;
    Ok(Sound {
        name: making.name.to_owned(),
        bytes,
        survey: Some(survey),
    })
}

/// Whether a damaged block makes fsck.ocfs2 read outside its memory.
pub(crate) fn leaves_memory(sound: &Sound, overlay: &Overlay<'_>) -> bool {
    let size = sound.survey.as_ref().map_or(PAGE, Survey::block_size);
    let mut blocks = overlay.pages.values().flat_map(|page| page.chunks(size));
    blocks.any(forge::damage::ocfs2::leaves_memory)
}

/// Asks the installed fsck.ocfs2.
pub(crate) fn reference(image: &Path, patience: Duration, astray: bool) -> Result<Judgement> {
    if astray {
        return Ok(Judgement::failed("reads outside its memory"));
    }
    let run = run_within(image, patience.as_secs()).context("fsck.ocfs2 cannot be started")?;
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
