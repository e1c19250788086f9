//! How a checker read, in JSON.

use serde_json::{Value, json};

use crate::model::Versus;
use crate::scan::{Cost, Group, Law, Pass, Scan, Set};

/// Sets, published numbers beside, and laws. Bytes and seconds.
pub(super) fn value(scan: &Scan) -> Value {
    json!({
        "groups": scan.groups.iter().map(group).collect::<Vec<_>>(),
        "laws": scan.laws.iter().map(law).collect::<Vec<_>>(),
        "comparisons": scan.family,
        "comparisons_of_laws": scan.law_family,
        "legend": scan.legend,
        "beside": scan.beside,
    })
}

fn group(group: &Group) -> Value {
    json!({
        "of": group.of,
        "note": group.note,
        "sets": group.sets.iter().map(set).collect::<Vec<_>>(),
    })
}

fn set(set: &Set) -> Value {
    json!({
        "cell": set.cell,
        "name": set.name,
        "reader": set.by.name(),
        "how": set.how,
        "files": set.files,
        "chains": set.chains.0,
        "chain_links": set.chains.1,
        "n": set.n,
        "middle_trial": set.middle,
        "cache_bytes": set.cache_size,
        "metadata_bytes": set.metadata,
        "passes": set.passes.iter().map(pass).collect::<Vec<_>>(),
    })
}

fn pass(pass: &Pass) -> Value {
    let theirs = pass.theirs.map(|found| {
        found.map(
            |found| json!({"disk_mb": found.disk, "cache_mb": found.cache, "real_s": found.real}),
        )
    });
    json!({
        "pass": pass.name,
        "what": pass.what,
        "title": pass.title,
        "median": cost(&pass.median),
        "middle": cost(&pass.middle),
        "real_s": pass.seconds.points.iter().map(|p| json!({"trial": p.trial, "block": p.block, "value": p.value})).collect::<Vec<_>>(),
        "against_the_first": pass.versus.as_ref().map(versus),
        "published": {"2011-09-16": theirs[0], "2011-09-21": theirs[1]},
        "marks": pass.seconds.marks.iter().map(|m| m.name()).collect::<Vec<_>>(),
        "marks_of_bytes": pass.marks.iter().map(|m| m.name()).collect::<Vec<_>>(),
    })
}

fn cost(cost: &Cost) -> Value {
    json!({
        "disk_bytes": cost.disk,
        "cache_bytes": cost.cache,
        "requests": cost.requests,
        "seeks": cost.seeks,
        "seek_bytes": cost.seek_bytes,
        "batched": cost.batched,
        "objects": cost.objects,
        "verified": cost.verified,
        "request_mean_bytes": cost.mean,
        "real_s": cost.real,
        "user_s": cost.user,
        "system_s": cost.system,
        "rate_with_cache": cost.with_cache,
        "rate_without_user": cost.without_user,
        "disk_rate": cost.rate,
        "peak_rss": cost.peak,
    })
}

fn versus(versus: &Versus) -> Value {
    json!({
        "ratio": versus.ratio,
        "interval": versus.interval,
        "p_adjusted": versus.p_adjusted,
        "difference": versus.difference.name(),
    })
}

fn law(law: &Law) -> Value {
    let case = |case: &crate::scan::Case| {
        json!({
            "cells": case.cells,
            "of": case.of,
            "figures": case.figures,
            "holds": case.holds,
            "marks": case.marks.iter().map(|m| m.name()).collect::<Vec<_>>(),
        })
    };
    json!({
        "id": law.id,
        "says": law.says,
        "published": law.published,
        "verdict": law.verdict(),
        "cases": law.cases.iter().map(case).collect::<Vec<_>>(),
    })
}
