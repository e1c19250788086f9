//! btt's files: a line for each I/O, streamed while the trace is read.
//!
//! Each is named by btt's letter. Files that would be empty are not made, which is what btt leaves
//! behind as well.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::average::seconds;
use super::device::{Device, Io, NEVER};
use super::iostat::Iostat;
use crate::error::Error;
use crate::record::{Category, Head};

/// Which files to write, and where. A prefix is what stands before `_8,0_...dat`.
#[derive(Clone, Debug, Default)]
pub struct FileOptions {
    /// The folder of all of them.
    pub folder: PathBuf,
    /// iostat's columns, in this file (-I).
    pub iostat: Option<String>,
    /// Seconds of an interval there (-S); 1 if it is 0.
    pub iostat_seconds: f64,
    /// The steps of each bio, in this file (-p).
    pub per_io: Option<String>,
    /// The times of each request: `8,0_pit.dat` (-P).
    pub per_request: bool,
    /// Prefix of times from queueing to issue (-z).
    pub q2d: Option<String>,
    /// Prefix of times from issue to completion (-l).
    pub d2c: Option<String>,
    /// Prefix of times from queueing to completion (-q).
    pub q2c: Option<String>,
    /// Prefix of the sectors of each request (-B).
    pub blocks: Option<String>,
    /// Prefix of the requests at the driver (-Q).
    pub depth: Option<String>,
    /// Prefix of the histogram of requests in a plug (-u).
    pub unplugs: Option<String>,
    /// Prefix of distances (-s).
    pub seeks: Option<String>,
    /// Prefix of distances of bios a second (-m).
    pub seeks_per_second: Option<String>,
    /// Mean latencies of every so many seconds: `8,0_q2c_plat.dat` (-L).
    pub periodic: Option<f64>,
    /// Requests and MiB a second: `8,0_iops_fp.dat`, which btt always writes.
    pub rates: bool,
    /// Messages, in this file (`NAME.msg` of -o).
    pub messages: Option<String>,
}

/// A file that is made when something is written to it.
pub(super) struct Out {
    path: PathBuf,
    file: Option<BufWriter<File>>,
    failure: Option<io::Error>,
}

impl Out {
    fn new(folder: &Path, name: &str) -> Out {
        Out {
            path: folder.join(name),
            file: None,
            failure: None,
        }
    }

    pub(super) fn line(&mut self, line: fmt::Arguments<'_>) {
        if self.failure.is_none()
            && let Err(error) = self.try_line(line)
        {
            self.failure = Some(error);
        }
    }

    fn try_line(&mut self, line: fmt::Arguments<'_>) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self
                .file
                .insert(BufWriter::with_capacity(1 << 15, File::create(&self.path)?)),
        };
        file.write_fmt(line)
    }

    fn finish(&mut self) -> Result<(), Error> {
        let flushed = self.file.as_mut().map_or(Ok(()), Write::flush);
        match self.failure.take().map_or(flushed, Err) {
            Ok(()) => Ok(()),
            Err(source) => Err(Error::File {
                path: self.path.clone(),
                source,
            }),
        }
    }
}

/// Requests and blocks of a second.
struct Rate {
    requests: Out,
    mebibytes: Out,
    second: Option<u64>,
    count: u64,
    sectors: u64,
}

impl Rate {
    fn new(folder: &Path, name: &str) -> Rate {
        Rate {
            requests: Out::new(folder, &format!("{name}_iops_fp.dat")),
            mebibytes: Out::new(folder, &format!("{name}_mbps_fp.dat")),
            second: None,
            count: 0,
            sectors: 0,
        }
    }

    fn add(&mut self, time: u64, sectors: u32) {
        let now = time / 1_000_000_000;
        if self.second.is_some_and(|second| now > second) {
            self.emit();
        }
        self.second.get_or_insert(now);
        self.count += 1;
        self.sectors += u64::from(sectors);
    }

