//! An item of the record: its number, name, source and meaning.

/// How an item gets its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// The text of the source, trimmed.
    Text,
    /// The text of the source as a whole number.
    Number,
    /// The word in brackets, of `[mq-deadline] none`.
    Chosen,
    /// Computed by code.
    Computed,
    /// Not of the machine: recorded with each trial.
    PerTrial,
    /// Given by a person or the caller.
    Manual,
}

/// One item that a record can have. A name with `<...>` stands for one item of each such thing.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its number among the sixty.
    pub number: u8,
    /// Its dotted name.
    pub name: &'static str,
    /// File or call that it is read from.
    pub source: &'static str,
    /// Description, for the guide.
    pub about: &'static str,
    /// Changes by itself.
    pub volatile: bool,
    pub(super) how: How,
}

impl Entry {
    pub(super) const fn new(
        number: u8,
        name: &'static str,
        how: How,
        source: &'static str,
        about: &'static str,
    ) -> Entry {
        Entry {
            number,
            name,
            source,
            about,
            volatile: false,
            how,
        }
    }

    pub(super) const fn changing(self) -> Entry {
        Entry {
            volatile: true,
            ..self
        }
    }

    /// Whether a name is this entry's, `<...>` matching one part, or all the rest at the end.
    pub(super) fn matches(&self, name: &str) -> bool {
        if self.name == name {
            return true;
        }
        if !self.name.contains('<') {
            return false;
        }
        let mut have = name.split('.');
        let mut want = self.name.split('.').peekable();
        while let Some(part) = want.next() {
            let Some(word) = have.next() else {
                return false;
            };
            if part.starts_with('<') {
                if want.peek().is_none() {
                    return true;
                }
            } else if part != word {
                return false;
            }
        }
        have.next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_match_one_part_or_the_rest() {
        let entry = |name| Entry::new(1, name, How::Text, "", "");
        assert!(entry("block.<dev>.queue.fua").matches("block.vda.queue.fua"));
        assert!(!entry("block.<dev>.queue.fua").matches("block.vda.queue.fua.x"));
        assert!(!entry("block.<dev>.queue.fua").matches("block.vda.fua"));
        assert!(entry("cpu.vulnerability.<name>").matches("cpu.vulnerability.a.b"));
        assert!(!entry("cpu.vulnerability.<name>").matches("cpu.vulnerability"));
    }
}
