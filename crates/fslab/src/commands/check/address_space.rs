//! How much address space a limit leaves (`ulimit -v`).
//!
//! Under such a limit a thread may start and then fail its first allocation, which ends the program. So the
//! check starts only as many threads as fit, and uses small buffers if there is little room.

use rustix::process::{Resource, getrlimit};

/// Address space for each thread: its stack, its part of the buffers, and what the allocator maps for it.
const THREAD: u64 = 16 << 20;

/// Below this, requests are small and few.
const LITTLE: u64 = 256 << 20;

/// Resources that fit in a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// Threads, at least 1.
    pub(super) threads: usize,
    /// Whether there is too little room for the usual buffers.
    pub(super) little: bool,
}

/// Resources that fit in the limit; `None` without a limit.
pub(super) fn room() -> Option<Room> {
    let limit = getrlimit(Resource::As).current?;
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').next()?.parse().ok()?;
    let page = rustix::param::page_size() as u64;
    Some(fitting(limit.saturating_sub(pages.saturating_mul(page))))
}

fn fitting(left: u64) -> Room {
    Room {
        threads: usize::try_from(left / THREAD).unwrap_or(usize::MAX).max(1),
        little: left < LITTLE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_one_thread_and_a_limit_that_is_far_away_limits_nothing() {
        let room = |mib: u64| fitting(mib << 20);
        assert_eq!(room(0).threads, 1);
        assert_eq!(room(15).threads, 1);
        assert_eq!((room(64).threads, room(64).little), (4, true));
        assert!(fitting(u64::MAX).threads > 1 << 20 && !fitting(u64::MAX).little);
    }
}
