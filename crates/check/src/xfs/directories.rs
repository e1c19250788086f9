//! The directories, and what names say of their places.

/// The directories.
#[derive(Debug, Default)]
pub(crate) struct Directories {}
