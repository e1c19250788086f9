//! From a device's figures to its model.

use std::collections::BTreeMap;

use super::source::{Draw, Figures, Origin, Variation};
use super::spec::{Array, Controller, Device, Disk, Kind, Seek, Ssd};
use crate::array::{self, Layout, Level};
use crate::disk::{self, Geometry, SeekCurve};
use crate::model::{Model, Nanoseconds};
use crate::{controller, link, ssd};

const MS: f64 = 1e6;
const US: f64 = 1e3;

/// Builds devices; the catalogue resolves members.
struct Builder<'a, 'f, F> {
    draw: Draw,
    disks: usize,
    /// Controllers and links above whose times were fitted.
    fitted: usize,
    /// Seek curves by the name of their device: their figures are drawn once for all of its drives.
    curves: BTreeMap<&'a str, SeekCurve>,
    find: &'f F,
}

/// A model of a device. `find` resolves the names of members, which the catalogue has checked.
pub(crate) fn model<'a, F>(device: &'a Device, variation: Variation, find: &F) -> Box<dyn Model>
where
    F: Fn(&str) -> Option<&'a Device>,
{
    let mut builder = Builder {
        draw: Draw::new(variation),
        disks: 0,
        fitted: 0,
        curves: BTreeMap::new(),
        find,
    };
    builder.device(device)
}

/// Whether a time for each request, of its controller or link, was chosen by results.
fn has_fitted_time(device: &Device) -> bool {
    let fitted = |key| device.origin(key) == Origin::Fitted;
    let controller = device.controller.as_ref();
    let link = device.link.as_ref();
    controller.is_some_and(|parts| parts.request > 0.0 && fitted("controller"))
        || link.is_some_and(|parts| parts.latency > 0.0 && fitted("link"))
}

/// Where bytes lie on a disk whose rates are multiplied by a factor.
pub(crate) fn geometry(parts: &Disk, rates: f64, phase: f64) -> Geometry {
    let (outer, inner) = (parts.outer * rates, parts.inner * rates);
    match parts.cylinders.filter(|_| !parts.zones.is_empty()) {
        Some(cylinders) => Geometry::zoned(
            parts.capacity,
            parts.rpm,
            &parts.zones,
            cylinders,
            outer,
            phase,
        ),
        None => Geometry::linear(parts.capacity, parts.rpm, outer, inner, phase),
    }
}

/// How long the head of a disk moves, with all times multiplied by a factor.
pub(crate) fn seek(parts: &Disk, geometry: &Geometry, factor: f64) -> SeekCurve {
    // A track takes its turn and a fifth of one for skews.
    let derived = geometry.sweep() / (1.2 * f64::from(parts.surfaces) * geometry.turn());
    let cylinders = parts.cylinders.map_or(derived, |count| count as f64);
    let ns = |ms: f64| ms * MS * factor;
    let curve = match &parts.seek {
        Seek::Points {
            track,
            average,
            full,
        } => SeekCurve::three_points(ns(*track), ns(*average), ns(*full), cylinders),
        Seek::Table(rows) => {
            let rows: Vec<(f64, f64)> = rows.iter().map(|row| (row.0, ns(row.1))).collect();
            SeekCurve::measured(&rows, cylinders)
        }
    };
    curve.with_write_settle(ns(parts.write_settle))
}

impl<'a, F: Fn(&str) -> Option<&'a Device>> Builder<'a, '_, F> {
    fn device(&mut self, device: &'a Device) -> Box<dyn Model> {
        let mut figures = self.draw.of(&device.name);
        let fitted = usize::from(has_fitted_time(device));
        self.fitted += fitted;
        let mut model: Box<dyn Model> = match &device.kind {
            Kind::Disk(disk) => Box::new(self.disk(device, disk, &mut figures)),
            Kind::Ssd(parts) => Box::new(ssd(device, parts, &mut figures)),
            Kind::Array(array) => Box::new(self.array(array)),
        };
        self.fitted -= fitted;
        if let Some(parts) = &device.controller {
            model = Box::new(controller(device, parts, &mut figures, model));
        }
        if let Some(parts) = &device.link {
            let factor = figures.factor(device.origin("link"));
            let parts = link::Parameters {
                latency: (parts.latency * MS * factor) as Nanoseconds,
                rate: parts.rate / factor,
            };
            model = Box::new(link::Link::new(parts, model));
        }
        model
    }

