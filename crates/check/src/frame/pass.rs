//! The passes of a checker.

/// A pass of a checker. Each checker declares its own list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Position in the list: findings are grouped by it.
    pub number: u8,
    /// Name in tables: `0` to `5`, `after`.
    pub name: &'static str,
    /// Name in headings: `pass 1`.
    pub heading: &'static str,
    /// What it checks, in the words of the reference program.
    pub title: &'static str,
    /// What it counts: `inodes`.
    pub objects: &'static str,
}

impl Pass {
    /// A pass for a checker's list.
    pub const fn new(
        number: u8,
        name: &'static str,
        heading: &'static str,
        title: &'static str,
        objects: &'static str,
    ) -> Pass {
        Pass {
            number,
            name,
            heading,
            title,
            objects,
        }
    }
}
