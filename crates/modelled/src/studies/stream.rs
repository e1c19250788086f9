//! Kinds of streams: what programs ask for.

mod buffered;

use device::{Model, Op};
use serde::{Deserialize, Deserializer};

use super::host::Host;
use buffered::Buffered;

/// Where chance of random orders begins.
const SEED: u64 = 1;

/// Most requests of a stream. All its replays take minutes.
const MOST: u64 = 20_000_000;

/// Most of a number of things.
const MANY: u64 = 1 << 40;

/// Most bytes of a distance, or of all that is read: 1 PiB.
const FAR: u64 = 1 << 50;

/// Largest request: an array splits it into members' chunks.
pub(super) const LARGEST: u64 = 64 << 20;

/// Most requests in flight.
const DEEPEST: u64 = 65_536;

/// Most bytes in flight: 16 GiB.
const AT_ONCE: u64 = 16 << 30;

/// Largest request of the kernels of these studies (`max_sectors_kb` is 512): a longer read is several requests at once.
const SPLIT: u64 = 512 << 10;

/// What a program asks for. Sizes are texts as in device files (`4m`).
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Stream {
    /// Groups that lie `spacing` apart and are linked in chains.
    Chains(Chains),
    /// Blocks in ascending order, a batch of them at once.
    Batches(Batches),
    /// A reader through the page cache, with the readahead of its kernel.
    Buffered(Buffered),
    /// Records past the page cache, one at a time.
    Direct(Direct),
}

/// See [`Stream::Chains`]. Group g is the g div `lists`-th of chain g mod `lists`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Chains {
    groups: u64,
    #[serde(rename = "chains")]
    lists: u64,
    #[serde(deserialize_with = "size")]
    spacing: u64,
    /// Bytes of a group that are read.
    #[serde(deserialize_with = "size")]
    bytes: u64,
    /// Bytes of a read.
    #[serde(deserialize_with = "size")]
    request: u64,
    order: Order,
    /// Reads in flight.
    depth: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    /// One chain after the other.
    Chain,
    /// The first groups of all chains, then the second ...
    Level,
    /// As they lie.
    Ascending,
    Random,
}

/// See [`Stream::Batches`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Batches {
    blocks: u64,
    #[serde(deserialize_with = "size")]
    block: u64,
    batch: u64,
    depth: usize,
}

/// See [`Stream::Direct`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Direct {
    write: bool,
    #[serde(deserialize_with = "size")]
    file: u64,
    #[serde(deserialize_with = "size")]
    record: u64,
    order: Order,
}

/// How long it took, and how much of it was simulated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Took {
    pub(super) seconds: f64,
    pub(super) bytes: u64,
}

impl Stream {
    /// Whether requests follow each other, so that the models' own error is the smaller one.
    pub(super) fn is_sequential(&self) -> bool {
        match self {
            Stream::Chains(_) | Stream::Batches(_) => false,
            Stream::Buffered(buffered) => buffered.is_sequential(),
            Stream::Direct(direct) => direct.order == Order::Ascending,
        }
    }

    /// What of it cannot be run on any device.
    pub(super) fn problem(&self) -> Option<String> {
        let sizes = match self {
            Stream::Chains(chains) => chains.sizes(),
            Stream::Batches(batches) => batches.sizes(),
            Stream::Buffered(buffered) => buffered.sizes(),
            Stream::Direct(direct) => direct.sizes(),
        };
        let wrong = sizes
            .iter()
            .find(|(_, size, most)| !(1..=*most).contains(size));
        if let Some((name, size, most)) = wrong {
            let (size, most) = (words::grouped(*size), words::grouped(*most));
            return Some(format!("`{name}`: {size} is not in 1..={most}"));
        }
        let orders = match self {
            Stream::Chains(chains) if chains.order == Order::Random => "chain, level, ascending",
            Stream::Direct(Direct {
                order: Order::Chain | Order::Level,
                ..
            }) => "ascending, random",
            _ => "",
        };
        if !orders.is_empty() {
            return Some(format!("`order`: not of this kind of stream ({orders})"));
        }
        let (requests, bytes) = match self {
            Stream::Chains(chains) => {
                let reads = chains.bytes.div_ceil(chains.request.min(SPLIT));
                (
                    chains.groups.saturating_mul(reads),
                    chains.groups.saturating_mul(chains.bytes),
                )
            }
            Stream::Batches(batches) => {
                (batches.blocks, batches.blocks.saturating_mul(batches.block))
            }
            Stream::Buffered(buffered) => (buffered.requests(), buffered.bytes()),
            Stream::Direct(direct) => (direct.file / direct.record, direct.file),
        };
        if requests > MOST {
            return Some(format!("has more than {} requests", words::grouped(MOST)));
        }
        if bytes > FAR {
            return Some(format!("moves more than {}", words::bytes(FAR)));
        }
        let at_once = match self {
            Stream::Chains(chains) => (chains.depth as u64).saturating_mul(chains.request),
            Stream::Batches(batches) => (batches.depth as u64).saturating_mul(batches.block),
            Stream::Buffered(_) | Stream::Direct(_) => 0,
        };
        if at_once > AT_ONCE {
            return Some(format!("has more than {} in flight", words::bytes(AT_ONCE)));
        }
        match self {
            Stream::Buffered(buffered) => buffered.problem(),
            _ => None,
        }
    }

