//! `--filter FACTOR=LEVEL[,LEVEL]`: which cells of a study to run.

use crate::error::{Origin, Problem, quote, shorten};
use crate::model::Cell;
use crate::placed::Placed;
use words::hint;

type Factors = [(String, Vec<String>)];

/// Levels that `--filter` selects.
pub(crate) struct Filters<'a> {
    texts: &'a [String],
    factors: &'a Factors,
    parsed: Vec<(&'a str, Vec<&'a str>)>,
}

impl<'a> Filters<'a> {
    /// Reads them against the study's factors and levels.
    pub(crate) fn parse(texts: &'a [String], factors: &'a Factors) -> Result<Self, Problem> {
        let parsed: Result<Vec<_>, Problem> =
            texts.iter().map(|text| parse(text, factors)).collect();
        Ok(Filters {
            texts,
            factors,
            parsed: parsed?,
        })
    }

    /// Whether a cell has one of the levels of every filter. One without the factor does not.
    pub(crate) fn pass(&self, cell: &Cell) -> bool {
        self.parsed.iter().all(|(factor, levels)| {
            let level = cell.levels.get(*factor).map(String::as_str);
            level.is_some_and(|level| levels.contains(&level))
        })
    }

    /// Keeps the cells that pass, renumbered. `left_out` names those that would pass but that the study
    /// leaves out itself.
    pub(crate) fn apply(
        &self,
        cells: Vec<Placed>,
        left_out: &[String],
    ) -> Result<Vec<Placed>, Problem> {
        let kept = cells.into_iter().filter(|placed| self.pass(&placed.cell));
        let number = |(id, mut placed): (u32, Placed)| {
            placed.cell.id = id;
            placed
        };
        let kept: Vec<Placed> = (0..).zip(kept).map(number).collect();
        if !kept.is_empty() {
            return Ok(kept);
        }
        let all: Vec<String> = (self.texts.iter())
            .map(|text| format!("--filter {}", shorten(text)))
            .collect();
        let at = Origin::argument(all.join(" "));
        let why = match left_out {
            [] => format!("no cell has all of these ({})", describe(self.factors)),
            _ => format!("no cell with all of these is left: {}", left_out.join("; ")),
        };
        Err(Problem::new(&at, why))
    }
}

fn parse<'a>(text: &'a str, factors: &Factors) -> Result<(&'a str, Vec<&'a str>), Problem> {
    let at = Origin::argument(format!("--filter {}", shorten(text)));
    let Some((factor, levels)) = text.split_once('=') else {
        let message = format!("write FACTOR=LEVEL[,LEVEL] ({})", describe(factors));
        return Err(Problem::new(&at, message));
    };
    let Some((_, known)) = factors.iter().find(|(name, _)| name == factor) else {
        let names = factors.iter().map(|(name, _)| name.as_str());
        let message = format!(
            "{} is not a factor ({}{})",
            quote(factor),
            hint(factor, names),
            describe(factors)
        );
        return Err(Problem::new(&at, message));
    };
    // A level of mount options has commas of its own.
    let whole = known.iter().any(|level| level == levels);
    let levels: Vec<&str> = if whole {
        vec![levels]
    } else {
        levels.split(',').collect()
    };
    match levels
        .iter()
        .find(|level| !known.iter().any(|k| k == *level))
    {
        None => Ok((factor, levels)),
        Some(level) => {
            let message = format!(
                "{} is not a level of {factor} ({}{})",
                quote(level),
                hint(level, known.iter().map(String::as_str)),
                known.join(", ")
            );
            Err(Problem::new(&at, message))
        }
    }
}

/// `filesystem: ext2, ext3; workload: iozone`.
fn describe(factors: &Factors) -> String {
    let one = |(name, levels): &(String, Vec<String>)| format!("{name}: {}", levels.join(", "));
    let all: Vec<String> = factors.iter().map(one).collect();
    all.join("; ")
}

/// Factors with the levels that these cells have.
pub(crate) fn present(
    factors: Vec<(String, Vec<String>)>,
    cells: &[Cell],
) -> Vec<(String, Vec<String>)> {
    let some = |name: &str, level: &String| cells.iter().any(|c| c.levels.get(name) == Some(level));
    factors
        .into_iter()
        .map(|(name, mut levels)| {
            levels.retain(|level| some(&name, level));
            (name, levels)
        })
        .filter(|(_, levels)| !levels.is_empty())
        .collect()
}
