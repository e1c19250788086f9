//! How phases were shared among the members of a device of several layers, as JSON. What each member did in
//! each trial is with the trials.

use serde_json::{Value, json};

use crate::Report;
use crate::members::{self, Row};

/// Null without devices of several layers. Bytes are means of the trials, shares are parts of 1.
pub(super) fn value(report: &Report<'_>) -> Value {
    let Some(shares) = members::of(report) else {
        return Value::Null;
    };
    let device = |(name, words): &(String, String)| json!({"name": name, "words": words});
    let row = |row: &Row| {
        json!({
            "cell": row.label, "phase": row.phase, "n": row.n, "members": row.members, "bytes": row.bytes,
            "by_device": row.times, "least_share": row.share.0, "most_share": row.share.1,
            "request_bytes": row.request,
        })
    };
    json!({
        "devices": shares.devices.iter().map(device).collect::<Vec<_>>(),
        "phases": shares.rows.iter().map(row).collect::<Vec<_>>(),
    })
}
