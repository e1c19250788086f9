//! One run: sets, initial trees, the sequence, and the order of clocks, syncs and cold caches.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::thread::Builder;
use std::{fs, io};

use super::accounting::Accounting;
use super::dataset::{Dataset, FileSet};
use super::native;
use super::progress::Reporter;
use super::sequence::{Action, Plan, Row, State, Step};
use super::worker::{Tally, Worker, Writing};
use crate::clock::{Cpu, now_ns, seconds};
use crate::{Error, Evidence, Observer, Outcome, Workload};
use params::{Parameters, TreeSpec};

/// Files whose pages are looked at after a cache drop.
const SAMPLE: usize = 24;

impl Workload for TreeSpec {
    fn kind(&self) -> &'static str {
        Self::KIND
    }

    fn dirs(&self) -> Vec<&Path> {
        vec![&self.dir]
    }

    fn run(&self, observer: &dyn Observer) -> Result<Outcome, Error> {
        run(self, observer)
    }
}

/// Runs compilebench in a directory.
///
/// # Errors
/// A value that cannot be used, a data set that cannot be read, a system call that failed, a full
/// filesystem, and an interruption. The trees are removed unless `keep`.
pub fn run(options: &TreeSpec, observer: &dyn Observer) -> Result<Outcome, Error> {
    options.validate()?;
    let mut data = match &options.sources {
        Some(folder) => Dataset::read(folder, options.scale)?,
        None => Dataset::generated(options.scale, options.dataset_seed),
    };
    let plan = Plan {
        initial: options.initial,
        runs: options.runs,
        makej: options.makej,
        compat: options.compat,
        shuffle: data.shuffle,
    };
    let steps = plan.steps();
    let made = prepare(&options.dir)?;
    observer.foresee(steps.len() as u64);
    let reporter = Reporter::new(observer);
    let done = std::thread::scope(|scope| {
        let thread = Builder::new().name("tree-progress".into());
        let thread = thread.spawn_scoped(scope, || reporter.report());
        let thread = thread.inspect_err(|error| {
            observer.message(&format!(
                "no progress is shown, for want of a thread: {error}"
            ));
        });
        let _stopper = thread
            .as_ref()
            .map(|it| reporter.until_dropped(it.thread()));
        Bench::new(options, observer, &reporter, &steps)
            .and_then(|mut bench| bench.everything(&mut data, &steps))
    });
    let removed = if options.keep {
        Ok(())
    } else {
        remove(&options.dir, &steps, made)
    };
    let (accounting, mut warnings) = done?;
    removed?;
    let phases = Row::ALL.iter().map(|row| accounting.report(*row)).collect();
    let empty = Row::ALL.into_iter().filter(|row| accounting.is_empty(*row));
    let empty: Vec<&str> = empty.map(Row::phase).collect();
    if !empty.is_empty() {
        warnings.push(format!("no runs in this sequence: {}", empty.join(", ")));
    }
    Ok(Outcome {
        workload: "tree".into(),
        parameters: parameters(options, &data),
        phases,
        warnings,
    })
}

/// Makes the working directory when missing (true), and refuses trees that are there already.
fn prepare(dir: &Path) -> Result<bool, Error> {
    let made = !dir.exists();
    fs::create_dir_all(dir).map_err(Error::io("make working directory", dir))?;
    let entries = fs::read_dir(dir).map_err(Error::io("list working directory", dir))?;
    for entry in entries {
        let entry = entry.map_err(Error::io("list working directory", dir))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("kernel-") || name.starts_with("native-") {
            let there = io::Error::from(io::ErrorKind::AlreadyExists);
            return Err(Error::io("begin with fresh trees: there is", entry.path())(
                there,
            ));
        }
    }
    Ok(made)
}

/// Removes every tree of the sequence, and the working directory when the run made it.
fn remove(dir: &Path, steps: &[Step], made: bool) -> Result<(), Error> {
    let trees: HashSet<&str> = steps
        .iter()
        .map(|s| s.tree.as_str())
        .chain([SCRATCH])
        .collect();
    for tree in trees {
        let path = dir.join(tree);
        match fs::remove_dir_all(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io("remove", path)(e));
            }
            _ => {}
        }
    }
    if made {
        fs::remove_dir(dir).map_err(Error::io("remove", dir))?;
    }
    Ok(())
}

