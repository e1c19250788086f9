//! One effect as a sentence: `xfs writes new files 1.23 times as fast as ext2 (1.11-1.35), with threads=8`.

use explain::effects::{Effect, Interaction};
use explain::{level_name, subject};
use study::names::{CALL_FIGURES, CALLS};
use study::wording::{MetricWords, Sense, procedure_of, words_of, words_of_metric};
use words::short_time;

use crate::numbers::{brief_range, brief_ratio};

/// An effect as its reader takes it: how many times as fast, or as much.
pub(crate) struct Speed {
    /// At least 1, of the faster side; of an amount, of the larger.
    pub times: f64,
    /// Its interval.
    pub interval: (f64, f64),
    /// Whether the other side, and not the base, is the faster (the larger).
    pub other_first: bool,
}

impl Speed {
    /// Of an effect.
    pub(crate) fn of(effect: &Effect) -> Speed {
        let (ratio, interval) = gain(effect);
        if ratio >= 1.0 {
            Speed {
                times: ratio,
                interval,
                other_first: true,
            }
        } else {
            Speed {
                times: 1.0 / ratio,
                interval: (1.0 / interval.1, 1.0 / interval.0),
                other_first: false,
            }
        }
    }
}

/// Other over base with its interval; of times the inverse, so that above 1 is faster. Amounts stay as they are.
pub(crate) fn gain(effect: &Effect) -> (f64, (f64, f64)) {
    let comparison = &effect.comparison;
    let (low, high) = (comparison.interval.low, comparison.interval.high);
    match words_of_metric(&effect.metric).sense {
        Sense::Time => (1.0 / comparison.ratio, (1.0 / high, 1.0 / low)),
        _ => (comparison.ratio, (low, high)),
    }
}

/// What a side does in the phase: `writes new files`; with the workload where the phase is of several.
fn verb(effect: &Effect, several: bool) -> String {
    let verb =
        words_of(&effect.phase).map_or_else(|| format!("runs {}", effect.phase), |(verb, _)| verb);
    with_workload(verb, effect, several)
}

fn with_workload(words: String, effect: &Effect, several: bool) -> String {
    if several {
        format!("{words} ({})", effect.workload)
    } else {
        words
    }
}

/// What is done to the filesystem, where the sides are not filesystems: `pass 1 of the check`. A filesystem is
/// checked, a limit or a size of a cache is not.
fn procedure(factor: &str, phase: &str) -> Option<String> {
    procedure_of(phase).filter(|_| factor != "filesystem")
}

/// `, with threads=8`, `, mean over mount`.
fn place(effect: &Effect) -> String {
    let mut text = String::new();
    for (factor, level) in &effect.at {
        text.push_str(&format!(", with {factor}={}", level_name(level)));
    }
    if !effect.over.is_empty() {
        text.push_str(&format!(", mean over {}", effect.over.join(" and ")));
    }
    text
}

/// A difference that counts.
pub(super) fn difference(effect: &Effect, several: bool) -> String {
    let speed = Speed::of(effect);
    let (first, second) = if speed.other_first {
        (&effect.other, &effect.base)
    } else {
        (&effect.base, &effect.other)
    };
    let (first, second) = (
        subject(&effect.factor, first),
        subject(&effect.factor, second),
    );
    let times = brief_ratio(speed.times);
    let interval = brief_range(speed.interval.0, speed.interval.1, brief_ratio);
    let place = place(effect);
    let MetricWords { sense, noun } = words_of_metric(&effect.metric);
    if let Some(procedure) = procedure(&effect.factor, &effect.phase) {
        let procedure = with_workload(procedure, effect, several);
        let what = match sense {
            Sense::Rate | Sense::Time => format!("{procedure} is {times} times as fast"),
            Sense::Duration | Sense::Amount => {
                format!("{procedure} takes {times} times the {noun}")
            }
        };
        return format!("{what} with {first} as with {second} ({interval}){place}");
    }
    let verb = verb(effect, several);
    match sense {
        Sense::Rate | Sense::Time => {
            format!("{first} {verb} {times} times as fast as {second} ({interval}){place}")
        }
        Sense::Duration | Sense::Amount => {
            format!("{first} {verb} with {times} times the {noun} of {second} ({interval}){place}")
        }
    }
}

