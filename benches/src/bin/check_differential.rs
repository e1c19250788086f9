//! Damaged filesystems, judged by `check` and by the installed `e2fsck -fn`: does anyone see what the other does not?
//!
//! What is done. A pool of small sound filesystems is made by e2fsprogs (`forge::damage::base`). Image number N takes one
//! of them and damages it: one in five by a named case, the others by one to four random changes whose seed is N, with
//! checksums that fit in three of four changes. Both judge the same file; ours within this process, theirs as Debian
//! ships it, two at a time. What is compared is the exit code, in which e2fsck puts its whole verdict.
//!
//! What does not count against ours: runs that e2fsck itself does not survive (a signal, no end within the time
//! allowed, or an attempt to write although `-n` forbids it). They are counted and listed all the same, and whether ours came to an end there.
//!
//! Every result is appended to a file as it comes; a run that was interrupted goes on where it was. A difference is kept with
//! its number, which is all that is needed to make it again (`--only N --keep FOLDER`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use benches::needs;
use benches::run::{Stop, verdict};
use benches::table::{Printer, Row, Table};
use check::Watch;
use check::ext4::{Options, Reference};
use clap::Parser;
use forge::damage::{self, Case, Filesystem, Medium, Random, base};
use serde::{Deserialize, Serialize};

/// Damages images, has them judged by both and prints where the verdicts differ.
#[derive(Parser, Debug)]
struct Arguments {
    /// Images.
    #[arg(long, default_value_t = 2000)]
    count: u64,
    /// Number of the first.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// These images alone, by number.
    #[arg(long, value_delimiter = ',')]
    only: Vec<u64>,
    /// These bases alone.
    #[arg(long, value_delimiter = ',')]
    bases: Vec<String>,
    /// Folder for the pool and the images being judged; best in memory.
    #[arg(long, default_value = "/dev/shm")]
    dir: PathBuf,
    /// Results, appended to; a second run leaves out what is in it.
    #[arg(long, default_value = "check-differential.jsonl")]
    results: PathBuf,
    /// Keep the image of each difference here.
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Images judged at a time.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Seconds after which a judge is said not to end.
    #[arg(long, default_value_t = 20)]
    patience: u64,
    /// Differences printed in full.
    #[arg(long, default_value_t = 40)]
    list: usize,
}

/// Bytes compared and copied at once.
const PAGE: usize = 4096;
/// The share of images whose verdict may differ.
const TOLERATED: f64 = 0.002;

/// What became of one image.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Outcome {
    number: u64,
    base: String,
    damage: Vec<String>,
    theirs: Judgement,
    ours: Judgement,
}

/// What one judge said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Judgement {
    /// The exit code; none where the judge crashed or did not end.
    code: Option<i32>,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    /// The first problems found, by name or number.
    problems: Vec<String>,
}

impl Outcome {
    /// Whether e2fsck has a verdict that ours can be held against.
    fn counts(&self) -> bool {
        self.theirs.code.is_some()
    }

    fn differs(&self) -> bool {
        self.ours.code.is_none() || (self.counts() && self.ours.code != self.theirs.code)
    }
}

fn main() -> ExitCode {
    verdict("check_differential", bench())
}

/// Whether all targets were met.
fn bench() -> Result<bool> {
    let arguments = Arguments::parse();
    let programs = ["e2fsck", "mke2fs", "debugfs"];
    needs::peers(&programs.map(|program| (program, "e2fsprogs")))?;
    let stop = Stop::on_signals()?;
    let mut outcomes = read_results(&arguments.results)?;
    let done: BTreeSet<u64> = outcomes.iter().map(|outcome| outcome.number).collect();
    let wanted: Vec<u64> = if arguments.only.is_empty() {
        (arguments.first..arguments.first + arguments.count)
            .filter(|n| !done.contains(n))
            .collect()
    } else {
        arguments.only.clone()
    };
    if !wanted.is_empty() {
        let folder = tempfile::Builder::new()
            .prefix("fslab-differential-")
            .tempdir_in(&arguments.dir)?;
        let pool = Pool::make(folder.path(), &arguments.bases)?;
        let fresh = judge_all(&arguments, &pool, &wanted, &stop)?;
        if arguments.only.is_empty() {
            outcomes.extend(fresh);
        } else {
            outcomes = fresh;
        }
    }
    let mut printer = Printer::default();
    printer.show(&summary(&outcomes));
    print!("{}", differences(&outcomes, arguments.list));
    stop.check()?;
    Ok(printer.all_met())
}

