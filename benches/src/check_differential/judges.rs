//! The two judges: the installed e2fsck in its own process, and ours within this one.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Result;
use check::ext4::e2fsck::problems::problem;
use check::ext4::{self, Reference};
use check::{Observer, Options, Progress};
use serde::{Deserialize, Serialize};

// The tests of the checker ask the same.
use testkit::reference::NO_VERDICT;

/// Verdict of one checker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Judgement {
    /// The exit code; none where the judge crashed or did not end.
    pub(crate) code: Option<i32>,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<String>,
    /// The first problems found, by name or number.
    pub(crate) problems: Vec<String>,
    /// Codes and how often each was printed, where they are compared.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) codes: BTreeMap<String, u64>,
}

impl Judgement {
    /// No verdict, and why.
    pub(crate) fn failed(failure: impl Into<String>) -> Judgement {
        Judgement {
            failure: Some(failure.into()),
            ..Judgement::default()
        }
    }
}

/// Asks the installed e2fsck. One that does not end is killed outright: it minds a polite signal only when it comes to it.
pub(crate) fn e2fsck(image: &Path, patience: Duration) -> Result<Judgement> {
    let (log, out) = (image.with_extension("log"), image.with_extension("out"));
    let (log, out_path) = (unique(&log, image), unique(&out, image));
    let _ = fs::remove_file(&log);
    let out = File::create(&out_path)?;
    let mut child = Command::new("e2fsck")
        .arg("-fn")
        .arg("-E")
        .arg(format!("problem_log={}", log.display()))
        .arg(image)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stderr(out.try_clone()?)
        .stdout(out)
        .spawn()?;
    let begin = Instant::now();
    let mut failure = None;
    let code = loop {
        if let Some(status) = child.try_wait()? {
            break status.code();
        }
        if begin.elapsed() > patience {
            child.kill()?;
            child.wait()?;
            failure = Some(format!("no end within {} s", patience.as_secs()));
            break None;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let text = fs::read(&out_path).unwrap_or_default();
    let output = String::from_utf8_lossy(&text);
    let sign = NO_VERDICT.iter().find(|(sign, _)| output.contains(sign));
    if failure.is_none() && (sign.is_some() || code.is_none()) {
        failure = Some(sign.map_or("crashed", |(_, what)| what).into());
    }
    let xml = fs::read_to_string(&log).unwrap_or_default();
    Ok(Judgement {
        code: code.filter(|_| failure.is_none()),
        failure,
        problems: named_problems(&xml),
        codes: BTreeMap::new(),
    })
}

/// `a.0.log`, where the extension of the image is its job's number.
fn unique(path: &Path, image: &Path) -> PathBuf {
    let job = image
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    path.with_extension(format!(
        "{job}.{}",
        path.extension().unwrap_or_default().to_string_lossy()
    ))
}

/// The problems of a log, banners left out, by name; at most eight.
fn named_problems(xml: &str) -> Vec<String> {
    xml.split("<problem ")
        .skip(1)
        .filter_map(|rest| rest.split("code=\"0x").nth(1)?.get(..6))
        .filter_map(|code| u32::from_str_radix(code, 16).ok())
        .filter(|code| code & 0xfff != 0)
        .map(|code| problem(code).map_or(format!("{code:#08x}"), |problem| problem.name.to_owned()))
        .take(8)
        .collect()
}

/// Ends a check that goes on for too long.
pub(crate) struct Deadline(pub(crate) Instant);

impl Observer for Deadline {}

impl Progress for Deadline {
    fn cancelled(&self) -> bool {
        Instant::now() > self.0
    }
}

/// Runs ours, in this process, with this many threads.
pub(crate) fn ours(image: &Path, patience: Duration, threads: usize) -> Judgement {
    let options = Options {
        threads,
        keep: 64,
        paths: false,
        ..Options::default()
    };
    let own = ext4::Options {
        reference: Reference::E2fsck1470,
        ..ext4::Options::default()
    };
    let judged = catch_unwind(AssertUnwindSafe(|| {
        let source = blockio::Buffered::open(image).map_err(|error| error.to_string())?;
        ext4::check(
            &source,
            &options,
            &own,
            &Deadline(Instant::now() + patience),
        )
        .map_err(|error| error.to_string())
    }));
    match judged {
        Err(_) => Judgement::failed("panicked"),
        Ok(Err(error)) => Judgement::failed(error),
        Ok(Ok(report)) => {
            let list = report.findings.list.iter();
            let mut problems: Vec<String> = list
                .map(|finding| finding.problem.name.to_owned())
                .collect();
            problems.dedup();
            problems.truncate(8);
            Judgement {
                code: Some(
                    report
                        .verdict(check::report::Judge::Reference)
                        .exit_code
                        .into(),
                ),
                problems,
                ..Judgement::default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn banners_are_no_problems_and_codes_have_names() {
        let xml =
            "<header code=\"0x010000\"/>\n<problem code=\"0x040003\" answer=\"0\" ino=\"11\"/>\n";
        assert_eq!(named_problems(xml), ["4_BAD_REF_COUNT"]);
    }
}
