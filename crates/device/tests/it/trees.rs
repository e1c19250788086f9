//! Random trees of devices under random loads: each request is done once, and not before it came.

use std::collections::BTreeMap;
use std::fmt::Write;

use device::{Catalogue, Op, Request, Variation};
use proptest::prelude::*;

/// Bytes of a chunk, where arrays are to have the same.
const CHUNK: u32 = 65_536;

const LEAVES: &str = r#"
[device.disk]
kind = "disk"
capacity = "2 GB"
rpm = 7200
seek_ms = { track = 0.8, average = 8.5, full = 17.0, write = 0.5 }
rate = { outer = "67.8 MB/s", inner = "32.9 MB/s" }
surfaces = 2
cache = { size = "1m", write_back = true }
queue = 32
flush_is_barrier = true

[device.plain]
kind = "disk"
capacity = "2 GB"
rpm = 15000
seek_ms = { track = 0.2, average = 3.5, full = 7.4 }
rate = { outer = "125 MB/s", inner = "73 MB/s" }
surfaces = 2
queue = 8

[device.ssd]
kind = "ssd"
capacity = "2 GB"
flash = { channels = 2, dies = 2, page = "16k", read_us = 50, program_us = 500, channel_rate = "400 MB/s" }
firmware_us = { read = 20, write = 10 }
buffer = "256k"
link = { rate = "1 GB/s" }
"#;

/// An array over `member`, with what is before it.
fn array(name: &str, member: &str, level: &str, count: u32, chunk: u32, extras: u8) -> String {
    let mut text = format!(
        "[device.{name}]\nkind = \"array\"\nlevel = \"{level}\"\nmembers = \"{count} x {member}\"\n"
    );
    // Writing to a string cannot fail.
    if level != "linear" {
        let _ = writeln!(text, "chunk = {chunk}");
    }
    text += &before(&Slower::NOT, extras & 1);
    if extras & 2 != 0 {
        let cache = if extras & 4 == 0 {
            "unit = \"64k\", read_ahead = 2"
        } else {
            "write_back = \"512k\""
        };
        let _ = writeln!(
            text,
            "controller = {{ request_ms = 0.2, rate = \"200 MB/s\", {cache} }}"
        );
    }
    if extras & 8 != 0 && !matches!(level, "0" | "linear") {
        let _ = writeln!(text, "failed = [1]");
    }
    text
}

fn level() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("0"),
        Just("1"),
        Just("5"),
        Just("6"),
        Just("10"),
        Just("linear")
    ]
}

