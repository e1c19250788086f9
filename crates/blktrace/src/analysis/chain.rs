//! Bios of a stacked device followed down to the disks.
//!
//! A device of md or dm has no requests of its own: its bio is remapped (A) to a device below, perhaps
//! in several legs, and is issued and completed there. btt ends at the remap. Here each leg carries
//! the bio's queueing along, so that the time of a bio is known from the device that was asked to the
//! disk that did the work and back: queued above, remapped, issued below, completed below, completed
//! above. A leg is found by the sectors it has below, so the lower device need not log a queueing of
//! its own. A remap of a remapped bio (dm upon md, a partition) goes on with the first queueing.
//!
//! Kernels differ in what they log above: md of 2010 logs no completion. So the steps are counted
//! each as far as it was seen, and their numbers of samples may differ.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::latency::Gauge;
use crate::btt::average::{Average, delta};
use crate::record::{Head, Remapped};

/// Legs that are followed at once; beyond it all are given up.
const LEGS: usize = 100_000;

/// A step that was not seen.
const NEVER: u64 = u64::MAX;

/// The steps of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// From the queueing above to the remap.
    Q2A,
    /// From the queueing above to the issue below.
    Q2D,
    /// From the issue below to the completion below.
    D2C,
    /// From the completion of the last leg to the completion above; once a bio.
    C2C,
    /// From the queueing above to the completion above; once a bio.
    Q2C,
}

impl Step {
    /// All, in their order.
    pub const ALL: [Step; 5] = [Step::Q2A, Step::Q2D, Step::D2C, Step::C2C, Step::Q2C];

    /// As tables name it.
    pub const fn name(self) -> &'static str {
        ["Q2A", "Q2D", "D2C", "C2C", "Q2C"][self as usize]
    }
}

/// How long a step took. Quantiles in seconds, exact to 1 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepSummary {
    /// The step.
    pub step: Step,
    /// Samples, ns.
    pub average: Average,
    /// The median.
    pub p50: f64,
    /// 90 % take no longer.
    pub p90: f64,
    /// 99 % take no longer.
    pub p99: f64,
    /// 99.9 % take no longer.
    pub p999: f64,
}

/// Bios of one device that were done by another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChainSummary {
    /// The device asked first: major << 20 | minor.
    pub upper: u32,
    /// The device that did the work.
    pub lower: u32,
    /// Legs that were issued and completed below.
    pub legs: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The steps that have samples.
    pub steps: Vec<StepSummary>,
}

/// A bio above: device, and its place among the outstanding ones.
pub(crate) type Bio = (u32, (u64, u64));

/// A part of a bio on its way below.
#[derive(Clone, Copy)]
struct Leg {
    end: u64,
    /// The device that the remap named, which may be a partition of the one that logs.
    to: u32,
    bio: Bio,
    queued: u64,
    remapped: u64,
    issued: u64,
    bytes: u32,
}

/// What is left to do of a bio.
#[derive(Clone, Copy)]
struct Rest {
    open: u32,
    last: u64,
    lower: u32,
}

#[derive(Default)]
struct Chain {
    legs: u64,
    bytes: u64,
    steps: [Gauge; 5],
}

/// Follows legs.
#[derive(Default)]
pub(crate) struct Chains {
    /// By the device that logs, first sector, number.
    legs: BTreeMap<(u32, u64, u64), Leg>,
    serial: u64,
    rests: HashMap<Bio, Rest>,
    done: BTreeMap<(u32, u32), Chain>,
    given_up: u64,
}

impl Chains {
    /// A remap: `head` as the lower device logs it, and the bio above if one is outstanding there:
    /// with the time of its queueing.
    pub(crate) fn remap(&mut self, head: &Head, remapped: &Remapped, above: Option<(Bio, u64)>) {
        if self.moved(head, remapped) || head.bytes == 0 {
            return;
        }
        let Some((bio, queued)) = self.leg_above(remapped).or(above) else {
            return;
        };
        if self.legs.len() >= LEGS {
            self.given_up += self.legs.len() as u64;
            self.legs.clear();
            self.rests.clear();
        }
        let leg = Leg {
            end: head.end(),
            to: remapped.to,
            bio,
            queued,
            remapped: head.time,
            issued: NEVER,
            bytes: head.bytes,
        };
        self.keep(head, leg);
        let rest = self.rests.entry(bio).or_insert(Rest {
            open: 0,
            last: 0,
            lower: head.device,
        });
        rest.open += 1;
    }

    fn keep(&mut self, head: &Head, leg: Leg) {
        self.serial += 1;
        self.legs
            .insert((head.device, head.sector, self.serial), leg);
    }

