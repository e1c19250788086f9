//! Factors whose effect depends on another.

use record::Run;

use super::Interaction;
use super::subject::Subject;
use crate::options::Options;

/// Of each subject the interaction that counts most, if any does.
pub(super) fn interactions(
    run: &Run,
    options: &Options,
    subjects: &[Subject<'_>],
) -> Vec<Option<Interaction>> {
    let band = run.plan.band;
    let mut tests: Vec<(usize, Interaction, f64)> = Vec::new();
    for (at, subject) in subjects.iter().enumerate() {
        for on in subject.others() {
            let levels = subject.levels_of(run, &on);
            let Some(first) = levels.first() else {
                continue;
            };
            for second in levels.iter().skip(1) {
                let Some(test) = subject.ratio_of_ratios(run, options.level, &on, [first, second])
                else {
                    continue;
                };
                let Some(p) = test.p else { continue };
                tests.push((at, subject.interaction(&on, [first, second], &test), p));
            }
        }
    }
    let p: Vec<f64> = tests.iter().map(|(.., p)| *p).collect();
    let adjusted = stats::multiple::benjamini_hochberg(&p).unwrap_or(p);
    let mut best: Vec<Option<Interaction>> = subjects.iter().map(|_| None).collect();
    for ((at, mut interaction, _), p) in tests.into_iter().zip(adjusted) {
        interaction.p_adjusted = p;
        let (low, high) = interaction.interval;
        let clear = low > 1.0 + band || high < 1.0 - band;
        let size = |i: &Interaction| i.ratio.ln().abs();
        let larger = best[at]
            .as_ref()
            .is_none_or(|b| size(&interaction) > size(b));
        if clear && p <= 1.0 - options.level && larger {
            best[at] = Some(interaction);
        }
    }
    best
}
