//! Traces made by hand: for tests, for benches, and for whoever has no tracer at hand.
//!
//! The requests of a forged trace live as real ones do (queued, got or merged, plugged, inserted,
//! unplugged, issued, completed on some CPU), from a seed, so that two runs meet the same bytes. A
//! hostile one also has what real traces have on bad days: equal times, exchanged records, lost
//! sequence numbers, remaps, splits, requeues, flushes without data, passthrough commands, messages,
//! names that come late or never, discards, errors, odd sizes, records of another CPU, actions that
//! nobody knows.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::record::{Action, CGROUP, Category, Head};

/// What to forge.
#[derive(Clone, Debug)]
pub struct Forge {
    /// Where chance begins.
    pub seed: u64,
    /// CPUs, each with a file.
    pub cpus: u32,
    /// Devices: major << 20 | minor. Of several the last one stands upon the others: its bios are
    /// remapped to them.
    pub devices: Vec<u32>,
    /// Requests, of two to six events each.
    pub requests: u64,
    /// Whether it has what real traces have on bad days.
    pub hostile: bool,
    /// Whether bios are merged.
    pub merges: bool,
    /// ns between one request and the next, besides what their events take.
    pub pause: u64,
}

/// Chance from a seed (SplitMix64: Steele, Lea, Flood, 2014).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A request on its way.
#[derive(Clone, Copy)]
struct Request {
    device: u32,
    sector: u64,
    bytes: u32,
    flags: u32,
    pid: u32,
    /// Whether it lies apart from the one before, so that there is room in front of it.
    apart: bool,
}

struct Smith<W> {
    forge: Forge,
    chance: Chance,
    files: Vec<W>,
    /// A record that is held back, to be exchanged with the next.
    held: Vec<Option<Vec<u8>>>,
    sequences: Vec<u32>,
    time: u64,
    /// Requests that will complete, by time.
    flying: BTreeMap<(u64, u64), Request>,
    positions: Vec<u64>,
    events: u64,
}

const NAMES: [&str; 8] = [
    "dd",
    "jbd2/sda1-8",
    "kworker/u4:2",
    "fio",
    "a name of sixteen",
    "xfsaild/sda2",
    "[odd] (name)",
    "find",
];

impl Forge {
    /// A plain trace: two CPUs, one disk (8,0).
    pub fn plain(seed: u64, requests: u64) -> Forge {
        Forge {
            seed,
            cpus: 2,
            devices: vec![8 << 20],
            requests,
            hostile: false,
            merges: true,
            pause: 0,
        }
    }

    /// A hostile trace: three CPUs, two disks, a device-mapper and an md device.
    pub fn hostile(seed: u64, requests: u64) -> Forge {
        Forge {
            seed,
            cpus: 3,
            devices: vec![8 << 20, (8 << 20) | 16, (253 << 20) | 3, 9 << 20],
            requests,
            hostile: true,
            merges: true,
            pause: 0,
        }
    }

    /// Writes `BASE.blktrace.0` and its sisters into a folder; the number of events.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, folder: &Path, base: &str) -> io::Result<u64> {
        fs::create_dir_all(folder)?;
        let open = |cpu| {
            let path = folder.join(format!("{base}.blktrace.{cpu}"));
            Ok(BufWriter::with_capacity(1 << 18, File::create(path)?))
        };
        let files = (0..self.cpus).map(open).collect::<io::Result<Vec<_>>>()?;
        self.run(files).map(|(_, events)| events)
    }

    /// The bytes of each CPU's file.
    ///
    /// # Errors
    /// None: memory is written to.
    pub fn bytes(&self) -> io::Result<Vec<Vec<u8>>> {
        let files = vec![Vec::new(); self.cpus as usize];
        self.run(files).map(|(files, _)| files)
    }

    fn run<W: Write>(&self, files: Vec<W>) -> io::Result<(Vec<W>, u64)> {
        let count = files.len();
        let mut smith = Smith {
            forge: self.clone(),
            chance: Chance(self.seed),
            held: vec![None; count],
            sequences: vec![0; count],
            files,
            time: 1_000_000_000,
            flying: BTreeMap::new(),
            positions: (0..self.devices.len()).map(Smith::<W>::base).collect(),
            events: 0,
        };
        smith.begin()?;
        for _ in 0..self.requests {
            smith.request()?;
        }
        smith.finish()?;
        Ok((smith.files, smith.events))
    }
}