    /// From a partition to its disk: the leg goes on at another place.
    fn moved(&mut self, head: &Head, remapped: &Remapped) -> bool {
        let at = remapped.sector;
        let mut here = self
            .legs
            .range((head.device, at, 0)..=(head.device, at, u64::MAX));
        let found = here.find(|(_, leg)| leg.to == remapped.from && leg.issued == NEVER);
        let Some((&place, &leg)) = found else {
            return false;
        };
        self.legs.remove(&place);
        let leg = Leg {
            end: head.end(),
            to: remapped.to,
            ..leg
        };
        self.keep(head, leg);
        true
    }

    /// The leg that a stacked device below hands on.
    fn leg_above(&self, remapped: &Remapped) -> Option<(Bio, u64)> {
        let (from, sector) = (remapped.from, remapped.sector);
        let below = self.legs.range((from, 0, 0)..=(from, sector, u64::MAX));
        let mut near = below.rev().take(4);
        let leg = near.find_map(|(_, leg)| (sector < leg.end).then_some(leg))?;
        Some((leg.bio, leg.queued))
    }

    #[inline]
    pub(crate) fn issue(&mut self, head: &Head) {
        if self.legs.is_empty() || head.end() <= head.sector {
            return;
        }
        let inside = (head.device, head.sector, 0)..(head.device, head.end(), 0);
        for (_, leg) in self.legs.range_mut(inside) {
            if leg.end <= head.end() {
                leg.issued = head.time;
            }
        }
    }

    #[inline]
    pub(crate) fn complete(&mut self, head: &Head) {
        if self.legs.is_empty() || head.end() <= head.sector {
            return;
        }
        let inside = (head.device, head.sector, 0)..(head.device, head.end(), 0);
        let done: Vec<_> = self
            .legs
            .range(inside)
            .filter(|(_, leg)| leg.end <= head.end())
            .map(|(&place, &leg)| (place, leg))
            .collect();
        for (place, leg) in done {
            self.legs.remove(&place);
            self.count(head, &leg);
        }
    }

    fn count(&mut self, head: &Head, leg: &Leg) {
        if let Some(rest) = self.rests.get_mut(&leg.bio) {
            rest.open = rest.open.saturating_sub(1);
            if leg.issued != NEVER {
                rest.last = rest.last.max(head.time);
                rest.lower = head.device;
            }
        }
        // A stacked device hands on and issues nothing.
        if leg.issued == NEVER {
            return;
        }
        let chain = self.done.entry((leg.bio.0, head.device)).or_default();
        chain.legs += 1;
        chain.bytes += u64::from(leg.bytes);
        for (step, from, to) in [
            (Step::Q2A, leg.queued, leg.remapped),
            (Step::Q2D, leg.queued, leg.issued),
            (Step::D2C, leg.issued, head.time),
        ] {
            chain.steps[step as usize].add(delta(from, to));
        }
    }

    /// A bio is completed above.
    #[inline]
    pub(crate) fn end(&mut self, bio: Bio, queued: u64, time: u64) {
        if self.rests.is_empty() {
            return;
        }
        let Some(rest) = self.rests.remove(&bio) else {
            return;
        };
        if rest.open == 0 && rest.last > 0 {
            let chain = self.done.entry((bio.0, rest.lower)).or_default();
            chain.steps[Step::C2C as usize].add(delta(rest.last, time));
            chain.steps[Step::Q2C as usize].add(delta(queued, time));
        }
    }

    /// Legs that were not completed.
    pub(crate) fn unfinished(&self) -> u64 {
        self.given_up + self.legs.len() as u64
    }

    pub(crate) fn summaries(&self) -> Vec<ChainSummary> {
        let of = |(&(upper, lower), chain): (&(u32, u32), &Chain)| {
            let steps = Step::ALL.iter().zip(&chain.steps);
            let steps = steps.filter_map(|(&step, gauge)| {
                let [p50, p90, p99, p999] = gauge.quantiles()?;
                Some(StepSummary {
                    step,
                    average: gauge.average,
                    p50,
                    p90,
                    p99,
                    p999,
                })
            });
            ChainSummary {
                upper,
                lower,
                legs: chain.legs,
                bytes: chain.bytes,
                steps: steps.collect(),
            }
        };
        self.done.iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btt::{Options, run};
    use crate::record::{Action, Category};
    use crate::{Analysis, Trace};

    const MD: u32 = 9 << 20;
    const DM: u32 = 252 << 20;
    const SDA: u32 = 8 << 20;
    const SDB: u32 = (8 << 20) | 16;
    const SDA1: u32 = SDA | 1;

    /// A trace written by hand.
    #[derive(Default)]
    struct Script {
        bytes: Vec<u8>,
        sequence: u32,
    }

    impl Script {
        fn put(&mut self, time: u64, device: u32, action: Action, at: (u64, u32), pdu: &[u8]) {
            self.sequence += 1;
            let head = Head {
                time,
                device,
                sequence: self.sequence,
                sector: at.0,
                bytes: at.1 * 512,
                action: action as u32 | Category::Write as u32 | Category::Queue as u32,
                pid: 7,
                pdu_len: pdu.len() as u16,
                ..Head::default()
            };
            self.bytes.extend(head.to_bytes());
            self.bytes.extend(pdu);
        }

        fn event(&mut self, time: u64, device: u32, action: Action, at: (u64, u32)) {
            self.put(time, device, action, at, &[]);
        }

        /// `to` is what the remap says, `device` what logs it.
        fn remap(&mut self, time: u64, device: u32, to: u32, at: (u64, u32), from: (u32, u64)) {
            let pdu = [
                &from.0.to_be_bytes()[..],
                &to.to_be_bytes(),
                &from.1.to_be_bytes(),
            ];
            self.put(time, device, Action::Remap, at, &pdu.concat());
        }

        fn analysis(&self) -> Analysis {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("x.blktrace.0"), &self.bytes).unwrap();
            let mut trace = Trace::open(&folder.path().join("x")).unwrap();
            run(&mut trace, &Options::btt(), None).unwrap().analysis()
        }
    }