fn read_results(path: &Path) -> Result<Vec<Outcome>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    let mut outcomes = Vec::new();
    for line in BufReader::new(file).lines() {
        // The last line of a run that was killed may be half a line.
        if let Ok(outcome) = serde_json::from_str(&line?) {
            outcomes.push(outcome);
        }
    }
    Ok(outcomes)
}

/// Sound filesystems, in memory.
struct Pool {
    folder: PathBuf,
    bases: Vec<(&'static base::Base, Vec<u8>)>,
}

impl Pool {
    fn make(folder: &Path, names: &[String]) -> Result<Pool> {
        let wanted =
            |base: &&base::Base| names.is_empty() || names.iter().any(|name| name == base.name);
        let mut bases = Vec::new();
        for base in base::BASES.iter().filter(wanted) {
            let path = base.make(folder)?;
            bases.push((base, fs::read(&path)?));
            fs::remove_file(path)?;
        }
        if bases.is_empty() {
            bail!("no base is called so; the bases are in crates/forge/src/damage/base.rs");
        }
        Ok(Pool {
            folder: folder.to_owned(),
            bases,
        })
    }

    /// The base, and the damage, of an image number.
    fn of(&self, number: u64) -> (usize, Plan) {
        let draw = mixed(number);
        let cases: Vec<&'static Case> = damage::all().collect();
        if draw.is_multiple_of(5) {
            let case = cases[(draw / 5 % cases.len() as u64) as usize];
            // Half on the base it was written for, half wherever it fits.
            let home = self
                .bases
                .iter()
                .position(|(base, _)| base.name == case.base);
            let anywhere = (draw / 1000 % self.bases.len() as u64) as usize;
            let at = if (draw / 7).is_multiple_of(2) {
                home.unwrap_or(anywhere)
            } else {
                anywhere
            };
            return (at, Plan::Case(case));
        }
        let at = (draw / 1000 % self.bases.len() as u64) as usize;
        let count = 1 + (draw / 100 % 4) as u32;
        (
            at,
            Plan::Random(Random {
                count,
                seed: number,
                seal: None,
            }),
        )
    }
}

/// What is to be done to an image.
enum Plan {
    Case(&'static Case),
    Random(Random),
}

impl Plan {
    fn carry_out(&self, medium: &mut dyn Medium) -> Result<Vec<String>, damage::Error> {
        match self {
            Plan::Case(case) => {
                case.apply(&mut Filesystem::open(medium)?)?;
                Ok(vec![case.name.to_owned()])
            }
            Plan::Random(what) => {
                let changes = damage::random(medium, what)?;
                Ok(changes.into_iter().map(|change| change.0).collect())
            }
        }
    }
}

/// Well-spread bits of a number (Vigna's splitmix64, public domain).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A sound image, and pages that were written over it.
struct Overlay<'a> {
    below: &'a [u8],
    pages: BTreeMap<usize, Vec<u8>>,
}

impl Medium for Overlay<'_> {
    fn size(&self) -> u64 {
        self.below.len() as u64
    }

    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        let end = at.saturating_add(bytes.len() as u64);
        if end > self.size() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let at = at as usize;
        bytes.copy_from_slice(&self.below[at..at + bytes.len()]);
        for (page, over) in self.pages.range(at / PAGE..=(end as usize).div_ceil(PAGE)) {
            for (nth, byte) in over.iter().enumerate() {
                if let Some(place) = (page * PAGE + nth)
                    .checked_sub(at)
                    .and_then(|to| bytes.get_mut(to))
                {
                    *place = *byte;
                }
            }
        }
        Ok(())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        if at.saturating_add(bytes.len() as u64) > self.size() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for (nth, byte) in bytes.iter().enumerate() {
            let to = at as usize + nth;
            let below = self.below;
            let page = self.pages.entry(to / PAGE).or_insert_with(|| {
                let start = to / PAGE * PAGE;
                below[start..(start + PAGE).min(below.len())].to_vec()
            });
            page[to % PAGE] = *byte;
        }
        Ok(())
    }
}