impl<W: Write> Smith<W> {
    /// Where the bios of a device begin: apart, so that those of the upper one do not overlap.
    fn base(which: usize) -> u64 {
        2048 + ((which as u64) << 32)
    }

    fn begin(&mut self) -> io::Result<()> {
        let clock = [1_700_000_000_u32.to_ne_bytes(), 5_u32.to_ne_bytes()].concat();
        for cpu in 0..self.files.len() {
            self.note(cpu, 1, 0, &clock)?;
        }
        if !self.forge.hostile {
            for pid in 0..4 {
                self.name(0, pid)?;
            }
        }
        Ok(())
    }

    fn name(&mut self, cpu: usize, which: usize) -> io::Result<()> {
        let mut name = [0; 16];
        let text = NAMES[which % NAMES.len()].as_bytes();
        let len = text.len().min(15);
        name[..len].copy_from_slice(&text[..len]);
        self.note(cpu, 0, 1000 + which as u32, &name)
    }

    fn note(&mut self, cpu: usize, kind: u32, pid: u32, pdu: &[u8]) -> io::Result<()> {
        let head = Head {
            time: self.time,
            action: Category::Notify as u32 | kind,
            pid,
            device: self.forge.devices[0],
            cpu: cpu as u32,
            ..Head::default()
        };
        self.put(cpu, head, pdu)
    }

    /// An event of a request; time goes on, mostly.
    fn event(
        &mut self,
        cpu: usize,
        action: Action,
        request: &Request,
        pdu: &[u8],
    ) -> io::Result<()> {
        let category = match action {
            Action::Issue => Category::Issue as u32,
            Action::Complete => Category::Complete as u32,
            Action::Requeue => Category::Requeue as u32,
            Action::Split | Action::Bounce => 0,
            _ => Category::Queue as u32,
        };
        self.sequences[cpu] += 1;
        let mut head = Head {
            time: self.time,
            sector: request.sector,
            sequence: self.sequences[cpu],
            bytes: request.bytes,
            action: action as u32 | category | request.flags,
            pid: request.pid,
            device: request.device,
            cpu: cpu as u32,
            ..Head::default()
        };
        if self.forge.hostile {
            self.spoil(cpu, &mut head);
        }
        self.events += 1;
        self.put(cpu, head, pdu)?;
        self.time += if self.forge.hostile && self.chance.one_in(4) {
            0
        } else {
            200 + self.chance.below(1500)
        };
        Ok(())
    }

    fn spoil(&mut self, cpu: usize, head: &mut Head) {
        match self.chance.below(400) {
            0 => self.sequences[cpu] += 1 + self.chance.below(20) as u32,
            1 => head.error = 5,
            2 => head.error = 65531,
            3 => head.action = (head.action & !0xffff) | (16 + self.chance.below(12) as u32),
            4 => head.action |= CGROUP,
            5 => head.cpu += 1,
            6 => head.action &= 0xffff,
            7 => head.bytes += 100,
            8 => head.pid = 4_000_000,
            _ => {}
        }
        let wants_pdu = matches!(head.action & 0xffff, 10 | 11 | 13 | 15);
        if head.action & CGROUP != 0 && wants_pdu {
            head.action &= !CGROUP;
        }
    }

    fn put(&mut self, cpu: usize, mut head: Head, pdu: &[u8]) -> io::Result<()> {
        head.pdu_len = pdu.len() as u16;
        let record = [&head.to_bytes()[..], pdu].concat();
        if self.forge.hostile && self.held[cpu].is_none() && self.chance.one_in(300) {
            self.held[cpu] = Some(record);
            return Ok(());
        }
        self.files[cpu].write_all(&record)?;
        match self.held[cpu].take() {
            Some(held) => self.files[cpu].write_all(&held),
            None => Ok(()),
        }
    }