    fn emit(&mut self) {
        if let Some(second) = self.second.take() {
            let mebibytes = self.sectors as f64 * 512.0 / (1024.0 * 1024.0);
            self.requests
                .line(format_args!("{second} {}\n", self.count));
            self.mebibytes
                .line(format_args!("{second} {mebibytes:.6}\n"));
            (self.count, self.sectors) = (0, 0);
        }
    }
}

/// Means of some seconds.
struct Periodic {
    out: Out,
    first: Option<f64>,
    last: f64,
    count: u64,
    sum: f64,
}

impl Periodic {
    fn add(&mut self, period: f64, time: u64, ns: u64) {
        let (now, latency) = (time as f64 / 1e9, ns as f64 / 1e9);
        if self.first.is_some_and(|first| now - first >= period) {
            self.emit();
        }
        if self.first.is_none() {
            self.first = Some(now);
        }
        self.last = now;
        self.count += 1;
        self.sum += latency;
    }

    fn emit(&mut self) {
        if let Some(first) = self.first.take() {
            let middle = first + (self.last - first) / 2.0;
            let mean = self.sum / self.count as f64;
            self.out.line(format_args!("{middle:.6} {mean:.6}\n"));
            (self.count, self.sum) = (0, 0.0);
        }
    }
}

/// Distances of a kind: all, and by direction.
struct SeekFiles {
    reads: Out,
    writes: Out,
    all: Out,
}

/// The files of a device.
struct DeviceFiles {
    name: String,
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
    second: Option<(u64, u64, u64)>,
    requests: Out,
    rate: Rate,
    periodic: [Periodic; 3],
    iostat: Iostat,
}

pub(crate) struct Files {
    options: FileOptions,
    devices: Vec<DeviceFiles>,
    iostat: Out,
    since: Option<u64>,
    last: u64,
    per_io: Out,
    rate: Rate,
    messages: Out,
    /// The bios of the request that is being completed.
    queued: Vec<u64>,
    pending: Option<(usize, u64, u64)>,
    /// Whether a completion was written that is not yet underlined.
    dashes: bool,
}

impl Files {
    pub(super) fn open(options: &FileOptions) -> Result<Files, Error> {
        let folder = &options.folder;
        std::fs::create_dir_all(folder).map_err(|source| Error::File {
            path: folder.clone(),
            source,
        })?;
        let out = |name: &Option<String>| Out::new(folder, name.as_deref().unwrap_or_default());
        let mut options = options.clone();
        if options.iostat_seconds <= 0.0 {
            options.iostat_seconds = 1.0;
        }
        let mut files = Files {
            iostat: out(&options.iostat),
            per_io: out(&options.per_io),
            rate: Rate::new(folder, "sys"),
            messages: out(&options.messages),
            devices: Vec::new(),
            since: None,
            last: 0,
            queued: Vec::new(),
            pending: None,
            dashes: false,
            options,
        };
        if files.options.iostat.is_some() {
            Iostat::head(&mut files.iostat);
        }
        Ok(files)
    }

    pub(super) fn meet(&mut self, number: u32) {
        let name = format!("{},{}", number >> 20, number & 0xf_ffff);
        let options = &self.options;
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
        let periodic = |kind: &str| Periodic {
            out: own(&format!("{kind}_plat")),
            first: None,
            last: 0.0,
            count: 0,
            sum: 0.0,
        };
        let device = DeviceFiles {
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
            periodic: ["q2d", "q2c", "d2c"].map(periodic),
            iostat: Iostat::default(),
            name,
        };
        self.devices.push(device);
    }

    /// Time goes on: an interval of iostat may be over.
    pub(super) fn tick(&mut self, time: u64) {
        if self.options.iostat.is_none() {
            return;
        }
        let since = *self.since.get_or_insert(time);
        let interval = (self.options.iostat_seconds * 1e9) as u64;
        if time.saturating_sub(since) >= interval {
            self.block(time, since);
            self.since = Some(time);
        }
        self.last = time;
    }

