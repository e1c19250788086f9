//! A device's figures as text, each with its source.

use std::fmt::Write;

use super::source::Origin;
use super::spec::{Array, Controller, Device, Disk, Kind, Link, PARTS, Seek, Ssd};
use crate::array::{Level, Strategy};

/// A figure as `fslab device show` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The key in a device file.
    pub key: &'static str,
    /// The value with its unit.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
    /// Which document, drive or results; may be empty.
    pub of: String,
}

/// Bytes in decimal units, as drives are sold: `300 GB`.
fn decimal(bytes: f64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let fits = units.iter().find(|(size, _)| bytes >= *size);
    let (size, unit) = fits.unwrap_or(&(1.0, "B"));
    let value = format!("{:.2}", bytes / size);
    format!(
        "{} {unit}",
        value.trim_end_matches('0').trim_end_matches('.')
    )
}

/// Bytes in decimal units, as drives are sold: `300 GB`.
pub fn decimal_size(bytes: u64) -> String {
    decimal(bytes as f64)
}

/// A rate: `125 MB/s`.
fn rate(rate: f64) -> String {
    if rate.is_finite() {
        format!("{}/s", decimal(rate))
    } else {
        "not limited".to_owned()
    }
}

impl Device {
    /// Its figures in the order of a device file.
    pub fn described(&self) -> Vec<Described> {
        let mut rows = match &self.kind {
            Kind::Disk(disk) => of_disk(disk),
            Kind::Ssd(ssd) => of_ssd(ssd),
            Kind::Array(array) => of_array(array),
        };
        rows.extend(
            self.controller
                .as_ref()
                .map(|c| ("controller", of_controller(c))),
        );
        rows.extend(self.link.as_ref().map(|link| ("link", of_link(link))));
        let described = rows.into_iter().map(|(key, value)| Described {
            key,
            value,
            origin: self.origin(key),
            of: self.source_text(key),
        });
        described.collect()
    }

    /// The text of a figure's source, and the sources of its parts that have their own.
    fn source_text(&self, key: &str) -> String {
        let own = self.source(key).map(|figure| figure.of.clone());
        let parts = PARTS.into_iter().filter_map(|part| {
            let name = part.strip_prefix(key)?.strip_prefix('.')?;
            Some(format!("{name} {}", self.source(part)?.origin))
        });
        let all: Vec<String> = own.into_iter().chain(parts).collect();
        all.join(", ")
    }
}

