//! What a run's units hold, so that a good one is known by comparing.
//!
//! With the run and the kind of content every byte of a unit is known in advance: its body is
//! one of few (content.rs), and its trailer follows from its number. Where all bodies are the same,
//! comparing takes six tenths of the time of a checksum (docs/decisions/0009-verify-cost.md), and
//! leaves nothing to chance; the checksum of a whole unit is then worked out only for the first
//! one, which identifies the run, and for one that is not what it should be. Bodies of random content
//! together fill a processor's cache, and fetching them costs as much as a checksum.

use super::super::content::{BODY, Body, SUMMED, Trailer};
use params::stream::Content;

/// The units of a run that all have the same body.
pub(super) struct Expected {
    content: Content,
    run: u64,
    body: Body,
}

impl Expected {
    /// Of the run to which a good unit belongs; none where bodies differ.
    pub(super) fn after(trailer: &Trailer) -> Option<Expected> {
        match trailer.content {
            Content::Random => None,
            content => Some(Expected {
                content,
                run: trailer.run,
                body: Body::new(content, trailer.run, 0),
            }),
        }
    }

    /// Whether a unit is, byte for byte, number `number` of the run.
    #[inline]
    pub(super) fn is(&self, number: u64, unit: &[u8]) -> bool {
        let trailer = Trailer {
            content: self.content,
            unit: number,
            run: self.run,
            body: 0,
        }
        .bytes();
        unit[BODY..SUMMED] == trailer
            && unit[SUMMED..] == self.body.sum(&trailer)
            && unit[..BODY] == *self.body.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::content::BYTES;
    use super::*;

    fn trailer(content: Content) -> Trailer {
        Trailer {
            content,
            unit: 7,
            run: 9,
            body: 0,
        }
    }

    #[test]
    fn only_the_very_unit_is_expected() {
        for content in [Content::Zero, Content::Pattern] {
            let trailer = trailer(content);
            let expected = Expected::after(&Trailer { unit: 2, ..trailer }).unwrap();
            let good = trailer.whole();
            assert!(expected.is(7, &good));
            assert!(!expected.is(6, &good));
            for at in 0..BYTES {
                let mut bad = good.clone();
                bad[at] ^= 1;
                assert!(!expected.is(7, &bad), "{content:?} {at}");
            }
            for other in [
                Trailer { run: 8, ..trailer },
                Trailer { body: 1, ..trailer },
            ] {
                assert!(!expected.is(7, &other.whole()), "{other:?}");
            }
        }
    }

    #[test]
    fn random_units_are_known_by_their_checksums() {
        assert!(Expected::after(&trailer(Content::Random)).is_none());
    }
}
