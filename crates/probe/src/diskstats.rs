//! `/proc/diskstats` and `/sys/class/block/<device>/stat`: a device's counters and their deltas.
//!
//! Source of the fields: Documentation/admin-guide/iostats.rst. F12 to F15 (discards) exist since
//! Linux 4.18, F16 and F17 (flushes) since 5.5; older lines parse with those at 0. A sector is 512
//! bytes on every device. The kernel prints the millisecond fields as 32-bit numbers, so
//! they wrap after 49.7 days of summed waiting, which a queue of 128 reaches in nine hours.

/// Which device a line of counters belongs to. Deltas across identities mean nothing: a loop
/// device that was detached and attached again begins at other counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
    /// Kernel name (`loop3`, `dm-0`).
    pub name: String,
    /// `/sys/class/block/<device>/diskseq` where known: changes when the medium does.
    pub diskseq: Option<u64>,
}

/// Names of the 17 fields, as the sampler's columns have them.
pub const FIELD_NAMES: [&str; 17] = [
    "reads",
    "reads_merged",
    "sectors_read",
    "read_ms",
    "writes",
    "writes_merged",
    "sectors_written",
    "write_ms",
    "in_flight",
    "io_ticks_ms",
    "queue_ms",
    "discards",
    "discards_merged",
    "sectors_discarded",
    "discard_ms",
    "flushes",
    "flush_ms",
];

/// Position of F9, the only gauge among the fields.
pub const IN_FLIGHT: usize = 8;
/// Positions of the fields that the kernel prints as 32-bit milliseconds.
const MILLISECONDS: [usize; 6] = [3, 7, 9, 10, 14, 16];

/// The unit of a field: `ms`, `sectors` (512 bytes) or `count`.
pub fn field_unit(index: usize) -> &'static str {
    match index {
        2 | 6 | 13 => "sectors",
        i if MILLISECONDS.contains(&i) => "ms",
        _ => "count",
    }
}

/// One sample of a device: F1 to F17 in order. The named accessors are the readable way in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters(pub [u64; 17]);

macro_rules! fields {
    ($($name:ident $index:literal $doc:literal;)*) => {
        impl Counters { $(#[doc = $doc] pub const fn $name(&self) -> u64 { self.0[$index] })* }
    };
}

fields! {
    reads 0 "F1, reads completed.";
    reads_merged 1 "F2, reads merged before issue.";
    sectors_read 2 "F3, sectors of 512 bytes read.";
    read_ms 3 "F4, milliseconds spent by all reads.";
    writes 4 "F5, writes completed.";
    writes_merged 5 "F6, writes merged before issue.";
    sectors_written 6 "F7, sectors of 512 bytes written.";
    write_ms 7 "F8, milliseconds spent by all writes.";
    in_flight 8 "F9, requests in flight: a gauge.";
    io_ticks_ms 9 "F10, milliseconds with at least one request outstanding; sampled by jiffy since 5.0.";
    queue_ms 10 "F11, milliseconds weighted by requests in flight.";
    discards 11 "F12, discards completed.";
    discards_merged 12 "F13, discards merged before issue.";
    sectors_discarded 13 "F14, sectors of 512 bytes discarded.";
    discard_ms 14 "F15, milliseconds spent by all discards.";
    flushes 15 "F16, flush requests completed.";
    flush_ms 16 "F17, milliseconds spent by all flushes.";
}

/// Why two samples have no difference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeltaError {
    /// Another device now answers to the name.
    #[error("{0} is not the device it was at the first sample: its counters cannot be compared")]
    Identity(String),
    /// A counter went back without having been near its wrap.
    #[error(
        "{device}: {field} went back from {before} to {after}: its counters were reset between the samples"
    )]
    Reset {
        /// The device.
        device: String,
        /// Name of the field.
        field: &'static str,
        /// First sample.
        before: u64,
        /// Second sample.
        after: u64,
    },
}

impl Counters {
    /// Parses the fields of a `stat` file, or what follows the name in `/proc/diskstats`.
    /// `None` with fewer than the 11 fields every kernel has, or with one that is no number.
    pub fn parse(text: &str) -> Option<Counters> {
        let mut fields = [0_u64; 17];
        let mut count = 0;
        for (slot, word) in fields.iter_mut().zip(text.split_ascii_whitespace()) {
            *slot = word.parse().ok()?;
            count += 1;
        }
        (count >= 11).then_some(Counters(fields))
    }

    /// What happened between two samples of the same device; F9 of the result is the later gauge.
    ///
    /// A counter that went back is taken for a 32-bit wrap when it is a millisecond field, or when
    /// it stood in the upper half of 32 bits (a 32-bit kernel's count).
    ///
    /// # Errors
    /// [`DeltaError::Identity`] when the identities differ, [`DeltaError::Reset`] when a counter
    /// went back otherwise.
    pub fn delta(
        &self,
        identity: &Identity,
        later: &Counters,
        later_identity: &Identity,
    ) -> Result<Counters, DeltaError> {
        if identity != later_identity {
            return Err(DeltaError::Identity(later_identity.name.clone()));
        }
        let mut out = [0_u64; 17];
        for (i, slot) in out.iter_mut().enumerate() {
            let (before, after) = (self.0[i], later.0[i]);
            *slot = if i == IN_FLIGHT {
                after
            } else {
                difference(i, before, after).ok_or_else(|| DeltaError::Reset {
                    device: identity.name.clone(),
                    field: FIELD_NAMES[i],
                    before,
                    after,
                })?
            };
        }
        Ok(Counters(out))
    }
}

