//! Addresses of pages: the path in the site's folder, which is the path in a server's URL.
//!
//! A path is made of fixed words and hashes, never of text of a run, and only such a path is understood.

use crate::assets::{self, Asset};
use crate::hash::Hash;

/// The address of a page or a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Address {
    /// The list of all runs.
    Runs,
    /// The list of the runs with one study, kernel, machine or tag.
    List(Hash),
    /// A run's report.
    Run(Hash),
    /// A context record; runs with equal records share it.
    Context(Hash),
    /// The studies.
    Studies,
    /// The series of a study.
    Study(Hash),
    /// One series of a study.
    Series(Hash, Hash),
    /// The comparisons.
    Comparisons,
    /// One comparison.
    Comparison(Hash),
    /// A style sheet or a script.
    Asset(&'static Asset),
}

impl Address {
    /// The path, without a slash at its beginning.
    pub fn path(&self) -> String {
        match self {
            Address::Runs => "index.html".to_owned(),
            Address::List(hash) => format!("list/{hash}.html"),
            Address::Run(hash) => format!("run/{hash}.html"),
            Address::Context(hash) => format!("context/{hash}.html"),
            Address::Studies => "series/index.html".to_owned(),
            Address::Study(study) => format!("series/{study}/index.html"),
            Address::Series(study, series) => format!("series/{study}/{series}.html"),
            Address::Comparisons => "compare/index.html".to_owned(),
            Address::Comparison(hash) => format!("compare/{hash}.html"),
            Address::Asset(asset) => format!("assets/{}", asset.name),
        }
    }

    /// The address of such a path; `None` for every other text.
    pub fn parse(path: &str) -> Option<Address> {
        let parts: Vec<&str> = path.split('/').collect();
        let page = |name: &str| Hash::parse(name.strip_suffix(".html")?);
        Some(match parts[..] {
            ["" | "index.html"] => Address::Runs,
            ["list", name] => Address::List(page(name)?),
            ["run", name] => Address::Run(page(name)?),
            ["context", name] => Address::Context(page(name)?),
            ["series", "" | "index.html"] => Address::Studies,
            ["series", study, "" | "index.html"] => Address::Study(Hash::parse(study)?),
            ["series", study, name] => Address::Series(Hash::parse(study)?, page(name)?),
            ["compare", "" | "index.html"] => Address::Comparisons,
            ["compare", name] => Address::Comparison(page(name)?),
            ["assets", name] => Address::Asset(assets::named(name)?),
            _ => return None,
        })
    }

    /// What leads from the page to the top of the site: `../` for each folder of its path.
    pub fn root(&self) -> String {
        "../".repeat(self.path().matches('/').count())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all() -> Vec<Address> {
        let [a, b] = ["a", "b"].map(Hash::of);
        let mut all = vec![
            Address::Runs,
            Address::List(a.clone()),
            Address::Run(a.clone()),
            Address::Context(a.clone()),
            Address::Studies,
            Address::Study(a.clone()),
            Address::Series(a.clone(), b.clone()),
            Address::Comparisons,
            Address::Comparison(b),
        ];
        all.extend(assets::all().iter().map(Address::Asset));
        all
    }

    #[test]
    fn every_address_is_read_back_from_its_path() {
        for address in all() {
            let path = address.path();
            assert_eq!(Address::parse(&path), Some(address.clone()), "{path}");
            let depth = address.root().matches("../").count();
            assert_eq!(depth, path.split('/').count() - 1, "{path}");
        }
        assert_eq!(Address::parse(""), Some(Address::Runs));
        assert_eq!(Address::parse("series/"), Some(Address::Studies));
    }

    #[test]
    fn no_other_path_is_understood() {
        let hash = Hash::of("x");
        for path in [
            "..",
            "../index.html",
            "run/../index.html",
            "run/%2e%2e/x.html",
            "run/",
            "run",
            "/index.html",
            "run//x.html",
            "index.html/",
            "assets/../x",
            "assets/unknown.js",
            ".fslab-site.json",
            "run/ABCDEF0123456789.html",
            "run/0123456789abcde.html",
            "run/0123456789abcdefg.html",
        ] {
            assert_eq!(Address::parse(path), None, "{path}");
        }
        assert_eq!(Address::parse(&format!("run/{hash}.html/")), None);
        assert_eq!(Address::parse(&format!("run/{hash}.HTML")), None);
        assert_eq!(Address::parse(&format!("run/{hash}.html\0")), None);
    }

    proptest! {
        #[test]
        fn a_path_that_is_understood_has_only_plain_characters(path in "\\PC{0,60}|(run|series|assets|[./%])*[0-9a-f]{0,17}(.html)?") {
            if let Some(address) = Address::parse(&path) {
                let own = address.path();
                prop_assert!(own.bytes().all(|b| b.is_ascii_alphanumeric() || b"/.-".contains(&b)), "{}", own);
                prop_assert!(!own.contains(".."), "{}", own);
                prop_assert!(own.starts_with(path.trim_end_matches("index.html")), "{} {}", own, path);
            }
        }

        #[test]
        fn names_of_runs_become_hashes(id in "\\PC*") {
            let path = Address::Run(Hash::of_run(&id)).path();
            prop_assert!(Address::parse(&path).is_some(), "{}", path);
        }
    }
}
