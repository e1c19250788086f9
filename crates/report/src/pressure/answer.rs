//! The answer in a sentence, for each filesystem.

use super::{Answer, Pair, Row, mib, percent, spread};
use crate::model::{Difference, Versus};
use crate::numbers::{brief_ratio, range};

/// What the counters show of phases with all of the machine's memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Pressure {
    None,
    Reclaim,
    Swap,
}

pub(super) fn all(rows: &[Row], pairs: &[Pair], checks: bool) -> Vec<Answer> {
    let counts = |row: &&Row| !checks || row.phase == "check";
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        if !names.contains(&row.filesystem.as_str()) {
            names.push(&row.filesystem);
        }
    }
    let word = if checks { "check" } else { "phase" };
    let of = |name: &&str| {
        let rows: Vec<&Row> = rows
            .iter()
            .filter(counts)
            .filter(|row| row.filesystem == *name)
            .collect();
        let pairs: Vec<&Pair> = pairs.iter().filter(|p| p.filesystem == *name).collect();
        answer(name, &rows, &pairs, word)
    };
    let filled = |answer: Answer| {
        let of_name = rows
            .iter()
            .filter(|row| row.filesystem == answer.filesystem);
        let before: Vec<&Row> = of_name.filter(|row| !counts(row)).collect();
        let because = answer.because + &filling(&before);
        Answer { because, ..answer }
    };
    names.iter().map(of).map(filled).collect()
}

/// `; the phases before it met their limit in 20 of 20 cases`, where they did.
fn filling(rows: &[&Row]) -> String {
    let met: Vec<f64> = rows
        .iter()
        .flat_map(|row| row.met.iter().copied())
        .collect();
    let times = met.iter().filter(|v| **v > 0.0).count();
    if times == 0 {
        return String::new();
    }
    let mut phases: Vec<&str> = rows.iter().map(|row| row.phase.as_str()).collect();
    phases.dedup();
    format!(
        "; what came before ({}) met its limit in {times} of {} cases",
        phases.join(", "),
        met.len()
    )
}

fn answer(name: &str, rows: &[&Row], pairs: &[&Pair], word: &str) -> Answer {
    let (held, free): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.limit.is_some());
    let of = |word, because| Answer {
        filesystem: name.to_owned(),
        word,
        because,
    };
    if rows.is_empty() {
        return of("Not known", format!("no {word} finished"));
    }
    let pressure = pressure(&free);
    let mut parts = Vec::new();
    if !free.is_empty() {
        let mut text = unlimited(&free, pressure, word);
        if !held.is_empty() {
            text = format!("with all memory {text}");
        }
        parts.push(text);
    }
    let slower = pairs.iter().filter(|p| is_slower(p)).count();
    parts.extend(limited(&held, pairs, word));
    let met = held
        .iter()
        .any(|row| row.met.iter().any(|times| *times > 0.0));
    let verdict = match (pressure, slower > 0) {
        (Pressure::None, true) if !free.is_empty() => "Yes, in part",
        (_, true) => "Yes",
        (Pressure::None, false) if free.is_empty() && met => "Perhaps",
        (Pressure::None, false) if undecided(pairs, met) => "Perhaps",
        (Pressure::None, false) => "No",
        (Pressure::Swap | Pressure::Reclaim, false) => "Perhaps",
    };
    of(verdict, parts.join("; "))
}

fn pressure(free: &[&Row]) -> Pressure {
    let any = |of: fn(&Row) -> &[f64]| free.iter().any(|row| of(row).iter().any(|v| *v > 0.0));
    if any(|row| &row.swapped) {
        Pressure::Swap
    } else if any(|row| &row.reclaimed) {
        Pressure::Reclaim
    } else {
        Pressure::None
    }
}

/// Whether a limit was met and no comparison says that it cost nothing.
fn undecided(pairs: &[&Pair], met: bool) -> bool {
    let same = |pair: &&Pair| {
        let difference = pair.seconds.as_ref().map(|v| v.difference);
        difference.is_some_and(|d| d != Difference::Unclear)
    };
    met && !pairs.iter().all(same)
}

fn is_slower(pair: &Pair) -> bool {
    let seconds = pair.seconds.as_ref();
    seconds.is_some_and(|v| v.difference == Difference::Worse)
}

/// Phases with all the memory of the machine.
fn unlimited(free: &[&Row], pressure: Pressure, word: &str) -> String {
    let n: usize = free.iter().map(|row| row.n()).sum();
    let share = free
        .iter()
        .filter_map(|row| row.inode_share)
        .reduce(f64::max);
    let inodes = share.map_or(String::new(), |share| {
        format!("; the inodes were {} of memory at the most", percent(share))
    });
    let counted = |of: fn(&Row) -> &[f64]| {
        let values: Vec<f64> = free
            .iter()
            .flat_map(|row| of(row).iter().copied())
            .collect();
        let trials = values.iter().filter(|v| **v > 0.0).count();
        let (median, largest) = spread(&values).unwrap_or_default();
        format!("in {trials} of {n} {word}s (median {median:.0} pages, largest {largest:.0})")
    };
    match pressure {
        Pressure::None => {
            format!("no page was swapped and none reclaimed in any of {n} {word}s{inodes}")
        }
        Pressure::Reclaim => format!(
            "no page was swapped, but pages were reclaimed {}{inodes}",
            counted(|row| &row.reclaimed)
        ),
        Pressure::Swap => format!(
            "pages were swapped {} and reclaimed {}{inodes}",
            counted(|row| &row.swapped),
            counted(|row| &row.reclaimed)
        ),
    }
}

