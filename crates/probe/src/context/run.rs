//! The run itself: items 50 to 60. Most of these are recorded with each trial or given by the caller.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::collect::{Collector, hex, number};
use super::entry::{Entry, How};
use super::{Item, Options, Subject};
use crate::{kernel_log, vmstat};

// A table: one item a line.
#[rustfmt::skip]
pub(super) const ENTRIES: &[Entry] = &[
    Entry::new(50, "run.tool", How::Manual, "", "name, version and commit of the tool"),
    Entry::new(50, "run.build_flags", How::Manual, "", "how it was built"),
    Entry::new(50, "run.executor", How::Manual, "", "where trials run: host, uml or qemu"),
    Entry::new(50, "run.choice", How::Manual, "", "why trials run there: what was passed over, and what it lacks"),
    Entry::new(50, "run.kernel", How::Manual, "", "release of the kernel that trials run in, and its name in the cache"),
    Entry::new(50, "run.accelerator", How::Manual, "", "what runs a guest's instructions: kvm, tcg or none"),
    Entry::new(50, "run.timing", How::Manual, "", "real; modelled, emulated or virtual: times that are not about hardware"),
    Entry::new(50, "run.host_kernel", How::Manual, "", "release of the kernel below a guest"),
    Entry::new(50, "run.binary_sha256", How::Computed, "/proc/self/exe", "hash of the running binary"),
    Entry::new(51, "run.command_line", How::Computed, "/proc/self/cmdline", "the command as typed"),
    Entry::new(51, "run.working_folder", How::Computed, "/proc/self/cwd", "where it was started"),
    Entry::new(51, "run.environment", How::Computed, "environment, allow-list", "variables that change what programs do"),
    Entry::new(52, "run.seeds", How::Manual, "", "seeds of the order and of the data"),
    Entry::new(53, "run.order", How::PerTrial, "", "number of the trial, its place in the order, time since the one before"),
    Entry::new(54, "run.file_state", How::PerTrial, "", "fresh files or old ones"),
    Entry::new(55, "run.clock", How::PerTrial, "", "what was inside the clock: (a), (b), (c)"),
    Entry::new(56, "run.layout", How::PerTrial, "", "extents and discontiguities of the files"),
    Entry::new(57, "run.bytes_on_device", How::PerTrial, "", "bytes of the device's counters by bytes asked"),
    Entry::new(58, "run.faults.minor", How::Computed, "/proc/self/stat", "page faults without I/O of this process").changing(),
    Entry::new(58, "run.faults.major", How::Computed, "/proc/self/stat", "page faults with I/O").changing(),
    Entry::new(58, "run.switches.voluntary", How::Computed, "/proc/self/status", "context switches by waiting").changing(),
    Entry::new(58, "run.switches.involuntary", How::Computed, "/proc/self/status", "context switches by preemption").changing(),
    Entry::new(58, "run.swap_ins", How::Computed, "/proc/vmstat", "pages swapped in since boot, the whole machine").changing(),
    Entry::new(59, "run.kernel_log.last_sequence", How::Computed, "/dev/kmsg", "last kernel log record; what comes after it belongs to the run").changing(),
    Entry::new(59, "run.kernel_log.tainted", How::Number, "/proc/sys/kernel/tainted", "taint mask of the kernel"),
    Entry::new(60, "run.difference", How::Computed, "two records", "what changed between two runs: the first page of a comparison"),
];

/// Variables that are stored: those which change what programs and libraries do.
const ENVIRONMENT: [&str; 14] = [
    "LANG",
    "LC_ALL",
    "TZ",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "GLIBC_TUNABLES",
    "MALLOC_ARENA_MAX",
    "MKE2FS_CONFIG",
    "MKE2FS_DEVICE_SECTSIZE",
    "MKE2FS_SYNC",
    "LIBMOUNT_FORCE_MOUNT2",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "SOURCE_DATE_EPOCH",
];

pub(super) fn collect(c: &mut Collector<'_>) {
    c.simple(ENTRIES, "", "");
    process(c);
    faults(c);
    kernel(c);
    c.put::<Value>(
        "run.difference",
        Err("one record has no difference: computed when two are compared".to_owned()),
    );
}

