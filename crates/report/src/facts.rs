//! What readers ask first, gathered for the head of every report.
//!
//! The five studies' threads began with the same doubts: which kernel, how much RAM, does the file
//! fit, were barriers on, which options were really in force, which driver served an ext2? Each
//! answer is taken from the run's record; an answer that the record lacks is shown as absent with
//! its reason, never left out.

mod device;
mod items;
mod text;

use std::collections::BTreeMap;

use record::Run;
use serde_json::Value;

use crate::published::{self, Published};
use crate::variants::{self, Served};
use device::{device, write_cache};
pub use items::{Item, gib, items, plain};
use items::{RAM, answer, memory_bytes};
pub use text::text;

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The question, short: `kernel`.
    pub name: &'static str,
    /// The answer, or why there is none.
    pub answer: Answer,
}

/// An answer or the reason of its absence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// What was read, and from where.
    Known(String, Option<String>),
    /// Why nothing was read.
    Absent(String),
}

/// Questions that the context answers, with the names its items may have. The first that is there
/// is taken; a name with `*` matches one item of each device.
const ASKED: [(&str, &[&str]); 7] = [
    ("kernel", &["system.kernel.release", "kernel_release"]),
    ("CPU", &["cpu.model", "cpu_model"]),
    ("RAM", RAM),
    (
        "write cache",
        &["block.*.queue.write_cache", "block.*.write_cache"],
    ),
    ("virtualised", &["virtualisation.hypervisor"]),
    ("distribution", &["system.distribution.name"]),
    ("CPU frequency", &["cpu.frequency.policies"]),
];

/// The release of the kernel in a context record.
pub fn release(context: &Value) -> Option<String> {
    match answer(&items(context), ASKED[0].1) {
        Answer::Known(release, _) => Some(release),
        Answer::Absent(_) => None,
    }
}

/// What emulated this run's times: `User-mode Linux`, `qemu, tcg`; none: they are of hardware.
pub fn emulated(run: &Run) -> Option<String> {
    let items = run.contexts.get("start")?.get("items")?;
    let value = |name: &str| items.get(name)?.get("value")?.as_str();
    if !matches!(value("run.timing"), Some("emulated" | "virtual")) {
        return None;
    }
    Some(match value("run.executor")? {
        "uml" => "User-mode Linux".to_owned(),
        other => format!("{other}, {}", value("run.accelerator").unwrap_or("unknown")),
    })
}

/// Whether the clock of this run's guests counted instructions.
pub fn virtual_time(run: &Run) -> bool {
    let items = run
        .contexts
        .get("start")
        .and_then(|context| context.get("items"));
    items.is_some_and(|items| items["run.timing"]["value"] == "virtual")
}

/// The modelled disks that this run's times are of: `7k500`; none: they are of hardware, or of an emulator.
pub fn modelled(run: &Run) -> Option<String> {
    let items = run.contexts.get("start")?.get("items")?;
    let is = items.get("run.timing")?.get("value")?.as_str() == Some("modelled");
    is.then(|| run.modelled_disks())
}

/// What the study repeats, where this run may be set beside it: on modelled disks only if they stand for that hardware.
pub fn repeated(run: &Run) -> Option<&'static Published> {
    let name = run.plan.repeats.as_deref()?;
    let stands_for = |cell: &study::Cell| match cell.device.stack.as_ref().map(|s| &s.layers) {
        Some(study::Layers::Model(model)) => model.studies.iter().any(|study| study == name),
        _ => true,
    };
    let document = published::document(name)?;
    run.plan.cells.iter().all(stands_for).then_some(document)
}

/// Times on modelled disks, before all other facts of the machine.
fn modelled_times(run: &Run) -> Option<Fact> {
    let disks = modelled(run)?;
    let text = format!(
        "MODELLED ({disks}): a model decided when the disk answered, in real time; processor, memory and kernel are this machine's. \
         Not to be set beside times of hardware{}",
        host_decides(run)
    );
    Some(Fact {
        name: "times",
        answer: Answer::Known(text, Some("run.timing".to_owned())),
    })
}

/// What a model of the disks cannot tell of the published numbers, as the end of a text.
fn host_decides(run: &Run) -> String {
    match (repeated(run), run.plan.repeats.as_deref()) {
        (Some(published), _) if !published.document.host_decides.is_empty() => format!(
            ". Of the numbers of {} the host decides, and no model of its disks: {}",
            published.document.short(),
            published.document.host_decides
        ),
        (None, Some(repeats)) => format!(
            ". The numbers of {repeats} are left out: these disks do not stand for its hardware"
        ),
        _ => String::new(),
    }
}

