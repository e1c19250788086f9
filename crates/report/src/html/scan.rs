//! The page's values of how a checker read.

use serde_json::{Value, json};

use crate::Report;
use crate::model::Difference;
use crate::numbers::{range, ratio, short};
use crate::scan::{
    Group, Law, MIB, Pass, Row, Scan, Set, count, gb, listing, listing_title, mb, their_words,
    times, told,
};
use crate::text::scan::{about, heading};

/// Columns of a listing.
const WIDTH: usize = 78;

/// Null without.
pub(super) fn value(report: &Report<'_>) -> Value {
    report.scan.as_ref().map_or(Value::Null, section)
}

fn section(scan: &Scan) -> Value {
    let ways = scan.ways().into_iter();
    let sets = ways.map(|(name, how)| json!({"name": name, "how": how}));
    json!({
        "sets": sets.collect::<Vec<_>>(),
        "groups": scan.groups.iter().map(group).collect::<Vec<_>>(),
        "laws": scan.laws.iter().map(law).collect::<Vec<_>>(),
        "laws_title": scan.laws_title(),
        "about": about(scan),
        "legend": scan.legend,
        "beside": scan.beside,
    })
}

fn group(group: &Group) -> Value {
    let rows = group.rows();
    let passes: Vec<Value> = rows.iter().map(|row| block(group, row)).collect();
    json!({
        "of": group.of,
        "heading": heading(group),
        "passes": passes,
        "note": group.note,
        "lines_title": listing_title(group),
        "lines": listing(group, WIDTH),
    })
}

/// The rows of a pass, with a bar for each set's seconds.
fn block(group: &Group, row: &Row<'_>) -> Value {
    let of = |pass: &Pass| pass.median.real.unwrap_or(0.0);
    let longest = row.iter().map(|(_, pass)| of(pass)).fold(0.0, f64::max);
    let rows = row.iter().map(|(set, pass)| {
        let width = if longest > 0.0 {
            100.0 * of(pass) / longest
        } else {
            0.0
        };
        line(group, set, pass, width)
    });
    let first = row.first();
    let title = first.map(|(_, pass)| format!("{}: {}", pass.name, pass.what));
    let published = row.iter().flat_map(|(_, pass)| pass.theirs);
    json!({
        "title": title,
        "rows": rows.collect::<Vec<_>>(),
        "published": published.flatten().next().is_some(),
    })
}

fn line(group: &Group, set: &Set, pass: &Pass, width: f64) -> Value {
    let cost = &pass.median;
    let class = match pass.versus.as_ref().map(|v| v.difference) {
        Some(Difference::Better) => "better",
        Some(Difference::Worse) => "worse",
        _ => "none",
    };
    let interval = pass.versus.as_ref().and_then(|v| v.interval);
    let rate = |rate: f64| short(rate / MIB);
    json!({
        "set": set.name,
        "disk": mb(cost.disk),
        "cache": mb(cost.cache),
        "requests": count(cost.requests),
        "mean": told(cost.mean, |mean| short(mean / 1024.0)),
        "seeks": count(cost.seeks),
        "over": gb(cost.seek_bytes),
        "moved": pass.moved_signs(),
        "real": told(cost.real, short),
        "user": told(cost.user, short),
        "sys": told(cost.system, short),
        "rate": told(cost.rate, rate),
        "with_cache": told(cost.with_cache, rate),
        "without_user": told(cost.without_user, rate),
        "peak": told(cost.peak, |peak| format!("{:.0}", peak / MIB)),
        "times": times(group, pass),
        "interval": interval.map(|(low, high)| range(low, high, ratio)),
        "class": class,
        "width": format!("{width:.1}"),
        "signs": pass.time_signs(),
        "theirs": [their_words(group, pass, 0), their_words(group, pass, 1)],
    })
}

fn law(law: &Law) -> Value {
    let cases = law.cases.iter().map(|case| {
        json!({
            "of": case.of,
            "figures": case.figures,
            "word": case.word(),
            "class": if case.holds == Some(false) { "bad" } else { "" },
        })
    });
    json!({
        "says": law.says,
        "verdict": law.verdict(),
        "published": law.published,
        "cases": cases.collect::<Vec<_>>(),
    })
}
