//! A value that a workload cannot use.

use std::fmt::Display;

/// A parameter with a value that no filesystem and no machine could serve.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option} = {value}: {reason}")]
pub struct Invalid {
    /// The parameter's key in a study file: `threads`, `record`.
    pub option: &'static str,
    /// Its value as given.
    pub value: String,
    /// Why it cannot be used, and what can.
    pub reason: String,
}

impl Invalid {
    /// One parameter, its value, and why it cannot be used.
    pub fn new(option: &'static str, value: impl Display, reason: impl Into<String>) -> Invalid {
        Invalid {
            option,
            value: value.to_string(),
            reason: reason.into(),
        }
    }

    /// Refuses a value outside its range.
    ///
    /// # Errors
    /// With the range that is allowed.
    pub fn unless_within<T>(
        option: &'static str,
        value: T,
        least: T,
        most: T,
    ) -> Result<(), Invalid>
    where
        T: Copy + PartialOrd + Display,
    {
        if value >= least && value <= most {
            return Ok(());
        }
        let reason = format!("must be {least}..={most}");
        Err(Invalid::new(option, value, reason))
    }

    /// Refuses zero.
    ///
    /// # Errors
    /// With the least value that is allowed.
    pub fn if_zero(option: &'static str, value: u64) -> Result<(), Invalid> {
        match value {
            0 => Err(Invalid::new(option, value, "must be at least 1")),
            _ => Ok(()),
        }
    }
}
