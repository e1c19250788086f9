//! Where figures come from, and drawing them from the ranges that this leaves.

use std::fmt;

use crate::random::Random;

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Printed by the manufacturer, or quoted from that.
    Published,
    /// Measured on a drive of this model.
    Extracted,
    /// Chosen so that named results come out.
    Fitted,
    /// Taken from devices of the same class.
    Assumed,
}

impl Origin {
    /// The words that a device file uses.
    pub const NAMES: [(&'static str, Origin); 4] = [
        ("published", Origin::Published),
        ("extracted", Origin::Extracted),
        ("fitted", Origin::Fitted),
        ("assumed", Origin::Assumed),
    ];

    /// The width of its range on both sides, as a share of the figure.
    pub fn uncertainty(self) -> f64 {
        match self {
            Origin::Published => 0.05,
            Origin::Extracted | Origin::Fitted => 0.0,
            Origin::Assumed => 0.15,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Origin::NAMES.iter().find(|(_, origin)| origin == self);
        f.write_str(name.map_or("", |name| name.0))
    }
}

/// A figure's source as a device file has it: `published: product manual`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// The key of the figure, `rate` or `controller`.
    pub key: String,
    /// The class of the source.
    pub origin: Origin,
    /// Which document, drive or results; may be empty.
    pub of: String,
}

impl Figure {
    /// Reads `ORIGIN` or `ORIGIN: TEXT`.
    pub(crate) fn parse(key: &str, text: &str) -> Option<Figure> {
        let (word, of) = text.split_once(':').unwrap_or((text, ""));
        let known = Origin::NAMES
            .iter()
            .find(|(name, _)| *name == word.trim())?;
        Some(Figure {
            key: key.to_owned(),
            origin: known.1,
            of: of.trim().to_owned(),
        })
    }
}

/// Which figures a model is built with: those of the file, or some drawn from their ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variation {
    /// The figures of the file.
    Nominal,
    /// Published figures within 5 %, assumed ones within 15 %, command times of 0.1 to 0.6 ms, and free
    /// phases, drawn with this seed.
    Drawn(u64),
    /// The same without the rule that a time for each request that was fitted contains the command times below it: these are
    /// drawn too.
    DrawnWithout(u64),
}

/// Draws for one device tree.
///
/// Members of an array are drives of one model: what is not known of the model is the same for all of them. Figures are therefore
/// drawn once for each device of a file, however often it occurs in the tree. Only phases belong to a drive. Drawn for each
/// drive alone, an array of many would be as slow as the worst of them, and its times would hardly vary.
pub(crate) struct Draw {
    /// Whether a fitted time keeps the command times below it as they are.
    pub(crate) contains: bool,
    seed: Option<u64>,
    phases: Option<Random>,
}

impl Draw {
    pub(crate) fn new(variation: Variation) -> Draw {
        let seed = match variation {
            Variation::Nominal => None,
            Variation::Drawn(seed) | Variation::DrawnWithout(seed) => Some(seed),
        };
        Draw {
            contains: !matches!(variation, Variation::DrawnWithout(_)),
            seed,
            phases: seed.map(Random::new),
        }
    }

    /// The draws of a device of this name: the same each time.
    pub(crate) fn of(&self, name: &str) -> Figures {
        // FNV-1a (Fowler, Noll and Vo): equal on every machine, as the seed is.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Figures(self.seed.map(|seed| Random::new(seed ^ hash)))
    }

    /// The phase of the n-th disk, in turns: spread evenly, or drawn.
    pub(crate) fn phase(&mut self, nth: usize) -> f64 {
        let golden = 0.618_033_988_749_895;
        self.phases
            .as_mut()
            .map_or_else(|| (nth as f64 * golden).fract(), Random::unit)
    }
}

/// Draws for the figures of one device.
pub(crate) struct Figures(Option<Random>);

impl Figures {
    /// A factor for a figure of this origin.
    pub(crate) fn factor(&mut self, origin: Origin) -> f64 {
        let width = origin.uncertainty();
        self.0
            .as_mut()
            .map_or(1.0, |random| random.within(1.0 - width, 1.0 + width))
    }

    /// The command time of a disk in ms.
    pub(crate) fn command_ms(&mut self, nominal: f64, origin: Origin) -> f64 {
        match self.0.as_mut() {
            Some(random) if origin == Origin::Assumed => random.within(0.1, 0.6),
            _ => nominal,
        }
    }
}
