//! What became of each image: the file of results, the sums, and the differences.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use crate::table::{Row, Table};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::check_differential::judges::Judgement;
use crate::check_differential::{Arguments, Format};

/// Result of one image.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) number: u64,
    pub(crate) base: String,
    pub(crate) damage: Vec<String>,
    pub(crate) theirs: Judgement,
    pub(crate) ours: Judgement,
}

impl Outcome {
    /// Whether the reference has a verdict that ours can be compared with.
    pub(crate) fn counts(&self) -> bool {
        self.theirs.code.is_some()
    }

    pub(crate) fn differs(&self) -> bool {
        let same = self.ours.code == self.theirs.code && self.ours.codes == self.theirs.codes;
        self.ours.code.is_none() || (self.counts() && !same)
    }
}

/// The results so far, one of each image: the last, where it was judged again.
pub(crate) fn read_results(path: &Path) -> Result<Vec<Outcome>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    let mut outcomes = BTreeMap::new();
    for line in BufReader::new(file).lines() {
        // The last line of a run that was killed may be half a line.
        if let Ok(outcome) = serde_json::from_str::<Outcome>(&line?) {
            outcomes.insert(outcome.number, outcome);
        }
    }
    Ok(outcomes.into_values().collect())
}

pub(crate) fn summary(outcomes: &[Outcome], format: Format) -> Table {
    let compared = match format {
        Format::Ext4 => "exit codes of both",
        Format::Ocfs2 => "exits of both, and codes with their numbers",
    };
    let fails = format!("{} fails", format.program());
    let mut table = Table::new(
        format!("{} damaged images, {compared}", outcomes.len()),
        &["images", "same", "differ", &fails, "differ %"],
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
            let tolerated = format.tolerated();
            (format!("< {:.2}", tolerated * 100.0), share < tolerated)
        } else {
            (String::new(), true)
        };
        table.rows.push(Row::new(name, cells, target, met));
    }
    table
}

/// Differences grouped by both verdicts, most frequent first.
pub(crate) fn differences(outcomes: &[Outcome], arguments: &Arguments) -> String {
    let (most, program) = (arguments.list, arguments.format.program());
    let mut kinds: BTreeMap<String, Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes.iter().filter(|outcome| outcome.differs()) {
        let first = |judgement: &Judgement| {
            judgement
                .problems
                .first()
                .cloned()
                .unwrap_or("nothing".into())
        };
        let verdict = |judgement: &Judgement| match (&judgement.failure, judgement.code) {
            (Some(failure), _) => failure.clone(),
            (None, code) => format!("{} {}", code.unwrap_or(-1), first(judgement)),
        };
        let kind = format!(
            "{program} {}, ours {}",
            verdict(&outcome.theirs),
            verdict(&outcome.ours)
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
                "         {program}: {}",
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

    fn outcome(theirs: Option<i32>, ours: Option<i32>) -> Outcome {
        let judgement = |code| Judgement {
            code,
            ..Judgement::default()
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
        let both = [outcome(Some(4), Some(4)), outcome(Some(0), Some(4))];
        let table = summary(&both, Format::Ext4);
        assert_eq!(
            table.rows.last().unwrap().cells,
            ["2", "1", "1", "0", "50.00"]
        );
        assert!(!table.all_met());
    }

    #[test]
    fn another_number_of_a_code_is_a_difference() {
        let mut one = outcome(Some(0), Some(0));
        one.theirs.codes = [("EB_GEN".to_owned(), 2)].into();
        assert!(one.differs());
        one.ours.codes.clone_from(&one.theirs.codes);
        assert!(!one.differs());
    }

    #[test]
    fn an_image_that_was_judged_again_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results");
        assert!(read_results(&path).unwrap().is_empty());
        let line = |ours| serde_json::to_string(&outcome(Some(4), Some(ours))).unwrap();
        std::fs::write(&path, format!("{}\n{}\n{{\"numb", line(0), line(4))).unwrap();
        let read = read_results(&path).unwrap();
        assert_eq!(read.len(), 1);
        assert!(!read[0].differs());
    }
}
