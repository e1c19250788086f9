//! The UUID of a filesystem on a real disk, known before mkfs.
//!
//! The undo journal must name what a killed run leaves on a disk, or the gate would take it for
//! another's data and refuse the disk until a hand has wiped it. What mkfs would invent is known only
//! when it is done, and a kill during mkfs leaves a signature that no journal has. So the rig says
//! which UUID to take.
//!
//! It follows from the disk's serial: the command line of mkfs, which the record keeps, is then the
//! same in every trial and run on that disk. Rejected: a random one, which would make every trial
//! differ from the next in what was asked. Loop images are known by their path and keep mkfs's own.

use fskind::Kind;
use sha2::{Digest, Sha256};

/// A UUID of version 8 (RFC 9562, 5.8) from the disk's serial.
pub(crate) fn of_disk(serial: &str) -> String {
    let digest = Sha256::digest(format!("fslab disk {serial}"));
    let mut bytes: [u8; 16] = std::array::from_fn(|at| digest[at]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    words::uuid(&bytes)
}

/// The options that give the mkfs of `kind` its UUID; none when the study's own options do.
pub(crate) fn options(kind: Kind, uuid: &str, given: &[String]) -> Option<Vec<String>> {
    // XFS's is also in lists (`-m crc=1,uuid=...`); mkfs.xfs takes it once.
    let sets = |word: &String| {
        word.starts_with("-U") || word.starts_with("--uuid") || word.contains("uuid=")
    };
    let (option, prefix) = kind.properties().mkfs.uuid;
    (!given.iter().any(sets)).then(|| vec![option.into(), format!("{prefix}{uuid}")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_has_one_uuid_and_another_disk_another() {
        let uuid = of_disk("WD-1");
        assert_eq!(uuid, of_disk("WD-1"));
        assert_ne!(uuid, of_disk("WD-2"));
        let parts: Vec<&str> = uuid.split('-').collect();
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{uuid}");
        assert!(
            parts[2].starts_with('8') && "89ab".contains(&parts[3][..1]),
            "{uuid}"
        );
    }

    #[test]
    fn the_studys_own_uuid_stays() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(options(Kind::Ext4, "x", &[]), Some(words("-U x")));
        assert_eq!(
            options(Kind::Btrfs, "x", &words("-d single")),
            Some(words("-U x"))
        );
        assert_eq!(
            options(Kind::Xfs, "x", &words("-m crc=1")),
            Some(words("-m uuid=x"))
        );
        for (kind, given) in [
            (Kind::Ext4, "-U clear"),
            (Kind::Btrfs, "--uuid 1"),
            (Kind::Xfs, "-m crc=1,uuid=1"),
        ] {
            assert_eq!(options(kind, "x", &words(given)), None, "{kind}");
        }
    }
}
