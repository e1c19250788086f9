//! A comparison of runs: the answer first, then what it rests on.

use compare::format::{Answer, answer, phrase};
use compare::{Compared, Outcome, Row, Side, SideFacts, compare};
use serde_json::{Value, json};
use stats::Verdict;

use crate::address::Address;
use crate::chart;
use crate::error::Error;
use crate::groups::Pair;
use crate::hash::Hash;
use crate::render::Renderer;
use crate::units::{Page, Summary, Unit};

/// Longest value of a context item, in bytes.
const LONGEST: usize = 200;

/// The page of a site's comparison.
pub(crate) fn unit(renderer: &Renderer, pair: &Pair, sides: &[Side; 2]) -> Result<Unit, Error> {
    let address = Address::Comparison(pair.hash());
    let newest = sides[1].runs.iter().map(|one| one.run.started_at).max();
    let summary = |headline: String, counts: String, worse: bool| Summary::Comparison {
        study: pair.study.clone(),
        names: pair.names.clone(),
        runs: sides.each_ref().map(|side| side.runs.len()),
        newest,
        headline,
        counts,
        worse,
    };
    let compared = if sides.iter().any(|side| side.runs.is_empty()) {
        Err(compare::Error::Option(
            "the runs of a side were removed while the page was made".to_owned(),
        ))
    } else {
        compare(sides, &compare::Options::default())
    };
    let (body, summary) = match compared {
        Ok(compared) => {
            let Answer {
                headline, counts, ..
            } = answer(&compared);
            let worse = compared.rows.iter();
            let worse = worse
                .filter(|row| row.verdict == Some(Verdict::Worse))
                .count();
            let view = view(&compared, Some(&address.root()));
            let body = renderer.page("comparison.html", &address, &headline, view)?;
            (body, summary(headline, counts, worse > 0))
        }
        Err(error) => {
            let why = error.to_string();
            let kicker = format!("{} against {}", pair.names[1], pair.names[0]);
            let what = "These runs cannot be compared.";
            let view = json!({ "kicker": kicker, "what": what, "why": why });
            let body = renderer.page("failed.html", &address, what, view)?;
            (body, summary(why, String::new(), false))
        }
    };
    Ok(Unit {
        pages: vec![Page { address, body }],
        summary,
    })
}

/// A self-contained page.
pub(crate) fn alone(renderer: &Renderer, compared: &Compared) -> Result<String, Error> {
    let headline = answer(compared).headline;
    renderer.alone("comparison.html", &headline, view(compared, None))
}

/// What the template is given. `root` leads to the pages of the runs; none: the page is alone.
fn view(compared: &Compared, root: Option<&str>) -> Value {
    let answer = answer(compared);
    let tone = match compared.outcome {
        Outcome::Failed => "failed",
        Outcome::Invalid | Outcome::Nothing => "doubtful",
        Outcome::Passed if compared.gate.is_some() => "passed",
        Outcome::Passed => "plain",
    };
    json!({
        "headline": answer.headline,
        "counts": answer.counts,
        "first": answer.first,
        "tone": tone,
        "sides": compared.sides.iter().map(|side| side_view(side, root)).collect::<Vec<_>>(),
        "letters": compared.sides.iter().map(|side| &side.letter).collect::<Vec<_>>(),
        "contexts": contexts(compared),
        "unmatched": compared.unmatched.iter().map(|cell| json!({
            "side": cell.side,
            "missing_in": cell.missing_in,
            "cell": cell.cell,
            "differs": cell.differs,
        })).collect::<Vec<_>>(),
        "level": phrase::share(compared.level),
        "band": phrase::share(compared.band),
        "groups": groups(compared),
        "legend": phrase::legend(&compared.rows),
        "notes": compared.notes,
    })
}

fn side_view(side: &SideFacts, root: Option<&str>) -> Value {
    let runs = side.runs.iter().map(|run| {
        let to = root.map(|root| format!("{root}{}", Address::Run(Hash::of_run(&run.id)).path()));
        json!({ "name": words::cut(&run.name, LONGEST), "to": to, "begun": crate::render::minute(run.started_at) })
    });
    let mut tools: Vec<&str> = side.runs.iter().map(|run| run.tool.as_str()).collect();
    tools.dedup();
    let trials: usize = side.runs.iter().map(|run| run.finished).sum();
    json!({
        "letter": side.letter,
        "name": side.name,
        "runs": runs.collect::<Vec<_>>(),
        "trials": trials,
        "tools": tools,
    })
}

fn contexts(compared: &Compared) -> Value {
    let contexts = &compared.contexts;
    let text = |value: &Value| match value {
        Value::String(text) => words::cut(text, LONGEST).into_owned(),
        Value::Null => "unknown".to_owned(),
        other => words::cut(&other.to_string(), LONGEST).into_owned(),
    };
    let side = |values: &Vec<Value>| {
        let texts: Vec<String> = values.iter().map(text).collect();
        if texts.is_empty() {
            "unknown".to_owned()
        } else {
            texts.join(", ")
        }
    };
    let (between, within): (Vec<_>, Vec<_>) = contexts.changes.iter().partition(|c| c.separates);
    let all = contexts.same + contexts.changes.len();
    json!({
        "rows": between.iter().map(|change| json!({
            "name": change.name,
            "values": change.values.iter().map(side).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "differ": between.len(),
        "all": all,
        "within": within.iter().map(|change| &change.name).collect::<Vec<_>>(),
        "missing": contexts.missing,
    })
}

/// The figures of each pair of sides, with one scale for their intervals.
fn groups(compared: &Compared) -> Value {
    let groups = compared.sides.iter().skip(1).map(|side| {
        let of_side = |row: &&Row| row.sides[1] == side.letter;
        let rows: Vec<&Row> = compared.rows.iter().filter(of_side).collect();
        let ends = rows.iter().filter_map(|row| row.comparison.as_ref());
        let ends = ends.flat_map(|found| [found.interval.low, found.interval.high]);
        let reach = chart::reach(ends);
        let mut cell: Option<&str> = None;
        let rows = rows.iter().map(|row| {
            let first = cell != Some(row.cell.as_str());
            cell = Some(&row.cell);
            figure(compared, row, first, reach)
        });
        json!({
            "base": compared.sides[0].letter,
            "other": side.letter,
            "rows": rows.collect::<Vec<_>>(),
            "reach": phrase::percent(reach.exp()),
        })
    });
    groups.collect()
}

fn figure(compared: &Compared, row: &Row, first: bool, reach: f64) -> Value {
    let [base, other] = phrase::values(row);
    let verdict = phrase::verdict(row);
    let interval = row.comparison.as_ref().map(|found| {
        chart::interval(
            found.ratio,
            [found.interval.low, found.interval.high],
            compared.band,
            reach,
            verdict,
        )
    });
    let p = row.comparison.as_ref();
    json!({
        "cell": first.then_some(&row.cell),
        "figure": phrase::figure(row),
        "unit": phrase::unit(row),
        "base": base,
        "other": other,
        "change": phrase::change(row),
        "interval": interval,
        "p": p.map(|found| phrase::p(found.adjusted_p)),
        "verdict": verdict,
        "marks": phrase::marks(row),
        "runs": format!("{} | {}", row.runs[0], row.runs[1]),
        "why_not": row.why_not.as_ref().map(ToString::to_string),
        "objection": phrase::objection(compared, row),
    })
}
