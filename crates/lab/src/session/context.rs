//! The records of context around the trials, and what of them must not change within a run.

use std::collections::BTreeMap;
use std::time::Duration;

use record::{Event, Run};
use serde_json::Value;
use study::Plan;

use super::Session;
use crate::error::Error;
use crate::executor::{Executor, KernelContext, Surroundings};
use crate::reference;
use crate::target::Target;

impl Session<'_> {
    /// Takes and keeps the records of all kernels: the first is the run's, and where kernels are a factor
    /// each has its own besides. A resumed run goes on in what it began in, or not at all.
    pub(super) fn contexts(
        &mut self,
        when: &str,
        run: &Run,
        executor: &mut dyn Executor,
    ) -> Result<Vec<KernelContext>, Error> {
        let plan = &run.plan;
        let around = Surroundings {
            folder: match &self.target {
                Target::Directory(path) | Target::Ranks { dir: path, .. } => path.clone(),
                _ => self.folder.dir().to_owned(),
            },
            device: match &self.target {
                Target::Device { path, .. } => Some(path.clone()),
                _ => None,
            },
            working_set: study::footprint::working_set(plan),
            manual: self.manual(plan),
            watch: if when == "start" {
                idle(plan)
            } else {
                Duration::ZERO
            },
        };
        let all = executor.contexts(&around)?;
        for message in executor.notes() {
            self.emit(Event::Note { message })?;
        }
        for (at, taken) in all.iter().enumerate() {
            let context = serde_json::to_value(&taken.record).unwrap_or_default();
            let of_kernel = taken.kernel.as_ref().map(|level| Run::of_kernel(level));
            let known = run.contexts.get(of_kernel.as_deref().unwrap_or("start"));
            if let Some(known) = known {
                same_machine(known, &context)?;
            }
            let first = (at == 0).then(|| when.to_owned());
            for when in first.into_iter().chain(of_kernel) {
                let context = context.clone();
                self.emit(Event::Context { when, context })?;
            }
        }
        Ok(all)
    }

    /// Items that no file of the machine contains.
    fn manual(&self, plan: &Plan) -> BTreeMap<String, String> {
        let mut items = BTreeMap::from([
            ("run.tool".into(), self.tool.clone()),
            ("run.seeds".into(), format!("order {}", plan.seed)),
        ]);
        if !matches!(self.target, Target::Guest(_)) {
            items.insert("run.executor".into(), "host".into());
            items.insert("run.timing".into(), timing(plan).into());
            items.insert("run.accelerator".into(), "none".into());
            let running = rustix::system::uname();
            let release = running.release().to_string_lossy().into_owned();
            items.insert("run.kernel".into(), release);
        }
        items.extend(self.facts.clone());
        if let Some(why) = &self.why {
            items.insert("run.choice".into(), why.clone());
        }
        if !self.references.is_empty() {
            let words: Vec<String> = self.references.iter().map(reference::summary).collect();
            items.insert("block.raw_reference".into(), words.join("; "));
        }
        items
    }
}

/// What the times of a run on this host are worth: `real`, or `modelled` where a cell's disk is a model.
fn timing(plan: &Plan) -> &'static str {
    let modelled = plan.cells.iter().any(|cell| cell.device.is_modelled());
    if modelled { "modelled" } else { "real" }
}

/// What must not change between the parts of one run.
const SAME: [(&str, &str); 3] = [
    ("run.executor", "executor"),
    ("system.kernel.release", "kernel"),
    ("run.accelerator", "accelerator"),
];

/// Refuses to go on in another kernel than the run began in: its cells would be of two kernels, and the
/// report would name one.
fn same_machine(before: &Value, now: &Value) -> Result<(), Error> {
    for (item, word) in SAME {
        let of = |context: &Value| context["items"][item]["value"].as_str().map(str::to_owned);
        let (Some(was), Some(is)) = (of(before), of(now)) else {
            continue;
        };
        if was != is {
            return Err(Error::Preflight(format!(
                "the run began in {word} {was} and would go on in {is}; resume it in the one that it \
                 began in, or begin a new run"
            )));
        }
    }
    Ok(())
}

/// How long to watch the disks for other people's I/O before the first trial: 5 s, but not more
/// than a two-hundredth of the run.
fn idle(plan: &Plan) -> Duration {
    let run = study::estimate::estimate(plan, study::estimate::Rates::default()).seconds;
    Duration::from_secs_f64((run / 200.0).clamp(0.0, 5.0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_on_a_modelled_disk_are_not_called_real() {
        let study = study::Study::load("journal").unwrap();
        let of = |device: &str| {
            let overrides = study::Overrides {
                set: vec![format!("device={device}")],
                ..study::Overrides::default()
            };
            timing(&study::plan(&study, &overrides).unwrap())
        };
        assert_eq!(of("plain"), "real");
        assert_eq!(of("model:7k500"), "modelled");
        assert_eq!(of("['model:7k500', 'model:t7k250']"), "modelled");
    }

    #[test]
    fn a_run_goes_on_in_the_kernel_that_it_began_in() {
        let context = |release: &str, accelerator: &str| {
            json!({"items": {
                "run.executor": {"value": "qemu"},
                "run.accelerator": {"value": accelerator},
                "system.kernel.release": {"value": release},
            }})
        };
        let before = context("6.1.0-56-amd64", "kvm");
        same_machine(&before, &context("6.1.0-56-amd64", "kvm")).unwrap();
        // A record from before these items were kept.
        same_machine(&json!({"items": {}}), &before).unwrap();
        let message = same_machine(&before, &context("6.1.0-57-amd64", "kvm"))
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("began in kernel 6.1.0-56-amd64")
                && message.contains("6.1.0-57-amd64"),
            "{message}"
        );
        let message = same_machine(&before, &context("6.1.0-56-amd64", "tcg"))
            .unwrap_err()
            .to_string();
        assert!(message.contains("accelerator kvm"), "{message}");
    }
}
