//! Where the judges of inodes, directories and attributes put what they find. A judge is a function of the rules, an object's bytes and a
//! sink: it reads nothing by itself, and tests give it a list.

use super::rules::Fork;
use crate::Problem;
use crate::frame::finding::Finding;

/// Blocks that a fork maps, or a block of its btree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a property of the blocks"
)]
pub(crate) struct Claim {
    /// The inode.
    pub(crate) ino: u64,
    /// Which fork.
    pub(crate) fork: Fork,
    /// First block of the filesystem.
    pub(crate) block: u64,
    /// Blocks.
    pub(crate) count: u64,
    /// First block within the file; 0 for a block of the btree.
    pub(crate) offset: u64,
    /// Allocated and not written.
    pub(crate) unwritten: bool,
    /// A block of the fork's btree.
    pub(crate) tree: bool,
    /// A regular file.
    pub(crate) regular: bool,
    /// Whether the inode has the flag of shared blocks.
    pub(crate) flagged: bool,
}

/// A name in a directory. `.` and `..` are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_field_names,
    reason = "the name itself, beside where it leads"
)]
pub(crate) struct Name<'a> {
    /// The directory.
    pub(crate) directory: u64,
    /// The inode that it leads to, one that can be.
    pub(crate) ino: u64,
    /// The file type in the entry; 0: unknown, or the format has none.
    pub(crate) kind: u8,
    /// The name.
    pub(crate) name: &'a [u8],
    /// Block and byte of the entry; none: it is in the inode.
    pub(crate) place: Option<(u64, usize)>,
}

impl Name<'_> {
    /// A finding about the entry.
    pub(crate) fn about(&self, problem: &'static Problem) -> Finding {
        let finding = Finding::new(problem).inode(self.ino);
        let finding = finding.directory(self.directory).name(self.name);
        match self.place {
            Some((block, offset)) => finding.logical(block).offset(offset),
            None => finding,
        }
    }
}

/// Takes what judges find.
pub(crate) trait Sink {
    /// Takes a finding.
    fn find(&mut self, finding: Finding);
    /// Takes blocks for their owner. What is taken twice is judged later.
    fn claim(&mut self, claim: &Claim);
    /// Takes blocks of the realtime section; what is wrong with that.
    fn claim_realtime(&mut self, claim: &Claim) -> Option<&'static Problem>;
    /// Takes a name, and judges what it leads to.
    fn name(&mut self, name: &Name<'_>);

    /// Takes the log sequence number of a block that xfs_repair compares with the log.
    fn lsn(&mut self, lsn: u64);

    /// Takes a finding that xfs_repair does not look for.
    fn own(&mut self, finding: Finding) {
        self.find(finding.beyond_reference());
    }
}

/// A sink that keeps lists, for tests.
#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Findings by name, claims and names.
    #[derive(Debug, Default)]
    pub(crate) struct Lists {
        pub(crate) codes: Vec<&'static str>,
        pub(crate) strict: Vec<&'static str>,
        pub(crate) claims: Vec<Claim>,
        pub(crate) names: Vec<(u64, u64, u8)>,
    }

    impl Sink for Lists {
        fn find(&mut self, finding: Finding) {
            if finding.beyond_reference {
                self.strict.push(finding.problem.name);
            } else {
                self.codes.push(finding.problem.name);
            }
        }

        fn claim(&mut self, claim: &Claim) {
            self.claims.push(*claim);
        }

        fn claim_realtime(&mut self, claim: &Claim) -> Option<&'static Problem> {
            self.claim(claim);
            None
        }

        fn lsn(&mut self, _: u64) {}

        fn name(&mut self, name: &Name<'_>) {
            self.names.push((name.directory, name.ino, name.kind));
        }
    }
}