/// A guest's times, before all other facts of the machine.
fn times(run: &Run, items: &[Item]) -> Option<Fact> {
    if let Some(fact) = modelled_times(run) {
        return Some(fact);
    }
    let by = emulated(run)?;
    let clock = if virtual_time(run) {
        "VIRTUAL"
    } else {
        "EMULATED"
    };
    let disks = run.modelled_disks();
    let what = if disks.is_empty() {
        format!("{clock} ({by})")
    } else {
        format!("MODELLED, {clock} ({disks}; {by})")
    };
    let mut text = format!(
        "{what}: they are not about hardware, and not to be set beside a host's; counts, \
         layouts, traces and checkers' verdicts are real"
    );
    if virtual_time(run) {
        text.push_str(
            "; the clock counts instructions, so another run of the same programs and kernel takes the \
             same times",
        );
    }
    if let Answer::Known(host, _) = answer(items, &["run.host_kernel"]) {
        text.push_str(&format!("; below it the host's Linux {host}"));
    }
    if !disks.is_empty() {
        let why = host_decides(run);
        text.push_str(&format!(
            "; a model decided when the disk answered, by the guest's clock{why}"
        ));
    }
    Some(Fact {
        name: "times",
        answer: Answer::Known(text, Some("run.timing".to_owned())),
    })
}

/// The head of a report about the machine.
pub fn machine(run: &Run) -> Vec<Fact> {
    let items = run.contexts.get("start").map(items).unwrap_or_default();
    let mut facts: Vec<Fact> = ASKED
        .iter()
        .map(|(name, keys)| Fact {
            name,
            answer: answer(&items, keys),
        })
        .collect();
    if let Some(kernels) = kernels(run) {
        facts[0].answer = kernels;
    }
    let at = facts
        .iter()
        .position(|f| f.name == "write cache")
        .unwrap_or_default();
    facts[at] = write_cache(run, facts[at].clone());
    facts.insert(at, working_set(run, &items));
    facts.insert(at + 1, barriers(run));
    facts.insert(at + 3, device(run));
    facts.extend(held(run));
    if let Some(times) = times(run, &items) {
        facts.insert(0, times);
    }
    facts
}

/// The releases, where the kernel is a factor.
fn kernels(run: &Run) -> Option<Answer> {
    let (_, levels) = run.plan.factors.iter().find(|(name, _)| name == "kernel")?;
    let counted = levels.iter().map(|level| {
        let context = run.contexts.get(&Run::of_kernel(level));
        let release = context.and_then(release);
        format!("{level}: {}", release.as_deref().unwrap_or("not recorded"))
    });
    let counted: Vec<String> = counted.collect();
    let source = "the context of each kernel".to_owned();
    Some(Answer::Known(counted.join("; "), Some(source)))
}

/// What the cells were held to: a slow disk or a small memory that this machine stood in for. Empty
/// where nothing was.
fn held(run: &Run) -> Vec<Fact> {
    let limits = run.plan.cells.iter().map(|cell| {
        let limit = cell.device.limit.filter(|l| *l != study::Limit::default());
        limit.map(|limit| in_words(&limit))
    });
    let memory = run.plan.cells.iter().map(|cell| {
        let bytes = cell.memory?.get() as f64;
        Some(format!(
            "{} for the trial, its page cache and its checker",
            gib(bytes)
        ))
    });
    let counted = [
        (
            "limit",
            counted(limits),
            " (the device is throttled to represent a slower disk)",
        ),
        ("memory limit", counted(memory), ""),
    ];
    counted
        .into_iter()
        .filter_map(|(name, text, why)| {
            let known = Answer::Known(text? + why, Some("the plan".to_owned()));
            Some(Fact {
                name,
                answer: known,
            })
        })
        .collect()
}

/// `70 MiB/s read in 3 of 9 cells; none in 6`: each value once, none when there are no others.
fn counted(values: impl Iterator<Item = Option<String>>) -> Option<String> {
    let mut counts: Vec<(Option<String>, usize)> = Vec::new();
    let mut all = 0;
    for value in values {
        all += 1;
        match counts.iter_mut().find(|(known, _)| *known == value) {
            Some((_, count)) => *count += 1,
            None => counts.push((value, 1)),
        }
    }
    counts
        .iter()
        .any(|(value, _)| value.is_some())
        .then_some(())?;
    let written = |(value, count): &(Option<String>, usize)| {
        let value = value.as_deref().unwrap_or("none");
        if *count == all {
            value.to_owned()
        } else {
            format!("{value} in {count} of {all} cells")
        }
    };
    Some(counts.iter().map(written).collect::<Vec<_>>().join("; "))
}