fn judge_all(
    arguments: &Arguments,
    pool: &Pool,
    wanted: &[u64],
    stop: &Stop,
) -> Result<Vec<Outcome>> {
    let log = File::options()
        .create(true)
        .append(true)
        .open(&arguments.results)?;
    let (log, all) = (Mutex::new(log), Mutex::new(Vec::new()));
    let next = AtomicU64::new(0);
    let begin = Instant::now();
    let work = |job: usize| -> Result<()> {
        let mut bench = Workbench::new(arguments, pool, job)?;
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(number) = wanted.get(at as usize).copied().filter(|_| !stop.is_set()) else {
                return Ok(());
            };
            let Some(outcome) = bench.judge(number)? else {
                continue;
            };
            let line = serde_json::to_string(&outcome)? + "\n";
            log.lock()
                .map_err(|_| anyhow::anyhow!("another job failed"))?
                .write_all(line.as_bytes())?;
            all.lock()
                .map_err(|_| anyhow::anyhow!("another job failed"))?
                .push(outcome);
            if (at + 1).is_multiple_of(500) {
                eprintln!(
                    "{} of {} in {:.0} s",
                    at + 1,
                    wanted.len(),
                    begin.elapsed().as_secs_f64()
                );
            }
        }
    };
    std::thread::scope(|scope| {
        let jobs: Vec<_> = (0..arguments.jobs.max(1))
            .map(|job| scope.spawn(move || work(job)))
            .collect();
        jobs.into_iter()
            .try_for_each(|job| job.join().unwrap_or_else(|_| bail!("a job panicked")))
    })?;
    Ok(all.into_inner().unwrap_or_default())
}

/// One job's files, one for each base, sound between two images.
struct Workbench<'a> {
    arguments: &'a Arguments,
    pool: &'a Pool,
    job: usize,
    files: BTreeMap<usize, (PathBuf, File)>,
}

impl<'a> Workbench<'a> {
    fn new(arguments: &'a Arguments, pool: &'a Pool, job: usize) -> Result<Workbench<'a>> {
        if let Some(keep) = &arguments.keep {
            fs::create_dir_all(keep)?;
        }
        Ok(Workbench {
            arguments,
            pool,
            job,
            files: BTreeMap::new(),
        })
    }

    /// None where the damage does not fit the base.
    fn judge(&mut self, number: u64) -> Result<Option<Outcome>> {
        let (at, plan) = self.pool.of(number);
        let (base, bytes) = &self.pool.bases[at];
        let mut overlay = Overlay {
            below: bytes,
            pages: BTreeMap::new(),
        };
        let damage = match plan.carry_out(&mut overlay) {
            Ok(damage) => damage,
            // A case on another base than its own: no such structure, or one without the fields.
            Err(damage::Error::Missing { .. } | damage::Error::Unsound(_)) => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("image {number} on {}", base.name));
            }
        };
        let (path, file) = self.file(at, base.name, bytes)?;
        for (page, over) in &overlay.pages {
            file.write_all_at(over, (page * PAGE) as u64)?;
        }
        let patience = Duration::from_secs(self.arguments.patience);
        let theirs = e2fsck(&path, patience)?;
        let ours = ours(&path, patience);
        let outcome = Outcome {
            number,
            base: base.name.to_owned(),
            damage,
            theirs,
            ours,
        };
        let keep = self.arguments.keep.as_ref();
        if let Some(keep) = keep.filter(|_| outcome.differs() || !self.arguments.only.is_empty()) {
            fs::copy(&path, keep.join(format!("{number}.img")))?;
        }
        for page in overlay.pages.keys() {
            let start = page * PAGE;
            file.write_all_at(&bytes[start..(start + PAGE).min(bytes.len())], start as u64)?;
        }
        Ok(Some(outcome))
    }

    fn file(&mut self, at: usize, name: &str, bytes: &[u8]) -> Result<(PathBuf, File)> {
        if let Some((path, file)) = self.files.get(&at) {
            return Ok((path.clone(), file.try_clone()?));
        }
        let path = self.pool.folder.join(format!("{name}.{}", self.job));
        let file = File::options()
            .create(true)
            .truncate(true)
            .write(true)
            .open(&path)?;
        file.write_all_at(bytes, 0)?;
        self.files.insert(at, (path.clone(), file.try_clone()?));
        Ok((path, file))
    }
}

