//! `fslab new`: a study file with comments that runs as it is.

use crate::check::{NAME_RULE, is_name};
use crate::file::KINDS;

const HEAD: &str = include_str!("template/head.toml");
const TAIL: &str = include_str!("template/tail.toml");

/// The kinds of workload that a template can have.
pub fn kinds() -> impl Iterator<Item = &'static str> + Clone {
    KINDS.iter().map(|(kind, _)| *kind)
}

/// A commented study file called `name` with one workload of this kind. None for a kind that is not known.
///
/// # Errors
/// The name is not one that a study can have.
pub fn template(name: &str, kind: &str) -> Option<Result<String, String>> {
    let workload = match kind {
        "throughput" => include_str!("template/throughput.toml"),
        "tree" => include_str!("template/tree.toml"),
        "stream" => include_str!("template/stream.toml"),
        "fill" => include_str!("template/fill.toml"),
        "age" => include_str!("template/age.toml"),
        "mix" => include_str!("template/mix.toml"),
        "shared" => include_str!("template/shared.toml"),
        "metadata" => include_str!("template/metadata.toml"),
        "scan" => include_str!("template/scan.toml"),
        _ => return None,
    };
    if !is_name(name) {
        return Some(Err(format!(
            "{} is not a name for a study ({NAME_RULE})",
            words::quoted(name)
        )));
    }
    // A scan reads ext4's own structures.
    let filesystems = match kind {
        "scan" => r#"["ext4"]"#,
        _ => r#"["ext4", "xfs"]"#,
    };
    let text = [HEAD, workload, TAIL].concat();
    let text = text
        .replace("NAME", name)
        .replace("KIND", kind)
        .replace("FILESYSTEMS", filesystems);
    Some(Ok(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, Study, plan};

    #[test]
    fn every_template_parses_and_plans() {
        let folder = tempfile::tempdir().unwrap();
        for kind in kinds() {
            let text = template("my-study", kind)
                .unwrap_or_else(|| panic!("{kind} has no template"))
                .unwrap();
            let path = folder.path().join("my-study.toml");
            std::fs::write(&path, text).unwrap();
            let study =
                Study::load(path.to_str().unwrap()).unwrap_or_else(|e| panic!("{kind}: {e}"));
            for profile in ["quick", "standard"] {
                let overrides = Overrides {
                    profile: Some(profile.into()),
                    ..Overrides::default()
                };
                let plan = plan(&study, &overrides).unwrap_or_else(|e| panic!("{kind}: {e}"));
                assert!(!plan.cells.is_empty() && !plan.tables.is_empty(), "{kind}");
            }
        }
    }

    #[test]
    fn a_bad_name_or_kind_is_refused() {
        assert!(template("x", "no-such-kind").is_none());
        assert!(template("No Name", "fill").unwrap().is_err());
    }
}
