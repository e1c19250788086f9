//! The files of one device.

use super::super::average::seconds;
use super::super::iostat::Iostat;
use super::super::out::{Out, Periodic, Rate};
use super::FileOptions;
use crate::error::Error;
use crate::record::{Category, Head};

/// Distances of a kind: all, and by direction.
struct SeekFiles {
    reads: Out,
    writes: Out,
    all: Out,
}

pub(super) struct DeviceFiles {
    /// `8,0`.
    pub(super) name: String,
    pub(super) iostat: Iostat,
    pub(super) requests: Out,
    pub(super) rate: Rate,
    q2d: Out,
    d2c: Out,
    q2c: Out,
    blocks: [Out; 3],
    depth: Out,
    at_driver: u64,
    unplugs: Out,
    plug_sizes: [u64; 21],
    seeks: [SeekFiles; 2],
    per_second: Out,
    /// First and last time of the second, and its seeks.
    second: Option<(u64, u64, u64)>,
    periodic: [Periodic; 3],
}

impl DeviceFiles {
    pub(super) fn new(options: &FileOptions, number: u32) -> DeviceFiles {
        let name = format!("{},{}", number >> 20, number & 0xf_ffff);
        let out = |prefix: &Option<String>, rest: &str| {
            let prefix = prefix.as_deref().unwrap_or_default();
            Out::new(&options.folder, &format!("{prefix}_{name}{rest}.dat"))
        };
        let own = |rest: &str| Out::new(&options.folder, &format!("{name}_{rest}.dat"));
        let seeks = |kind: &str| SeekFiles {
            reads: out(&options.seeks, &format!("_{kind}_r")),
            writes: out(&options.seeks, &format!("_{kind}_w")),
            all: out(&options.seeks, &format!("_{kind}_c")),
        };
        DeviceFiles {
            q2d: out(&options.q2d, "_q2d"),
            d2c: out(&options.d2c, "_d2c"),
            q2c: out(&options.q2c, "_q2c"),
            blocks: ["_r", "_w", "_c"].map(|rest| out(&options.blocks, rest)),
            depth: out(&options.depth, "_aqd"),
            at_driver: 0,
            unplugs: out(&options.unplugs, ""),
            plug_sizes: [0; 21],
            seeks: [seeks("q2q"), seeks("d2d")],
            per_second: out(&options.seeks_per_second, ""),
            second: None,
            requests: own("pit"),
            rate: Rate::new(&options.folder, &name),
            periodic: ["q2d", "q2c", "d2c"].map(|kind| Periodic::new(own(&format!("{kind}_plat")))),
            iostat: Iostat::default(),
            name,
        }
    }

    pub(super) fn seek(&mut self, options: &FileOptions, issue: bool, head: &Head, distance: i64) {
        let time = seconds(head.time);
        if options.seeks.is_some() {
            let files = &mut self.seeks[usize::from(issue)];
            let (file, letter) = if head.has(Category::Read) {
                (&mut files.reads, 'r')
            } else {
                (&mut files.writes, 'w')
            };
            for file in [file, &mut files.all] {
                file.line(format_args!("{time:>15.9} {distance:>13} {letter}\n"));
            }
        }
        if options.seeks_per_second.is_some() && !issue {
            self.count_seek(head.time);
        }
    }

    pub(super) fn issued(&mut self, options: &FileOptions, head: &Head) {
        self.iostat
            .issued(head.time, head.has(Category::Read), head.sectors());
        if options.blocks.is_some() {
            let [reads, writes, all] = &mut self.blocks;
            let one = if head.has(Category::Read) {
                reads
            } else {
                writes
            };
            let (time, end) = (seconds(head.time), head.end());
            for file in [one, all] {
                file.line(format_args!("{time:>15.9} {} {end}\n", head.sector));
            }
        }
        let depth = self.at_driver;
        self.depth_becomes(options, head.time, depth, depth + 1);
    }

    pub(super) fn completed(&mut self, options: &FileOptions, head: &Head) {
        self.iostat.completed(head.time);
        if options.rates {
            self.rate.add(head.time, head.sectors());
        }
        let depth = self.at_driver;
        if depth > 0 {
            self.depth_becomes(options, head.time, depth, depth - 1);
        }
    }

    fn depth_becomes(&mut self, options: &FileOptions, time: u64, before: u64, after: u64) {
        if options.depth.is_some() {
            let time = time as f64 / 1e9;
            self.depth
                .line(format_args!("{time:.6} {before}\n{time:.6} {after}\n"));
        }
        self.at_driver = after;
    }

    pub(super) fn q2d(&mut self, options: &FileOptions, time: u64, ns: u64) {
        if options.q2d.is_some() {
            latency(&mut self.q2d, time, ns);
        }
        if let Some(period) = options.periodic {
            self.periodic[0].add(period, time, ns);
        }
    }

    pub(super) fn q2c(&mut self, options: &FileOptions, queued: u64, ns: u64) {
        if options.q2c.is_some() {
            latency(&mut self.q2c, queued, ns);
        }
        if let Some(period) = options.periodic {
            self.periodic[1].add(period, queued, ns);
        }
    }

    pub(super) fn d2c(&mut self, options: &FileOptions, completed: u64, ns: u64) {
        if options.d2c.is_some() {
            latency(&mut self.d2c, completed, ns);
        }
        if let Some(period) = options.periodic {
            self.periodic[2].add(period, completed, ns);
        }
    }

    pub(super) fn unplugged(&mut self, requests: u64) {
        let class = ((requests / 5) as usize).min(20);
        self.plug_sizes[class] += 1;
    }

    fn count_seek(&mut self, time: u64) {
        if self
            .second
            .is_some_and(|(first, _, _)| time.saturating_sub(first) >= 1_000_000_000)
        {
            self.emit_second();
        }
        match &mut self.second {
            Some((_, last, count)) => (*last, *count) = (time, *count + 1),
            None => self.second = Some((time, time, 1)),
        }
    }

    fn emit_second(&mut self) {
        if let Some((first, last, count)) = self.second.take() {
            let span = seconds(last) - seconds(first);
            let rate = if count == 1 || span < f64::EPSILON {
                count as f64
            } else {
                count as f64 / span
            };
            self.per_second
                .line(format_args!("{:>15.9} {rate:.2}\n", seconds(first)));
        }
    }

    pub(super) fn finish(&mut self, options: &FileOptions) -> Result<(), Error> {
        self.rate.emit();
        self.emit_second();
        self.periodic.iter_mut().for_each(Periodic::emit);
        if options.unplugs.is_some() {
            for (class, count) in self.plug_sizes.iter().enumerate() {
                self.unplugs.line(format_args!("{class} {count}\n"));
            }
        }
        let seeks = self.seeks.iter_mut();
        let seeks = seeks.flat_map(|s| [&mut s.reads, &mut s.writes, &mut s.all]);
        let periodic = self.periodic.iter_mut().map(|p| &mut p.out);
        let outs = [
            &mut self.q2d,
            &mut self.d2c,
            &mut self.q2c,
            &mut self.depth,
            &mut self.unplugs,
            &mut self.per_second,
            &mut self.requests,
            &mut self.rate.requests,
            &mut self.rate.mebibytes,
        ];
        outs.into_iter()
            .chain(self.blocks.iter_mut())
            .chain(seeks)
            .chain(periodic)
            .try_for_each(Out::finish)
    }
}

fn latency(out: &mut Out, time: u64, ns: u64) {
    out.line(format_args!(
        "{:.6} {:.6}\n",
        time as f64 / 1e9,
        ns as f64 / 1e9
    ));
}