/// One part for each limit, the largest first.
fn limited(held: &[&Row], pairs: &[&Pair], word: &str) -> Vec<String> {
    let mut limits: Vec<f64> = held.iter().filter_map(|row| row.limit).collect();
    limits.sort_unstable_by(|a, b| b.total_cmp(a));
    limits.dedup();
    limits
        .into_iter()
        .map(|limit| {
            let rows: Vec<&Row> = held
                .iter()
                .copied()
                .filter(|row| row.limit == Some(limit))
                .collect();
            let of_limit = pairs.iter().copied().filter(|p| p.limit == limit);
            let pairs: Vec<&Pair> = of_limit.collect();
            let met = |row: &&Row| row.met.is_empty() || row.met.iter().any(|times| *times > 0.0);
            if pairs.is_empty() && !rows.iter().any(met) {
                // Nothing to compare with, and nothing that would have to be.
                return format!("it never reached its limit: {}", group(&rows, limit, word));
            }
            format!("{} {}", group(&rows, limit, word), cost(&pairs, word))
        })
        .collect()
}

/// `under 96 MiB (met in 12 of 20 checks, 340 times at the most; the inodes were 14 % of it)`.
fn group(rows: &[&Row], limit: f64, word: &str) -> String {
    let met: Vec<f64> = rows
        .iter()
        .flat_map(|row| row.met.iter().copied())
        .collect();
    let times = met.iter().filter(|v| **v > 0.0).count();
    let most = met.iter().copied().fold(0.0, f64::max);
    let mut about = match (met.len(), times) {
        (0, _) => "how often it was met is not known".to_owned(),
        (n, 0) => format!("met in none of {n} {word}s"),
        (n, times) => format!("met in {times} of {n} {word}s, up to {most:.0} times"),
    };
    if let Some(share) = rows
        .iter()
        .filter_map(|row| row.inode_share)
        .reduce(f64::max)
    {
        about.push_str(&format!("; the inodes were {} of it", percent(share)));
    }
    format!("under {} MiB ({about})", mib(limit))
}

/// What the limit cost: the pair that it cost most, and how many others.
fn cost(pairs: &[&Pair], word: &str) -> String {
    if pairs.is_empty() {
        return format!("its cost is not known: no such {word} ran with more memory");
    }
    let pairs: Vec<&Pair> = pairs
        .iter()
        .copied()
        .filter(|p| p.seconds.is_some())
        .collect();
    if pairs.is_empty() {
        return "its cost is not known: one run of each cannot be compared".to_owned();
    }
    let ratio_of = |pair: &&Pair| pair.seconds.as_ref().map_or(1.0, |v| v.ratio);
    let worst = pairs
        .iter()
        .copied()
        .filter(|p| is_slower(p))
        .max_by(|a, b| ratio_of(a).total_cmp(&ratio_of(b)));
    let slower = pairs.iter().filter(|p| is_slower(p)).count();
    let Some(worst) = worst else {
        let low = pairs.iter().map(ratio_of).fold(f64::INFINITY, f64::min);
        let high = pairs.iter().map(ratio_of).fold(0.0, f64::max);
        let same = |p: &&Pair| {
            let difference = p.seconds.as_ref().map(|v| v.difference);
            matches!(difference, Some(Difference::Same | Difference::Better))
        };
        let shown = if pairs.iter().all(same) {
            "it took no longer"
        } else {
            "it was not shown to take longer"
        };
        return format!("{shown}: {} times as long", ends(low, high));
    };
    let mut text = String::new();
    if pairs.len() > 1 {
        text.push_str(&format!(
            "at {} ({slower} of {} such {word}s took longer) ",
            worst.label,
            pairs.len()
        ));
    }
    text.push_str("it ");
    if let Some(read) = worst.read.as_ref() {
        text.push_str(&format!("read {} times the bytes and ", times(read)));
    }
    let seconds = worst.seconds.as_ref().map_or(String::new(), times);
    text + &format!("took {seconds} times as long")
}

/// `1.42 (1.37..1.47)`, the interval left out where it is the same to these digits.
fn times(versus: &Versus) -> String {
    let write = brief_ratio;
    match versus.interval {
        Some((low, high)) if write(low) != write(high) => {
            format!("{} ({})", write(versus.ratio), range(low, high, write))
        }
        _ => write(versus.ratio),
    }
}

fn ends(low: f64, high: f64) -> String {
    if brief_ratio(low) == brief_ratio(high) {
        brief_ratio(low)
    } else {
        range(low, high, brief_ratio)
    }
}