    /// A block of an interval.
    fn block(&mut self, time: u64, since: u64) {
        for device in &mut self.devices {
            device
                .iostat
                .interval(&mut self.iostat, &device.name, since, time);
        }
        Iostat::sum(
            &mut self.iostat,
            self.devices.iter().map(|d| &d.iostat),
            Some(time),
        );
        self.iostat.line(format_args!("\n"));
    }

    pub(super) fn message(&mut self, device: &Device, time: u64, text: &[u8]) {
        if self.options.messages.is_some() {
            let (major, minor) = device.numbers();
            let text = String::from_utf8_lossy(text);
            let text = text.trim_end_matches('\0');
            self.messages.line(format_args!(
                "({major:>3},{minor:>3}) {:>5}.{:09} {text}\n",
                time / 1_000_000_000,
                time % 1_000_000_000
            ));
        }
    }

    pub(super) fn seek(&mut self, at: usize, issue: bool, head: &Head, distance: i64) {
        let device = &mut self.devices[at];
        let time = seconds(head.time);
        if self.options.seeks.is_some() {
            let files = &mut device.seeks[usize::from(issue)];
            let (file, letter) = if head.has(Category::Read) {
                (&mut files.reads, 'r')
            } else {
                (&mut files.writes, 'w')
            };
            for file in [file, &mut files.all] {
                file.line(format_args!("{time:>15.9} {distance:>13} {letter}\n"));
            }
        }
        if self.options.seeks_per_second.is_some() && !issue {
            device.count_seek(head.time);
        }
    }

    pub(super) fn got(&mut self, at: usize, time: u64) {
        self.devices[at].iostat.got(time);
    }

    pub(super) fn merged(&mut self, at: usize, head: &Head) {
        self.devices[at].iostat.merged(head.has(Category::Read));
    }

    pub(super) fn issued(&mut self, at: usize, head: &Head) {
        let device = &mut self.devices[at];
        device
            .iostat
            .issued(head.time, head.has(Category::Read), head.sectors());
        if self.options.blocks.is_some() {
            let [reads, writes, all] = &mut device.blocks;
            let one = if head.has(Category::Read) {
                reads
            } else {
                writes
            };
            for file in [one, all] {
                file.line(format_args!(
                    "{:>15.9} {} {}\n",
                    seconds(head.time),
                    head.sector,
                    head.end()
                ));
            }
        }
        if self.options.depth.is_some() {
            let (time, depth) = (head.time as f64 / 1e9, device.at_driver);
            device
                .depth
                .line(format_args!("{time:.6} {depth}\n{time:.6} {}\n", depth + 1));
        }
        device.at_driver += 1;
    }

    pub(super) fn q2d(&mut self, at: usize, time: u64, ns: u64) {
        let device = &mut self.devices[at];
        if self.options.q2d.is_some() {
            latency(&mut device.q2d, time, ns);
        }
        if let Some(period) = self.options.periodic {
            device.periodic[0].add(period, time, ns);
        }
    }

    pub(super) fn completed(&mut self, at: usize, head: &Head) {
        self.flush_request();
        self.dashes = self.options.per_io.is_some();
        let device = &mut self.devices[at];
        device.iostat.completed(head.time);
        if self.options.rates {
            device.rate.add(head.time, head.sectors());
            self.rate.add(head.time, head.sectors());
        }
        if device.at_driver > 0 {
            if self.options.depth.is_some() {
                let (time, depth) = (head.time as f64 / 1e9, device.at_driver);
                device
                    .depth
                    .line(format_args!("{time:.6} {depth}\n{time:.6} {}\n", depth - 1));
            }
            device.at_driver -= 1;
        }
    }

    pub(super) fn end(
        &mut self,
        at: usize,
        sector: u64,
        io: &Io,
        head: &Head,
        q2c: u64,
        d2c: Option<u64>,
    ) {
        let device = &mut self.devices[at];
        if self.options.q2c.is_some() {
            latency(&mut device.q2c, io.queued, q2c);
        }
        if let Some(period) = self.options.periodic {
            device.periodic[1].add(period, io.queued, q2c);
        }
        if let Some(ns) = d2c {
            if self.options.d2c.is_some() {
                latency(&mut device.d2c, head.time, ns);
            }
            if let Some(period) = self.options.periodic {
                device.periodic[2].add(period, head.time, ns);
            }
            device.iostat.ended(io, head.time, q2c);
        }
        if self.options.per_io.is_some() {
            self.steps(at, sector, io, head);
        }
        if self.options.per_request {
            self.queued.push(io.queued);
            self.pending = Some((at, io.issued, head.time));
        }
    }

