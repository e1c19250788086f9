//! A checker's descendants, where no PID namespace may be made: found while their parents live.
//!
//! A process that makes its own session is still its parent's child, until the parent ends. So
//! the tree is walked periodically while the checker runs, and each process that was seen is known from then
//! on, by PID and start time. One that is born, makes its session and loses its parent between two
//! looks is not found; that needs a will to escape, which no checker has.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rustix::process::Pid;

/// The leader's descendants, and its session.
#[derive(Debug)]
pub(super) struct Tree {
    leader: i32,
    /// Start of each descendant that was seen.
    seen: BTreeMap<i32, u64>,
}

impl Tree {
    /// Of this process, which leads a session.
    pub(super) fn of(leader: Pid) -> Tree {
        Tree {
            leader: leader.as_raw_nonzero().get(),
            seen: BTreeMap::new(),
        }
    }

    /// Walks the tree.
    pub(super) fn look(&mut self) {
        // The PID may have been reused.
        self.seen
            .retain(|pid, start| Stat::read(*pid).is_some_and(|stat| stat.start == *start));
        let mut todo: Vec<i32> = self.seen.keys().copied().collect();
        todo.push(self.leader);
        while let Some(parent) = todo.pop() {
            for child in children(parent) {
                if let Some(stat) = Stat::read(child)
                    && self.seen.insert(child, stat.start) != Some(stat.start)
                {
                    todo.push(child);
                }
            }
        }
    }

    /// Those that live, the leader left out.
    pub(super) fn living(&mut self) -> Vec<i32> {
        self.look();
        let mut living: Vec<i32> = self.seen.keys().copied().collect();
        living.extend(processes().filter(|pid| !self.seen.contains_key(pid)));
        living.retain(|pid| {
            *pid != self.leader
                && Stat::read(*pid).is_some_and(|stat| {
                    stat.lives && (stat.session == self.leader || self.seen.contains_key(pid))
                })
        });
        living
    }
}

/// Numbers of all processes.
pub(super) fn processes() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether a process is there and no zombie.
pub(crate) fn lives(pid: i32) -> bool {
    Stat::read(pid).is_some_and(|stat| stat.lives)
}

/// Children of all threads of a process.
fn children(parent: i32) -> Vec<i32> {
    let tasks = Path::new("/proc").join(parent.to_string()).join("task");
    let tasks = fs::read_dir(tasks).into_iter().flatten().flatten();
    let texts = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    texts
        .flat_map(|text| {
            let words = text.split_ascii_whitespace();
            words
                .filter_map(|word| word.parse().ok())
                .collect::<Vec<_>>()
        })
        .collect()
}

/// What /proc/PID/stat says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    lives: bool,
    session: i32,
    start: u64,
}

impl Stat {
    fn read(pid: i32) -> Option<Stat> {
        Stat::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Fields 3, 6 and 22.
    fn parse(text: &str) -> Option<Stat> {
        let (_, rest) = text.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        Some(Stat {
            lives: !matches!(fields.next()?, "Z" | "X"),
            session: fields.nth(2)?.parse().ok()?,
            start: fields.nth(15)?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_after_any_name() {
        let stat = |state: &str| {
            format!(
                "42 (a) b (c)) {state} 1 41 40 0 -1 4194304 7 8 9 10 11 12 13 14 20 0 1 0 98765 1"
            )
        };
        let expected = Stat {
            lives: true,
            session: 40,
            start: 98765,
        };
        assert_eq!(Stat::parse(&stat("S")), Some(expected));
        assert!(!Stat::parse(&stat("Z")).unwrap().lives);
        assert_eq!(Stat::parse("42 (a"), None);
        assert_eq!(Stat::parse(") S 1"), None);
    }

    proptest::proptest! {
        #[test]
        fn garbage_never_panics(text in ".{0,200}") {
            let _ = Stat::parse(&text);
        }
    }
}
