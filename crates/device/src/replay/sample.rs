//! Stretches of a record that stand for the whole.
//!
//! An interval takes a dozen replays that differ in the figures of the device, and a report has other modes beside its own. How much longer
//! than the nominal one such a replay takes is known long before the end of a record with millions of requests. So it is replayed over
//! stretches, spread evenly, and so are the nominal figures; the ratio is applied to the nominal replay of the whole.

use super::engine::{Error, Options, replay_from};
use super::kept::{Kept, Requests};
use super::linker::Outline;
use crate::model::{Model, Nanoseconds};

/// Requests of a stretch.
const STRETCH: u32 = 4096;

/// Stretches of a record.
#[derive(Clone, Debug)]
pub struct Sample {
    stretches: Vec<(Vec<Kept>, Outline)>,
}

impl Sample {
    /// At least `wanted` requests in stretches that are spread evenly; none where these would be half of the record or more.
    ///
    /// # Errors
    /// A request cannot be read back.
    pub fn of(
        requests: &mut dyn Requests,
        outline: &Outline,
        wanted: u32,
    ) -> Result<Option<Sample>, Error> {
        let count = wanted.div_ceil(STRETCH).max(2);
        if u64::from(count) * u64::from(STRETCH) * 2 > u64::from(outline.count) {
            return Ok(None);
        }
        let last = u64::from(outline.count - STRETCH);
        let begin = |nth: u32| (last * u64::from(nth) / u64::from(count - 1)) as u32;
        let stretches = (0..count).map(|nth| stretch(requests, outline, begin(nth)));
        let stretches = stretches.collect::<Result<Vec<_>, Error>>()?;
        Ok(Some(Sample { stretches }))
    }

    /// Its requests.
    pub fn count(&self) -> u64 {
        self.stretches.len() as u64 * u64::from(STRETCH)
    }

    /// How long the stretches take on a device, one after the other, without the time between them.
    ///
    /// # Errors
    /// A request does not fit.
    pub fn replay(&self, model: &mut dyn Model, options: Options) -> Result<Nanoseconds, Error> {
        let (mut begin, mut taken) = (0, 0);
        for (kept, outline) in &self.stretches {
            let requests = &mut kept.as_slice();
            let (replayed, end) =
                replay_from(begin, model, requests, outline, options, &mut |_, _, _| {})?;
            taken += replayed.elapsed;
            begin = end;
        }
        Ok(taken)
    }
}

/// A stretch as a record of its own: what its requests waited for outside of it is left out, and they follow their process or time.
fn stretch(
    requests: &mut dyn Requests,
    outline: &Outline,
    begin: u32,
) -> Result<(Vec<Kept>, Outline), Error> {
    let numbers = begin..begin + STRETCH;
    let mut kept = numbers
        .clone()
        .map(|number| requests.get(number))
        .collect::<Result<Vec<Kept>, Error>>()?;
    let inside = |number: Option<u32>| {
        let number = number.filter(|number| numbers.contains(number));
        number.map(|number| number - begin)
    };
    let started = kept.first().map_or(0, |first| first.submitted);
    let (mut follows, mut reacts) = (vec![false; kept.len()], vec![false; kept.len()]);
    for index in 0..kept.len() {
        // Those that reacted last come first: of these some are past the end.
        let mut reaction = kept[index].reaction;
        while let Some(number) = reaction.filter(|number| *number >= numbers.end) {
            reaction = requests.get(number)?.sibling;
        }
        let of = &mut kept[index];
        of.submitted -= started;
        of.next = inside(of.next);
        of.reaction = inside(reaction);
        of.sibling = inside(of.sibling);
        let (next, mut reaction) = (of.next, of.reaction);
        if let Some(next) = next {
            follows[next as usize] = true;
        }
        while let Some(number) = reaction {
            reacts[number as usize] = true;
            // Later ones are not converted yet.
            reaction = inside(kept[number as usize].sibling);
        }
    }
    let mut starts = Vec::new();
    for (index, of) in kept.iter_mut().enumerate() {
        of.follows = follows[index];
        of.gap = of.gap.filter(|_| reacts[index]);
        if !of.follows {
            starts.push(index as u32);
        }
    }
    let outline = Outline {
        count: STRETCH,
        starts,
        recorded: None,
        open: 0,
        ..outline.clone()
    };
    Ok((kept, outline))
}