    fn step(chain: &ChainSummary, step: Step) -> (u64, u64) {
        let found = chain.steps.iter().find(|summary| summary.step == step);
        found.map_or((0, 0), |summary| (summary.average.n, summary.average.total))
    }

    #[test]
    fn a_striped_bio_is_followed_to_both_disks_and_back() {
        let mut script = Script::default();
        script.event(1_000, MD, Action::Queue, (0, 256));
        script.remap(1_100, SDA, SDA, (2048, 128), (MD, 0));
        script.event(1_150, SDA, Action::Queue, (2048, 128));
        script.remap(1_200, SDB, SDB, (2048, 128), (MD, 128));
        // The second disk logs no queueing of its own, and adds a neighbour to the request.
        script.event(2_000, SDA, Action::Issue, (2048, 128));
        script.event(2_500, SDB, Action::Issue, (2040, 136));
        script.event(9_000, SDA, Action::Complete, (2048, 128));
        script.event(12_500, SDB, Action::Complete, (2040, 136));
        script.event(12_800, MD, Action::Complete, (0, 256));
        let analysis = script.analysis();
        let [first, second] = &analysis.chains[..] else {
            panic!("{:?}", analysis.chains);
        };
        assert_eq!((first.upper, first.lower), (MD, SDA));
        assert_eq!((second.upper, second.lower), (MD, SDB));
        assert_eq!((first.legs, first.bytes), (1, 65_536));
        let of = |chain| Step::ALL.map(|s| step(chain, s));
        assert_eq!(
            of(first),
            [(1, 100), (1, 1_000), (1, 7_000), (0, 0), (0, 0)]
        );
        // The last leg is the one that the bio waits for.
        let waited = [(1, 200), (1, 1_500), (1, 10_000), (1, 300), (1, 11_800)];
        assert_eq!(of(second), waited);
        assert_eq!(analysis.losses.legs, 0);
        assert_eq!(analysis.remaps, [(MD, SDA, 1), (MD, SDB, 1)]);
    }

    #[test]
    fn a_stack_of_three_and_a_partition_lead_back_to_the_first_queueing() {
        let mut script = Script::default();
        script.event(1_000, DM, Action::Queue, (100, 8));
        script.remap(1_010, MD, MD, (5_100, 8), (DM, 100));
        script.event(1_020, MD, Action::Queue, (5_100, 8));
        script.remap(1_030, SDA, SDA1, (300, 8), (MD, 5_100));
        script.remap(1_040, SDA, SDA, (2_348, 8), (SDA1, 300));
        script.event(1_050, SDA, Action::Queue, (2_348, 8));
        script.event(1_500, SDA, Action::Issue, (2_348, 8));
        script.event(3_500, SDA, Action::Complete, (2_348, 8));
        script.event(3_600, MD, Action::Complete, (5_100, 8));
        script.event(3_700, DM, Action::Complete, (100, 8));
        let analysis = script.analysis();
        let [chain] = &analysis.chains[..] else {
            panic!("{:?}", analysis.chains);
        };
        assert_eq!((chain.upper, chain.lower, chain.legs), (DM, SDA, 1));
        let steps = Step::ALL.map(|s| step(chain, s));
        assert_eq!(steps, [(1, 30), (1, 500), (1, 2_000), (1, 200), (1, 2_700)]);
    }

    #[test]
    fn what_never_completes_and_what_was_never_requested_is_distinguished() {
        let mut script = Script::default();
        // A partition alone: no queueing above.
        script.remap(10, SDA, SDA, (2_048, 8), (SDA1, 0));
        script.event(20, SDA, Action::Queue, (2_048, 8));
        script.event(30, MD, Action::Queue, (0, 8));
        script.remap(40, SDB, SDB, (64, 8), (MD, 0));
        script.event(50, SDB, Action::Issue, (64, 8));
        let analysis = script.analysis();
        assert_eq!(analysis.chains, []);
        assert_eq!(analysis.losses.legs, 1);
    }
}
