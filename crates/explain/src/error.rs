//! Why nothing could be explained: almost only names that the run does not have.

/// Why there is no explanation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A factor, level, phase or metric that does not exist here.
    #[error(
        "{option} {name:?}: no such {what} in this run; {}allowed: {}",
        near(.name, .allowed),
        listed(.allowed)
    )]
    Unknown {
        /// The option as typed on the command line (`--factor`).
        option: &'static str,
        /// What was asked for.
        name: String,
        /// What kind of thing it names.
        what: &'static str,
        /// Everything that would have been accepted.
        allowed: Vec<String>,
    },
    /// The run has nothing to compare.
    #[error(
        "run {run}: its plan has one cell, so there is no difference to explain; give a factor two \
         levels, as in [factors] readahead = [256, 4096]"
    )]
    OneCell {
        /// The run's name.
        run: String,
    },
    /// No two cells have a figure in common.
    #[error("run {run}: {why}")]
    NothingToCompare {
        /// The run's name.
        run: String,
        /// Why, and what to change.
        why: String,
    },
}

/// `did you mean X? `, or nothing. A level is typed with its factor: `filesystem=ext5`.
fn near(name: &str, allowed: &[String]) -> String {
    let typed = name.split_once('=').map_or(name, |(_, level)| level);
    words::hint(typed, allowed.iter().map(String::as_str))
}

/// Names in a row; quoted where one of them has a comma.
fn listed(names: &[String]) -> String {
    if names.iter().any(|name| name.contains(',')) {
        let quoted = names.iter().map(|name| format!("{name:?}"));
        return quoted.collect::<Vec<_>>().join(", ");
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_is_answered_with_the_nearest() {
        let unknown = |name: &str, allowed: &[&str]| {
            let error = Error::Unknown {
                option: "--x",
                name: name.into(),
                what: "thing",
                allowed: allowed.iter().map(|&name| name.into()).collect(),
            };
            error.to_string()
        };
        assert_eq!(
            unknown("8 Thread", &["Iozone, 8 Threads", "8 Threads"]),
            "--x \"8 Thread\": no such thing in this run; did you mean 8 Threads? allowed: \
             \"Iozone, 8 Threads\", \"8 Threads\""
        );
        let level = unknown("filesystem=btfrs", &["btrfs", "xfs"]);
        assert!(level.contains("did you mean btrfs? "), "{level}");
    }
}