fn difference(field: usize, before: u64, after: u64) -> Option<u64> {
    const WRAP: u64 = 1 << 32;
    if after >= before {
        return Some(after - before);
    }
    let wraps = before < WRAP && (MILLISECONDS.contains(&field) || before >= WRAP / 2);
    wraps.then(|| after + WRAP - before)
}

/// Parses one line of `/proc/diskstats`.
pub fn parse_line(line: &str) -> Option<(Identity, Counters)> {
    let mut rest = line;
    let mut word = || {
        rest = rest.trim_start();
        let end = rest
            .find(|c: char| c.is_ascii_whitespace())
            .unwrap_or(rest.len());
        let (head, tail) = rest.split_at(end);
        rest = tail;
        head
    };
    let major = word().parse().ok()?;
    let minor = word().parse().ok()?;
    let name = word().to_owned();
    let counters = Counters::parse(rest)?;
    let identity = Identity {
        major,
        minor,
        name,
        diskseq: None,
    };
    Some((identity, counters))
}

/// The line of one device in the text of `/proc/diskstats`.
pub fn find(text: &str, device: &str) -> Option<(Identity, Counters)> {
    text.lines()
        .filter_map(parse_line)
        .find(|(identity, _)| identity.name == device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = include_str!("../tests/data/small/proc/diskstats");

    fn loop3() -> Identity {
        Identity {
            major: 7,
            minor: 3,
            name: "loop3".into(),
            diskseq: None,
        }
    }

    #[test]
    fn all_seventeen_fields_parse_in_order() {
        let (identity, c) = find(TEXT, "loop3").unwrap();
        assert_eq!(identity, loop3());
        assert_eq!(
            c.0,
            [
                2107, 4, 2_099_322, 234, 3089, 24, 4_194_600, 4038, 2, 4084, 4651, 5, 6, 7, 8, 11,
                378
            ]
        );
        assert_eq!((c.reads(), c.writes(), c.in_flight()), (2107, 3089, 2));
        assert_eq!((c.flushes(), c.flush_ms()), (11, 378));
    }

    #[test]
    fn lines_of_older_kernels_parse_with_zeros() {
        let c = Counters::parse("1 2 3 4 5 6 7 8 9 10 11").unwrap();
        assert_eq!((c.queue_ms(), c.discards(), c.flush_ms()), (11, 0, 0));
        assert_eq!(Counters::parse("1 2 3 4 5 6 7 8 9 10"), None);
        assert_eq!(Counters::parse("1 2 3 4 5 6 7 8 9 10 x"), None);
    }

    #[test]
    fn milliseconds_wrap_at_32_bits() {
        let (mut a, mut b) = (Counters::default(), Counters::default());
        a.0[10] = u64::from(u32::MAX) - 9;
        b.0[10] = 20;
        let d = a.delta(&loop3(), &b, &loop3()).unwrap();
        assert_eq!(d.queue_ms(), 30);
    }

    #[test]
    fn a_changed_identity_has_no_delta() {
        let other = Identity {
            diskseq: Some(9),
            ..loop3()
        };
        let c = Counters::default();
        assert!(matches!(
            c.delta(&loop3(), &c, &other),
            Err(DeltaError::Identity(_))
        ));
    }

    #[test]
    fn a_reset_is_an_error_and_not_a_huge_number() {
        let (mut a, b) = (Counters::default(), Counters::default());
        a.0[0] = 100;
        let error = a.delta(&loop3(), &b, &loop3()).unwrap_err();
        assert!(error.to_string().contains("reads went back from 100 to 0"));
    }

    proptest! {
        #[test]
        fn garbage_never_panics(line in ".{0,200}") {
            let _ = parse_line(&line);
            let _ = Counters::parse(&line);
        }

        #[test]
        fn deltas_are_the_true_increments(
            start in proptest::array::uniform17(0_u64..u64::from(u32::MAX)),
            steps in proptest::array::uniform17(0_u64..1 << 30),
        ) {
            let mut end = start;
            for i in 0..17 {
                end[i] += steps[i];
                if MILLISECONDS.contains(&i) {
                    end[i] &= u64::from(u32::MAX);
                }
            }
            let d = Counters(start).delta(&loop3(), &Counters(end), &loop3()).unwrap();
            for i in 0..17 {
                let expected = if i == IN_FLIGHT { end[i] } else { steps[i] };
                prop_assert_eq!(d.0[i], expected, "{}", FIELD_NAMES[i]);
            }
        }
    }
}