/// The scratch tree of [`native`].
const SCRATCH: &str = "native-0";

fn parameters(options: &TreeSpec, data: &Dataset) -> serde_json::Value {
    let set = |set: &FileSet| serde_json::json!({"files": set.len(), "bytes": set.bytes()});
    serde_json::json!({
        "dir": options.dir,
        "initial": options.initial,
        "runs": options.runs,
        "buffer": options.buffer,
        "scale": options.scale,
        "sources": options.sources,
        "sync": options.sync,
        "compat": options.compat,
        "dataset_seed": options.dataset_seed,
        "makej": options.makej,
        "keep": options.keep,
        "latency": options.latency,
        "content": "pattern (the letter a)",
        "file_state": "fresh",
        "dataset": data.origin,
        "sets": {
            "unpatched": set(&data.unpatched),
            "patch": set(&data.patch),
            "compile": set(&data.compile),
            "compile_patched": set(&data.compile_patched),
        },
    })
}

/// A run at work.
struct Bench<'a> {
    options: &'a TreeSpec,
    observer: &'a dyn Observer,
    reporter: &'a Reporter<'a>,
    worker: Worker<'a>,
    accounting: Accounting,
    warnings: Vec<String>,
    /// Steps left of each row, so that a phase ends with its last one.
    left: [u32; Row::ALL.len()],
    /// Objects of UC that C does not name; they stay in a tree that was patched after its compile.
    stale: FileSet,
    stale_in: HashSet<String>,
    /// Whether caches are dropped: it has not failed so far.
    drops: bool,
    /// Whether a warning was given that a drop failed.
    failed: bool,
    /// Whether a warning was given that they are not proven cold.
    doubted: bool,
    /// The tree that the last operation left, unless it deleted it.
    used: Option<String>,
}

impl<'a> Bench<'a> {
    fn new(
        options: &'a TreeSpec,
        observer: &'a dyn Observer,
        reporter: &'a Reporter<'a>,
        steps: &[Step],
    ) -> Result<Self, Error> {
        let mut left = [0; Row::ALL.len()];
        for step in steps {
            left[step.row as usize] += 1;
        }
        Ok(Bench {
            options,
            observer,
            reporter,
            worker: Worker::new(
                &options.dir,
                options.buffer.get() as usize,
                options.compat,
                options.latency,
                reporter,
            )?,
            accounting: Accounting::new(options.sync && !options.makej),
            warnings: Vec::new(),
            left,
            stale: FileSet::default(),
            stale_in: HashSet::new(),
            drops: options.sync,
            failed: false,
            doubted: false,
            used: None,
        })
    }

    /// Native orders, initial trees, the sequence.
    fn everything(
        &mut self,
        data: &mut Dataset,
        steps: &[Step],
    ) -> Result<(Accounting, Vec<String>), Error> {
        self.warnings.push(format!("data sets: {}", data.origin));
        self.native_orders(data)?;
        if !self.options.compat {
            self.stale = stale(data);
        }
        let initial = self.options.initial as usize;
        let (before, random) = steps.split_at(initial);
        for step in before {
            self.operate(step, data, false)?;
        }
        self.finish_initial(data)?;
        if self.options.makej {
            self.make_j(random, data)?;
        } else {
            for step in random {
                self.cold(step, data)?;
                self.operate(step, data, self.options.sync)?;
                self.finish_if_last(step.row);
            }
        }
        if !self.options.sync {
            self.warnings.push(
                "no sync (-n): rates under (a) end in memory, and clocks (b) and (c) do not exist \
                 without changing what runs"
                    .into(),
            );
        }
        Ok((
            std::mem::take(&mut self.accounting),
            std::mem::take(&mut self.warnings),
        ))
    }

    fn native_orders(&mut self, data: &mut Dataset) -> Result<(), Error> {
        let sets = [
            (&mut data.unpatched, "native_unpatched_seconds"),
            (&mut data.patch, "native_patched_seconds"),
            (&mut data.compile_patched, "native_patched_compiled_seconds"),
        ];
        for (set, figure) in sets {
            let taken = native::order(&mut self.worker, set, SCRATCH)?;
            self.accounting.figure(Row::InitialCreate, figure, taken);
        }
        Ok(())
    }