/// `fsync p99`, for a metric that is a figure of a call; none for others.
pub(crate) fn call_figure(metric: &str) -> Option<String> {
    let (call, figure) = metric.split_once('_')?;
    let is_known = CALLS.contains(&call) && CALL_FIGURES.contains(&figure);
    let figure = match figure {
        "p999" => "p99.9",
        figure => figure,
    };
    is_known.then(|| format!("{call} {figure}"))
}

/// A latency that differs: `write p99 in rewrite is 2.1 times as long with ext3 as with xfs (1.9-2.3; 1.2 ms
/// against 570 us), with threads=8`.
pub(super) fn latency(effect: &Effect, several: bool) -> String {
    let speed = Speed::of(effect);
    let sides = [
        (&effect.base, effect.values[0]),
        (&effect.other, effect.values[1]),
    ];
    let [shorter, longer] = if speed.other_first {
        sides
    } else {
        let [base, other] = sides;
        [other, base]
    };
    let phase = if several {
        format!("{} ({})", effect.phase, effect.workload)
    } else {
        effect.phase.clone()
    };
    format!(
        "{} in {phase} is {} times as long with {} as with {} ({}; {} against {}){}",
        call_figure(&effect.metric).unwrap_or_else(|| effect.metric.clone()),
        brief_ratio(speed.times),
        subject(&effect.factor, longer.0),
        subject(&effect.factor, shorter.0),
        brief_range(speed.interval.0, speed.interval.1, brief_ratio),
        short_time(longer.1),
        short_time(shorter.1),
        place(effect)
    )
}

/// Two sides that do not differ, or are not decided: `ext3 and ext2, rewrites files: 0.999 (0.99-1.01)`.
pub(super) fn pair(effect: &Effect, several: bool) -> String {
    let (gain, (low, high)) = gain(effect);
    let MetricWords { sense, noun } = words_of_metric(&effect.metric);
    let noun = match sense {
        Sense::Rate | Sense::Time => String::new(),
        _ => format!(", {noun}"),
    };
    format!(
        "{} against {}, {}{noun}: {} ({}){}",
        subject(&effect.factor, &effect.other),
        subject(&effect.factor, &effect.base),
        procedure(&effect.factor, &effect.phase).map_or_else(
            || verb(effect, several),
            |procedure| with_workload(procedure, effect, several)
        ),
        brief_ratio(gain),
        brief_range(low, high, brief_ratio),
        place(effect)
    )
}

/// A factor whose effect depends on another.
pub(super) fn interaction(one: &Interaction) -> String {
    let [base, other] = &one.levels;
    let [first, second] = &one.on_levels;
    let verb = procedure(&one.factor, &one.phase)
        .or_else(|| words_of(&one.phase).map(|(verb, _)| verb))
        .unwrap_or_else(|| one.phase.clone());
    // Of a time the ratio is inverted, as all speeds are.
    let (ratio, (low, high)) = match words_of_metric(&one.metric).sense {
        Sense::Time => (
            1.0 / one.ratio,
            (1.0 / one.interval.1, 1.0 / one.interval.0),
        ),
        _ => (one.ratio, one.interval),
    };
    let [first, second] = [first, second].map(|level| format!("{}={}", one.on, level_name(level)));
    let (other, base) = (subject(&one.factor, other), subject(&one.factor, base));
    let interval = brief_range(low, high, brief_ratio);
    let times = brief_ratio(ratio);
    format!(
        "The effect of {} depends on {}: for {other} against {base}, {verb}, the ratio with {second} is \
         {times} times that with {first} ({interval})",
        one.factor, one.on
    )
}
