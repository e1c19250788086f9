//! What can be wrong with a device file.

/// One line: where, what, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A file that cannot be read as devices.
    #[error("{file}:{line}: {message}")]
    File {
        /// The name of the file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// A name that no file has.
    #[error("no device is named {name}; {hint}`fslab device list` lists them")]
    Unknown {
        /// The name, quoted.
        name: String,
        /// A question with a similar name, or nothing.
        hint: String,
    },
}
