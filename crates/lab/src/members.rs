//! The members' share of a phase, by their own counters.

use std::fs;

use probe::diskstats;
use record::{Member, Members};

use crate::io_crosscheck::Reading;

/// Counters of all members, now; nothing of a member that is not there.
pub(crate) fn now(members: &[String]) -> Vec<Option<Reading>> {
    if members.is_empty() {
        return Vec::new();
    }
    let text = fs::read_to_string("/proc/diskstats").unwrap_or_default();
    let read = |name: &String| diskstats::find(&text, name);
    members.iter().map(read).collect()
}

/// What each did between two readings; none where a counter is missing.
pub(crate) fn between(
    phase: &str,
    names: &[String],
    before: &[Option<Reading>],
    after: &[Option<Reading>],
) -> Option<Members> {
    if names.is_empty() {
        return None;
    }
    let readings = before.iter().zip(after);
    let members: Option<Vec<Member>> = names
        .iter()
        .zip(readings)
        .map(|(name, (before, after))| {
            let ((was, before), (is, after)) = (before.as_ref()?, after.as_ref()?);
            let delta = before.delta(was, after, is).ok()?;
            let [reads, _, read, _, writes, _, written, _, _, busy_ms, ..] = delta.0;
            Some(Member {
                name: name.clone(),
                reads,
                read: read * 512,
                writes,
                written: written * 512,
                busy_ms,
            })
        })
        .collect();
    members
        .filter(|members| members.len() == names.len())
        .map(|members| Members {
            phase: phase.to_owned(),
            members,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_members_share_is_the_difference_of_its_counters() {
        let at = |name: &str, sectors: u64, ms: u64| {
            let line = format!("252 0 {name} 1 0 8 0 {ms} 0 {sectors} 0 0 {ms} 0 0 0 0 0 0 0");
            diskstats::parse_line(&line)
        };
        let names = ["vda".to_owned(), "vdb".to_owned()];
        let before = [at("vda", 100, 5), at("vdb", 100, 5)];
        let after = [at("vda", 228, 9), at("vdb", 164, 6)];
        let shares = between("write", &names, &before, &after).unwrap();
        assert_eq!(shares.phase, "write");
        let first = &shares.members[0];
        assert_eq!((first.written, first.writes, first.busy_ms), (65536, 4, 4));
        assert_eq!(shares.members[1].written, 32768);
        assert_eq!(between("write", &names, &before, &[None, None]), None);
        assert_eq!(between("write", &[], &[], &[]), None);
        assert_eq!(now(&[]), Vec::new());
    }
}
