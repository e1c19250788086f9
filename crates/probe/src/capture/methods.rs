//! Which methods of tracing block events work on this machine, as `fslab doctor` prints them.
//!
//! Everything is read; nothing is set, not even for a moment.

use std::fs;

use serde::Serialize;

use super::Error;
use super::changes;
use super::detached::Detached;
use super::{relay, tracer};

/// A method of tracing block events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// What it reads.
    pub reads: &'static str,
    /// Whether the kernel offers it here.
    pub available: bool,
    /// Why it is not available, or a remark.
    pub note: String,
    /// Whether a recording would take it now.
    pub chosen: bool,
}

/// All methods, the best first.
pub fn methods() -> Vec<Method> {
    let tracefs = changes::tracefs();
    let (tracer, points) = match &tracefs {
        Ok(tracefs) => (blk_tracer(tracefs), tracepoints(tracefs)),
        Err(error) => (Err(error.to_string()), Err(error.to_string())),
    };
    let chosen = tracer.is_ok();
    // A tracer that is in use exists, too.
    let no_tracer = tracefs
        .as_ref()
        .map_or(true, |tracefs| tracer::format(tracefs).is_err());
    let relayed = relay::available().map_err(|error| match error {
        Error::NoMethod { why } => why,
        error => error.to_string(),
    });
    let relay_is_there = relayed.is_ok();
    let method = |name, reads, answer: Result<String, String>, chosen| Method {
        name,
        reads,
        available: answer.is_ok(),
        note: answer.unwrap_or_else(|why| why),
        chosen,
    };
    vec![
        method(
            "blk tracer",
            "tracefs: blktrace's own records, raw pages of each CPU",
            tracer,
            chosen,
        ),
        method(
            "block tracepoints",
            "tracefs: events/block in an instance of its own",
            points,
            false,
        ),
        method(
            "relay files",
            "BLKTRACESETUP and debugfs, as the blktrace program",
            relayed.map(|()| {
                let note = "the tracer's records are the same and need no debugfs";
                if no_tracer {
                    "taken, since there is no blk tracer".into()
                } else {
                    format!("not used: {note}")
                }
            }),
            no_tracer && relay_is_there,
        ),
    ]
}

fn blk_tracer(tracefs: &Detached) -> Result<String, String> {
    tracer::format(tracefs).map_err(|error| error.to_string())?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_one_method_is_chosen_and_each_has_a_reason() {
        let methods = methods();
        assert!(methods.iter().filter(|method| method.chosen).count() <= 1);
        for method in &methods {
            assert!(!method.note.is_empty(), "{method:?}");
            assert!(method.available || !method.chosen, "{method:?}");
        }
    }
}
