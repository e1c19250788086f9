//! A model of a device that is at hand, from what it does: a latency that requests share, a time that they do not, and a rate.
//!
//! Five loads are timed by direct reads: 4 KiB at random, one at a time and 32 at once; the largest that the kernel hands over whole, up to
//! 1 MiB, and half of that, 32 at once; and 64 KiB, 4 at once. With many in flight a device is busy all the time, so the deep loads give what a
//! request and a byte take it; what one read alone takes longer is latency. Three forms are tried, and the nearest is taken; of some
//! that are nearly as near the first: both times add up, as in a controller that does one request after the other; they pass side by side, as limits of requests and
//! of bytes a second do, and the longer one counts; they add up, and something below the device cuts the largest reads in halves. That describes
//! what has no geometry: flash, remote and emulated disks, limits. A rotating disk needs the
//! figures of its data sheet: its seeks depend on the distance. How far the model is from the device is said beside it, also for a
//! load that was not used. Nothing is written, so flushes and write caches are not measured.

mod disk_of;
mod measure;

use std::fmt::Write as _;
use std::path::Path;

use device::{Catalogue, Model, Request, Variation};
use serde::Serialize;
use words::significant;

use crate::error::Error;

/// Reads that are timed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Load {
    /// Bytes of a read.
    pub len: u64,
    /// Reads in flight.
    pub depth: u64,
}

/// Bytes of a small read.
const SMALL: u64 = 4096;
/// Bytes of the largest read.
const LARGEST: u64 = 1 << 20;
/// Loads of a fit.
const LOADS: usize = 6;
/// Of these, the first ones are what figures are computed from, in the order of [`fitted`]; the others are compared.
const USED: usize = 5;
/// How much nearer a form must be than the simplest one, as a share of what is measured: less is noise.
const NEARER: f64 = 0.05;

/// The loads, where `largest` is what the kernel hands over whole.
fn loads(largest: u64) -> [Load; LOADS] {
    let load = |len, depth| Load { len, depth };
    [
        load(SMALL, 1),
        load(SMALL, 32),
        load(largest, 32),
        load(largest / 2, 32),
        load(64 << 10, 4),
        load(128 << 10, 8),
    ]
}

/// A load, and what a read of it takes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Timed {
    /// The load.
    #[serde(flatten)]
    pub load: Load,
    /// Seconds a read, on the device: the time of all by their number.
    pub measured_s: f64,
    /// The same on the model.
    pub modelled_s: f64,
    /// Whether figures were computed from it.
    pub used: bool,
}

impl Timed {
    /// modelled / measured - 1, percent.
    pub fn error_percent(&self) -> f64 {
        100.0 * (self.modelled_s / self.measured_s - 1.0)
    }
}

/// A fitted model.
#[derive(Clone, Debug, Serialize)]
pub struct Fit {
    /// What was measured.
    pub path: String,
    /// Its name in the device file.
    pub name: String,
    /// Bytes of an image that its filesystem has not allocated: these are read without its disk.
    #[serde(rename = "holes_bytes")]
    pub holes: u64,
    /// What was found.
    pub figures: Figures,
    /// How good it is.
    pub loads: Vec<Timed>,
    /// The device file.
    pub file: String,
}

/// Figures of a device without geometry.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Added to each request, s.
    #[serde(rename = "latency_s")]
    pub latency: f64,
    /// A request, one after the other, s.
    #[serde(rename = "request_s")]
    pub request: f64,
    /// Bytes a second, one request after the other; none where bytes take no time that shows.
    #[serde(rename = "rate_bytes_per_s")]
    pub rate: Option<f64>,
    /// Whether a request's time and that of its bytes pass side by side, and do not add up.
    pub overlap: bool,
}

