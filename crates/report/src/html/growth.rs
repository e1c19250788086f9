//! The page's values of laws of growth, and of "was it memory?".

use serde_json::{Value, json};

use super::growth_plot;
use crate::Report;
use crate::growth::{
    Curve, Growth, LAWS, PublishedPoint, amount, brief, engineering, interval, reach, sentences,
    tested,
};
use crate::model::{Difference, Versus};
use crate::numbers::{range, ratio, short};
use crate::pressure::{Memory, mib, percent, spread_text, whole};

/// All laws.
pub(super) fn growths(report: &Report<'_>) -> Value {
    let growths = report.growths.iter().enumerate();
    growths.map(|(at, growth)| one(at + 1, growth)).collect()
}

fn one(number: usize, growth: &Growth) -> Value {
    json!({
        "id": format!("growth-{number}"),
        "title": growth.title,
        "about": growth.about(),
        "laws": format!("{:.0} % intervals; {LAWS}", 100.0 * growth.level),
        "x_unit": growth.x_unit,
        "unit": growth.unit,
        "curves": growth.curves.iter().map(|c| curve(growth, c)).collect::<Vec<_>>(),
    })
}

fn curve(growth: &Growth, curve: &Curve) -> Value {
    let sizes = curve.sizes.iter().filter_map(|size| {
        let summary = size.figure.summary.as_ref()?;
        let interval = summary.median_interval.as_ref();
        Some(json!({
            "x": amount(size.x),
            "n": summary.n,
            "few": summary.n < 5,
            "median": short(summary.median),
            "interval": interval.map(|i| range(i.low, i.high, short)),
            "signs": size.figure.signs(),
        }))
    });
    let projections = curve.projections.iter().map(|p| {
        json!({
            "x": amount(p.x),
            "reach": reach(p),
            "laws": p.laws.iter().map(|(_, e)| interval(e, engineering)).collect::<Vec<_>>(),
            "published": sentence(&p.published),
        })
    });
    json!({
        "name": curve.name(),
        "svg": growth_plot::curve(growth, curve),
        "sizes": sizes.collect::<Vec<_>>(),
        "said": tested(curve).into_iter().chain(sentences(growth, curve)).collect::<Vec<_>>(),
        "laws": curve.reported().iter().map(|f| brief(f.law)).collect::<Vec<_>>(),
        "projections": projections.collect::<Vec<_>>(),
        "published": sentence(&curve.published),
    })
}

fn sentence(points: &[PublishedPoint]) -> String {
    let points: Vec<String> = points.iter().map(PublishedPoint::sentence).collect();
    points.join("; ")
}

/// "Was it memory?"; null without.
pub(super) fn memory(report: &Report<'_>) -> Value {
    report.memory.as_ref().map_or(Value::Null, told)
}

fn told(memory: &Memory) -> Value {
    let answers = memory
        .answers
        .iter()
        .map(|a| json!({"filesystem": a.filesystem, "word": a.word, "because": a.because}));
    let rows = memory.rows.iter().map(|row| {
        json!({
            "cell": row.label,
            "phase": row.phase,
            "n": row.n(),
            "swapped": spread_text(&row.swapped, whole),
            "reclaimed": row.reclaimed_text(),
            "stalls": row.stalls_text(),
            "limit": row.limit.map_or_else(|| "none".to_owned(), mib),
            "peak": spread_text(&row.peak, mib),
            "met": spread_text(&row.met, whole),
            "inodes": row.inode_share.map_or_else(|| "–".to_owned(), percent),
            "class": if row.pressed() { "bad" } else { "" },
        })
    });
    let compared = memory.pairs.iter().filter(|p| p.seconds.is_some());
    let pairs = compared.map(|pair| {
        json!({
            "cell": format!("{} {}", pair.filesystem, pair.label),
            "memory": format!("{} / {}", pair.memory[1], pair.memory[0]),
            "seconds": versus(pair.seconds.as_ref()),
            "read": versus(pair.read.as_ref()),
        })
    });
    json!({
        "answers": answers.collect::<Vec<_>>(),
        "rows": rows.collect::<Vec<_>>(),
        "pairs": pairs.collect::<Vec<_>>(),
        "family": memory.family,
    })
}

fn versus(versus: Option<&Versus>) -> Value {
    let Some(versus) = versus else {
        return json!({"ratio": "–", "interval": "", "sign": "", "class": "none"});
    };
    let class = match versus.difference {
        Difference::Worse => "worse",
        Difference::Better => "better",
        _ => "none",
    };
    json!({
        "ratio": ratio(versus.ratio),
        "interval": versus.interval.map(|(low, high)| range(low, high, ratio)),
        "sign": versus.difference.sign().to_string(),
        "class": class,
    })
}
