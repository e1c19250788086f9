//! Which policy each encrypted inode is encrypted with.
//!
//! A policy is 12 or 24 bytes and millions of inodes share one, so inodes keep numbers of policies, and neighbours with the same
//! number are one range.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use ondisk::ext4::encryption::{Context, NEWEST_VERSION};

/// The number of a policy. Equal numbers are equal policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PolicyId(u32);

impl PolicyId {
    /// All policies of versions that are not known here: no damage, and indistinguishable.
    pub(crate) const UNKNOWN: PolicyId = PolicyId(u32::MAX);
}

/// Neighbouring inodes of one policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    first: u32,
    last: u32,
    policy: PolicyId,
}

/// The policies met so far, by their bytes.
#[derive(Debug, Default)]
pub(super) struct Numbers(Mutex<HashMap<Vec<u8>, u32>>);

impl Numbers {
    /// The number of the policy that an attribute's value states; nothing where the value states none.
    pub(super) fn of(&self, value: &[u8]) -> Option<PolicyId> {
        if value
            .first()
            .is_some_and(|version| *version > NEWEST_VERSION)
        {
            return Some(PolicyId::UNKNOWN);
        }
        let context = Context::read(value)?;
        let mut bytes = context.to_bytes();
        bytes.truncate(bytes.len() - context.nonce.len());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = known.len() as u32;
        Some(PolicyId(*known.entry(bytes).or_insert(next)))
    }
}

/// Adds an inode to a worker's ranges.
pub(super) fn push(ranges: &mut Vec<Range>, ino: u32, policy: PolicyId) {
    match ranges.last_mut() {
        Some(range) if range.last.checked_add(1) == Some(ino) && range.policy == policy => {
            range.last = ino;
        }
        _ => ranges.push(Range {
            first: ino,
            last: ino,
            policy,
        }),
    }
}

/// The policy of each encrypted inode.
#[derive(Debug, Default)]
pub(crate) struct Policies(Vec<Range>);

impl Policies {
    /// From the workers' ranges, in any order.
    pub(super) fn new(mut ranges: Vec<Range>) -> Policies {
        ranges.sort_unstable_by_key(|range| range.first);
        ranges.dedup_by(|next, range| {
            let joined =
                range.last.checked_add(1) == Some(next.first) && range.policy == next.policy;
            if joined {
                range.last = next.last;
            }
            joined
        });
        ranges.shrink_to_fit();
        Policies(ranges)
    }

    /// The policy of an inode; nothing for one that is not encrypted, or whose context is missing or broken.
    pub(crate) fn of(&self, ino: u32) -> Option<PolicyId> {
        let at = self.0.partition_point(|range| range.last < ino);
        let range = self.0.get(at)?;
        (range.first <= ino).then_some(range.policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_joined_across_workers() {
        let (one, two) = (PolicyId(0), PolicyId(1));
        let mut here = Vec::new();
        let mut there = Vec::new();
        for ino in 20..30 {
            push(&mut there, ino, one);
        }
        push(&mut there, 40, two);
        for ino in 12..20 {
            push(&mut here, ino, one);
        }
        push(&mut here, 39, one);
        let policies = Policies::new([there, here].concat());
        assert_eq!(policies.0.len(), 3);
        let of = [11, 12, 29, 30, 39, 40, 41].map(|ino| policies.of(ino));
        assert_eq!(
            of,
            [None, Some(one), Some(one), None, Some(one), Some(two), None]
        );
    }

    #[test]
    fn the_nonce_does_not_count_and_later_versions_are_one() {
        let numbers = Numbers::default();
        let context = |key: u8, nonce: u8| {
            let mut bytes = vec![1, 1, 4, 0];
            bytes.extend([key; 8]);
            bytes.extend([nonce; 16]);
            bytes
        };
        let first = numbers.of(&context(1, 1));
        assert!(first.is_some());
        assert_eq!(numbers.of(&context(1, 2)), first);
        assert_ne!(numbers.of(&context(2, 1)), first);
        assert_eq!(numbers.of(&[7]), Some(PolicyId::UNKNOWN));
        assert_eq!(numbers.of(&[0; 28]), None);
        assert_eq!(numbers.of(&[1, 2, 3]), None);
        assert_eq!(numbers.of(&[]), None);
    }
}
