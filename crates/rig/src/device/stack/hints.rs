//! The stripe options that mkfs gets.
//!
//! Left alone, mke2fs and mkfs.xfs ask the kernel for the device's smallest and best request and lay the
//! filesystem out by them. That is what users get today, and what the originals of these studies partly
//! lacked, so a study may give the numbers by hand or withhold them.

use std::path::Path;

use fskind::Family;

use crate::filesystem::Filesystem;
use crate::{Error, Result, command};
use progress::Silent;

/// The layout of a stripe over its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes on one member before the next.
    pub chunk: u64,
    /// Members that hold data.
    pub width: u32,
}

/// Whether mkfs gets stripe options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hints {
    /// It asks the kernel.
    #[default]
    Auto,
    /// By option.
    Given,
    /// That there are none.
    Withheld,
}

/// mkfs options of a study with the hints in front, where its own words do not decide already.
///
/// # Errors
/// When mke2fs does not say which block size it would take; a filesystem that takes no hints.
pub(crate) fn options(
    hints: Hints,
    geometry: Option<Geometry>,
    filesystem: &dyn Filesystem,
    given: &[String],
    node: &Path,
) -> Result<Vec<String>> {
    let (Some(geometry), Hints::Given | Hints::Withheld) = (geometry, hints) else {
        return Ok(given.into());
    };
    let says = |keys: &[&str]| {
        let words = given.iter().flat_map(|word| word.split(','));
        let mut words = words.map(|word| word.trim_start_matches("-d").trim_start_matches("-E"));
        words.any(|word| keys.iter().any(|key| word.starts_with(key)))
    };
    let kind = filesystem.kind();
    let ours = match kind.family() {
        Family::Xfs if says(&["su=", "sw=", "sunit=", "swidth=", "noalign"]) => Vec::new(),
        Family::Xfs => vec!["-d".into(), of_xfs(hints, geometry)],
        Family::Ext if says(&["stride=", "stripe_width=", "stripe-width="]) => Vec::new(),
        Family::Ext => {
            let block = match hints {
                Hints::Given => block_size(filesystem, given, node)?,
                _ => 1,
            };
            return Ok(extended(given, &of_ext(hints, geometry, block)));
        }
        _ => {
            return Err(Error::Cannot {
                thing: filesystem.program().into(),
                what: "cannot be given a stripe geometry".into(),
                why: format!("{kind} has no such option"),
                next: "use hints = \"auto\" for it (an exclude rule)".into(),
            });
        }
    };
    Ok(ours.into_iter().chain(given.iter().cloned()).collect())
}

/// Of several `-E` mke2fs takes the last alone: ours joins it.
fn extended(given: &[String], ours: &str) -> Vec<String> {
    let mut words = given.to_vec();
    let last = words.iter().rposition(|word| word.starts_with("-E"));
    let value = last.map(|at| if words[at] == "-E" { at + 1 } else { at });
    match value.and_then(|at| words.get_mut(at)) {
        Some(value) => {
            value.push(',');
            value.push_str(ours);
        }
        None => words
            .splice(0..0, ["-E".into(), ours.into()])
            .for_each(drop),
    }
    words
}

fn of_xfs(hints: Hints, geometry: Geometry) -> String {
    match hints {
        Hints::Given => format!("su={}k,sw={}", geometry.chunk >> 10, geometry.width),
        _ => "noalign".into(),
    }
}

fn of_ext(hints: Hints, geometry: Geometry, block: u64) -> String {
    // mke2fs takes 0 as not given, and asks the kernel; a stripe of one block is what ext4's allocator
    // takes for none.
    let (stride, width) = match hints {
        Hints::Given => {
            let stride = geometry.chunk / block.max(1);
            (stride, stride * u64::from(geometry.width))
        }
        _ => (1, 1),
    };
    format!("stride={stride},stripe_width={width}")
}

/// The block size that mke2fs would take, in its own words: `Block size=4096 (log=2)`.
fn block_size(filesystem: &dyn Filesystem, given: &[String], node: &Path) -> Result<u64> {
    let program = super::locate(filesystem.program(), filesystem.package())?;
    let mut argv = vec![program, "-nv".into(), filesystem.force().into()];
    argv.extend_from_slice(given);
    argv.push(node.display().to_string());
    let out = command::run(&argv, "", &Silent)?;
    printed_block_size(&out.stdout).ok_or_else(|| Error::Cannot {
        thing: argv.join(" "),
        what: "does not say which block size it would take".into(),
        why: "no line with \"Block size=\"".into(),
        next: "give stride and stripe_width in the study's mkfs options".into(),
    })
}

fn printed_block_size(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("Block size=")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    rest[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filesystem::of_kind;

    const ELEVEN: Geometry = Geometry {
        chunk: 64 << 10,
        width: 11,
    };

    fn with(kind: &str, hints: Hints, given: &[&str]) -> Result<Vec<String>> {
        let given: Vec<String> = given.iter().map(ToString::to_string).collect();
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(1 << 30).unwrap();
        options(hints, Some(ELEVEN), of_kind(kind)?, &given, image.path())
    }

    #[test]
    fn eleven_disks_of_64_kib_are_stride_16_and_width_176() {
        let ext = with("ext4", Hints::Given, &["-O", "^has_journal", "-b", "4096"]).unwrap();
        assert_eq!(
            ext,
            [
                "-E",
                "stride=16,stripe_width=176",
                "-O",
                "^has_journal",
                "-b",
                "4096"
            ]
        );
        // The study's own list is joined: mke2fs takes the last -E alone.
        let lazy = ["-b", "4096", "-E", "lazy_itable_init=0"];
        let joined = with("ext4", Hints::Given, &lazy).unwrap();
        assert_eq!(joined[3], "lazy_itable_init=0,stride=16,stripe_width=176");
        assert_eq!(joined.len(), 4);
        let joined = with("ext4", Hints::Withheld, &["-Elazy_itable_init=0"]).unwrap();
        assert_eq!(joined, ["-Elazy_itable_init=0,stride=1,stripe_width=1"]);
        let small = with("ext4", Hints::Given, &["-b", "1024"]).unwrap();
        assert_eq!(small[1], "stride=64,stripe_width=704");
        let xfs = with("xfs", Hints::Given, &[]).unwrap();
        assert_eq!(xfs, ["-d", "su=64k,sw=11"]);
    }

    #[test]
    fn hints_are_withheld_by_option_and_left_alone_by_none() {
        let ext = with("ext3", Hints::Withheld, &[]).unwrap();
        assert_eq!(ext, ["-E", "stride=1,stripe_width=1"]);
        assert_eq!(
            with("xfs", Hints::Withheld, &[]).unwrap(),
            ["-d", "noalign"]
        );
        assert_eq!(with("xfs", Hints::Auto, &["-f"]).unwrap(), ["-f"]);
    }

    #[test]
    fn the_studys_own_words_win() {
        let own = ["-E", "lazy_itable_init=0,stride=2"];
        assert_eq!(with("ext4", Hints::Given, &own).unwrap(), own);
        let own = ["-dsu=4k,sw=2"];
        assert_eq!(with("xfs", Hints::Withheld, &own).unwrap(), own);
        let none = with("btrfs", Hints::Given, &[]).unwrap_err();
        assert!(
            none.to_string().contains("btrfs has no such option"),
            "{none}"
        );
    }
}
