//! Whether the page cache was left out, and whether what was read is sound.

use std::path::Path;

use workload::{Evidence, residency};

/// Pages of the device that other programs may bring into the page cache during a pass: libblkid was seen to put 261 of them there when
/// a filesystem was mounted anywhere.
const LOOKED_AT: u64 = 512;

/// Pages of a device in the page cache.
pub(super) fn resident(device: &Path) -> Result<u64, String> {
    match residency::of_path(device) {
        Ok(found) => Ok(found.resident),
        Err(error) => Err(format!("the page cache cannot be seen: {error}")),
    }
}

/// Whether a pass that read this many bytes bypassed the page cache: a pass through it would have left its pages there. A few
/// hundred can be another program's; a pass that read no more cannot be distinguished from them, and is not judged.
pub(super) fn direct(
    before: &Result<u64, String>,
    after: &Result<u64, String>,
    bytes: u64,
) -> Evidence {
    let (holds, detail) = match (before, after) {
        (Ok(before), Ok(after)) => {
            let read = bytes / rustix::param::page_size() as u64;
            let grown = after.saturating_sub(*before);
            let holds = match grown {
                0 => Some(true),
                grown if grown * 2 < read => Some(true),
                grown if grown > LOOKED_AT => Some(false),
                _ => None,
            };
            let detail = format!(
                "{read} pages were read with O_DIRECT and {grown} came into the page cache"
            );
            let why = "; too few to distinguish them from those of other programs";
            let doubt = if holds.is_none() { why } else { "" };
            (holds, format!("{detail}{doubt}"))
        }
        (Err(why), _) | (_, Err(why)) => (None, format!("opened with O_DIRECT; {why}")),
    };
    Evidence {
        name: "direct_io_honoured".into(),
        holds,
        detail,
    }
}

/// A filesystem that was just made has nothing damaged: `faults` of it are, in the reader's words for them.
pub(super) fn sound(faults: u64, are: &str) -> Evidence {
    Evidence {
        name: "metadata_sound".into(),
        holds: Some(faults == 0),
        detail: format!("{faults} {are}"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_pass_too_small_to_tell_is_not_judged() {
        let holds = |before, after, pages: u64| {
            let bytes = pages * rustix::param::page_size() as u64;
            direct(&Ok(before), &Ok(after), bytes).holds
        };
        // A pass of 128 pages: nothing came, all of it came, libblkid's 261 came.
        assert_eq!(holds(300, 300, 128), Some(true));
        assert_eq!(holds(0, 128, 128), None);
        assert_eq!(holds(0, 261, 128), None);
        // One of 8192 pages.
        assert_eq!(holds(0, 261, 8192), Some(true));
        assert_eq!(holds(0, 8192, 8192), Some(false));
        assert_eq!(holds(300, 200, 0), Some(true));
        let unseen = direct(&Ok(0), &Err("no such call".to_owned()), 1 << 20);
        assert_eq!(unseen.holds, None);
        assert!(unseen.detail.ends_with("no such call"));
    }

    /// A reader that goes through the page cache after all is found out.
    #[test]
    fn a_buffered_reader_is_seen() {
        use blockio::{BlockSource, Buffered};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("device");
        let bytes = vec![7; 8 << 20];
        fs::write(&path, &bytes).unwrap();
        let file = fs::File::open(&path).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        let before = resident(&path);
        assert!(before.clone().unwrap() < 64, "{before:?}");
        let mut read = vec![0; bytes.len()];
        Buffered::open(&path)
            .unwrap()
            .read_at(&mut read, 0)
            .unwrap();
        let found = direct(&before, &resident(&path), read.len() as u64);
        assert_eq!(found.holds, Some(false), "{}", found.detail);
    }
}