    /// A request from its queueing to its issue; what is due meanwhile completes.
    fn request(&mut self) -> io::Result<()> {
        self.time += self.forge.pause;
        self.complete_until(self.time)?;
        let cpu = self.chance.below(self.files.len() as u64) as usize;
        let request = self.choose();
        if self.forge.hostile {
            self.disturb(cpu, &request)?;
        }
        if request.flags & Category::Passthrough as u32 != 0 {
            return self.passthrough(cpu, &request);
        }
        if self.forge.devices.len() > 1 && self.chance.one_in(5) {
            self.remap(cpu, &request)?;
        }
        self.event(cpu, Action::Queue, &request, &[])?;
        self.event(cpu, Action::GetRequest, &request, &[])?;
        let plugged = self.chance.one_in(3);
        if plugged {
            let plain = Request {
                sector: 0,
                bytes: 0,
                flags: 0,
                ..request
            };
            self.event(cpu, Action::Plug, &plain, &[])?;
        }
        let mut whole = request;
        whole.flags |= Category::Fs as u32;
        let merges = self.chance.below(4);
        for _ in 0..if self.forge.merges { merges } else { 0 } {
            self.merge(cpu, &mut whole)?;
        }
        if plugged || self.chance.one_in(2) {
            self.event(cpu, Action::Insert, &whole, &[])?;
        }
        if plugged {
            self.unplug(cpu, &whole)?;
        }
        self.event(cpu, Action::Issue, &whole, &[])?;
        if self.forge.hostile && self.chance.one_in(30) {
            self.event(cpu, Action::Requeue, &whole, &[])?;
            self.event(cpu, Action::Issue, &whole, &[])?;
        }
        self.fly(whole);
        Ok(())
    }

    fn fly(&mut self, request: Request) {
        let due = self.time + 20_000 + self.chance.below(400_000);
        let number = self.events;
        self.flying.insert((due, number), request);
    }

    fn choose(&mut self) -> Request {
        let lower = self.forge.devices.len().saturating_sub(1).max(1);
        let which = self.chance.below(lower as u64) as usize;
        let apart = self.chance.one_in(6);
        if apart {
            self.positions[which] = Self::base(which) + self.chance.below(1 << 28) * 8;
        }
        let mut bytes = 4096 << self.chance.below(6);
        let mut flags = if self.chance.one_in(3) {
            Category::Read as u32
        } else {
            Category::Write as u32
        };
        if self.chance.one_in(4) {
            flags |= Category::Sync as u32;
        }
        if self.chance.one_in(9) {
            flags |= Category::Meta as u32;
        }
        if self.forge.hostile {
            (flags, bytes) = self.odd(flags, bytes);
        }
        let sector = self.positions[which];
        self.positions[which] += u64::from(bytes >> 9);
        Request {
            device: self.forge.devices[which],
            sector,
            bytes,
            flags,
            pid: 1000 + self.chance.below(if self.forge.hostile { 8 } else { 4 }) as u32,
            apart,
        }
    }

    fn odd(&mut self, flags: u32, bytes: u32) -> (u32, u32) {
        let write = Category::Write as u32;
        match self.chance.below(40) {
            0 => (write | Category::Flush as u32, 0),
            1 => (write | Category::Flush as u32 | Category::Fua as u32, bytes),
            2 => (write | Category::Discard as u32, bytes << 8),
            3 => (Category::Read as u32 | Category::Ahead as u32, bytes),
            4 => (flags | Category::Passthrough as u32, 36),
            5 => (flags, 512 * (1 + self.chance.below(7) as u32)),
            6 => (flags, 100),
            _ => (flags, bytes),
        }
    }

    /// What happens between requests on bad days.
    fn disturb(&mut self, cpu: usize, request: &Request) -> io::Result<()> {
        match self.chance.below(60) {
            0 => self.note(cpu, 2, 0, b"cfq a message"),
            1 => self.note(cpu, 2, 0, b""),
            2 => self.note(cpu, 3, 0, b"nobody knows this kind"),
            3..=7 => {
                let which = self.chance.below(7) as usize;
                self.name(cpu, which)
            }
            8 => self.event(cpu, Action::SleepRequest, request, &[]),
            9 => self.event(cpu, Action::Bounce, request, &[]),
            10 => {
                let middle = request.sector + 8;
                self.event(cpu, Action::Split, request, &middle.to_be_bytes())
            }
            11 => self.event(cpu, Action::Complete, request, &[]),
            _ => Ok(()),
        }
    }