/// What [`OF_PROCESS`] names.
fn process(c: &mut Collector<'_>) {
    c.put("run.binary_sha256", binary_sha256());
    let line = c.read_bytes("/proc/self/cmdline").map(|bytes| {
        bytes
            .split(|b| *b == 0)
            .filter(|word| !word.is_empty())
            .map(|word| Value::from(String::from_utf8_lossy(word).into_owned()))
            .collect::<Vec<Value>>()
    });
    c.put("run.command_line", line);
    let cwd = std::env::current_dir()
        .map(|p| p.to_string_lossy().into_owned())
        .map_err(|e| e.to_string());
    c.put("run.working_folder", cwd);
    let environment: Map<String, Value> = ENVIRONMENT
        .iter()
        .filter_map(|name| {
            let value = std::env::var_os(name)?;
            Some((
                (*name).to_owned(),
                value.to_string_lossy().into_owned().into(),
            ))
        })
        .collect();
    c.put("run.environment", Ok(Value::Object(environment)));
}

/// Items of this process: for a trial in a guest they are those of the process that requested it.
pub const OF_PROCESS: [&str; 4] = [
    "run.binary_sha256",
    "run.command_line",
    "run.working_folder",
    "run.environment",
];

/// The items of [`OF_PROCESS`] as they are here.
pub fn of_process() -> BTreeMap<String, Item> {
    let (subject, options) = (Subject::default(), Options::default());
    let mut c = Collector::new(&subject, &options, ENTRIES.iter().collect());
    process(&mut c);
    c.taken()
}

static HASH: OnceLock<Result<String, String>> = OnceLock::new();

/// Says what the binary's hash is, where it need not or cannot be worked out: in a guest, whose own
/// is cut down. Says nothing when it is known already.
pub fn binary_is(hash: String) {
    let _ = HASH.set(Ok(hash));
}

/// Hash of the running binary, which does not change: worked out once, since it may have tens of MiB.
///
/// # Errors
/// It cannot be read.
pub fn binary_sha256() -> Result<String, String> {
    let hash = HASH.get_or_init(|| {
        file_sha256(Path::new("/proc/self/exe")).map_err(|error| error.to_string())
    });
    hash.clone()
}

/// Lower-case hexadecimal SHA-256 of a file's bytes.
///
/// # Errors
/// It cannot be read.
pub fn file_sha256(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match std::io::Read::read(&mut file, &mut buffer) {
            Ok(0) => return Ok(hex(&hasher.finalize())),
            Ok(n) => hasher.update(&buffer[..n]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn faults(c: &mut Collector<'_>) {
    let stat = c.read("/proc/self/stat");
    // Field 10 is minflt, 12 is majflt; what follows the last parenthesis begins with field 3.
    for (name, field) in [("run.faults.minor", 10), ("run.faults.major", 12)] {
        let value = stat.clone().and_then(|text| {
            let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
            let word = rest.split_ascii_whitespace().nth(field - 3);
            number(word.unwrap_or_default())
        });
        c.put(name, value);
    }
    let status = c.read("/proc/self/status");
    for (name, key) in [
        ("run.switches.voluntary", "voluntary_ctxt_switches:"),
        ("run.switches.involuntary", "nonvoluntary_ctxt_switches:"),
    ] {
        let value = status.clone().and_then(|text| {
            let word = text.lines().find_map(|l| l.strip_prefix(key));
            number(word.unwrap_or_default().trim())
        });
        c.put(name, value);
    }
    let swapped = c.read("/proc/vmstat").and_then(|text| {
        vmstat::parse(&text)
            .get("pswpin")
            .copied()
            .ok_or_else(|| "no line pswpin: a kernel without swap".to_owned())
    });
    c.put("run.swap_ins", swapped);
}

fn kernel(c: &mut Collector<'_>) {
    let last = kernel_log::since(c.roots(), None)
        .map_err(|e| e.to_string())
        .and_then(|lines| {
            lines
                .last()
                .map(|line| line.sequence)
                .ok_or_else(|| "the kernel log is empty".to_owned())
        });
    c.put("run.kernel_log.last_sequence", last);
}
