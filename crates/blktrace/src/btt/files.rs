//! btt's files: a line for each I/O, streamed while the trace is read.
//!
//! Each is named by btt's letter. Files that would be empty are not made, as in btt.

mod device;
mod options;

use std::path::Path;

use super::device::{Device, Io, NEVER};
use super::iostat::Iostat;
use super::live::Log;
use super::out::{Out, Rate};
use crate::error::Error;
use crate::record::{Category, Head};
use device::DeviceFiles;
pub use options::FileOptions;

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
        self.devices.push(DeviceFiles::new(&self.options, number));
    }

    /// The file of periods of work of the device that was met last, or of all (-Z).
    pub(super) fn live(&self, device: bool) -> Option<Log> {
        let (name, level) = match self.devices.last() {
            Some(last) if device => (&last.name[..], None),
            _ => ("sys", Some(0)),
        };
        let folder: &Path = &self.options.folder;
        let out = || Out::new(folder, &format!("{name}_live.dat"));
        self.options.live.then(|| Log::new(out(), level))
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
        self.devices[at].seek(&self.options, issue, head, distance);
    }

    pub(super) fn got(&mut self, at: usize, time: u64) {
        self.devices[at].iostat.got(time);
    }

    pub(super) fn merged(&mut self, at: usize, head: &Head) {
        self.devices[at].iostat.merged(head.has(Category::Read));
    }

    pub(super) fn issued(&mut self, at: usize, head: &Head) {
        self.devices[at].issued(&self.options, head);
    }

    pub(super) fn q2d(&mut self, at: usize, time: u64, ns: u64) {
        self.devices[at].q2d(&self.options, time, ns);
    }

    pub(super) fn completed(&mut self, at: usize, head: &Head) {
        self.flush_request();
        self.dashes = self.options.per_io.is_some();
        self.devices[at].completed(&self.options, head);
        if self.options.rates {
            self.rate.add(head.time, head.sectors());
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
        device.q2c(&self.options, io.queued, q2c);
        if let Some(ns) = d2c {
            device.d2c(&self.options, head.time, ns);
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
            self.devices[at].unplugged(requests);
        }
    }

    /// What is written at the end; `sizes` of bios and of requests.
    pub(super) fn finish(&mut self, sizes: [&[u64]; 2]) -> Result<(), Error> {
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
            device.finish(&self.options)?;
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
        self.histograms(sizes)
    }

    /// How many bios and requests had each size in sectors.
    fn histograms(&self, [queued, issued]: [&[u64]; 2]) -> Result<(), Error> {
        let Some(prefix) = &self.options.histograms else {
            return Ok(());
        };
        for (kind, letter, counts) in [("qhist", 'Q', queued), ("dhist", 'D', issued)] {
            let mut out = Out::new(&self.options.folder, &format!("{prefix}_{kind}.dat"));
            if letter == 'Q' {
                out.line(format_args!("# BTT histogram data\n"));
            }
            out.line(format_args!("# {letter} buckets\n"));
            let (more, each) = counts.split_last().unwrap_or((&0, &[]));
            for (sectors, count) in (1..).zip(each) {
                out.line(format_args!("{sectors:>4} {count}\n"));
            }
            let last = each.len();
            out.line(format_args!(
                "\n# {letter} bucket for > {last}\n{last:>4} {more}\n"
            ));
            out.finish()?;
        }
        Ok(())
    }
}
