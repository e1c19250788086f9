//! What a modelled device can do, beside what follows from its figures: shows at a glance whether a model is sane.

use std::fmt::Write as _;

use device::{Catalogue, Expected, Limits, Variation, expected, limits};
use serde::Serialize;
use words::significant;

use crate::error::Error;

/// A check.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// What.
    pub what: &'static str,
    /// Unit of both numbers.
    pub unit: &'static str,
    /// What follows from the figures; none where no formula is exact.
    pub expected: Option<f64>,
    /// The range in which it is to be, where no formula is exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// What the model gives.
    pub modelled: f64,
}

impl Check {
    /// What is expected, and how far it is from that, as text.
    fn cells(&self) -> [String; 2] {
        if let Some([least, most]) = self.range {
            let inside = (least..=most).contains(&self.modelled);
            let word = if inside { "inside" } else { "OUTSIDE" };
            return [format!("{least} to {most}"), word.to_owned()];
        }
        let none = || "-".to_owned();
        let error = |error: f64| format!("{:+.2}", if error.abs() < 0.005 { 0.0 } else { error });
        [
            self.expected.map_or_else(none, significant),
            self.error_percent().map_or_else(none, error),
        ]
    }

    /// modelled / expected - 1, percent.
    pub fn error_percent(&self) -> Option<f64> {
        self.expected
            .map(|expected| 100.0 * (self.modelled / expected - 1.0))
    }
}

/// The checks of a device.
///
/// # Errors
/// There is no such device.
pub fn checks(catalogue: &Catalogue, name: &str) -> Result<Vec<Check>, Error> {
    let found = limits(|| catalogue.model(name, Variation::Nominal))?;
    let known = expected(catalogue, name)?;
    Ok(rows(&found, &known))
}

fn rows(found: &Limits, known: &Expected) -> Vec<Check> {
    let check = |what, unit, expected, modelled| Check {
        what,
        unit,
        expected,
        range: None,
        modelled,
    };
    let rate = |at: usize| known.sequential.map(|rates| rates[at] / 1e6);
    let sequential = [
        "sequential 1 MiB reads, outer",
        "sequential 1 MiB reads, middle",
        "sequential 1 MiB reads, inner",
    ];
    let mut rows: Vec<Check> = sequential
        .into_iter()
        .enumerate()
        .map(|(at, what)| check(what, "MB/s", rate(at), found.sequential[at] / 1e6))
        .collect();
    let gain = found.random_reads * found.random_read_ms / 1e3;
    rows.extend([
        check(
            "random 4 KiB reads, depth 1",
            "ms",
            known.random_read_ms,
            found.random_read_ms,
        ),
        Check {
            range: known.gain,
            ..check(
                "random 4 KiB reads, depth 32 / depth 1",
                "times",
                None,
                gain,
            )
        },
        check(
            "random 4 KiB writes, depth 1",
            "ms",
            None,
            found.random_write_ms,
        ),
        check(
            "256 KiB writes in order, depth 1",
            "MB/s",
            known.ordered_writes.map(|rate| rate / 1e6),
            found.ordered_writes / 1e6,
        ),
    ]);
    rows
}

/// As text.
pub fn text(name: &str, checks: &[Check]) -> String {
    let mut out = format!("{name} (modelled)\n");
    let _ = writeln!(
        out,
        "{:<46} {:>10} {:>10} {:>8}",
        "", "expected", "modelled", "error %"
    );
    for check in checks {
        let [expected, error] = check.cells();
        let what = format!("{}, {}", check.what, check.unit);
        let _ = writeln!(
            out,
            "{what:<46} {expected:>10} {:>10} {error:>8}",
            significant(check.modelled)
        );
    }
    out
}
