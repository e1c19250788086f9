//! Outcome of one trial: which steps (made, mounted, filled, checked) succeeded, and why not all.

use record::{Crash, PowerCut, Status, TrialRecord};

use crate::guest_pass::rows::FILES;

/// The steps of a trial that were done, and what the filesystem has of its device's geometry.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// Those of the four steps that hold.
    pub(crate) steps: Vec<&'static str>,
    /// Why not all four succeeded; `None` if they did.
    pub(crate) why: Option<String>,
    /// Chunk and stripe in the superblock, in its blocks; `-`: none.
    pub(crate) geometry: String,
    /// Seconds of the trial by the guest's clock, without the boot.
    pub(crate) seconds: f64,
}

impl Outcome {
    /// Outcome of a recorded trial.
    pub(crate) fn of(trial: &TrialRecord) -> Outcome {
        let done = done(trial);
        let steps: Vec<&str> = done
            .iter()
            .filter(|(_, holds)| *holds)
            .map(|(step, _)| *step)
            .collect();
        let met = steps.len() == done.len() && trial.status == Status::Finished;
        Outcome {
            steps,
            why: (!met).then(|| why(trial)),
            geometry: geometry(trial),
            seconds: trial.ledger.total,
        }
    }

    /// Whether all four were done.
    pub(crate) fn met(&self) -> bool {
        self.why.is_none()
    }

    /// `all`, or the steps that were done.
    pub(crate) fn done(&self) -> String {
        if self.met() {
            return "all".to_owned();
        }
        self.steps.join(" ")
    }
}

/// The four steps, and whether each was done.
fn done(trial: &TrialRecord) -> [(&'static str, bool); 4] {
    let mounted = trial.mounted.as_ref();
    let detail = |phase: &str| {
        let found = trial.phases.iter().find(|p| p.name == phase);
        found.map(|found| &found.detail)
    };
    let counted = detail("fill").and_then(|fill| fill["figures"]["count"].as_f64());
    let text = detail("check").and_then(|check| check["explanation"].as_str());
    let checked = match &trial.crash {
        Some(crash) => survived(crash),
        None => text.is_some_and(|text| text.starts_with("exit code 0:")),
    };
    [
        ("made", mounted.is_some_and(|m| !m.mkfs.is_empty())),
        (
            "mounted",
            mounted.is_some_and(|m| m.mounted_type == m.asked_type),
        ),
        ("loaded", counted.is_some_and(|files| files >= FILES)),
        ("checked", checked),
    ]
}

/// Whether there was a power cut, the filesystem was clean after recovery, and all synced data survived.
fn survived(crash: &Crash) -> bool {
    let kept = |cut: &PowerCut| {
        let all = cut.promised as f64 >= FILES && cut.kept == Some(cut.promised);
        all && cut.dropped == Some(true)
    };
    crash.judged > 0 && crash.clean == crash.judged && crash.cut.as_ref().is_some_and(kept)
}

fn why(trial: &TrialRecord) -> String {
    if let Status::Failed(_, message) = &trial.status {
        return message.clone();
    }
    let mounted = trial.mounted.as_ref();
    if let Some(mounted) = mounted.filter(|m| m.mounted_type != m.asked_type) {
        return format!(
            "{} was asked for and {} is mounted",
            mounted.asked_type, mounted.mounted_type
        );
    }
    if let Some(crash) = &trial.crash {
        let cut = crash.cut.clone().unwrap_or_default();
        return format!(
            "of the power cut {} of {} images are clean, {:?} of {} files kept, what came after it gone: {:?}",
            crash.clean, crash.judged, cut.kept, cut.promised, cut.dropped
        );
    }
    let check = trial.phases.iter().find(|phase| phase.name == "check");
    let text = check.and_then(|check| check.detail["explanation"].as_str());
    format!("the checker printed {}", text.unwrap_or("nothing"))
}

fn geometry(trial: &TrialRecord) -> String {
    let superblock = trial.mounted.as_ref().map(|mounted| &mounted.superblock);
    let word = |name: &str| {
        superblock
            .and_then(|words| words.get(name))
            .map(String::as_str)
    };
    let stride = word("stride_blocks").zip(word("stripe_width_blocks"));
    match stride.or(word("sunit_blocks").zip(word("swidth_blocks"))) {
        None | Some(("0", _)) => "-".to_owned(),
        Some((chunk, stripe)) => format!("{chunk}/{stripe}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_of_nothing_has_done_nothing() {
        let outcome = Outcome::of(&TrialRecord::default());
        assert_eq!(
            (outcome.done(), outcome.geometry.as_str()),
            (String::new(), "-")
        );
        assert_eq!(outcome.why.unwrap(), "the checker printed nothing");
    }
}
