//! Which ways lead to block events on this machine: what `fslab doctor` prints.
//!
//! Everything is read; nothing is set, not even for a moment.

use std::fs;
use std::path::Path;

use serde::Serialize;

use super::changes;
use super::detached::Detached;
use super::recording;

/// A way to the events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Way {
    /// Its name.
    pub name: &'static str,
    /// What it reads.
    pub reads: &'static str,
    /// Whether the kernel offers it here.
    pub available: bool,
    /// Why it is not available, or what is known of it.
    pub note: String,
    /// Whether a recording would take it now.
    pub chosen: bool,
}

/// All ways, the best first.
pub fn ways() -> Vec<Way> {
    let tracefs = changes::tracefs();
    let (tracer, points) = match &tracefs {
        Ok(tracefs) => (blk_tracer(tracefs), tracepoints(tracefs)),
        Err(error) => (Err(error.to_string()), Err(error.to_string())),
    };
    let chosen = tracer.is_ok();
    let way = |name, reads, answer: Result<String, String>, chosen| Way {
        name,
        reads,
        available: answer.is_ok(),
        note: answer.unwrap_or_else(|why| why),
        chosen,
    };
    vec![
        way(
            "blk tracer",
            "tracefs: blktrace's own records, raw pages of each CPU",
            tracer,
            chosen,
        ),
        way(
            "block tracepoints",
            "tracefs: events/block in an instance of its own",
            points,
            false,
        ),
        way(
            "relay files",
            "BLKTRACESETUP and debugfs, as the blktrace program",
            relay(),
            false,
        ),
    ]
}

fn blk_tracer(tracefs: &Detached) -> Result<String, String> {
    recording::format(tracefs).map_err(|error| error.to_string())?;
    let tracer = tracefs
        .read("current_tracer")
        .map_err(|error| error.to_string())?;
    if tracer != "nop" {
        return Err(format!("in use: current_tracer is {tracer}"));
    }
    let on = tracefs
        .read("set_event")
        .map_err(|error| error.to_string())?;
    if let Some(event) = on.lines().next() {
        return Err(format!("in use: set_event has {event}"));
    }
    let disks = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let traceable = disks
        .filter(|disk| disk.path().join("trace/enable").exists())
        .count();
    if traceable == 0 {
        return Err("no device has /sys/block/X/trace (CONFIG_BLK_DEV_IO_TRACE)".into());
    }
    Ok(format!("{traceable} devices can be traced"))
}

fn tracepoints(tracefs: &Detached) -> Result<String, String> {
    for name in ["events/block/block_bio_queue/format", "instances"] {
        if !tracefs.path(name).exists() {
            return Err(format!("tracefs has no {name}"));
        }
    }
    Ok("not used: plug and unplug name no device, an unplug not its cause".into())
}

fn relay() -> Result<String, String> {
    let debugfs = Detached::open("debugfs", Path::new("/sys/kernel/debug"))
        .map_err(|error| format!("debugfs cannot be opened ({error})"))?;
    if !debugfs.path("block").is_dir() {
        return Err("debugfs has no block (CONFIG_BLK_DEV_IO_TRACE)".into());
    }
    let security = Detached::open("securityfs", Path::new("/sys/kernel/security"));
    // Without the lockdown module the file is missing: nothing is locked.
    let lockdown = security.and_then(|fs| fs::read_to_string(fs.path("lockdown")));
    match lockdown.as_deref().ok().and_then(changes::chosen) {
        None | Some("none") => {
            Ok("not used: the tracer's records are the same and need no debugfs".into())
        }
        Some(level) => Err(format!(
            "kernel lockdown ({level}) forbids to read debugfs's trace files"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_way_is_chosen_at_most_and_each_says_why() {
        let ways = ways();
        assert!(ways.iter().filter(|way| way.chosen).count() <= 1);
        for way in &ways {
            assert!(!way.note.is_empty(), "{way:?}");
            assert!(way.available || !way.chosen, "{way:?}");
        }
    }
}
