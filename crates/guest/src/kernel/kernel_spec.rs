//! A kernel as named on the command line: a series, a version, a release, or uml.

use std::fmt;
use std::str::FromStr;

use super::error::Error;

/// A kernel as asked for.
///
/// A number means every version that begins with it, part by part: 6.1 is 6.1.0-56 and 6.1.192 and not 6.12;
/// the newest of them is meant. `-cloud` asks for Debian's small build for virtual machines, which has
/// fewer modules and boots faster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelSpec {
    /// User-mode Linux.
    Uml,
    /// An image for a machine.
    Image {
        /// "6.1", "7", "6.12.117+deb12".
        prefix: String,
        /// The build for virtual machines.
        cloud: bool,
    },
}

impl KernelSpec {
    /// Whether a kernel of this release, of this upstream version, is meant.
    pub fn fits(&self, release: &str, version: &str) -> bool {
        match self {
            Self::Uml => false,
            Self::Image { prefix, cloud } => {
                let base = base(release);
                release.contains("-cloud") == *cloud
                    && (begins(base, prefix) || begins(version, prefix))
            }
        }
    }

    /// The series, as [6, 12]: as many numbers as were given, two at most.
    pub(crate) fn series(&self) -> Vec<u32> {
        match self {
            Self::Uml => Vec::new(),
            Self::Image { prefix, .. } => numbers(prefix).into_iter().take(2).collect(),
        }
    }
}

/// A release without its flavour: 6.1.0-56 of 6.1.0-56-cloud-amd64.
pub(crate) fn base(release: &str) -> &str {
    let release = release.strip_suffix("-amd64").unwrap_or(release);
    release.strip_suffix("-cloud").unwrap_or(release)
}

/// The numbers in a version, in order: [6, 1, 0, 56].
pub(crate) fn numbers(version: &str) -> Vec<u32> {
    version
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect()
}

fn begins(whole: &str, prefix: &str) -> bool {
    whole
        .strip_prefix(prefix)
        .is_some_and(|rest| rest.chars().next().is_none_or(|c| !c.is_ascii_digit()))
}

impl FromStr for KernelSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text == "uml" {
            return Ok(Self::Uml);
        }
        let whole = text.strip_suffix("-amd64").unwrap_or(text);
        let (whole, cloud) = match whole.strip_suffix("-cloud") {
            Some(rest) => (rest, true),
            None => (whole, false),
        };
        let prefix = whole.strip_suffix(".x").unwrap_or(whole);
        let allowed = |c: char| c.is_ascii_alphanumeric() || ".+-~_".contains(c);
        if !prefix.starts_with(|c: char| c.is_ascii_digit())
            || !prefix.chars().all(allowed)
            || prefix.len() > 60
        {
            return Err(Error::BadName {
                text: text.to_owned(),
            });
        }
        Ok(Self::Image {
            prefix: prefix.to_owned(),
            cloud,
        })
    }
}

impl fmt::Display for KernelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uml => f.write_str("uml"),
            Self::Image { prefix, cloud } => {
                f.write_str(prefix)?;
                f.write_str(if *cloud { "-cloud" } else { "" })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_for_all_that_begin_with_it() {
        let fits = |text: &str, release, version| {
            text.parse::<KernelSpec>().unwrap().fits(release, version)
        };
        assert!(fits("6.1", "6.1.0-56-amd64", "6.1.192"));
        assert!(!fits("6.1", "6.12.117+deb12-amd64", "6.12.117"));
        assert!(!fits("6.1", "6.1.0-56-cloud-amd64", "6.1.192"));
        assert!(fits("6.1-cloud", "6.1.0-56-cloud-amd64", "6.1.192"));
        assert!(fits("6.1.192", "6.1.0-56-amd64", "6.1.192"));
        assert!(fits(
            "6.1.0-56-cloud-amd64",
            "6.1.0-56-cloud-amd64",
            "6.1.192"
        ));
        assert!(!fits("6.1.0-5", "6.1.0-56-amd64", "6.1.192"));
        assert!(fits("7.x", "7.3.4+deb13-amd64", "7.3.4"));
        assert!(fits("7", "7.3.4+deb13-amd64", "7.3.4"));
        assert!(fits("6.12.117", "6.12.117+deb12-amd64", "6.12.117"));
        assert!(!fits("uml", "6.1.176", "6.1.176"));
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in ["", "latest", "-6.1", "6.1/..", "6.1 x", "x.y"] {
            let error = text.parse::<KernelSpec>().unwrap_err();
            assert!(error.is_usage(), "{text}");
        }
        for text in ["6.1", "6.12-cloud", "uml", "5.10.262"] {
            assert_eq!(text.parse::<KernelSpec>().unwrap().to_string(), text);
        }
        assert_eq!(
            "6.12-cloud".parse::<KernelSpec>().unwrap().series(),
            [6, 12]
        );
    }
}
