//! The page's values of how a checker read.

use serde_json::{Value, json};

use crate::Report;
use crate::model::Difference;
use crate::numbers::{range, ratio, short};
use crate::scan::{Group, Law, Pass, Scan, Set, lines};
use crate::text::scan::{about, heading, their_words, times};

const MIB: f64 = 1_048_576.0;

/// Null without.
pub(super) fn value(report: &Report<'_>) -> Value {
    report.scan.as_ref().map_or(Value::Null, told)
}

fn told(scan: &Scan) -> Value {
    let first = scan.groups.first();
    let sets = first.into_iter().flat_map(|group| &group.sets);
    let sets = sets.map(|set| json!({"name": set.name, "how": set.how}));
    json!({
        "sets": sets.collect::<Vec<_>>(),
        "groups": scan.groups.iter().map(group).collect::<Vec<_>>(),
        "laws": scan.laws.iter().map(law).collect::<Vec<_>>(),
        "about": about(scan),
        "beside": scan.beside,
    })
}

fn group(group: &Group) -> Value {
    let passes = group.sets.first().map_or(0, |set| set.passes.len());
    let passes: Vec<Value> = (0..passes).map(|at| block(group, at)).collect();
    json!({
        "of": group.of,
        "heading": heading(group),
        "passes": passes,
        "lines": listing(group),
    })
}

/// The rows of a pass, with a bar for each set's seconds.
fn block(group: &Group, at: usize) -> Value {
    let of = |set: &Set| set.passes[at].median.real;
    let longest = group.sets.iter().map(of).fold(0.0, f64::max);
    let rows = group.sets.iter().map(|set| {
        let pass = &set.passes[at];
        let width = if longest > 0.0 {
            100.0 * pass.median.real / longest
        } else {
            0.0
        };
        row(group, set, pass, width)
    });
    let title = group.sets.first().map_or("", |set| set.passes[at].title);
    json!({"title": title, "rows": rows.collect::<Vec<_>>()})
}

fn row(group: &Group, set: &Set, pass: &Pass, width: f64) -> Value {
    let cost = &pass.median;
    let class = match pass.versus.as_ref().map(|v| v.difference) {
        Some(Difference::Better) => "better",
        Some(Difference::Worse) => "worse",
        _ => "none",
    };
    let interval = pass.versus.as_ref().and_then(|v| v.interval);
    json!({
        "set": set.name,
        "disk": short(cost.disk / MIB),
        "cache": short(cost.cache / MIB),
        "requests": format!("{:.0}", cost.requests),
        "mean": short(cost.mean / 1024.0),
        "seeks": format!("{:.0}", cost.seeks),
        "real": short(cost.real),
        "user": short(cost.user),
        "sys": short(cost.system),
        "rate": short(cost.rate / MIB),
        "with_cache": short(cost.with_cache / MIB),
        "without_user": short(cost.without_user / MIB),
        "peak": format!("{:.0}", cost.peak / MIB),
        "times": times(group, pass),
        "interval": interval.map(|(low, high)| range(low, high, ratio)),
        "class": class,
        "width": format!("{width:.1}"),
        "signs": pass.seconds.signs(),
        "theirs": [their_words(group, pass, 0), their_words(group, pass, 1)],
    })
}

fn law(law: &Law) -> Value {
    let cases = law.cases.iter().map(|case| {
        json!({
            "of": case.of,
            "figures": case.figures,
            "word": if case.holds { "holds" } else { "fails" },
            "class": if case.holds { "" } else { "bad" },
        })
    });
    json!({
        "says": law.says,
        "verdict": law.verdict(),
        "published": law.published,
        "cases": cases.collect::<Vec<_>>(),
    })
}

/// fsck.ocfs2's lines, as one text.
fn listing(group: &Group) -> String {
    let mut out = String::new();
    let passes = group.sets.first().map_or(&[][..], |set| &set.passes);
    for (at, pass) in passes.iter().enumerate() {
        out.push_str(&format!("{}\n", pass.title));
        for set in &group.sets {
            if pass.name == "all" {
                out.push_str(&format!("{}\n", set.cache_line()));
            }
            let [io, times] = lines(&set.passes[at].middle);
            out.push_str(&format!("{io}  ({})\n{times}\n", set.name));
        }
        out.push('\n');
    }
    out
}
