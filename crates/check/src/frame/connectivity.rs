//! Whether every directory is connected to the root.
//!
//! From each directory the parents are followed up to one that was met before. A way that ends at a directory without a parent is
//! unconnected; a way that comes back to itself is a loop. Each directory is visited once, in time linear in their number.

/// Directories by index, each with at most one parent.
pub(crate) trait Tree {
    /// How many directories there are.
    fn len(&self) -> usize;
    /// The root's index, if there is a root.
    fn root(&self) -> Option<usize>;
    /// The index of a directory's parent; none: nothing names it, or what names it is no directory.
    fn parent(&self, at: usize) -> Option<usize>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    New,
    /// On the way that is being followed.
    Current,
    Done,
}

/// What keeps a directory from the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Break<'a> {
    /// This directory has no parent.
    NoParent(usize),
    /// These directories name each other in a loop.
    Loop(&'a [usize]),
}

/// Follows parents.
pub(crate) struct Walk<'a, T> {
    tree: &'a T,
    marks: Vec<Mark>,
    way: Vec<usize>,
}

impl<'a, T: Tree> Walk<'a, T> {
    pub(crate) fn new(tree: &'a T) -> Walk<'a, T> {
        let mut marks = vec![Mark::New; tree.len()];
        if let Some(root) = tree.root() {
            marks[root] = Mark::Done;
        }
        Walk {
            tree,
            marks,
            way: Vec::new(),
        }
    }

    /// Follows the parents of a directory up to one that was met before; passes on what breaks the way, once per break.
    pub(crate) fn follow(&mut self, from: usize, mut broken: impl FnMut(Break<'_>)) {
        let mut at = from;
        loop {
            match self.marks[at] {
                Mark::Done => break,
                Mark::Current => {
                    let start = self.way.iter().position(|on| *on == at).unwrap_or(0);
                    broken(Break::Loop(&self.way[start..]));
                    break;
                }
                Mark::New => {}
            }
            self.marks[at] = Mark::Current;
            self.way.push(at);
            let Some(parent) = self.tree.parent(at) else {
                broken(Break::NoParent(at));
                break;
            };
            at = parent;
        }
        for at in self.way.drain(..) {
            self.marks[at] = Mark::Done;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Parents(Vec<Option<usize>>);

    impl Tree for Parents {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn root(&self) -> Option<usize> {
            Some(0)
        }

        fn parent(&self, at: usize) -> Option<usize> {
            self.0[at]
        }
    }

    #[test]
    fn each_break_is_reported_once() {
        // 0 is the root; 1 below it; 2 has no parent, and 3 is below 2; 4, 5 and 6 are a loop, and 7 leads into it.
        let parents = [
            Some(0),
            Some(0),
            None,
            Some(2),
            Some(5),
            Some(6),
            Some(4),
            Some(5),
        ];
        let tree = Parents(parents.to_vec());
        let mut walk = Walk::new(&tree);
        let mut breaks = Vec::new();
        for from in 0..tree.len() {
            walk.follow(from, |broken| breaks.push(format!("{from}: {broken:?}")));
        }
        assert_eq!(breaks, ["2: NoParent(2)", "4: Loop([4, 5, 6])"]);
    }
}