    /// Runs it on a device, if it has no [`Stream::problem`]. `cpu`: processor time of all of it, s.
    pub(super) fn run(&self, model: &mut dyn Model, cpu: f64) -> Result<Took, String> {
        let mut host = Host::new(model);
        let capacity = host.capacity();
        if self.end().is_none_or(|end| end > capacity) {
            let end = self
                .end()
                .map_or_else(|| "a place beyond 2^64".to_owned(), words::bytes);
            return Err(format!(
                "its stream ends at {end}, and the device has {}",
                words::bytes(capacity)
            ));
        }
        let bytes = match self {
            Stream::Chains(chains) => chains.run(&mut host, cpu * 1e9),
            Stream::Batches(batches) => batches.run(&mut host, cpu * 1e9),
            Stream::Buffered(buffered) => buffered.run(&mut host, cpu * 1e9),
            Stream::Direct(direct) => direct.run(&mut host, cpu * 1e9),
        };
        Ok(Took {
            seconds: host.seconds(),
            bytes,
        })
    }

    /// Where it ends; none beyond the largest number.
    fn end(&self) -> Option<u64> {
        match self {
            Stream::Chains(chains) => {
                let last = chains.groups.saturating_sub(1);
                last.checked_mul(chains.spacing)?.checked_add(chains.bytes)
            }
            Stream::Batches(batches) => batches.blocks.checked_mul(batches.block),
            Stream::Buffered(buffered) => buffered.end(),
            Stream::Direct(direct) => Some(direct.file),
        }
    }
}

/// Numbers of a stream that are above 0: their keys, and the most that they may be.
type Sizes = Vec<(&'static str, u64, u64)>;

impl Chains {
    fn sizes(&self) -> Sizes {
        let whole = self.order == Order::Level;
        vec![
            ("groups", self.groups, MANY),
            ("chains", self.lists, self.groups),
            ("spacing", self.spacing, FAR),
            ("bytes", self.bytes, if whole { LARGEST } else { FAR }),
            ("request", self.request, LARGEST),
            ("depth", self.depth as u64, DEEPEST),
        ]
    }

    fn run(&self, host: &mut Host, cpu: f64) -> u64 {
        match self.order {
            Order::Level => self.by_level(host, cpu),
            Order::Chain => {
                let of = |chain| (chain..self.groups).step_by(self.lists.max(1) as usize);
                self.one_by_one(host, cpu, (0..self.lists).flat_map(of));
            }
            Order::Ascending | Order::Random => self.one_by_one(host, cpu, 0..self.groups),
        }
        self.groups * self.bytes
    }

    /// Each group read and looked at before the next; inside a group `depth` reads at once.
    fn one_by_one(&self, host: &mut Host, cpu: f64, groups: impl Iterator<Item = u64>) {
        let reads = self.bytes.div_ceil(self.request).max(1);
        let think = cpu / (self.groups * reads).max(1) as f64;
        for group in groups {
            for read in 0..reads {
                let offset = group * self.spacing + read * self.request;
                let len = self.request.min(self.bytes - read * self.request);
                host.wait_below(self.depth);
                for part in (0..len).step_by(SPLIT as usize) {
                    host.submit(Op::Read, offset + part, SPLIT.min(len - part));
                }
                if self.depth == 1 {
                    host.wait_below(1);
                }
                host.compute(think);
            }
        }
        host.wait_below(1);
    }

    fn by_level(&self, host: &mut Host, cpu: f64) {
        let think = cpu / self.groups.max(1) as f64;
        let mut first = 0;
        while first < self.groups {
            let last = (first + self.lists.max(1)).min(self.groups);
            for group in first..last {
                host.wait_below(self.depth);
                host.submit(Op::Read, group * self.spacing, self.bytes);
            }
            host.wait_below(1);
            host.compute(think * (last - first) as f64);
            first = last;
        }
    }
}

impl Batches {
    fn sizes(&self) -> Sizes {
        vec![
            ("blocks", self.blocks, MANY),
            ("block", self.block, LARGEST),
            ("batch", self.batch, MANY),
            ("depth", self.depth as u64, DEEPEST),
        ]
    }

    fn run(&self, host: &mut Host, cpu: f64) -> u64 {
        let think = cpu / self.blocks.max(1) as f64;
        let mut first = 0;
        while first < self.blocks {
            let last = (first + self.batch.max(1)).min(self.blocks);
            for block in first..last {
                host.wait_below(self.depth);
                host.submit(Op::Read, block * self.block, self.block);
            }
            host.wait_below(1);
            host.compute(think * (last - first) as f64);
            first = last;
        }
        self.blocks * self.block
    }
}

impl Direct {
    fn sizes(&self) -> Sizes {
        vec![
            ("file", self.file, FAR),
            ("record", self.record, LARGEST.min(self.file)),
        ]
    }

    fn run(&self, host: &mut Host, cpu: f64) -> u64 {
        let records = (self.file / self.record).max(1);
        let think = cpu / records as f64;
        let op = if self.write { Op::Write } else { Op::Read };
        let mut state = SEED;
        for number in 0..records {
            let record = match self.order {
                Order::Random => {
                    state = mixed(state);
                    state % records
                }
                Order::Chain | Order::Level | Order::Ascending => number,
            };
            let tag = host.submit(op, record * self.record, self.record);
            host.wait(tag);
            host.compute(think);
        }
        if self.write {
            // The program ends with an fsync.
            let tag = host.submit(Op::Flush, 0, 0);
            host.wait(tag);
        }
        records * self.record
    }
}

/// The next of a sequence of numbers (SplitMix64: Steele, Lea and Flood, 2014).
fn mixed(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Bytes, as a number or as in `4m`.
fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a size is a whole number or a text like \"4m\"")]
    enum Form {
        Number(u64),
        Text(String),
    }
    match Form::deserialize(deserializer)? {
        Form::Number(number) => Ok(number),
        Form::Text(text) => words::parse_bytes(&text).map_err(serde::de::Error::custom),
    }
}
