//! From TOML to checked devices.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::amount::{LevelName, Rate, Size};
use super::error::Error;
use super::source::Figure;
use super::spec::{Array, Controller, Device, Disk, Kind, Link, Members, PARTS, Seek, Ssd};
use crate::array::{Level, Strategy};
use crate::disk::share_of_power;

/// A mean seek is between these shares of the way from the first to the last.
const MEAN_SEEK: &str = "(average - track) / (full - track) must be between 0.334 and 0.669";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    device: BTreeMap<String, Spanned<Table>>,
}

/// Bytes of what a device stands for.
const LONGEST_TEXT: usize = 200;

/// All keys of all kinds. One struct, so that an unknown key is found where it is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    kind: KindName,
    #[serde(default)]
    stands_for: String,
    #[serde(default)]
    studies: Vec<String>,
    #[serde(default)]
    source: BTreeMap<String, String>,
    capacity: Option<Size>,
    // Disks.
    rpm: Option<f64>,
    seek_ms: Option<SeekTable>,
    rate: Option<RateTable>,
    cylinders: Option<u64>,
    surfaces: Option<u32>,
    cache: Option<CacheTable>,
    command_ms: Option<f64>,
    interface: Option<Rate>,
    queue: Option<usize>,
    #[serde(default)]
    flush_is_barrier: bool,
    // SSDs.
    flash: Option<FlashTable>,
    firmware_us: Option<FirmwareTable>,
    buffer: Option<Size>,
    flush_us: Option<f64>,
    // Arrays.
    level: Option<LevelName>,
    chunk: Option<Size>,
    members: Option<String>,
    #[serde(default)]
    failed: Vec<usize>,
    rebuild: Option<Rate>,
    #[serde(default)]
    always_reconstruct: bool,
    // All.
    controller: Option<ControllerTable>,
    link: Option<LinkTable>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum KindName {
    Disk,
    Ssd,
    Array,
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table like { track = 0.2, average = 3.5, full = 7.4 }"
)]
struct SeekTable {
    track: Option<f64>,
    average: Option<f64>,
    full: Option<f64>,
    #[serde(default)]
    write: f64,
    table: Option<Vec<(f64, f64)>>,
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table like { outer = \"125 MB/s\", inner = \"73 MB/s\" }"
)]
struct RateTable {
    outer: Option<Rate>,
    inner: Option<Rate>,
    #[serde(default)]
    zones: Vec<(u64, u64)>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CacheTable {
    look_ahead: Option<Size>,
    size: Option<Size>,
    #[serde(default)]
    write_back: bool,
    destage_window: Option<usize>,
    #[serde(default)]
    store_and_forward: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FlashTable {
    channels: u32,
    dies: u32,
    planes: Option<u32>,
    page: Size,
    read_us: f64,
    #[serde(default)]
    read_step_us: f64,
    program_us: f64,
    channel_rate: Rate,
    random_write_amplification: Option<f64>,
    #[serde(default)]
    suspend: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FirmwareTable {
    read: f64,
    write: f64,
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table like { request_ms = 0.1, rate = \"400 MB/s\" }"
)]
struct ControllerTable {
    #[serde(default)]
    request_ms: f64,
    rate: Option<Rate>,
    #[serde(default)]
    side_by_side: bool,
    unit: Option<Size>,
    cache: Option<Size>,
    #[serde(default)]
    read_ahead: u64,
    write_back: Option<Size>,
    high_water: Option<f64>,
    source: Option<String>,
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table like { latency_ms = 1.0, rate = \"800 MB/s\" }"
)]
struct LinkTable {
    #[serde(default)]
    latency_ms: f64,
    rate: Option<Rate>,
    source: Option<String>,
}

/// Reads a device file; `file` names it in errors.
pub(crate) fn devices(file: &str, text: &str) -> Result<Vec<Device>, Error> {
    let at = |span: Option<Range<usize>>, message: String| Error::File {
        file: file.to_owned(),
        line: line_of(text, span.map_or(0, |span| span.start)),
        message: message.replace('\n', " "),
    };
    let parsed: File = toml::from_str(text).map_err(|e| at(e.span(), in_words(e.message())))?;
    let mut devices = Vec::with_capacity(parsed.device.len());
    for (name, table) in parsed.device {
        let span = table.span();
        let line = line_of(text, span.start);
        let wrong = |message: String| {
            let line = line_of_key(text, span.start, &message).unwrap_or(line);
            let (file, message) = (file.to_owned(), format!("device {name}: {message}"));
            Error::File {
                file,
                line,
                message: message.replace('\n', " "),
            }
        };
        let table = table.into_inner();
        check_name(&name).map_err(wrong)?;
        devices.push(device(&name, file, line, table).map_err(wrong)?);
    }
    Ok(devices)
}

/// What is expected, in words of a file and not of a program.
fn in_words(message: &str) -> String {
    let words = [
        ("expected usize", "expected a whole number of 0 or more"),
        ("expected u32", "expected a whole number of 0 or more"),
        ("expected u64", "expected a whole number of 0 or more"),
        ("expected f64", "expected a number"),
    ];
    let replace = |text: String, (from, to): (&str, &str)| text.replace(from, to);
    words.into_iter().fold(message.to_owned(), replace)
}

/// The line of the key that a message begins with (`` `seek_ms.full` ``), in the table that begins at a byte.
fn line_of_key(text: &str, begin: usize, message: &str) -> Option<usize> {
    let key = message.strip_prefix('`')?.split('`').next()?;
    let table = text.get(begin..)?;
    let end = table
        .get(1..)?
        .find("\n[")
        .map_or(table.len(), |end| end + 1);
    // The part of a table that stands on one line, or the table itself.
    let parts = [key.rsplit('.').next()?, key.split('.').next()?];
    let lines = || table[..end].lines().enumerate().skip(1);
    // `part =`, and not in a comment or as the end of another key.
    let holds = |line: &str, part: &str| {
        let code = line.split('#').next().unwrap_or_default();
        code.match_indices(part).any(|(at, _)| {
            let before = code[..at].chars().next_back();
            let after = code[at + part.len()..].trim_start_matches('"');
            !before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
                && after.trim_start().starts_with('=')
        })
    };
    let found = parts
        .into_iter()
        .find_map(|part| lines().find(|(_, line)| holds(line, part)));
    Some(line_of(text, begin) + found?.0)
}

fn line_of(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    1 + before.matches('\n').count()
}

fn check_name(name: &str) -> Result<(), String> {
    let fine = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(fine) {
        return Err("a name is 1 to 64 letters, digits, `-`, `.` and `_`".to_owned());
    }
    Ok(())
}

fn device(name: &str, file: &str, line: usize, table: Table) -> Result<Device, String> {
    refuse_other_kinds(&table)?;
    let is_printable = !table.stands_for.chars().any(char::is_control);
    if !is_printable || table.stands_for.len() > LONGEST_TEXT {
        return Err(format!(
            "`stands_for` must be one line of at most {LONGEST_TEXT} bytes"
        ));
    }
    let figures = figures(&table)?;
    let kind = match table.kind {
        KindName::Disk => Kind::Disk(disk(&table)?),
        KindName::Ssd => Kind::Ssd(ssd(&table)?),
        KindName::Array => Kind::Array(array(&table)?),
    };
    let chunk = table.chunk.map_or(0, |chunk| chunk.0);
    let controller = table
        .controller
        .map(|c| controller(&c, chunk))
        .transpose()?;
    let link = match (&kind, table.link) {
        // The link of an SSD is part of its model.
        (Kind::Ssd(_), Some(link)) if link.latency_ms != 0.0 => {
            return Err(
                "`link.latency_ms`: an SSD's link has none (`firmware_us` delays each request)"
                    .to_owned(),
            );
        }
        (Kind::Ssd(_), _) | (_, None) => None,
        (_, Some(link)) => Some(Link {
            latency: time("link.latency_ms", link.latency_ms)?,
            rate: link.rate.map_or(f64::INFINITY, |rate| rate.0),
        }),
    };
    Ok(Device {
        name: name.to_owned(),
        stands_for: table.stands_for,
        studies: table.studies,
        kind,
        controller,
        link,
        figures,
        file: file.to_owned(),
        line,
    })
}

/// A key of another kind would be ignored, so it is refused.
fn refuse_other_kinds(table: &Table) -> Result<(), String> {
    use KindName::{Array, Disk, Ssd};
    let keys: [(&str, bool, &[KindName]); 18] = [
        ("capacity", table.capacity.is_some(), &[Disk, Ssd, Array]),
        ("rpm", table.rpm.is_some(), &[Disk]),
        ("seek_ms", table.seek_ms.is_some(), &[Disk]),
        ("rate", table.rate.is_some(), &[Disk]),
        ("cylinders", table.cylinders.is_some(), &[Disk]),
        ("surfaces", table.surfaces.is_some(), &[Disk]),
        ("cache", table.cache.is_some(), &[Disk]),
        ("command_ms", table.command_ms.is_some(), &[Disk]),
        ("interface", table.interface.is_some(), &[Disk]),
        ("queue", table.queue.is_some(), &[Disk]),
        ("flush_is_barrier", table.flush_is_barrier, &[Disk]),
        ("flash", table.flash.is_some(), &[Ssd]),
        ("firmware_us", table.firmware_us.is_some(), &[Ssd]),
        ("buffer", table.buffer.is_some(), &[Ssd]),
        ("flush_us", table.flush_us.is_some(), &[Ssd]),
        ("level", table.level.is_some(), &[Array]),
        ("chunk", table.chunk.is_some(), &[Array]),
        ("members", table.members.is_some(), &[Array]),
    ];
    let wrong = keys
        .iter()
        .find(|(_, given, kinds)| *given && !kinds.contains(&table.kind));
    let array_only =
        !table.failed.is_empty() || table.rebuild.is_some() || table.always_reconstruct;
    match wrong {
        Some((key, ..)) => Err(format!(
            "`{key}` is not a key of this kind of device; remove it"
        )),
        None if array_only && table.kind != Array => Err(
            "`failed`, `rebuild` and `always_reconstruct` are keys of arrays; remove them"
                .to_owned(),
        ),
        None => Ok(()),
    }
}

fn figures(table: &Table) -> Result<Vec<Figure>, String> {
    let controller = table.controller.as_ref().and_then(|c| c.source.as_ref());
    let link = table.link.as_ref().and_then(|link| link.source.as_ref());
    let own = [("controller", controller), ("link", link)];
    let own = own.into_iter().filter_map(|(key, text)| Some((key, text?)));
    let all = table
        .source
        .iter()
        .map(|(key, text)| (key.as_str(), text))
        .chain(own);
    all.map(|(key, text)| {
        check_source_key(key)?;
        Figure::parse(key, text).ok_or_else(|| {
            let quoted = words::quoted(text);
            format!(
                "source of {key}: {quoted} must begin with published, extracted, fitted or assumed"
            )
        })
    })
    .collect()
}

fn check_source_key(key: &str) -> Result<(), String> {
    const KEYS: [&str; 19] = [
        "capacity",
        "rpm",
        "seek_ms",
        "rate",
        "cylinders",
        "surfaces",
        "cache",
        "command_ms",
        "interface",
        "queue",
        "flash",
        "firmware_us",
        "buffer",
        "flush_us",
        "chunk",
        "members",
        "level",
        "controller",
        "link",
    ];
    if KEYS.contains(&key) || PARTS.contains(&key) {
        return Ok(());
    }
    let hint = words::suggest(key, KEYS.into_iter().chain(PARTS));
    Err(format!(
        "source of {}: no figure has this name; {hint}",
        words::quoted(key)
    ))
}

fn needed<T>(key: &str, value: Option<T>) -> Result<T, String> {
    value.ok_or_else(|| format!("`{key}` is missing"))
}

/// A time: finite, not negative, and less than a day in ms.
fn time(key: &str, value: f64) -> Result<f64, String> {
    if value.is_finite() && (0.0..86_400_000.0).contains(&value) {
        return Ok(value);
    }
    Err(format!(
        "`{key}`: {value} is not a time; it must be 0 or more, and less than a day"
    ))
}

fn count<T: PartialOrd + std::fmt::Display + Copy>(
    key: &str,
    value: T,
    from: T,
    to: T,
) -> Result<T, String> {
    if from <= value && value <= to {
        return Ok(value);
    }
    Err(format!("`{key}`: {value} must be between {from} and {to}"))
}

/// Bytes in whole sectors.
fn sectors(key: &str, bytes: u64, most: u64) -> Result<u64, String> {
    if (512..=most).contains(&bytes) && bytes.is_multiple_of(512) {
        return Ok(bytes);
    }
    Err(format!(
        "`{key}`: {bytes} must be a multiple of 512 between 512 and {most}"
    ))
}

fn disk(table: &Table) -> Result<Disk, String> {
    let seek = needed("seek_ms", table.seek_ms.as_ref())?;
    let rate = needed("rate", table.rate.as_ref())?;
    let none = CacheTable::default();
    let cache = table.cache.as_ref().unwrap_or(&none);
    let outer = needed("rate.outer", rate.outer)?.0;
    let inner = match rate.inner {
        Some(inner) => inner.0,
        None if rate.zones.is_empty() => {
            return Err("`rate.inner` is missing; or give `rate.zones`".to_owned());
        }
        None => outer,
    };
    if rate.inner.is_some() && !rate.zones.is_empty() {
        return Err("`rate.inner` follows from `rate.zones`; remove one of them".to_owned());
    }
    if inner > outer {
        return Err(format!(
            "`rate.inner` {inner} B/s must not be above `rate.outer` {outer} B/s"
        ));
    }
    check_zones(&rate.zones, table.cylinders)?;
    let size = cache.size.map_or(0, |size| size.0);
    if cache.write_back && size == 0 {
        return Err("`cache.write_back` needs `cache.size`".to_owned());
    }
    Ok(Disk {
        capacity: count(
            "capacity",
            needed("capacity", table.capacity)?.0,
            1 << 20,
            1 << 60,
        )?,
        rpm: count("rpm", needed("rpm", table.rpm)?, 100.0, 100_000.0)?,
        seek: seeks(seek)?,
        write_settle: time("seek_ms.write", seek.write)?,
        outer,
        inner,
        zones: rate.zones.clone(),
        cylinders: table
            .cylinders
            .map(|number| count("cylinders", number, 2, 1 << 32))
            .transpose()?,
        surfaces: count("surfaces", needed("surfaces", table.surfaces)?, 1, 64)?,
        command: time("command_ms", table.command_ms.unwrap_or(0.1))?,
        interface: table.interface.map_or(300e6, |rate| rate.0),
        look_ahead: cache.look_ahead.map_or(512 << 10, |size| size.0),
        write_cache: if cache.write_back { size } else { 0 },
        destage_window: count(
            "cache.destage_window",
            cache.destage_window.unwrap_or(16),
            1,
            1024,
        )?,
        queue: count("queue", table.queue.unwrap_or(1), 1, 4096)?,
        store_and_forward: cache.store_and_forward,
        flush_is_barrier: table.flush_is_barrier,
    })
}

fn check_zones(zones: &[(u64, u64)], cylinders: Option<u64>) -> Result<(), String> {
    if zones.is_empty() {
        return Ok(());
    }
    let cylinders = cylinders.ok_or("`rate.zones` needs `cylinders`")?;
    let ascending = zones.windows(2).all(|pair| pair[0].0 < pair[1].0);
    let last = zones.last().is_some_and(|zone| zone.0 < cylinders);
    let sectors = zones.iter().all(|zone| (1..1 << 24).contains(&zone.1));
    if zones[0].0 == 0 && ascending && last && sectors {
        let inwards = zones.windows(2).all(|pair| pair[0].1 >= pair[1].1);
        return inwards.then_some(()).ok_or_else(|| {
            "`rate.zones`: an inner zone must not have more sectors than an outer one".to_owned()
        });
    }
    Err(
        "`rate.zones` must begin at cylinder 0, ascend, end below `cylinders`, and have sectors"
            .to_owned(),
    )
}

fn seeks(seek: &SeekTable) -> Result<Seek, String> {
    match (&seek.table, seek.track, seek.average, seek.full) {
        (Some(table), None, None, None) => {
            let ascending = table
                .windows(2)
                .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
            let times = table
                .iter()
                .all(|(d, ms)| *d >= 0.0 && (0.0..10_000.0).contains(ms));
            if table.len() < 2 || !ascending || !times {
                return Err(
                    "`seek_ms.table` needs at least two rows of cylinders and ms, both ascending"
                        .to_owned(),
                );
            }
            Ok(Seek::Table(table.clone()))
        }
        (None, Some(track), Some(average), Some(full)) => {
            time("seek_ms.full", full)?;
            if share_of_power(track, average, full).is_none() {
                return Err(format!("`seek_ms`: {MEAN_SEEK}"));
            }
            Ok(Seek::Points {
                track,
                average,
                full,
            })
        }
        _ => Err("`seek_ms` needs `track`, `average` and `full`, or `table` alone".to_owned()),
    }
}

fn ssd(table: &Table) -> Result<Ssd, String> {
    let flash = needed("flash", table.flash.as_ref())?;
    let firmware = needed("firmware_us", table.firmware_us.as_ref())?;
    let link = needed("link", table.link.as_ref())?;
    let page = flash.page.0;
    let buffer = needed("buffer", table.buffer)?.0;
    Ok(Ssd {
        capacity: count(
            "capacity",
            needed("capacity", table.capacity)?.0,
            1 << 20,
            1 << 60,
        )?,
        channels: count("flash.channels", flash.channels, 1, 1024)?,
        dies: count("flash.dies", flash.dies, 1, 1024)?,
        planes: count("flash.planes", flash.planes.unwrap_or(1), 1, 16)?,
        page: sectors("flash.page", page, 1 << 24)?,
        read: time("flash.read_us", flash.read_us)?,
        read_step: time("flash.read_step_us", flash.read_step_us)?,
        program: time("flash.program_us", flash.program_us)?,
        amplification: count(
            "flash.random_write_amplification",
            flash.random_write_amplification.unwrap_or(1.0),
            1.0,
            100.0,
        )?,
        suspend: flash.suspend,
        channel: flash.channel_rate.0,
        link: needed("link.rate", link.rate)?.0,
        read_firmware: time("firmware_us.read", firmware.read)?,
        write_firmware: time("firmware_us.write", firmware.write)?,
        buffer: count("buffer", buffer, page, 1 << 40)?,
        flush: table.flush_us.map(|us| time("flush_us", us)).transpose()?,
    })
}

fn array(table: &Table) -> Result<Array, String> {
    let level = needed("level", table.level)?.0;
    let members = members(needed("members", table.members.as_ref())?)?;
    let number: usize = members.iter().map(|of| of.count).sum();
    count("members", number, level.fewest_members(), 1024)?;
    let chunk = match (level, table.chunk) {
        (Level::Linear, Some(_)) => {
            return Err(
                "`chunk` has no meaning where one member follows the other; remove it".to_owned(),
            );
        }
        (Level::Raid1 | Level::Linear, None) => 1 << 20,
        (_, chunk) => needed("chunk", chunk)?.0,
    };
    let mut failed = table.failed.clone();
    failed.sort_unstable();
    failed.dedup();
    if failed.len() < table.failed.len() {
        return Err("`failed` names a member twice".to_owned());
    }
    if failed.last().is_some_and(|last| *last >= number) || failed.len() > level.redundancy(number)
    {
        return Err(
            "`failed` names more members than the level survives, or one that is not there"
                .to_owned(),
        );
    }
    if table.rebuild.is_some() && failed.is_empty() {
        return Err("`rebuild` needs `failed`: the members that are rebuilt".to_owned());
    }
    if table.capacity.is_some() {
        return Err("`capacity` of an array follows from its members; remove it".to_owned());
    }
    Ok(Array {
        level,
        chunk: sectors("chunk", chunk, 1 << 30)?,
        members,
        failed,
        rebuild: table.rebuild.map(|rate| rate.0),
        strategy: if table.always_reconstruct {
            Strategy::Reconstruct
        } else {
            Strategy::LeastReads
        },
    })
}

/// `7 x NAME`, or several of these with `+` between them.
fn members(text: &str) -> Result<Vec<Members>, String> {
    let one = |part: &str| {
        let (number, name) = part.split_once(" x ")?;
        Some(Members {
            count: number.trim().parse::<u32>().ok().filter(|n| *n > 0)? as usize,
            name: name.trim().to_owned(),
        })
    };
    let members: Option<Vec<Members>> = text.split('+').map(one).collect();
    members.ok_or_else(|| {
        format!(
            "`members`: {} must be like \"7 x NAME\", or \"1 x NAME + 2 x OTHER\"",
            words::quoted(text)
        )
    })
}

/// Bytes that a controller may read ahead.
const MOST_AHEAD: u64 = 4 << 30;

fn controller(table: &ControllerTable, chunk: u64) -> Result<Controller, String> {
    let cache = table.cache.map_or(0, |size| size.0);
    let unit = table
        .unit
        .map_or(if cache > 0 { chunk } else { 0 }, |size| size.0);
    if unit > 0 || table.unit.is_some() {
        sectors("controller.unit", unit, 1 << 30)?;
    } else if table.read_ahead > 0 {
        return Err(
            "`controller.read_ahead` needs `controller.unit` or `controller.cache`".to_owned(),
        );
    } else if cache > 0 {
        return Err(
            "`controller.cache` needs `controller.unit` where there is no `chunk`".to_owned(),
        );
    }
    let read_ahead = count("controller.read_ahead", table.read_ahead, 0, 1 << 16)?;
    // As one request, which may be as long.
    if unit.saturating_mul(read_ahead) > MOST_AHEAD {
        return Err("`controller.read_ahead` units are together more than 4 GiB".to_owned());
    }
    Ok(Controller {
        request: time("controller.request_ms", table.request_ms)?,
        rate: table.rate.map_or(f64::INFINITY, |rate| rate.0),
        side_by_side: table.side_by_side,
        unit,
        // A unit that was read stays for what reads the rest of it.
        cache: cache.max(unit * 64),
        read_ahead,
        write_cache: table.write_back.map_or(0, |size| size.0),
        high_water: count(
            "controller.high_water",
            table.high_water.unwrap_or(0.8),
            0.0,
            1.0,
        )?,
    })
}
