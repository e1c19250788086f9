//! Facts as names and values in text, so that a record need not know formats.

use std::collections::BTreeMap;

use super::Features;

/// Values as text by name: `block_size` = `4096`.
pub type Fields = BTreeMap<String, String>;

/// Puts a value under a name.
#[allow(clippy::needless_pass_by_value)] // callers pass numbers and fresh strings
pub(super) fn put(fields: &mut Fields, name: &str, value: impl ToString) {
    fields.insert(name.into(), value.to_string());
}

/// Puts the three sets of feature names.
pub(super) fn put_features(fields: &mut Fields, features: &Features) {
    put(fields, "features_compat", features.compat.join(" "));
    put(fields, "features_ro_compat", features.ro_compat.join(" "));
    put(fields, "features_incompat", features.incompat.join(" "));
}

/// Seconds since 1970 as RFC 3339; `None` beyond the year 9999.
pub(crate) fn time(seconds: u64) -> Option<String> {
    let seconds = i64::try_from(seconds).ok()?;
    let time = jiff::Timestamp::from_second(seconds).ok()?;
    Some(time.to_string())
}