    /// The sync that the original does after its initial creates, outside their clock: it ends (b)
    /// and (c), for after a `syncfs` every file is where an `fsync` of each would have put it.
    fn finish_initial(&mut self, data: &Dataset) -> Result<(), Error> {
        if self.left[Row::InitialCreate as usize] > 0 || self.options.initial == 0 {
            return Ok(());
        }
        self.accounting.prove(
            Row::InitialCreate,
            Evidence {
                name: "file_state".into(),
                holds: Some(true),
                detail: "fresh: the working directory held no kernel-* tree".into(),
            },
        );
        if self.options.sync {
            self.close(Row::InitialCreate)?;
        }
        self.warn_of_memory(data);
        self.observer
            .phase_finished(&self.accounting.report(Row::InitialCreate));
        Ok(())
    }

    fn warn_of_memory(&mut self, data: &Dataset) {
        let written = data.unpatched.bytes() * u64::from(self.options.initial);
        if let Some(memory) = memory_total().filter(|memory| written < 2 * memory) {
            self.warnings.push(format!(
                "initial_create: {} MiB written without a sync are {:.1} % of memory; (a) measures \
                 memory as much as the device, read (c)",
                written >> 20,
                100.0 * written as f64 / memory as f64
            ));
        }
    }

    /// Syncs outside the clocks of a row's operations.
    fn close(&mut self, row: Row) -> Result<(), Error> {
        let begin = now_ns();
        self.worker.sync()?;
        self.accounting.close(row, seconds(begin, now_ns()));
        Ok(())
    }

    /// -m: no sync inside the operations, one after each kind; caches dropped before reads and
    /// deletes.
    fn make_j(&mut self, steps: &[Step], data: &Dataset) -> Result<(), Error> {
        for (n, step) in steps.iter().enumerate() {
            let kind = |step: &Step| std::mem::discriminant(&step.action);
            let first = n > 0 && kind(&steps[n - 1]) != kind(step);
            if first && self.options.sync {
                self.close(steps[n - 1].row)?;
                self.cold(step, data)?;
            }
            self.operate(step, data, false)?;
            if n + 1 == steps.len() && self.options.sync {
                self.close(step.row)?;
            }
        }
        for row in Row::ALL.into_iter().skip(1) {
            if !self.accounting.is_empty(row) {
                self.observer.phase_finished(&self.accounting.report(row));
            }
        }
        Ok(())
    }

    fn finish_if_last(&mut self, row: Row) {
        if self.left[row as usize] == 0 {
            self.observer.phase_finished(&self.accounting.report(row));
        }
    }

    /// Drops caches before an operation and keeps what proves it. A user who may not drop them is not
    /// asked again, as in the original; any other failure is this operation's alone.
    fn cold(&mut self, step: &Step, data: &Dataset) -> Result<(), Error> {
        self.reporter.check()?;
        if !self.drops {
            return Ok(());
        }
        let files = self.sample(step, data);
        let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        match self.observer.drop_caches(&files) {
            Ok(evidence) => {
                let detail = format!(
                    "operation {}, {}: {}",
                    step.number, step.tree, evidence.detail
                );
                // None may mean dropped but not looked at (no tree is left to look at).
                if evidence.holds.is_none() && !self.doubted {
                    self.doubted = true;
                    self.warnings
                        .push(format!("cold caches not proven: {detail}"));
                }
                self.accounting
                    .prove(step.row, Evidence { detail, ..evidence });
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.drops = false;
                self.warnings.push(format!(
                    "caches could not be dropped ({error}), so every operation may meet a warm \
                     cache; run as root"
                ));
            }
            Err(error) => self.not_cold(step, &error),
        }
        Ok(())
    }