/// Measures a device or an image, or the disk of a folder, and fits a model of this name to it. Only reads it, past the page cache, for
/// some seconds, so a filesystem on it may be mounted.
///
/// # Errors
/// It cannot be read that way, or is smaller than the largest read.
pub fn fit(path: &Path, name: &str) -> Result<Fit, Error> {
    let disk = disk_of::folder(path)?;
    let path = disk.as_deref().unwrap_or(path);
    // A device of characters refuses O_DIRECT before it is looked at.
    let opened = blockio::Buffered::open(path).and_then(|_| blockio::Direct::open(path));
    let source = opened.map_err(unreadable)?;
    let size = blockio::BlockSource::len(&source);
    let largest = disk_of::whole_request(path).map_or(LARGEST, |bytes| bytes.min(LARGEST));
    let loads = loads(largest);
    if size < largest {
        let (has, needs) = (words::bytes(size), words::bytes(largest));
        let path = path.display().to_string();
        let path = words::printable(&path);
        return Err(Error::Measured(format!(
            "{path}: has {has}, and reads of {needs} are measured; name a larger disk or image"
        )));
    }
    let mut measured = [0.0; LOADS];
    for (seconds, load) in measured.iter_mut().zip(loads) {
        *seconds = measure::seconds_each(&source, load)?;
    }
    let figures = fitted(&loads, &measured);
    let file = file(name, path, size, figures);
    let mut catalogue = Catalogue::shipped()?;
    catalogue.add("the fitted model", &file)?;
    let timed = |(nth, (load, measured_s)): (usize, (Load, f64))| -> Result<Timed, Error> {
        let mut model = catalogue.model(name, Variation::Nominal)?;
        Ok(Timed {
            load,
            measured_s,
            modelled_s: modelled(&mut *model, load),
            used: nth < USED,
        })
    };
    let loads = loads.into_iter().zip(measured).enumerate();
    let loads: Result<Vec<Timed>, Error> = loads.map(timed).collect();
    Ok(Fit {
        path: path.display().to_string(),
        name: name.to_owned(),
        holes: disk_of::holes(path, size),
        figures,
        loads: loads?,
        file,
    })
}

/// Why a path cannot be measured, with what to do about it here.
fn unreadable(error: blockio::OpenError) -> Error {
    Error::Measured(match error {
        blockio::OpenError::NoDirect { path, reason } => format!(
            "{}: cannot be read past the page cache: {reason}; name a disk, or an image on another filesystem",
            words::printable(&path.display().to_string())
        ),
        error => error.to_string(),
    })
}

impl Figures {
    /// Both times add up; `slope` is seconds a byte, `small` those of a small read.
    fn sum(small: f64, slope: f64) -> Figures {
        let slope = slope.max(0.0);
        Figures {
            latency: 0.0,
            request: (small - SMALL as f64 * slope).max(0.0),
            rate: (slope > 0.0).then(|| 1.0 / slope),
            overlap: false,
        }
    }

    /// The longer of both counts; without a rate where that is always the request's.
    fn longer(small: f64, slope: f64) -> Figures {
        Figures {
            latency: 0.0,
            request: small,
            rate: (slope > 0.0).then(|| 1.0 / slope),
            overlap: true,
        }
    }

    /// Seconds a read where many are in flight.
    fn busy(&self, len: u64) -> f64 {
        let bytes = self.rate.map_or(0.0, |rate| len as f64 / rate);
        if self.overlap {
            self.request.max(bytes)
        } else {
            self.request + bytes
        }
    }

    /// The largest error for these loads.
    fn error(&self, loads: &[Load], measured: &[f64]) -> f64 {
        let errors = loads.iter().zip(measured);
        let errors = errors.map(|(load, measured)| (self.busy(load.len) / measured - 1.0).abs());
        errors.fold(0.0, f64::max)
    }
}