/// Asks the installed e2fsck.
fn e2fsck(image: &Path, patience: Duration) -> Result<Judgement> {
    let (log, said) = (image.with_extension("log"), image.with_extension("out"));
    let (log, said) = (unique(&log, image), unique(&said, image));
    let _ = fs::remove_file(&log);
    let out = File::create(&said)?;
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
    let text = fs::read(&said).unwrap_or_default();
    // It catches its own signals, says so, and ends as if it had merely stopped.
    let crashed = String::from_utf8_lossy(&text).contains("Signal (");
    if failure.is_none() && (crashed || code.is_none()) {
        failure = Some("crashed".into());
    }
    // Under -n it has opened the image for reading only, forgets that in a few places, and ends at the error.
    if failure.is_none() && String::from_utf8_lossy(&text).contains("Error writing block") {
        failure = Some("tried to write".into());
    }
    let xml = fs::read_to_string(&log).unwrap_or_default();
    Ok(Judgement {
        code: code.filter(|_| failure.is_none()),
        failure,
        problems: named_problems(&xml),
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
        .map(|code| {
            check::Problem::of(code)
                .map_or(format!("{code:#08x}"), |problem| problem.name.to_owned())
        })
        .take(8)
        .collect()
}

/// Ends a check that goes on for too long.
struct Deadline(Instant);

impl Watch for Deadline {
    fn cancelled(&self) -> bool {
        Instant::now() > self.0
    }
}

/// Asks ours, in this process.
fn ours(image: &Path, patience: Duration) -> Judgement {
    let failed = |failure: String| Judgement {
        code: None,
        failure: Some(failure),
        problems: Vec::new(),
    };
    let options = Options {
        threads: 1,
        keep: 64,
        reference: Reference::E2fsck1470,
        paths: false,
        ..Options::default()
    };
    let judged = catch_unwind(AssertUnwindSafe(|| {
        let source = blockio::Buffered::open(image).map_err(|error| error.to_string())?;
        check::ext4::check(&source, &options, &Deadline(Instant::now() + patience))
            .map_err(|error| error.to_string())
    }));
    match judged {
        Err(_) => failed("panicked".into()),
        Ok(Err(error)) => failed(error),
        Ok(Ok(report)) => {
            let list = report.findings.list.iter();
            let mut problems: Vec<String> = list
                .map(|finding| finding.problem.name.to_owned())
                .collect();
            problems.dedup();
            problems.truncate(8);
            Judgement {
                code: Some(report.verdicts.e2fsck.exit_code.into()),
                failure: None,
                problems,
            }
        }
    }
}

fn summary(outcomes: &[Outcome]) -> Table {
    let mut table = Table::new(
        format!("{} damaged images, exit codes of both", outcomes.len()),
        &["images", "same", "differ", "e2fsck fails", "differ %"],
    );
    let mut bases: BTreeMap<&str, Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        bases.entry(&outcome.base).or_default().push(outcome);
    }
    let all: Vec<&Outcome> = outcomes.iter().collect();
    for (name, of) in bases
        .iter()
        .map(|(name, of)| (*name, of))
        .chain([("all", &all)])
    {
        let differ = of.iter().filter(|outcome| outcome.differs()).count();
        let fails = of.iter().filter(|outcome| !outcome.counts()).count();
        let same = of
            .iter()
            .filter(|outcome| outcome.counts() && !outcome.differs())
            .count();
        let share = differ as f64 / of.len().max(1) as f64;
        let cells = [
            of.len().to_string(),
            same.to_string(),
            differ.to_string(),
            fails.to_string(),
            format!("{:.2}", share * 100.0),
        ];
        // A single base has too few images for the share to mean anything but in sum.
        let (target, met) = if name == "all" {
            ("< 0.20", share < TOLERATED)
        } else {
            ("", true)
        };
        table.rows.push(Row::new(name, cells, target, met));
    }
    table
}

/// Differences grouped by what both said, most frequent first.
fn differences(outcomes: &[Outcome], most: usize) -> String {
    let mut kinds: BTreeMap<String, Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes.iter().filter(|outcome| outcome.differs()) {
        let first = |judgement: &Judgement| {
            judgement
                .problems
                .first()
                .cloned()
                .unwrap_or("nothing".into())
        };
        let said = |judgement: &Judgement| match (&judgement.failure, judgement.code) {
            (Some(failure), _) => failure.clone(),
            (None, code) => format!("{} {}", code.unwrap_or(-1), first(judgement)),
        };
        let kind = format!(
            "e2fsck {}, ours {}",
            said(&outcome.theirs),
            said(&outcome.ours)
        );
        kinds.entry(kind).or_default().push(outcome);
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, of)| std::cmp::Reverse(of.len()));
    let mut text = String::new();
    for (kind, of) in kinds.iter().take(most) {
        let _ = writeln!(text, "{:4} {kind}", of.len());
        for outcome in of.iter().take(2) {
            let _ = writeln!(
                text,
                "       image {} on {}: {}",
                outcome.number,
                outcome.base,
                outcome.damage.join("; ")
            );
            let _ = writeln!(
                text,
                "         e2fsck: {}",
                outcome.theirs.problems.join(" ")
            );
            let _ = writeln!(text, "         ours:   {}", outcome.ours.problems.join(" "));
        }
    }
    if kinds.len() > most {
        let _ = writeln!(
            text,
            "and {} further kinds of difference",
            kinds.len() - most
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overlay_reads_what_was_written_over_what_lies_below() {
        let below: Vec<u8> = (0..10_000_u32).map(|nth| nth as u8).collect();
        let mut model = below.clone();
        let mut overlay = Overlay {
            below: &below,
            pages: BTreeMap::new(),
        };
        for (at, byte, len) in [
            (4090_usize, 1_u8, 10_usize),
            (0, 2, 1),
            (9_990, 3, 10),
            (4095, 4, 2),
        ] {
            overlay.write(at as u64, &vec![byte; len]).unwrap();
            model[at..at + len].fill(byte);
        }
        for (at, len) in [(0, 10_000), (4080, 40), (9_000, 1000), (4096, 1)] {
            let mut read = vec![0; len];
            overlay.read(at as u64, &mut read).unwrap();
            assert_eq!(read, model[at..at + len]);
        }
        assert!(overlay.write(9_999, b"ab").is_err());
        assert!(overlay.read(9_999, &mut [0; 2]).is_err());
        assert_eq!(overlay.pages.len(), 3);
    }

    #[test]
    fn banners_are_no_problems_and_codes_have_names() {
        let xml =
            "<header code=\"0x010000\"/>\n<problem code=\"0x040003\" answer=\"0\" ino=\"11\"/>\n";
        assert_eq!(named_problems(xml), ["4_BAD_REF_COUNT"]);
    }

    fn outcome(theirs: Option<i32>, ours: Option<i32>) -> Outcome {
        let judgement = |code| Judgement {
            code,
            failure: None,
            problems: Vec::new(),
        };
        Outcome {
            number: 1,
            base: "a".into(),
            damage: Vec::new(),
            theirs: judgement(theirs),
            ours: judgement(ours),
        }
    }

    #[test]
    fn a_reference_that_fails_is_not_a_difference_but_our_failure_is() {
        assert!(!outcome(Some(4), Some(4)).differs());
        assert!(outcome(Some(4), Some(0)).differs());
        assert!(!outcome(None, Some(0)).differs());
        assert!(outcome(None, None).differs());
        let table = summary(&[outcome(Some(4), Some(4)), outcome(Some(0), Some(4))]);
        assert_eq!(
            table.rows.last().unwrap().cells,
            ["2", "1", "1", "0", "50.00"]
        );
        assert!(!table.all_met());
    }
}
