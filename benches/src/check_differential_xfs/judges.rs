//! The two judges: the installed xfs_repair in its own process, and ours within this one.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use check::report::Judge;
use check::{Checker as _, Options, xfs};
use serde::{Deserialize, Serialize};

use super::Devices;
use crate::check_differential::judges::Deadline;

/// Lines kept of a judgement.
const LINES: usize = 6;

/// Verdict of one checker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Judgement {
    /// The exit code; none where the judge crashed or did not end.
    pub(crate) code: Option<i32>,
    /// The strict verdict; of ours alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) strict: Option<i32>,
    /// The first findings, or why there is no verdict.
    pub(crate) lines: Vec<String>,
}

/// Asks the installed xfs_repair. One that does not end is killed.
pub(crate) fn xfs_repair(image: &Path, devices: &Devices, patience: Duration) -> Result<Judgement> {
    let path = image.with_extension(format!(
        "{}.out",
        image.extension().unwrap_or_default().to_string_lossy()
    ));
    let out = File::create(&path)?;
    let mut command = Command::new("xfs_repair");
    command.args(["-n", "-f"]);
    for (option, device) in [("-l", &devices.log), ("-r", &devices.realtime)] {
        command.args(
            device
                .iter()
                .flat_map(|device| [OsStr::new(option), device.as_os_str()]),
        );
    }
    let mut child = command
        .arg(image)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stderr(out.try_clone()?)
        .stdout(out)
        .spawn()?;
    let begin = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait()? {
            break status.code();
        }
        if begin.elapsed() > patience {
            child.kill()?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let text = fs::read(&path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().filter(|line| !is_progress(line));
    Ok(Judgement {
        code,
        strict: None,
        lines: lines.take(LINES).map(str::to_owned).collect(),
    })
}

/// Lines that it prints of a sound filesystem.
fn is_progress(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty()
        || [
            "Phase ",
            "- ",
            "No modify flag set",
            "would be ",
            "zero_log:",
            "Cannot get host filesystem geometry",
            "Repair may fail if there is a sector size mismatch",
            "the image and the host filesystem",
        ]
        .iter()
        .any(|start| line.starts_with(start))
}

/// Runs ours, in this process, with one thread.
pub(crate) fn ours(image: &Path, devices: &Devices, patience: Duration) -> Judgement {
    let options = Options {
        threads: 1,
        keep: 64,
        paths: false,
        ..Options::default()
    };
    let judged = catch_unwind(AssertUnwindSafe(|| {
        let source = blockio::Buffered::open(image).map_err(|error| error.to_string())?;
        let observer = Deadline(Instant::now() + patience);
        let open = |file: &Option<PathBuf>| {
            let opened = file.as_ref().map(blockio::Buffered::open).transpose();
            opened
                .map(|opened| opened.map(|file| Arc::new(file) as Arc<dyn blockio::BlockSource>))
                .map_err(|error| error.to_string())
        };
        let checker = xfs::Checker::new(xfs::Options {
            replay: false,
            device: open(&devices.log)?,
            realtime: open(&devices.realtime)?,
            ..xfs::Options::default()
        });
        let report = checker.check(&source, &options, &observer);
        let report = report.map_err(|error| error.to_string())?;
        let lines = report.findings.list.iter().take(LINES).map(|finding| {
            format!(
                "{} {} {:?}",
                finding.problem.name,
                finding.note.as_deref().unwrap_or(""),
                finding.place
            )
        });
        Ok::<_, String>(Judgement {
            code: Some(report.verdict(Judge::Reference).exit_code.into()),
            strict: Some(report.verdict(Judge::Strict).exit_code.into()),
            lines: lines.collect(),
        })
    }));
    let failed = |why: String| Judgement {
        lines: vec![why],
        ..Judgement::default()
    };
    match judged {
        Ok(Ok(judgement)) => judgement,
        Ok(Err(why)) => failed(why),
        Err(_) => failed("panicked".into()),
    }
}