/// Figures from seconds a read of each load.
fn fitted(loads: &[Load; LOADS], measured: &[f64; LOADS]) -> Figures {
    let [alone, small, large, half, ..] = *measured;
    let bytes = |nth: usize| (loads[nth].len - SMALL) as f64;
    let (between, few) = (3..USED, 4..USED);
    let sum = Figures::sum(small, (large - small) / bytes(2));
    let longer = Figures::longer(small, large / loads[2].len as f64);
    let cut = Figures::sum(small, (half - small) / bytes(3));
    let of_cut = cut.error(&loads[few.clone()], &measured[few]);
    let forms = [
        (
            sum,
            sum.error(&loads[between.clone()], &measured[between.clone()]),
        ),
        (
            longer,
            longer.error(&loads[between.clone()], &measured[between]),
        ),
        (cut, of_cut.max((2.0 * half / large - 1.0).abs())),
    ];
    // A limit that reads of half the largest size just meet looks like reads cut in halves, and noise must not decide.
    let nearer = |best: (Figures, f64), form: (Figures, f64)| {
        if form.1 + NEARER < best.1 { form } else { best }
    };
    let [simplest, others @ ..] = forms;
    let best = others.into_iter().fold(simplest, nearer);
    Figures {
        latency: (alone - small).max(0.0),
        ..best.0
    }
}

/// Of a device file. The medium itself takes next to nothing.
fn file(name: &str, path: &Path, size: u64, figures: Figures) -> String {
    let rate = figures.rate.map_or_else(String::new, |rate| {
        format!(", rate = \"{:.3} MB/s\"", rate / 1e6)
    });
    let overlap = if figures.overlap {
        ", side_by_side = true"
    } else {
        ""
    };
    let from = words::quoted(&path.display().to_string()).replace(['"', '\\'], "'");
    let capacity = (size / 4096 * 4096).max(1 << 20);
    format!(
        r#"[device."{name}-medium"]
kind = "ssd"
stands_for = "the medium of {name}, which takes no time that was seen"
capacity = {capacity}
flash = {{ channels = 64, dies = 16, page = "4k", read_us = 0.001, program_us = 0.001, channel_rate = "1000 GB/s" }}
firmware_us = {{ read = 0, write = 0 }}
buffer = "64m"
link = {{ rate = "1000 GB/s" }}

[device."{name}"]
kind = "array"
stands_for = "fitted to {from}"
level = 0
chunk = "1m"
members = "1 x {name}-medium"
controller = {{ request_ms = {:.6}{rate}{overlap}, source = "fitted: fslab device bench" }}
link = {{ latency_ms = {:.6}, source = "fitted: fslab device bench" }}
source = {{ chunk = "fitted", members = "fitted" }}
"#,
        figures.request * 1e3,
        figures.latency * 1e3,
    )
}

/// Seconds a read of a load on a model.
fn modelled(model: &mut dyn Model, load: Load) -> f64 {
    const READS: u64 = 2000;
    let (mut sent, mut finished, mut now) = (0, 0, 0);
    let mut done = Vec::new();
    while finished < READS {
        while sent < READS && sent - finished < load.depth {
            let offset = measure::place(sent, model.capacity(), load.len);
            model.submit(now, Request::read(sent, offset, load.len));
            sent += 1;
        }
        let Some(at) = model.next_event() else { break };
        now = now.max(at);
        model.advance(now, &mut done);
        finished += done.len() as u64;
        done.clear();
    }
    now as f64 / 1e9 / READS as f64
}