type Rows = Vec<(&'static str, String)>;

fn of_disk(disk: &Disk) -> Rows {
    let seek = match &disk.seek {
        Seek::Points {
            track,
            average,
            full,
        } => format!("track {track}, average {average}, full {full}"),
        Seek::Table(rows) => format!("a table of {} distances", rows.len()),
    };
    let inner = if disk.zones.is_empty() {
        format!("inner {}", rate(disk.inner))
    } else {
        format!("{} zones", disk.zones.len())
    };
    let cache = match disk.write_cache {
        0 => "write-through".to_owned(),
        size => format!(
            "write-back {}, destaging chooses among {}",
            words::bytes(size),
            disk.destage_window
        ),
    };
    let forward = if disk.store_and_forward {
        ", once all of a read is in the buffer"
    } else {
        ""
    };
    let barrier = if disk.flush_is_barrier {
        ", nothing passes a flush"
    } else {
        ""
    };
    vec![
        ("capacity", decimal(disk.capacity as f64)),
        ("rpm", words::grouped(disk.rpm as u64)),
        ("seek_ms", format!("{seek}, writes +{}", disk.write_settle)),
        ("rate", format!("outer {}, {inner}", rate(disk.outer))),
        ("surfaces", disk.surfaces.to_string()),
        (
            "cache",
            format!("look-ahead {}, {cache}", words::bytes(disk.look_ahead)),
        ),
        ("command_ms", disk.command.to_string()),
        ("interface", format!("{}{forward}", rate(disk.interface))),
        ("queue", format!("{}{barrier}", disk.queue)),
    ]
}

fn of_ssd(ssd: &Ssd) -> Rows {
    let units = ssd.channels * ssd.dies * ssd.planes;
    vec![
        ("capacity", decimal(ssd.capacity as f64)),
        (
            "flash",
            format!(
                "{} channels of {}, {units} dies and planes, pages of {}, read {}, program {} us{}{}",
                ssd.channels,
                rate(ssd.channel),
                words::bytes(ssd.page),
                kinds_of_page(ssd),
                ssd.program,
                if ssd.amplification > 1.0 {
                    format!(", {} pages for one written at random", ssd.amplification)
                } else {
                    String::new()
                },
                if ssd.suspend {
                    ", a read interrupts a program"
                } else {
                    ""
                }
            ),
        ),
        (
            "firmware_us",
            format!("read {}, write {}", ssd.read_firmware, ssd.write_firmware),
        ),
        ("buffer", words::bytes(ssd.buffer)),
        (
            "flush_us",
            ssd.flush
                .map_or_else(|| "drains the buffer".to_owned(), |us| us.to_string()),
        ),
        ("link", rate(ssd.link)),
    ]
}

/// How long the three kinds of TLC's pages take to sense.
fn kinds_of_page(ssd: &Ssd) -> String {
    if ssd.read_step == 0.0 {
        return format!("{} us", ssd.read);
    }
    let of = |steps: f64| ssd.read + steps * ssd.read_step;
    format!("{}, {} or {} us by kind of page", of(0.0), of(1.0), of(3.0))
}

fn of_array(array: &Array) -> Rows {
    let members = array.members.iter();
    let members = members.map(|of| format!("{} x {}", of.count, of.name));
    let members: Vec<String> = members.collect();
    let mut rows = vec![
        ("level", array.level.name().to_owned()),
        ("chunk", words::bytes(array.chunk)),
        ("members", members.join(" + ")),
    ];
    if array.level == Level::Linear {
        rows.remove(1);
    }
    if !array.failed.is_empty() {
        rows.push(("failed", words::list(&array.failed)));
    }
    if array.strategy == Strategy::Reconstruct {
        rows.push(("always_reconstruct", "true".to_owned()));
    }
    rows.extend(array.rebuild.map(|of_each| ("rebuild", rate(of_each))));
    rows
}

fn of_controller(controller: &Controller) -> String {
    let mut text = format!(
        "{} ms a request, {}",
        controller.request,
        rate(controller.rate)
    );
    if controller.side_by_side {
        text += " side by side";
    }
    // Writing to a string cannot fail.
    if controller.unit > 0 {
        let (unit, cache) = (
            words::bytes(controller.unit),
            words::bytes(controller.cache),
        );
        let _ = write!(text, ", reads units of {unit} into {cache}");
    }
    if controller.read_ahead > 0 {
        let _ = write!(
            text,
            ", {} ahead",
            words::plural(controller.read_ahead, "unit")
        );
    }
    if controller.write_cache > 0 {
        let _ = write!(
            text,
            ", write cache {}, up to {} of it",
            words::bytes(controller.write_cache),
            controller.high_water
        );
    }
    text
}

fn of_link(link: &Link) -> String {
    format!("latency {} ms, {}", link.latency, rate(link.rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_decimal_and_short() {
        for (bytes, text) in [
            (300e9, "300 GB"),
            (1e12, "1 TB"),
            (67.8e6, "67.8 MB"),
            (12.0, "12 B"),
        ] {
            assert_eq!(decimal(bytes), text);
        }
        assert_eq!(rate(f64::INFINITY), "not limited");
    }

    #[test]
    fn a_figure_without_a_source_is_assumed() {
        let catalogue = crate::Catalogue::shipped().unwrap();
        let device = catalogue.device("cheetah-15k.5").unwrap();
        let rows = device.described();
        let origin = |key| rows.iter().find(|row| row.key == key).map(|row| row.origin);
        assert_eq!(origin("rate"), Some(Origin::Published));
        assert_eq!(origin("surfaces"), Some(Origin::Assumed));
        let lun = catalogue.device("msa-lun").unwrap().described();
        assert!(
            lun.iter()
                .any(|row| row.key == "controller" && row.origin == Origin::Fitted)
        );
    }
}
