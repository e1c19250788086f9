//! A case: one fault, made on purpose, and the code by which e2fsck knows it.

use super::error::Error;
use super::filesystem::Filesystem;

/// A named fault.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name: the code's own, in small letters, and what distinguishes it from others of the same code.
    pub name: &'static str,
    /// The problem it is made to raise, by e2fsck's number.
    pub code: u32,
    /// The name of the sound filesystem that it is tested on, one of the tests' bases; others with the same
    /// features do as well.
    pub base: &'static str,
    /// The damage, in one line.
    pub about: &'static str,
    /// Whether e2fsck 1.47.0 raises the code when run as `e2fsck -fn`, and if not, why.
    pub reference: Reference,
    make: fn(&mut Filesystem<'_>) -> Result<(), Error>,
}

/// What the installed reference can say about a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// It raises the code.
    Raises,
    /// It raises the code and stops there without writing it into its log of problems.
    Stops,
    /// It does not know this problem, or meets another first: the reason.
    Silent(&'static str),
}

/// A case that the reference confirms.
pub(super) const fn case(
    name: &'static str,
    code: u32,
    base: &'static str,
    about: &'static str,
    make: fn(&mut Filesystem<'_>) -> Result<(), Error>,
) -> Case {
    Case {
        name,
        code,
        base,
        about,
        reference: Reference::Raises,
        make,
    }
}

impl Case {
    /// The same, with another say of the reference.
    pub(super) const fn reference(mut self, reference: Reference) -> Case {
        self.reference = reference;
        self
    }

    /// Makes the fault.
    ///
    /// # Errors
    /// The filesystem lacks what the case needs, is already damaged, or cannot be written.
    pub fn apply(&self, fs: &mut Filesystem<'_>) -> Result<(), Error> {
        (self.make)(fs)
    }
}

/// Writes 16 bits, as far as they fit.
pub(super) fn put16(bytes: &mut [u8], at: usize, value: u16) {
    if let Some(place) = bytes.get_mut(at..at + 2) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

/// Writes 32 bits, as far as they fit.
pub(super) fn put32(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(place) = bytes.get_mut(at..at + 4) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

/// Reads 16 bits; 0 past the end.
pub(super) fn get16(bytes: &[u8], at: usize) -> u16 {
    let found = bytes.get(at..at + 2).and_then(|two| two.try_into().ok());
    found.map_or(0, u16::from_le_bytes)
}

/// Reads 32 bits; 0 past the end.
pub(super) fn get32(bytes: &[u8], at: usize) -> u32 {
    let found = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    found.map_or(0, u32::from_le_bytes)
}
