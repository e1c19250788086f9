//! Which suites of Debian have which kernels.
//!
//! Lists are fetched of few suites, because the lists of a whole release are 9 MB and those of its security
//! updates 0.4 MB, and because the security suites are where a series' newest kernel is.

use super::error::Error;
use super::kernel_spec::KernelSpec;

/// Where User-mode Linux is looked for, one suite after the other. A new one is in the unstable suite first, and
/// only new ones run on new processors: the kernel of a host takes the registers of a processor with AMX only in a
/// buffer of their whole size, and UML 6.1 and 6.12 have a smaller one. Its libraries come from the same suite.
pub(crate) const UML: [&str; 3] = ["sid", "trixie", "bookworm"];

/// Series up to this one, and the suites that have them.
const SUITES: [([u32; 2], &[&str]); 3] = [
    ([5, 10], &["bullseye-security"]),
    ([6, 1], &["bookworm-security"]),
    ([6, 12], &["bookworm-security", "trixie-security"]),
];
/// What came after the last of them.
const NEWER: &[&str] = &["trixie-backports"];
/// Where everything is looked for that is not where it should be.
const ALL: &[&str] = &[
    "bullseye-security",
    "bookworm-security",
    "bookworm",
    "trixie-security",
    "trixie-backports",
];
/// What a list of all that there is reads.
pub(crate) const LISTED: &[&str] = &[
    "bullseye-security",
    "bookworm-security",
    "trixie-security",
    "trixie-backports",
    UML[0],
    UML[1],
    UML[2],
];

/// The suites to look into, one set after the other until something is found.
pub(crate) fn suites(wanted: &KernelSpec, named: &[String]) -> Result<Vec<Vec<String>>, Error> {
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    if !named.is_empty() {
        return Ok(vec![checked(named)?]);
    }
    if *wanted == KernelSpec::Uml {
        return Ok(UML.iter().map(|suite| own(&[*suite])).collect());
    }
    Ok(vec![own(&first(&wanted.series())), own(ALL)])
}

/// The suites that have a series; where only its first number is given, those of all series that begin
/// with it.
fn first(series: &[u32]) -> Vec<&'static str> {
    let newest = SUITES.last().map_or([0, 0], |(last, _)| *last);
    if let [major] = series {
        let of_major = SUITES.iter().filter(|(last, _)| last[0] == *major);
        let newer = NEWER.iter().filter(|_| *major >= newest[0]);
        let mut all: Vec<&str> = of_major
            .flat_map(|(_, suites)| suites.iter())
            .chain(newer)
            .copied()
            .collect();
        let mut met = std::collections::BTreeSet::new();
        all.retain(|suite| met.insert(*suite));
        return if all.is_empty() { ALL.to_vec() } else { all };
    }
    SUITES
        .iter()
        .find(|(last, _)| series <= last.as_slice())
        .map_or(NEWER, |(_, suites)| suites)
        .to_vec()
}

/// Suites that were named on the command line, if apt could read their names.
pub(crate) fn checked(named: &[String]) -> Result<Vec<String>, Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    match named
        .iter()
        .find(|name| name.is_empty() || !name.chars().all(plain))
    {
        Some(bad) => Err(Error::BadSuite { text: bad.clone() }),
        None => Ok(named.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_looked_for_where_it_is_maintained() {
        let first = |text: &str| suites(&text.parse().unwrap(), &[]).unwrap()[0].join(" ");
        assert_eq!(first("5.10"), "bullseye-security");
        assert_eq!(first("6.1-cloud"), "bookworm-security");
        assert_eq!(first("6.12.117"), "bookworm-security trixie-security");
        assert_eq!(first("7.x"), "trixie-backports");
        assert_eq!(first("6.19"), "trixie-backports");
        assert_eq!(first("uml"), "sid");
        assert_eq!(first("5"), "bullseye-security");
        assert_eq!(
            first("6"),
            "bookworm-security trixie-security trixie-backports"
        );
        assert_eq!(first("7"), "trixie-backports");
        let named = suites(&KernelSpec::Uml, &["sid".into()]).unwrap();
        assert_eq!(named, [["sid"]]);
        suites(&KernelSpec::Uml, &["a b".into()]).unwrap_err();
    }
}