    fn disk(&mut self, device: &'a Device, parts: &Disk, figures: &mut Figures) -> disk::Disk {
        let phase = self.draw.phase(self.disks);
        self.disks += 1;
        // One factor for all seeks and one for both rates, so that their order stays. Parts with a source of their own have one.
        let rates = figures.factor(device.origin("rate"));
        let seeks = figures.factor(device.origin("seek_ms"));
        // A time for each request that was fitted to results contains the command times below it.
        let drawn = figures.command_ms(parts.command, device.origin("command_ms"));
        let command = if self.fitted > 0 && self.draw.contains {
            parts.command
        } else {
            drawn
        };
        let interface = figures.factor(device.origin("interface"));
        let cache = figures.factor(device.origin("cache"));
        let bytes = |size: u64| (size as f64 * cache) as u64;
        let mut own = |key: &str| device.own_origin(key).map(|origin| figures.factor(origin));
        let inner = own("rate.inner").map_or(1.0, |factor| factor / rates);
        let [track, full] = ["seek_ms.track", "seek_ms.full"].map(|key| own(key).unwrap_or(seeks));
        let parts = &Disk {
            inner: (parts.inner * inner).min(parts.outer),
            seek: parts.seek.with_ends(track / seeks, full / seeks),
            ..parts.clone()
        };
        let geometry = geometry(parts, rates, phase);
        let curve = self.curves.entry(&device.name);
        let seek = curve.or_insert_with(|| seek(parts, &geometry, seeks));
        disk::Disk::new(disk::Parameters {
            seek: seek.clone(),
            geometry,
            command: (command * MS) as Nanoseconds,
            interface: parts.interface * interface,
            look_ahead: bytes(parts.look_ahead),
            write_cache: bytes(parts.write_cache),
            destage_window: parts.destage_window,
            window: parts.queue,
            store_and_forward: parts.store_and_forward,
            flush_is_barrier: parts.flush_is_barrier,
        })
    }

    fn array(&mut self, parts: &Array) -> array::Array {
        let mut members: Vec<Box<dyn Model>> = Vec::new();
        for of in &parts.members {
            let member = (self.find)(&of.name);
            members.extend((0..of.count).filter_map(|_| Some(self.device(member?))));
        }
        let sizes: Vec<u64> = members.iter().map(|member| member.capacity()).collect();
        let size = sizes.iter().copied().min().unwrap_or(0);
        let layout = Layout {
            level: parts.level,
            chunk: parts.chunk,
            members: members.len(),
            member_size: size / parts.chunk * parts.chunk,
            ends: if parts.level == Level::Linear {
                array::ends(&sizes)
            } else {
                Vec::new()
            },
            failed: parts.failed.clone(),
            rebuilt: 0,
        };
        let array = array::Array::new(layout, parts.strategy, members);
        match parts.rebuild {
            Some(rate) => array.with_rebuild(rate),
            None => array,
        }
    }
}

fn ssd(device: &Device, parts: &Ssd, figures: &mut Figures) -> ssd::Ssd {
    let flash = figures.factor(device.origin("flash"));
    let firmware = figures.factor(device.origin("firmware_us"));
    let link = figures.factor(device.origin("link"));
    let buffer = figures.factor(device.origin("buffer"));
    let flush = figures.factor(device.origin("flush_us"));
    let ns = |us: f64, factor: f64| (us * US * factor) as Nanoseconds;
    ssd::Ssd::new(ssd::Parameters {
        capacity: parts.capacity,
        channels: parts.channels as usize,
        dies: (parts.dies * parts.planes) as usize,
        page: parts.page,
        read: ns(parts.read, flash),
        read_step: ns(parts.read_step, flash),
        program: ns(parts.program, flash),
        channel: parts.channel / flash,
        link: parts.link * link,
        read_firmware: ns(parts.read_firmware, firmware),
        write_firmware: ns(parts.write_firmware, firmware),
        // A page that is written must fit.
        buffer: ((parts.buffer as f64 * buffer) as u64).max(parts.page.min(parts.buffer)),
        amplification: parts.amplification,
        suspend: parts.suspend,
        flush: parts.flush.map(|us| ns(us, flush)),
    })
}

fn controller(
    device: &Device,
    parts: &Controller,
    figures: &mut Figures,
    child: Box<dyn Model>,
) -> controller::Controller {
    let factor = figures.factor(device.origin("controller"));
    let units = parts.cache.checked_div(parts.unit).unwrap_or(0);
    let parts = controller::Parameters {
        request: (parts.request * MS * factor) as Nanoseconds,
        rate: parts.rate / factor,
        side_by_side: parts.side_by_side,
        unit: parts.unit,
        units: units as usize,
        read_ahead: parts.read_ahead,
        write_cache: parts.write_cache,
        high_water: parts.high_water,
        row: device.row(),
    };
    controller::Controller::new(parts, child)
}