    /// A drop that failed: evidence against the operation, and one warning for all of them.
    fn not_cold(&mut self, step: &Step, error: &io::Error) {
        let detail = format!(
            "operation {}, {}: the caches could not be dropped: {error}",
            step.number, step.tree
        );
        if !self.failed {
            self.failed = true;
            self.warnings.push(format!(
                "not every operation met a cold cache, see the evidence of each phase; first: \
                 {detail}"
            ));
        }
        self.accounting.prove(
            step.row,
            Evidence {
                name: "cold_cache".into(),
                holds: Some(false),
                detail,
            },
        );
    }

    /// Files of the tree that the operation will meet, spread over the set; before a create, which
    /// meets none, those of the tree used last, which are as warm as anything can be.
    fn sample(&self, step: &Step, data: &Dataset) -> Vec<PathBuf> {
        let tree = match (&step.from, &self.used) {
            (Some(_), _) => &step.tree,
            (None, Some(used)) => used,
            (None, None) => return Vec::new(),
        };
        let tree = self.options.dir.join(tree);
        let every = data.unpatched.len().div_ceil(SAMPLE).max(1);
        let paths = data.unpatched.iter().step_by(every);
        paths
            .map(|(path, _)| tree.join(String::from_utf8_lossy(path).as_ref()))
            .collect()
    }

    /// One operation between its clocks.
    fn operate(&mut self, step: &Step, data: &Dataset, sync: bool) -> Result<(), Error> {
        let row = step.row;
        if self.accounting.is_empty(row) {
            self.observer.phase_started(row.phase());
        }
        let asked = match step.action {
            Action::InitialCreate | Action::Create => data.unpatched.bytes(),
            Action::Patch { .. } | Action::Compile | Action::Clean => delta(step, data).bytes(),
            Action::Delete | Action::Read | Action::Stat => 0,
        };
        self.worker.begin(row.phase(), asked);
        let (cpu, begin) = (Cpu::thread(), now_ns());
        let mut tally = self.act(step, data)?;
        if sync {
            self.worker.sync()?;
        }
        let (end, cpu) = (now_ns(), Cpu::thread() - cpu);
        if step.action == Action::Delete {
            tally.counted = 0;
        }
        self.accounting.add(step, tally, seconds(begin, end), cpu);
        self.accounting.time(row, &self.worker.calls);
        self.used = (step.action != Action::Delete).then(|| step.tree.clone());
        self.left[row as usize] -= 1;
        self.reporter.step();
        Ok(())
    }

    fn act(&mut self, step: &Step, data: &Dataset) -> Result<Tally, Error> {
        let (worker, tree) = (&mut self.worker, step.tree.as_str());
        match step.action {
            Action::InitialCreate | Action::Create => {
                worker.write_set(&data.unpatched, tree, Writing::default())
            }
            Action::Patch { unlink } => {
                if step.sources_unpatched && !self.options.compat {
                    self.stale_in.insert(tree.to_owned());
                }
                let how = Writing {
                    unlink,
                    rewrite: true,
                };
                worker.write_set(delta(step, data), tree, how)
            }
            Action::Compile => worker.write_set(delta(step, data), tree, Writing::default()),
            Action::Clean => {
                let mut tally = worker.clean(delta(step, data), tree)?;
                if self.stale_in.remove(tree) {
                    tally = worker.clean(&self.stale, tree)?;
                }
                Ok(tally)
            }
            Action::Delete => worker.delete(tree),
            Action::Read => worker.read(tree),
            Action::Stat => worker.stat(tree),
        }
    }
}

/// The set that an operation writes or removes: P for sources, UC for what a fresh tree compiles
/// to, C for the rest (also where a compiled tree is patched: the original patches its objects).
fn delta<'d>(step: &Step, data: &'d Dataset) -> &'d FileSet {
    match (step.action, step.from) {
        (Action::Patch { .. }, Some(State::Unpatched)) => &data.patch,
        (Action::Compile, Some(State::Unpatched))
        | (Action::Clean, Some(State::UnpatchedCompiled)) => &data.compile,
        _ => &data.compile_patched,
    }
}

fn stale(data: &Dataset) -> FileSet {
    let named: HashSet<&[u8]> = data.compile_patched.iter().map(|f| f.0).collect();
    FileSet::new(
        data.compile
            .iter()
            .filter(|(path, _)| !named.contains(path)),
    )
}

/// MemTotal, bytes.
fn memory_total() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|l| l.starts_with("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}