    fn passthrough(&mut self, cpu: usize, request: &Request) -> io::Result<()> {
        let cdb = match self.chance.below(3) {
            0 => vec![0x12, 0, 0, 0, 36, 0],
            1 => vec![0x2a, 0, 1, 2, 3, 4, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0],
            _ => vec![0; 6],
        };
        for action in [Action::Queue, Action::GetRequest] {
            self.event(cpu, action, request, &[])?;
        }
        for action in [Action::Insert, Action::Issue, Action::Complete] {
            self.event(cpu, action, request, &cdb)?;
        }
        Ok(())
    }

    fn remap(&mut self, cpu: usize, request: &Request) -> io::Result<()> {
        let from = self.forge.devices[self.forge.devices.len() - 1];
        let mut pdu = from.to_be_bytes().to_vec();
        pdu.extend(request.device.to_be_bytes());
        pdu.extend((request.sector + 2048).to_be_bytes());
        let upper = Request {
            device: from,
            sector: request.sector + 2048,
            ..*request
        };
        self.event(cpu, Action::Queue, &upper, &[])?;
        self.event(cpu, Action::Remap, request, &pdu)?;
        let due = self.time + 500_000;
        let number = self.events;
        self.flying.insert((due, number), upper);
        Ok(())
    }

    fn merge(&mut self, cpu: usize, whole: &mut Request) -> io::Result<()> {
        let flags = whole.flags & !(Category::Fs as u32);
        let front = whole.apart && self.chance.one_in(8) && whole.sector > 4096;
        let more = Request {
            sector: if front {
                whole.sector - 8
            } else {
                whole.sector + u64::from(whole.bytes >> 9)
            },
            bytes: 4096,
            flags,
            ..*whole
        };
        self.event(cpu, Action::Queue, &more, &[])?;
        let action = if front {
            Action::FrontMerge
        } else {
            Action::BackMerge
        };
        self.event(cpu, action, &more, &[])?;
        let which = self.forge.devices.iter().position(|&d| d == whole.device);
        if let Some(which) = which
            && !front
        {
            self.positions[which] = more.sector + 8;
        }
        whole.sector = whole.sector.min(more.sector);
        whole.bytes += more.bytes;
        Ok(())
    }

    fn unplug(&mut self, cpu: usize, request: &Request) -> io::Result<()> {
        let count = 1 + self.chance.below(if self.forge.hostile { 130 } else { 4 });
        let action = if self.chance.one_in(9) {
            Action::UnplugTimer
        } else {
            Action::Unplug
        };
        let plain = Request {
            sector: 0,
            bytes: 0,
            flags: 0,
            ..*request
        };
        self.event(cpu, action, &plain, &count.to_be_bytes())
    }

    fn complete_until(&mut self, time: u64) -> io::Result<()> {
        while let Some(entry) = self.flying.first_entry() {
            if entry.key().0 > time {
                break;
            }
            let mut request = entry.remove();
            request.pid = 0;
            let cpu = self.chance.below(self.files.len() as u64) as usize;
            if self.forge.hostile && request.bytes >= 8192 && self.chance.one_in(10) {
                let half = (request.bytes / 2) & !511;
                let first = Request {
                    bytes: half,
                    ..request
                };
                self.event(cpu, Action::Complete, &first, &[])?;
                request.sector += u64::from(half >> 9);
                request.bytes -= half;
            }
            self.event(cpu, Action::Complete, &request, &[])?;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.time += 600_000;
        self.complete_until(u64::MAX)?;
        for cpu in 0..self.files.len() {
            if let Some(held) = self.held[cpu].take() {
                self.files[cpu].write_all(&held)?;
            }
            self.files[cpu].flush()?;
        }
        Ok(())
    }
}
