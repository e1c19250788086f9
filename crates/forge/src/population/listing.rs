//! The names that a reader of the filesystem must find in a directory.

use super::history::{Change, Target};
use super::{ObjectId, Population};

/// An entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Listed {
    /// The directory for what a repair finds.
    LostAndFound,
    /// A subdirectory, by its number.
    Directory(u32),
    /// A file; several names may refer to the same one.
    File(ObjectId),
}

/// A name of a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named {
    /// The name.
    pub name: Vec<u8>,
    /// The target of the name.
    pub what: Listed,
}

impl Population {
    /// The names of a directory but `.` and `..`, in the order of their creation.
    pub fn list(&self, directory: u32) -> Vec<Named> {
        let slots = self.slots(directory);
        let first = self.children(directory).start;
        let mut place = [0; 255];
        let mut named = Vec::new();
        let Ok(()) = self
            .history(directory, &slots)
            .changes::<std::convert::Infallible>(&mut |change| {
                let Change::Name(_, _, target) = change else {
                    return Ok(());
                };
                let what = match target {
                    Target::Gone => return Ok(()),
                    Target::LostAndFound => Listed::LostAndFound,
                    Target::Subdirectory(nth) => Listed::Directory(first + nth),
                    Target::File(slot) => Listed::File(ObjectId { directory, slot }),
                    Target::Link(nth) => Listed::File(self.link(directory, nth)),
                };
                let len = change.name(&self.names, slots.set, &mut place);
                named.push(Named {
                    name: place[..len.into()].to_vec(),
                    what,
                });
                Ok(())
            });
        named
    }
}