fn load() -> impl Strategy<Value = Vec<(u8, u64, u64, u64)>> {
    prop::collection::vec(
        (0_u8..10, 0_u64..4000, 1_u64..600, 0_u64..20_000_000),
        1..60,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn each_request_is_done_once_and_not_before_it_came(
        leaf in prop_oneof![Just("disk"), Just("plain"), Just("ssd")],
        inner in level(), outer in level(), counts in (4_u32..7, 4_u32..6),
        chunk in prop_oneof![Just(4096_u32), Just(65_536)], extras in (0_u8..16, 0_u8..16),
        load in load(), seed in 0_u64..,
    ) {
        let mut text = LEAVES.to_owned();
        text += &array("inner", leaf, inner, counts.0, chunk, extras.0);
        text += &array("outer", "inner", outer, counts.1, chunk, extras.1);
        let mut catalogue = Catalogue::default();
        catalogue.add("tree.toml", &text).unwrap();
        let mut model = catalogue.model("outer", Variation::Drawn(seed)).unwrap();
        let blocks = model.capacity() / 4096;
        let mut waiting = BTreeMap::new();
        let mut done = Vec::new();
        let (mut now, mut bytes) = (0_u64, 0_u64);
        for (tag, (kind, place, len, gap)) in load.iter().enumerate() {
            // Half of the requests come together.
            let due = now + if gap.is_multiple_of(2) { 0 } else { *gap };
            while let Some(at) = model.next_event().filter(|at| *at < due) {
                now = now.max(at);
                model.advance(now, &mut done);
            }
            now = now.max(due);
            let len = len * 1024;
            let offset = (place * 977 % blocks * 4096).min(model.capacity() - len);
            let op = match kind {
                0 => Op::Flush,
                1..=5 => Op::Read,
                _ => Op::Write,
            };
            let (offset, len) = if op == Op::Flush { (0, 0) } else { (offset, len) };
            let request = Request { tag: tag as u64, op, offset, len, fua: *kind == 9, sync: tag % 3 != 0 };
            waiting.insert(tag as u64, now);
            bytes += len;
            model.submit(now, request);
        }
        while done.len() < load.len() {
            let next = model.next_event();
            prop_assert!(next.is_some(), "{} of {} done, and nothing happens", done.len(), load.len());
            now = now.max(next.unwrap_or(now));
            model.advance(now, &mut done);
        }
        let mut order = 0;
        for completion in &done {
            let came = waiting.remove(&completion.tag);
            prop_assert!(came.is_some_and(|came| came <= completion.at), "{completion:?} {came:?}");
            order = order.max(completion.at);
        }
        prop_assert!(waiting.is_empty() && order <= now);
        let mut parts = Vec::new();
        model.usage(&mut parts);
        let reached: u64 = parts.iter().map(|part| part.bytes).sum();
        // Caches may answer a read again, and hold writes that were destaged later.
        prop_assert!(bytes == 0 || reached > 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// Where there are no caches and no parity, members move the bytes of the requests, and of writes as many copies as there are.
    #[test]
    fn bytes_are_conserved(
        leaf in prop_oneof![Just("plain"), Just("ssd")],
        levels in prop::array::uniform2(prop_oneof![Just("0"), Just("1"), Just("10"), Just("linear")]),
        counts in (2_u32..5, 2_u32..5), links in (0_u8..2, 0_u8..2), load in load(),
    ) {
        let text = [
            LEAVES.to_owned(),
            array("inner", leaf, levels[0], counts.0, 65_536, links.0),
            array("outer", "inner", levels[1], counts.1, 65_536, links.1),
        ];
        let mut catalogue = Catalogue::default();
        catalogue.add("tree.toml", &text.concat()).unwrap();
        let mut model = catalogue.model("outer", Variation::Nominal).unwrap();
        let copies = |level: &str, count: u32| match level {
            "1" => u64::from(count),
            "10" => 2,
            _ => 1,
        };
        let copies = copies(levels[0], counts.0) * copies(levels[1], counts.1);
        let (mut now, mut expected) = (0, 0);
        for (tag, (kind, place, len, _)) in load.iter().enumerate() {
            let len = len * 1024;
            let offset = (place * 977 * 4096) % (model.capacity() - len);
            let read = Request::read(tag as u64, offset, len);
            let op = if *kind < 5 { Op::Read } else { Op::Write };
            expected += if op == Op::Read { len } else { len * copies };
            now = device::run_alone(&mut *model, now, Request { op, ..read });
        }
        let mut parts = Vec::new();
        model.usage(&mut parts);
        let is_member = |part: &&device::Usage| matches!(part.part, "disk" | "ssd");
        let moved: u64 = parts.iter().filter(is_member).map(|part| part.bytes).sum();
        prop_assert_eq!(moved, expected);
    }
}

/// A disk that serves in order and does not read ahead, and an SSD, with slower parts by factors.
fn leaves(by: &Slower) -> String {
    format!(
        "[device.disk]\nkind = \"disk\"\ncapacity = \"2 GB\"\nrpm = 7200\n\
        seek_ms = {{ track = {}, average = {}, full = {} }}\n\
        rate = {{ outer = \"60 MB/s\", inner = \"30 MB/s\" }}\nsurfaces = 2\n\
        command_ms = {}\nqueue = 1\ncache = {{ look_ahead = \"0k\" }}\n\
        [device.ssd]\nkind = \"ssd\"\ncapacity = \"2 GB\"\nbuffer = \"256k\"\n\
        flash = {{ channels = 2, dies = 2, page = \"16k\", read_us = {}, program_us = {}, \
        channel_rate = \"{} MB/s\" }}\n\
        firmware_us = {{ read = {}, write = {} }}\nlink = {{ rate = \"{} MB/s\" }}\n",
        0.8 * by.seek,
        8.5 * by.seek,
        17.0 * by.seek,
        0.3 * by.command,
        50.0 * by.flash,
        500.0 * by.flash,
        400.0 / by.rate,
        20.0 * by.command,
        10.0 * by.command,
        1000.0 / by.rate,
    )
}

/// What is before an array, slower by factors.
fn before(by: &Slower, extras: u8) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    if extras & 1 != 0 {
        let (latency, rate) = (0.5 * by.command, 100.0 / by.rate);
        let _ = writeln!(
            text,
            "link = {{ latency_ms = {latency}, rate = \"{rate} MB/s\" }}"
        );
    }
    if extras & 2 != 0 {
        let (request, rate) = (0.2 * by.command, 200.0 / by.rate);
        let _ = writeln!(
            text,
            "controller = {{ request_ms = {request}, rate = \"{rate} MB/s\" }}"
        );
    }
    text
}

/// Factors of times.
#[derive(Clone, Copy, Debug)]
struct Slower {
    seek: f64,
    command: f64,
    flash: f64,
    rate: f64,
}

impl Slower {
    const NOT: Slower = Slower {
        seek: 1.0,
        command: 1.0,
        flash: 1.0,
        rate: 1.0,
    };
}

fn slower() -> impl Strategy<Value = Slower> {
    let factor = || prop_oneof![Just(1.0), 1.0_f64..3.0];
    (factor(), factor(), factor(), factor()).prop_map(|(seek, command, flash, rate)| Slower {
        seek,
        command,
        flash,
        rate,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// A request that comes to its place later is done no earlier; with look-ahead this need not hold, because a head that
    /// idles longer has read more. Nor does it of parity over parity, or of a write of several rows: which of two rows of one write goes first
    /// on a disk, and which collect, depends on how fast the others are (Graham, *Bounds on multiprocessing timing anomalies*, 1969). So writes
    /// to parity are within a chunk here.
    #[test]
    fn slower_parameters_never_make_a_job_in_order_faster(
        by in slower(), leaf in prop_oneof![Just("disk"), Just("ssd")],
        levels in prop::array::uniform2(prop_oneof![Just("0"), Just("5"), Just("6"), Just("linear")])
            .prop_filter("parity over parity", |levels| !levels.iter().all(|level| matches!(*level, "5" | "6"))),
        counts in (4_u32..7, 4_u32..6), extras in (0_u8..4, 0_u8..4), load in load(),
    ) {
        let elapsed = |by: &Slower| {
            let text = [
                leaves(by),
                array("inner", leaf, levels[0], counts.0, CHUNK, 0) + &before(by, extras.0),
                array("outer", "inner", levels[1], counts.1, CHUNK, 0) + &before(by, extras.1),
            ];
            let mut catalogue = Catalogue::default();
            catalogue.add("d.toml", &text.concat()).unwrap();
            let mut model = catalogue.model("outer", Variation::Nominal).unwrap();
            let blocks = model.capacity() / 4096 - 1000;
            let mut now = 0;
            for (tag, (kind, place, len, gap)) in load.iter().enumerate() {
                let offset = place * 977 % blocks * 4096;
                let (mut len, is_write) = (len * 1024, *kind > 5);
                if is_write && levels.iter().any(|level| matches!(*level, "5" | "6")) {
                    let chunk = u64::from(CHUNK);
                    len = len.min(chunk - offset % chunk);
                }
                let request = if is_write {
                    Request::write(tag as u64, offset, len)
                } else {
                    Request::read(tag as u64, offset, len)
                };
                now = device::run_alone(&mut *model, now + gap, request);
            }
            now
        };
        prop_assert!(elapsed(&Slower::NOT) <= elapsed(&by));
    }
}