/// `70 MiB/s read and written`.
fn in_words(limit: &study::Limit) -> String {
    let rate = |bytes: study::Bytes| format!("{}/s", gib(bytes.get() as f64));
    let parts = [
        limit.read.map(|bytes| format!("{} read", rate(bytes))),
        limit.write.map(|bytes| format!("{} written", rate(bytes))),
        limit.read_iops.map(|n| format!("{n} reads/s")),
        limit.write_iops.map(|n| format!("{n} writes/s")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Which variants' effective options turn barriers off. The kernels show only what differs from
/// the default, and the default of all five filesystems today is on.
fn barriers(run: &Run) -> Fact {
    const OFF: [&str; 3] = ["nobarrier", "barrier=0", "barrier=off"];
    let variants = variants::of(run);
    let seen: Vec<(&str, &Served)> = variants
        .iter()
        .flat_map(|v| v.seen.iter().map(|(served, _)| (v.name.as_str(), served)))
        .collect();
    let mut off: Vec<&str> = seen
        .iter()
        .filter(|(_, served)| served.options.split(',').any(|o| OFF.contains(&o)))
        .map(|(name, _)| *name)
        .collect();
    off.dedup();
    let answer = if seen.is_empty() {
        Answer::Absent("no trial recorded its mount options".to_owned())
    } else if off.is_empty() {
        Answer::Known(
            "no variant's effective options turn them off".to_owned(),
            Some("mountinfo".to_owned()),
        )
    } else {
        Answer::Known(
            format!("OFF for {}: not the same durability", off.join(", ")),
            Some("mountinfo".to_owned()),
        )
    };
    Fact {
        name: "barriers",
        answer,
    }
}

/// What each workload keeps on disk at its peak, by the plan, against RAM: whether the page cache
/// could have held it. Workloads that keep the same are named together, as those on one forged volume.
fn working_set(run: &Run, items: &[Item]) -> Fact {
    let name = "working set";
    let ram = items
        .iter()
        .find(|item| RAM.contains(&item.name.as_str()))
        .and_then(|item| memory_bytes(&item.name, item.value.as_ref()?));
    let mut largest: BTreeMap<&str, f64> = BTreeMap::new();
    for cell in &run.plan.cells {
        let bytes = study::footprint::working_set_of(cell);
        let entry = largest.entry(&cell.workload_name).or_default();
        *entry = entry.max(bytes);
    }
    let mut sets: Vec<(Vec<&str>, String)> = Vec::new();
    for (workload, bytes) in largest {
        let text = match ram {
            Some(ram) => format!("{} = {:.1} % of RAM", gib(bytes), 100.0 * bytes / ram),
            None => format!("{} (RAM not recorded)", gib(bytes)),
        };
        match sets.iter_mut().find(|(_, known)| *known == text) {
            Some((workloads, _)) => workloads.push(workload),
            None => sets.push((vec![workload], text)),
        }
    }
    let parts = sets.iter();
    let parts = parts.map(|(workloads, text)| format!("{} {text}", workloads.join(", ")));
    let parts: Vec<String> = parts.collect();
    Fact {
        name,
        answer: Answer::Known(parts.join("; "), Some("the plan".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn emulated_times_say_what_emulated_them() {
        let mut run = fixtures::example::run();
        assert_eq!(emulated(&run), None);
        assert!(machine(&run).iter().all(|fact| fact.name != "times"));
        let items = json!({
            "run.executor": {"value": "qemu", "source": "the lab"},
            "run.accelerator": {"value": "tcg", "source": "the lab"},
            "run.timing": {"value": "emulated", "source": "the lab"},
            "run.host_kernel": {"value": "6.18.1", "source": "the lab"},
        });
        run.contexts.insert("start".into(), json!({"items": items}));
        assert_eq!(emulated(&run).as_deref(), Some("qemu, tcg"));
        let first = machine(&run).remove(0);
        assert_eq!(first.name, "times");
        let Answer::Known(text, _) = first.answer else {
            panic!("known");
        };
        assert!(
            text.starts_with("EMULATED (qemu, tcg)") && text.ends_with("Linux 6.18.1"),
            "{text}"
        );
    }
}
