//! Which kernels a pass runs in.

use std::path::Path;

use crate::needs::Missing;
use crate::run::output;
use anyhow::{Context, Result};
use serde_json::Value;

/// The series that every full pass has, beside the newest.
const OLDEST: &str = "6.1";
/// What the command line calls User-mode Linux.
const UML: &str = "uml";

/// A requested kernel, and what runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// `uml`, `qemu`.
    pub(crate) executor: &'static str,
    /// A name for `--kernel`; `None`: the executor's default.
    pub(crate) name: Option<String>,
}

impl Kernel {
    /// User-mode Linux as it is installed.
    pub(crate) fn uml() -> Kernel {
        Kernel {
            executor: "uml",
            name: None,
        }
    }

    /// One of QEMU's.
    pub(crate) fn qemu(name: &str) -> Kernel {
        Kernel {
            executor: "qemu",
            name: Some(name.to_owned()),
        }
    }

    /// By its name on the command line.
    pub(crate) fn named(name: &str) -> Kernel {
        if name == UML {
            Kernel::uml()
        } else {
            Kernel::qemu(name)
        }
    }

    /// Its name as a folder's.
    pub(crate) fn folder(&self) -> String {
        self.name.as_deref().unwrap_or(UML).replace('/', "_")
    }
}

/// The heads of the columns of kernels: the series where it distinguishes them, else the whole names.
pub(crate) fn heads(kernels: &[Kernel]) -> Vec<String> {
    let series = |kernel: &Kernel| {
        let name = kernel.folder();
        let numbers: Vec<&str> = name
            .split(|c: char| !c.is_ascii_digit())
            .take(2)
            .filter(|part| !part.is_empty())
            .collect();
        match numbers[..] {
            [major, minor] => format!("{major}.{minor}"),
            _ => name,
        }
    };
    let heads: Vec<String> = kernels.iter().map(series).collect();
    let mut met: Vec<&String> = heads.iter().collect();
    met.sort();
    met.dedup();
    if met.len() == heads.len() {
        return heads;
    }
    kernels.iter().map(Kernel::folder).collect()
}

/// The default kernels: the newest for the short pass; User-mode Linux, the newest 6.1
/// and the newest for the full one.
///
/// # Errors
/// One of them is not in the cache.
pub(crate) fn usual(full: bool, fslab: &Path) -> Result<Vec<Kernel>> {
    let program = fslab.to_string_lossy();
    let listed = output(&program, &["kernel", "list", "--format", "json"])?;
    let listed: Value = serde_json::from_str(&listed).context("fslab kernel list")?;
    let cached = cached(&listed);
    let newest = cached.last().map(|(_, name)| name.clone());
    let newest = newest.ok_or_else(|| {
        Missing("no kernel for QEMU is cached; fetch one (fslab kernel fetch 6.12)".into())
    })?;
    if !full {
        return Ok(vec![Kernel::qemu(&newest)]);
    }
    let is_oldest = |version: &[u64]| version.starts_with(&[6, 1]);
    let old = cached.iter().rev().find(|(version, _)| is_oldest(version));
    let (_, old) = old.ok_or_else(|| {
        Missing(format!(
            "no kernel {OLDEST} for QEMU is cached; fetch one (fslab kernel fetch {OLDEST})"
        ))
    })?;
    let mut all = vec![Kernel::uml(), Kernel::qemu(old), Kernel::qemu(&newest)];
    all.dedup();
    Ok(all)
}

/// Kernels that have every filesystem (Debian's cloud kernels do not), oldest first.
fn cached(listed: &Value) -> Vec<(Vec<u64>, String)> {
    let all = listed["kernels"].as_array().map_or(&[][..], Vec::as_slice);
    let whole = all.iter().filter(|kernel| {
        let has = |what: &str| {
            matches!(
                kernel["capabilities"][what].as_str(),
                Some("builtin" | "module")
            )
        };
        kernel["form"] == "vmlinux" && has("null_blk") && has("ocfs2") && has("f2fs")
    });
    let mut found: Vec<(Vec<u64>, String)> = whole
        .filter_map(|kernel| {
            let version = kernel["version"].as_str()?.split('.');
            let version = version.map_while(|part| part.parse().ok()).collect();
            Some((version, kernel["name"].as_str()?.to_owned()))
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_whole_kernel_is_the_last() {
        let kernel = |name: &str, version: &str, ocfs2: &str| {
            serde_json::json!({
                "name": name, "version": version, "form": "vmlinux",
                "capabilities": { "null_blk": "module", "ocfs2": ocfs2, "f2fs": "module" },
            })
        };
        let listed = serde_json::json!({ "kernels": [
            kernel("b", "6.12.117", "module"),
            kernel("a", "6.1.192", "module"),
            kernel("cloud", "7.3.4", "no"),
        ] });
        let names: Vec<String> = cached(&listed).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn columns_are_series_where_these_differ() {
        let of = |names: &[&str]| {
            let kernels: Vec<Kernel> = names.iter().map(|name| Kernel::named(name)).collect();
            heads(&kernels)
        };
        let debian = [
            "uml",
            "5.10",
            "6.1.0-56-amd64",
            "6.12.117+deb12-amd64",
            "mine",
        ];
        assert_eq!(of(&debian), ["uml", "5.10", "6.1", "6.12", "mine"]);
        assert_eq!(of(&["6.1.0-55", "6.1.0-56"]), ["6.1.0-55", "6.1.0-56"]);
    }
}