    /// The steps of a bio.
    fn steps(&mut self, at: usize, sector: u64, io: &Io, head: &Head) {
        let (major, minor) = self.devices[at].name.split_once(',').unwrap_or_default();
        let sectors = io.end.wrapping_sub(sector) as u32;
        let request = io.request;
        let mut first = true;
        for (letter, time, (sector, sectors)) in [
            ('Q', io.queued, (sector, sectors)),
            ('G', io.got, (sector, sectors)),
            ('I', io.inserted, (sector, sectors)),
            ('M', io.merged, (sector, sectors)),
            ('D', io.issued, request),
            ('C', head.time, (head.sector, head.sectors())),
        ] {
            if time == NEVER {
                continue;
            }
            let (whole, rest) = (time / 1_000_000_000, time % 1_000_000_000);
            let line = format_args!("{whole:>5}.{rest:09} {letter} {sector:>10}+{sectors:<4}\n");
            if first {
                self.per_io
                    .line(format_args!("{major:>3},{minor:<3}: {line}"));
            } else {
                self.per_io.line(format_args!("         {line}"));
            }
            first = false;
        }
        self.per_io.line(format_args!("\n"));
    }

    /// Writes the times of the request that was completed last.
    fn flush_request(&mut self) {
        if std::mem::take(&mut self.dashes) {
            self.per_io.line(format_args!("{}\n", "-".repeat(41)));
        }
        let Some((at, issued, completed)) = self.pending.take() else {
            return;
        };
        let out = &mut self.devices[at].requests;
        let plain = |ns: u64| format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
        for &queued in &self.queued {
            out.line(format_args!("{} ", plain(queued)));
        }
        let issued = if issued == NEVER {
            "-".into()
        } else {
            plain(issued)
        };
        out.line(format_args!("| {issued} | {}\n", plain(completed)));
        self.queued.clear();
    }

    pub(super) fn unplugged(&mut self, at: usize, code: u32, requests: u64) {
        if code == 10 {
            let class = ((requests / 5) as usize).min(20);
            self.devices[at].plug_sizes[class] += 1;
        }
    }

    pub(super) fn finish(&mut self) -> Result<(), Error> {
        self.flush_request();
        self.rate.emit();
        let last = self.last;
        if self.options.iostat.is_some() {
            self.iostat.line(format_args!("\n"));
            Iostat::head(&mut self.iostat);
            for device in &mut self.devices {
                device.iostat.all(&mut self.iostat, &device.name, last);
            }
            Iostat::sum(
                &mut self.iostat,
                self.devices.iter().map(|d| &d.iostat),
                None,
            );
        }
        for device in &mut self.devices {
            device.rate.emit();
            device.emit_second();
            device.periodic.iter_mut().for_each(Periodic::emit);
            if self.options.unplugs.is_some() {
                for (class, count) in device.plug_sizes.iter().enumerate() {
                    device.unplugs.line(format_args!("{class} {count}\n"));
                }
            }
            device.finish()?;
        }
        for out in [
            &mut self.iostat,
            &mut self.per_io,
            &mut self.messages,
            &mut self.rate.requests,
            &mut self.rate.mebibytes,
        ] {
            out.finish()?;
        }
        Ok(())
    }
}

fn latency(out: &mut Out, time: u64, ns: u64) {
    out.line(format_args!(
        "{:.6} {:.6}\n",
        time as f64 / 1e9,
        ns as f64 / 1e9
    ));
}

impl DeviceFiles {
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

    fn finish(&mut self) -> Result<(), Error> {
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
