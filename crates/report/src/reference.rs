//! The raw device beside the filesystems: what the disk itself could do on the same day.
//!
//! "Is the disk the limit?" was asked below three of the five studies, and one disk gave 35 to 70 MB/s
//! between two measurements. So hdparm's sequential read and 4 KiB random reads are near the head of
//! every report, with all passes' spread. Whether a filesystem's number above it is a cache, a
//! compressed image or a mistake is not for the report to say; that there are such numbers is.

use record::Reference;
use study::{Cell, Limit};

use crate::Report;
use crate::model::Figure;
use crate::numbers::short;

/// 2^20.
const MIB: f64 = 1_048_576.0;

/// Lowest, middle and highest of some passes, in MB/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub n: usize,
    pub min: f64,
    pub median: f64,
    pub max: f64,
}

/// The spread of passes in bytes a second; none without a pass.
pub(crate) fn spread(passes: &[f64]) -> Option<Spread> {
    let mut sorted: Vec<f64> = passes.iter().map(|rate| rate / MIB).collect();
    sorted.sort_by(f64::total_cmp);
    let (min, max) = (*sorted.first()?, *sorted.last()?);
    let n = sorted.len();
    let median = f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]);
    Some(Spread {
        n,
        min,
        median,
        max,
    })
}

impl Spread {
    /// `5 passes, 1102 to 1260, median 1201 MB/s`.
    pub(crate) fn sentence(self) -> String {
        let Spread {
            n,
            min,
            median,
            max,
        } = self;
        match n {
            1 => format!("1 pass, {} MB/s", short(median)),
            n => format!(
                "{n} passes, min {}, median {}, max {} MB/s",
                short(min),
                short(median),
                short(max)
            ),
        }
    }
}

/// `the disk under the images (/dev/vda), held to 70m`.
pub(crate) fn name(reference: &Reference) -> String {
    // The device's own words may name the limit already; nothing is printed twice.
    let limit = reference
        .limit
        .as_ref()
        .map(|limit| format!("held to {limit}"))
        .filter(|words| !reference.about.contains(words.as_str()))
        .map_or(String::new(), |words| format!(", {words}"));
    match reference.about.as_str() {
        "" => format!("{}{limit}", reference.device),
        about if about.contains(&reference.device) => format!("{about}{limit}"),
        about => format!("{about} ({}){limit}", reference.device),
    }
}

/// What was measured of one device: a name and a text each.
pub(crate) fn facts(reference: &Reference) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let asked = match reference.pass_seconds {
        seconds if seconds > 0.0 => format!("; {seconds} s each"),
        _ => String::new(),
    };
    let rates = [
        ("buffered (hdparm -t)", &reference.sequential),
        (
            "O_DIRECT (hdparm -t --direct)",
            &reference.sequential_direct,
        ),
    ];
    for (name, passes) in rates {
        let text =
            spread(passes).map_or_else(|| "not measured".to_owned(), |s| s.sentence() + &asked);
        facts.push((name, text));
    }
    let [median, p99, max] = reference.random_read_us;
    facts.push(if reference.random_reads_per_s > 0.0 {
        (
            "4 KiB random reads",
            format!(
                "{} a second, O_DIRECT, one at a time; latency median {}, 99 % {}, max {} us",
                short(reference.random_reads_per_s),
                short(median),
                short(p99),
                short(max)
            ),
        )
    } else {
        ("4 KiB random reads", "not measured".to_owned())
    });
    facts
}

/// The fastest sequential median of the references that represent a cell's device: those under the
/// cell's limit, else those without one.
fn sequential(references: &[Reference], cell: &Cell) -> Option<f64> {
    let limit = cell.device.limit.unwrap_or_default();
    // As written in the study, which has more than one way to write the same.
    let of = |r: &Reference| match &r.limit {
        Some(text) => text.parse::<Limit>().ok(),
        None => Some(Limit::default()),
    };
    let same = references.iter().filter(|r| of(r) == Some(limit));
    let rates = same.flat_map(|r| [&r.sequential, &r.sequential_direct]);
    let medians = rates.filter_map(|passes| Some(spread(passes)?.median));
    medians.reduce(f64::max)
}

/// One line for each table or grid with rates above the raw device's.
pub(crate) fn exceeded(report: &Report<'_>) -> Vec<String> {
    let references = &report.run.references;
    let mut lines = Vec::new();
    for table in &report.tables {
        let figures = table
            .rows
            .iter()
            .filter(|row| is_rate(&row.unit))
            .flat_map(|row| &row.figures);
        lines.extend(sentence(report, references, &table.title, figures));
    }
    for grid in &report.grids {
        let figures = grid.panels.iter().flat_map(|panel| {
            panel.lines.iter().flat_map(|line| {
                let places = line.places.iter().zip(&panel.columns);
                places
                    .filter(|(_, c)| is_rate(&c.unit))
                    .map(|(p, _)| &p.figure)
            })
        });
        lines.extend(sentence(report, references, &grid.title, figures));
    }
    lines
}

fn is_rate(unit: &str) -> bool {
    matches!(unit, "MB/s" | "MB_s" | "MiB/s")
}

fn sentence<'a>(
    report: &Report<'_>,
    references: &[Reference],
    title: &str,
    figures: impl Iterator<Item = &'a Figure>,
) -> Option<String> {
    let (mut above, mut all, mut limits) = (0, 0, Vec::new());
    for figure in figures {
        let cells = &report.run.plan.cells;
        let cell = cells.iter().find(|c| Some(c.id) == figure.cell);
        let (Some(summary), Some(cell)) = (&figure.summary, cell) else {
            continue;
        };
        let Some(rate) = sequential(references, cell) else {
            continue;
        };
        all += 1;
        if summary.median > rate {
            above += 1;
            if !limits.contains(&short(rate)) {
                limits.push(short(rate));
            }
        }
    }
    (above > 0).then(|| {
        format!(
            "{}: {above} of {all} rates are above the sequential rate of the raw device ({} MB/s)",
            title.trim_end_matches(':'),
            limits.join(" or ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_told_with_their_spread() {
        let rates = [3.0, 1.0, 2.0, 5.0].map(|mb| mb * MIB);
        let of_four = spread(&rates).unwrap();
        assert_eq!(
            (of_four.n, of_four.min, of_four.median, of_four.max),
            (4, 1.0, 2.5, 5.0)
        );
        assert_eq!(
            of_four.sentence(),
            "4 passes, min 1.000, median 2.500, max 5.000 MB/s"
        );
        assert_eq!(spread(&[]), None);
    }

    #[test]
    fn a_device_is_named_with_its_limit() {
        let mut reference = Reference {
            device: "/dev/loop0".to_owned(),
            about: "a loop image".to_owned(),
            ..Reference::default()
        };
        assert_eq!(name(&reference), "a loop image (/dev/loop0)");
        reference.limit = Some("70m".to_owned());
        assert_eq!(name(&reference), "a loop image (/dev/loop0), held to 70m");
        assert_eq!(facts(&reference)[0].1, "not measured");
        reference.about = "a loop image held to 70m".to_owned();
        reference.device = "loop image".to_owned();
        assert_eq!(name(&reference), "a loop image held to 70m");
    }
}
