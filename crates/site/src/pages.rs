//! One file for each kind of page: what its template is given.

pub(crate) mod comparison;
pub(crate) mod comparisons;
pub(crate) mod context;
#[cfg(feature = "serve")]
pub(crate) mod live;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod series;
pub(crate) mod studies;
pub(crate) mod study;
pub(crate) mod wording;
