//! What mount options and feature lists mean for the rules.

use fskind::{DelayedAllocation, Journal, Kind};
use record::Mounted;

/// `journal.mode` (`none`, `ordered`, `writeback`, `journal`, or the name of a log that is always
/// there: `log`, `tree log`, `checkpoint`), `delalloc` and `barriers` (`on`, `off`), where they are
/// known.
pub(super) fn of_options(mounted: &Mounted) -> Vec<(&'static str, &'static str)> {
    let effective = mounted.superblock.get("effective_options");
    let listed = mounted.options.iter().map(String::as_str);
    let words: Vec<&str> = listed
        .chain(effective.iter().flat_map(|text| text.split(',')))
        .collect();
    let has = |word: &str| words.contains(&word);
    let ext = mounted.driver.starts_with("ext");
    let kind = Kind::of_name(&mounted.mounted_type).map(Kind::properties);
    let journal = match kind.map(|kind| kind.journal) {
        Some(Journal::Always(name)) => Some(name),
        _ if ext && !has_journal(mounted) => Some("none"),
        _ if has("data=journal") => Some("journal"),
        _ if has("data=writeback") => Some("writeback"),
        Some(Journal::DataMode) => Some("ordered"),
        _ if ext => Some("ordered"),
        _ => None,
    };
    let delalloc = match kind.map(|kind| kind.delayed_allocation) {
        Some(DelayedAllocation::Always) => Some("on"),
        Some(DelayedAllocation::Never) => Some("off"),
        _ if has("nodelalloc") => Some("off"),
        _ if has("delalloc") => Some("on"),
        // The driver of ext4 turns it off for ext2 and ext3.
        Some(DelayedAllocation::Option(default)) => Some(if default { "on" } else { "off" }),
        None => None,
    };
    let off = ["nobarrier", "barrier=0", "barrier=off"];
    let barriers = if off.iter().any(|word| has(word)) {
        "off"
    } else {
        "on"
    };
    let found = [
        journal.map(|mode| ("journal.mode", mode)),
        delalloc.map(|state| ("delalloc", state)),
        Some(("barriers", barriers)),
    ];
    found.into_iter().flatten().collect()
}

fn has_journal(mounted: &Mounted) -> bool {
    ["features_compat", "features"].iter().any(|name| {
        let features = mounted.superblock.get(*name);
        features.is_some_and(|list| list.split(' ').any(|word| word == "has_journal"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounted(kind: &str, features: &str, effective: &str) -> Mounted {
        let superblock = [
            ("features_compat", features),
            ("effective_options", effective),
        ];
        Mounted {
            mounted_type: kind.into(),
            driver: if kind == "xfs" { "xfs" } else { "ext4" }.into(),
            options: vec!["rw".into()],
            superblock: superblock.map(|(k, v)| (k.into(), v.into())).into(),
            ..Mounted::default()
        }
    }

    #[test]
    fn options_become_facts() {
        let of = |kind, features, effective| of_options(&mounted(kind, features, effective));
        assert_eq!(
            of("ext4", "has_journal dir_index", "rw,delalloc,data=ordered"),
            [
                ("journal.mode", "ordered"),
                ("delalloc", "on"),
                ("barriers", "on")
            ]
        );
        assert_eq!(
            of("ext4", "has_journal", "nodelalloc,data=journal,nobarrier"),
            [
                ("journal.mode", "journal"),
                ("delalloc", "off"),
                ("barriers", "off")
            ]
        );
        assert_eq!(
            of("ext2", "dir_index", "rw")[..2],
            [("journal.mode", "none"), ("delalloc", "off")]
        );
        assert_eq!(
            of("xfs", "", "")[..2],
            [("journal.mode", "log"), ("delalloc", "on")]
        );
    }
}
