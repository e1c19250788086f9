//! The page's values of how phases were shared among the members of a device of several layers.

use serde_json::{Value, json};

use crate::Report;
use crate::members::{self, HEADS, MEANING, Row, TITLE};

/// Null without devices of several layers.
pub(super) fn value(report: &Report<'_>) -> Value {
    let Some(shares) = members::of(report) else {
        return Value::Null;
    };
    let width = |share: f64| format!("{:.1}", share * 100.0);
    let device = |(name, words): &(String, String)| json!({"name": name, "words": words});
    let row = |row: &Row| {
        json!({
            "label": row.label, "phase": row.phase, "cells": row.cells(),
            "least": width(row.share.0), "most": width(row.share.1),
        })
    };
    json!({
        "title": TITLE,
        "meaning": MEANING,
        "heads": HEADS,
        "devices": shares.devices.iter().map(device).collect::<Vec<_>>(),
        "rows": shares.rows.iter().map(row).collect::<Vec<_>>(),
    })
}