impl Fit {
    /// As text: the loads, then the device file.
    pub fn text(&self) -> String {
        let mut out = format!(
            "{}, fitted to {}\n",
            self.name,
            words::printable(&self.path)
        );
        if self.holes > 0 {
            let _ = writeln!(
                out,
                "{} of it are holes, which are read without the disk: the model is too fast. Fill the image and measure again.",
                words::bytes(self.holes)
            );
        }
        let _ = writeln!(
            out,
            "{:<34} {:>12} {:>12} {:>8}",
            "a read of, at depth", "measured us", "modelled us", "error %"
        );
        for timed in &self.loads {
            let Load { len, depth } = timed.load;
            let used = if timed.used {
                ""
            } else {
                "  not used for the fit"
            };
            let what = format!("{} at random, {depth}", words::bytes(len));
            let _ = writeln!(
                out,
                "{what:<34} {:>12} {:>12} {:>+8.1}{used}",
                significant(timed.measured_s * 1e6),
                significant(timed.modelled_s * 1e6),
                timed.error_percent()
            );
        }
        let _ = write!(out, "\n{}", self.file);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit_of(figures: Figures) -> Figures {
        // A device that is just such a model, at all loads.
        let text = file("it", Path::new("/dev/\"it"), 1 << 34, figures);
        let mut catalogue = Catalogue::shipped().unwrap();
        catalogue.add("it.toml", &text).unwrap();
        let loads = loads(LARGEST);
        let seconds = loads.map(|load| {
            let mut model = catalogue.model("it", Variation::Nominal).unwrap();
            modelled(&mut *model, load)
        });
        fitted(&loads, &seconds)
    }

    #[test]
    fn figures_come_back_where_the_device_has_them() {
        // A controller that is slow; a remote disk; flash; a limit of 200 requests and 100 MB a second.
        for (latency, request, rate, overlap) in [
            (0.0, 5e-3, 100e6, false),
            (5e-3, 2e-4, 400e6, false),
            (80e-6, 3e-6, 3e9, false),
            (0.0, 5e-3, 100e6, true),
        ] {
            let found = fit_of(Figures {
                latency,
                request,
                rate: Some(rate),
                overlap,
            });
            let near = |a: f64, b: f64| (a - b).abs() < 0.03 * b + 1e-6;
            assert!(near(found.request, request), "{found:?}");
            assert!(near(found.rate.unwrap(), rate), "{found:?}");
            assert!(near(found.latency, latency), "{found:?} {latency}");
            assert_eq!(found.overlap, overlap, "{found:?}");
        }
    }

    #[test]
    fn a_limit_that_reads_of_half_the_size_just_meet_cuts_none() {
        // Measured: 200 requests and 100 MB a second, of which 512 KiB are 5 and 5.2 ms.
        let measured = [4961.0, 4885.0, 10_008.0, 5030.0, 5043.0, 4926.0];
        let found = fitted(&loads(LARGEST), &measured.map(|us| us / 1e6));
        assert!(found.overlap, "{found:?}");
        assert!(
            (found.rate.unwrap() / 104.8e6 - 1.0).abs() < 0.01,
            "{found:?}"
        );
    }

    #[test]
    fn reads_that_are_cut_in_halves_are_seen() {
        // 5 ms a request and 100 MB/s, and at most 512 KiB at once.
        let loads = loads(LARGEST);
        let measured = loads.map(|load| {
            let cut = load.len.div_ceil(512 << 10) as f64;
            5e-3 * cut + load.len as f64 / 100e6
        });
        let found = fitted(&loads, &measured);
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-6;
        assert!(
            near(found.request, 5e-3) && near(found.rate.unwrap(), 100e6),
            "{found:?}"
        );
        assert!(!found.overlap);
    }

    #[test]
    fn a_device_that_moves_bytes_for_nothing_has_no_rate() {
        let found = fitted(&loads(LARGEST), &[1e-3, 1e-4, 1e-4, 1e-4, 1e-4, 1e-4]);
        assert_eq!((found.rate, found.overlap), (None, false));
        assert!((found.latency - 0.9e-3).abs() < 1e-9);
        let text = file("it", Path::new("x"), 1 << 30, found);
        Catalogue::shipped().unwrap().add("it", &text).unwrap();
    }

    #[test]
    fn an_image_is_measured_and_its_model_compared() {
        let folder = tempfile::tempdir_in(".").unwrap();
        let path = folder.path().join("image");
        std::fs::File::create(&path)
            .unwrap()
            .set_len(64 << 20)
            .unwrap();
        let Ok(fit) = fit(&path, "image") else {
            testkit::skip!("needs direct reads of {}", folder.path().display());
            return;
        };
        assert_eq!(fit.loads.len(), LOADS);
        assert!(
            fit.loads
                .iter()
                .all(|t| t.measured_s > 0.0 && t.modelled_s > 0.0)
        );
        let text = fit.text();
        assert!(
            text.contains("not used for the fit") && text.contains("[device.\"image\"]"),
            "{text}"
        );
    }
}
