//! Which run it is: a name is chosen by people and is not unique, and folders are moved and copied.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::event::Entry;

/// The id of a run: SHA-256 of the first line of its log without the newline, in 64 hexadecimal digits. That line has the
/// plan, the seed and the time to the nanosecond, and never changes.
pub fn id_of_line(line: &[u8]) -> String {
    let digest = Sha256::digest(line);
    digest.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The id of a run whose first event is in memory, as the log's writer would write it.
pub(crate) fn id_of(first: &Entry) -> String {
    id_of_line(&serde_json::to_vec(first).unwrap_or_default())
}

/// The commit in the name of a tool: `0123456789ab` of `fslab 0.1.0 (0123456789ab)`.
pub(crate) fn commit_of(tool: &str) -> Option<&str> {
    let (_, commit) = tool.strip_suffix(')')?.rsplit_once(" (")?;
    (!commit.is_empty() && !commit.contains(' ')).then_some(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_hash_of_the_line() {
        // printf abc | sha256sum
        assert_eq!(
            id_of_line(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn a_tool_has_its_commit() {
        assert_eq!(
            commit_of("fslab 0.1.0 (0123456789ab)"),
            Some("0123456789ab")
        );
        assert_eq!(commit_of("fslab 0.1.0 (0123-dirty)"), Some("0123-dirty"));
        assert_eq!(commit_of("fslab 0.1.0 (commit unknown)"), None);
        assert_eq!(commit_of("fslab 0.1.0"), None);
    }
}