#[cfg(test)]
mod tests {
    use super::super::linker::linked;
    use super::super::{Finished, Mode, Recorded, Sender, replay_linked};
    use super::*;
    use crate::catalogue::Catalogue;
    use crate::file::Variation;
    use crate::model::Op;
    use crate::random::Random;

    /// Readers with several requests in flight, a writer that calls fsync, and the journal's thread that serves it.
    fn record(count: u64) -> Vec<Recorded> {
        let mut random = Random::new(7);
        let mut at = 0;
        let mut next = || random.bits();
        (0..count)
            .map(|number| {
                at += next() % 200_000;
                let process = (next() % 5) as u32;
                let op = match (process, number % 50) {
                    (4, 0..5) => Op::Flush,
                    (3 | 4, _) => Op::Write,
                    _ => Op::Read,
                };
                Recorded {
                    process,
                    submitted: at,
                    completed: Some(at + 50_000 + next() % 2_000_000),
                    op,
                    offset: next() % (1 << 25) * 4096,
                    len: if op == Op::Flush {
                        0
                    } else {
                        4096 << (next() % 5)
                    },
                    fua: process == 4 && number % 7 == 0,
                    sender: if process == 4 {
                        Sender::KernelAwaited
                    } else {
                        Sender::Process
                    },
                }
            })
            .collect()
    }

    const MODES: [Mode; 4] = [
        Mode::Dependent { think_limit: None },
        Mode::Open,
        Mode::Closed,
        Mode::Saturate { depth: 8 },
    ];

    #[test]
    fn each_request_of_a_stretch_is_replayed_once() {
        let (kept, outline) = linked(&record(30_000)).unwrap();
        let sample = Sample::of(&mut kept.as_slice(), &outline, 5000).unwrap();
        let sample = sample.unwrap();
        assert_eq!(sample.count(), 8192);
        let catalogue = Catalogue::shipped().unwrap();
        for mode in MODES {
            let mut model = catalogue.model("7k500", Variation::Nominal).unwrap();
            let mut begin = 0;
            for (stretch, outline) in &sample.stretches {
                let mut numbers = Vec::new();
                let mut each = |finished: Finished, submitted: u64, done: u64| {
                    assert!(begin <= submitted && submitted < done);
                    let request = stretch[finished.number as usize];
                    assert_eq!((finished.op, finished.len), (request.op, request.len));
                    numbers.push(finished.number);
                };
                let requests = &mut stretch.as_slice();
                let (replayed, end) = replay_from(
                    begin,
                    &mut *model,
                    requests,
                    outline,
                    Options::new(mode),
                    &mut each,
                )
                .unwrap();
                assert_eq!(replayed.requests, u64::from(STRETCH), "{mode:?}");
                numbers.sort_unstable();
                assert!(numbers.into_iter().eq(0..STRETCH));
                begin = end;
            }
        }
    }

    #[test]
    fn the_ratio_of_stretches_is_that_of_the_whole() {
        let (kept, outline) = linked(&record(60_000)).unwrap();
        let sample = Sample::of(&mut kept.as_slice(), &outline, 16_000).unwrap();
        let sample = sample.unwrap();
        let catalogue = Catalogue::shipped().unwrap();
        for mode in MODES {
            let options = Options::new(mode);
            let both = |variation| {
                let model = || catalogue.model("cheetah-15k.5", variation).unwrap();
                let part = sample.replay(&mut *model(), options).unwrap();
                let requests = &mut kept.as_slice();
                let each = &mut |_: Finished, _, _| {};
                let whole = replay_linked(&mut *model(), requests, &outline, options, each);
                (part as f64, whole.unwrap().elapsed as f64)
            };
            let (part, whole) = both(Variation::Nominal);
            for seed in 1..6 {
                let (drawn_part, drawn_whole) = both(Variation::Drawn(seed));
                let off = drawn_part / part / (drawn_whole / whole) - 1.0;
                assert!(off.abs() < 0.02, "{mode:?}, seed {seed}: {off:+.4}");
            }
        }
    }

    #[test]
    fn a_record_that_is_not_much_longer_has_no_sample() {
        let (kept, outline) = linked(&record(16_000)).unwrap();
        let mut requests = kept.as_slice();
        assert!(Sample::of(&mut requests, &outline, 8192).unwrap().is_none());
        assert!(Sample::of(&mut requests, &outline, 1).unwrap().is_none());
    }
}
