//! A request of a record with what it waited for, and where such requests are kept.
//!
//! A record may be larger than memory, so a replay asks for its requests by number when it needs them, and keeps only those that
//! wait or are in flight. What makes that possible is that each request names those that wait for it: the next of its process,
//! and those that reacted to its completion.

use super::engine::Error;
use crate::model::{Nanoseconds, Op};

/// A request of a record. Numbers are those of the order of submission, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// When it was submitted, since the first of the record.
    pub submitted: Nanoseconds,
    /// What it did.
    pub op: Op,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
    /// Whether it had to be on the medium.
    pub fua: bool,
    /// Requests that were in flight when it was submitted.
    pub depth: u32,
    /// Time since the last completion that its process waited for, where no earlier request of the process came after that one.
    pub gap: Option<Nanoseconds>,
    /// Whether it follows time alone: a kernel thread sent it, and none waits for it.
    pub is_timed: bool,
    /// Whether its process submitted a request before it.
    pub follows: bool,
    /// The next request of its process.
    pub next: Option<u32>,
    /// A request whose `gap` counts from the completion of this one. Others are its siblings.
    pub reaction: Option<u32>,
    /// Another request whose `gap` counts from the same completion as that of this one.
    pub sibling: Option<u32>,
}

/// What a submission is bound by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// Nothing but the time since the start of the record.
    Start,
    /// A completion that its process waited for, and the think time since.
    Completion,
    /// The submission before it of its process, and the time since.
    Submission,
}

impl Kept {
    /// What it waits for, where a gap of up to `limit` is think time.
    pub fn after(&self, limit: Nanoseconds) -> After {
        match (self.gap, self.follows) {
            (Some(gap), _) if gap <= limit => After::Completion,
            (_, true) => After::Submission,
            (_, false) => After::Start,
        }
    }

    /// The byte after its last.
    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(self.len)
    }
}

/// Requests by number.
pub trait Requests {
    /// The request of a number below the count of the record.
    ///
    /// # Errors
    /// It cannot be read back.
    fn get(&mut self, number: u32) -> Result<Kept, Error>;
}

/// Where requests are put. What is known of a request later is added to it there.
pub trait Keep {
    /// Adds the next request.
    ///
    /// # Errors
    /// It cannot be written.
    fn push(&mut self, kept: Kept) -> Result<(), Error>;

    /// Changes a request that was added. Most are recent ones.
    ///
    /// # Errors
    /// It cannot be read or written.
    fn change(&mut self, number: u32, change: &mut dyn FnMut(&mut Kept)) -> Result<(), Error>;
}

impl Keep for Vec<Kept> {
    fn push(&mut self, kept: Kept) -> Result<(), Error> {
        Vec::push(self, kept);
        Ok(())
    }

    fn change(&mut self, number: u32, change: &mut dyn FnMut(&mut Kept)) -> Result<(), Error> {
        change(self.get_mut(number as usize).ok_or(Error::NoSuch(number))?);
        Ok(())
    }
}

impl Requests for &[Kept] {
    fn get(&mut self, number: u32) -> Result<Kept, Error> {
        let found = <[Kept]>::get(self, number as usize);
        found.copied().ok_or(Error::NoSuch(number))
    }
}
