//! Which directories were removed or added, in a run's note.

use crate::fill::names::mix;

/// Directories that a run's note names one by one; of more it gives the first few and a digest.
const NAMED: usize = 12;

/// A list of directories in few words: all when they are few, else the first and a digest by which
/// two runs can be compared.
#[derive(Default)]
pub(super) struct Log {
    pub(super) directories: usize,
    named: Vec<String>,
    digest: u64,
}

impl Log {
    /// One more.
    pub(super) fn add(&mut self, path: &str) {
        self.directories += 1;
        for byte in path.bytes().chain([b'\n']) {
            self.digest = mix(self.digest ^ u64::from(byte));
        }
        if self.named.len() < NAMED {
            self.named.push(path.to_owned());
        }
    }

    /// As text.
    pub(super) fn text(&self) -> String {
        let named = self.named.join(", ");
        match self.directories - self.named.len() {
            0 => named,
            more => format!("{named} and {more} more (digest {:016x})", self.digest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(directories: usize) -> String {
        let mut log = Log::default();
        for number in 0..directories {
            log.add(&format!("{number:02x}"));
        }
        log.text()
    }

    #[test]
    fn few_are_named_and_many_have_a_digest() {
        assert_eq!(text(3), "00, 01, 02");
        assert!(!text(NAMED).contains("digest"));
        let many = text(NAMED + 700);
        assert!(many.contains("0b and 700 more (digest "), "{many}");
        assert_ne!(many, text(NAMED + 701).replace("701 more", "700 more"));
    }
}
