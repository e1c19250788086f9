//! iostat's columns as pure functions of two samples.
//!
//! Two layouts. [`Classic`] is that of sysstat 8 and 9, in which the 2008 and 2009 mails are
//! written; [`Modern`] is that of sysstat 12.6. Both are computed from a delta of
//! [`Counters`](crate::diskstats::Counters) and the interval in seconds of CLOCK_MONOTONIC.
//!
//! Reading rules. `%util` says that at least one request was outstanding, not that the device is
//! saturated: anything with parallelism (RAID, SSD, dm, loop, virtio) is at 100 % long before its
//! limit. Since Linux 5.0 the busy time is sampled once a jiffy, so short sparse I/O is counted too
//! high or too low. `svctm` left sysstat in 12.1.2 because with parallel devices it is no service
//! time; it is printed in the classic layout alone, for comparison with old tables.

use std::fmt::Write as _;

use crate::diskstats::Counters;

/// Header of [`Classic::row`].
pub const CLASSIC_HEADER: &str = "Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util";

/// Header of [`Modern::row`].
pub const MODERN_HEADER: &str = "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util";

/// The columns of sysstat 8 and 9 (`iostat -x`, iostat.c `write_ext_stat`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Classic {
    /// rrqm/s = d(F2)/T.
    pub read_merges: f64,
    /// wrqm/s = d(F6)/T.
    pub write_merges: f64,
    /// r/s = d(F1)/T.
    pub reads: f64,
    /// w/s = d(F5)/T.
    pub writes: f64,
    /// rsec/s = d(F3)/T, sectors of 512 bytes.
    pub read_sectors: f64,
    /// wsec/s = d(F7)/T.
    pub write_sectors: f64,
    /// avgrq-sz = (d(F3)+d(F7))/n, sectors; n = d(F1)+d(F5).
    pub request_sectors: f64,
    /// avgqu-sz = d(F11)/(1000 T).
    pub queue: f64,
    /// await = (d(F4)+d(F8))/n, ms.
    pub await_ms: f64,
    /// svctm = d(F10)/n, ms: busy time by request.
    pub service_ms: f64,
    /// %util = 100 d(F10)/(1000 T).
    pub utilisation: f64,
}

/// The quotient, and 0 where nothing was counted: iostat prints 0.00 there.
fn ratio(numerator: u64, denominator: u64) -> f64 {
    if denominator == 0 {
        0.0
    } else {
        numerator as f64 / denominator as f64
    }
}

fn rate(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        count as f64 / seconds
    } else {
        0.0
    }
}

fn utilisation(d: &Counters, seconds: f64) -> f64 {
    rate(d.io_ticks_ms(), seconds) / 10.0
}

fn queue(d: &Counters, seconds: f64) -> f64 {
    rate(d.queue_ms(), seconds) / 1000.0
}

impl Classic {
    /// Computes the columns of a delta over `seconds`; all 0 for an empty interval.
    pub fn of(d: &Counters, seconds: f64) -> Classic {
        let n = d.reads().saturating_add(d.writes());
        Classic {
            read_merges: rate(d.reads_merged(), seconds),
            write_merges: rate(d.writes_merged(), seconds),
            reads: rate(d.reads(), seconds),
            writes: rate(d.writes(), seconds),
            read_sectors: rate(d.sectors_read(), seconds),
            write_sectors: rate(d.sectors_written(), seconds),
            request_sectors: ratio(d.sectors_read().saturating_add(d.sectors_written()), n),
            queue: queue(d, seconds),
            await_ms: ratio(d.read_ms().saturating_add(d.write_ms()), n),
            service_ms: ratio(d.io_ticks_ms(), n),
            utilisation: utilisation(d, seconds),
        }
    }

    /// One row as sysstat 8 printed it: name left in 13, `%8.2f` and `%7.2f` columns.
    pub fn row(&self, device: &str) -> String {
        format!(
            "{device:<13} {:8.2} {:8.2} {:7.2} {:7.2} {:8.2} {:8.2} {:8.2} {:8.2} {:7.2} {:6.2} {:6.2}",
            self.read_merges,
            self.write_merges,
            self.reads,
            self.writes,
            self.read_sectors,
            self.write_sectors,
            self.request_sectors,
            self.queue,
            self.await_ms,
            self.service_ms,
            self.utilisation
        )
    }
}

/// One group of the modern layout: reads, writes or discards.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Group {
    /// r/s, w/s, d/s.
    pub requests: f64,
    /// rkB/s and so on: sectors / 2 / T, KiB a second.
    pub kib: f64,
    /// rrqm/s and so on.
    pub merges: f64,
    /// %rrqm and so on: 100 merged / (merged + completed).
    pub merge_percent: f64,
    /// r_await and so on, ms.
    pub await_ms: f64,
    /// rareq-sz and so on, KiB.
    pub request_kib: f64,
}

impl Group {
    fn of(completed: u64, merged: u64, sectors: u64, ms: u64, seconds: f64) -> Group {
        Group {
            requests: rate(completed, seconds),
            kib: rate(sectors, seconds) / 2.0,
            merges: rate(merged, seconds),
            merge_percent: 100.0 * ratio(merged, merged.saturating_add(completed)),
            await_ms: ratio(ms, completed),
            request_kib: ratio(sectors, completed) / 2.0,
        }
    }
}

/// The columns of sysstat 12.6 (`iostat -x`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Modern {
    /// Reads.
    pub read: Group,
    /// Writes.
    pub write: Group,
    /// Discards.
    pub discard: Group,
    /// f/s = d(F16)/T.
    pub flushes: f64,
    /// f_await = d(F17)/d(F16), ms.
    pub flush_await_ms: f64,
    /// aqu-sz = d(F11)/(1000 T).
    pub queue: f64,
    /// %util.
    pub utilisation: f64,
}

impl Modern {
    /// Computes the columns of a delta over `seconds`; all 0 for an empty interval.
    pub fn of(d: &Counters, seconds: f64) -> Modern {
        let group = |first: usize| {
            let f = &d.0;
            Group::of(f[first], f[first + 1], f[first + 2], f[first + 3], seconds)
        };
        Modern {
            read: group(0),
            write: group(4),
            discard: group(11),
            flushes: rate(d.flushes(), seconds),
            flush_await_ms: ratio(d.flush_ms(), d.flushes()),
            queue: queue(d, seconds),
            utilisation: utilisation(d, seconds),
        }
    }

    /// Await over reads, writes and discards together, ms: the column of `iostat -s`.
    pub fn combined_await(d: &Counters) -> f64 {
        ratio(
            d.read_ms()
                .saturating_add(d.write_ms())
                .saturating_add(d.discard_ms()),
            d.reads()
                .saturating_add(d.writes())
                .saturating_add(d.discards()),
        )
    }

    /// One row as sysstat 12.6 prints it: widths 7, 9, 8, 6, 7, 8 in each group, 2 decimals.
    pub fn row(&self, device: &str) -> String {
        let mut row = format!("{device:<13}");
        for g in [self.read, self.write, self.discard] {
            let _ = write!(
                row,
                " {:7.2} {:9.2} {:8.2} {:6.2} {:7.2} {:8.2}",
                g.requests, g.kib, g.merges, g.merge_percent, g.await_ms, g.request_kib
            );
        }
        let _ = write!(
            row,
            " {:7.2} {:7.2} {:7.2} {:6.2}",
            self.flushes, self.flush_await_ms, self.queue, self.utilisation
        );
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every device row of the 2008 mail, in its six listings (lines of five zeros left out).
    const PUBLISHED: &str = include_str!("../tests/data/iostat-2008.txt");

    fn published() -> Vec<(String, [f64; 11])> {
        let rows: Vec<_> = PUBLISHED
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| {
                let mut words = line.split_ascii_whitespace();
                let name = words.next().unwrap().to_owned();
                let numbers: Vec<f64> = words.map(|w| w.parse().unwrap()).collect();
                (name, numbers.try_into().unwrap())
            })
            .collect();
        assert_eq!(rows.len(), 47, "the fixture holds the mail's rows");
        rows
    }

    /// %util = n svctm / 10 and avgrq-sz = sectors / n are algebra and hold on every published row
    /// as far as two decimals allow. avgqu-sz = n await / 1000 is Little's law between two
    /// counters that the kernel keeps apart (F11 as time passes, F4 and F8 when a request ends):
    /// 42 of the 47 rows hold to the last decimal, the other five, with requests in flight
    /// across the ends of the interval, to 4 %.
    #[test]
    fn the_published_rows_obey_the_identities() {
        let mut unsteady = 0;
        for (name, [_, _, r, w, rsec, wsec, avgrq, avgqu, wait, svctm, util]) in published() {
            let half = 0.005;
            let n = r + w;
            let slack = half + n * half / 10.0 + 2.0 * half * svctm / 10.0;
            assert!((util - n * svctm / 10.0).abs() <= slack, "{name} %util");
            let slack = half + 2.0 * half * (1.0 + avgrq) / n;
            assert!(
                (avgrq - (rsec + wsec) / n).abs() <= slack,
                "{name} avgrq-sz"
            );
            let expected = n * wait / 1000.0;
            let slack = half + n * half / 1000.0 + 2.0 * half * wait / 1000.0;
            if (avgqu - expected).abs() > slack {
                unsteady += 1;
                assert!((avgqu / expected - 1.0).abs() < 0.04, "{name} avgqu-sz");
            }
        }
        assert_eq!(unsteady, 5);
    }

    /// Counters from which a published row follows are given back as that row.
    #[test]
    fn counters_behind_a_published_row_print_that_row() {
        // T = 10 000 s, so every rate of two decimals is a whole count.
        let seconds = 10_000.0;
        for (name, row) in published() {
            let [
                rm,
                wm,
                reads,
                writes,
                rsec,
                wsec,
                _,
                avgqu,
                wait,
                svctm,
                util,
            ] = row;
            let count = |per_second: f64| (per_second * seconds).round() as u64;
            let requests = (reads + writes) * seconds;
            let mut d = Counters::default();
            d.0[0] = count(reads);
            d.0[1] = count(rm);
            d.0[2] = count(rsec);
            d.0[3] = (wait * requests).round() as u64;
            d.0[4] = count(writes);
            d.0[5] = count(wm);
            d.0[6] = count(wsec);
            d.0[9] = (util * seconds * 10.0).round() as u64;
            d.0[10] = (avgqu * seconds * 1000.0).round() as u64;
            let c = Classic::of(&d, seconds);
            for (mine, printed) in [
                (c.reads, reads),
                (c.writes, writes),
                (c.read_merges, rm),
                (c.write_merges, wm),
                (c.read_sectors, rsec),
                (c.write_sectors, wsec),
                (c.await_ms, wait),
                (c.queue, avgqu),
                (c.utilisation, util),
                (c.request_sectors, row[6]),
            ] {
                let slack = 0.0051 + printed * 2e-4;
                assert!(
                    (mine - printed).abs() <= slack,
                    "{name}: {mine} is not {printed}"
                );
            }
            let slack = 0.005 + 0.05 / (reads + writes);
            assert!((c.service_ms - svctm).abs() <= slack, "{name} svctm");
        }
    }

    #[test]
    fn the_classic_row_has_the_widths_of_the_era() {
        let mut d = Counters::default();
        d.0[0] = 44_905;
        d.0[1] = 5_604;
        d.0[2] = 12_930_430;
        d.0[3] = 151_330;
        d.0[9] = 89_590;
        d.0[10] = 151_000;
        assert_eq!(
            Classic::of(&d, 100.0).row("sda"),
            "sda              56.04     0.00  449.05    0.00 129304.30     0.00   287.95     1.51    3.37   2.00  89.59"
        );
        assert_eq!(CLASSIC_HEADER.len(), Classic::default().row("x").len());
        assert_eq!(MODERN_HEADER.len(), Modern::default().row("x").len());
    }

    #[test]
    fn the_modern_columns_follow_their_formulas() {
        let d = Counters([
            10, 30, 800, 50, 20, 0, 320, 40, 3, 500, 90, 4, 4, 64, 8, 5, 10,
        ]);
        let m = Modern::of(&d, 2.0);
        assert_eq!(
            (m.read.requests, m.read.kib, m.read.merges),
            (5.0, 200.0, 15.0)
        );
        assert_eq!((m.read.merge_percent, m.read.await_ms), (75.0, 5.0));
        assert_eq!((m.read.request_kib, m.write.request_kib), (40.0, 8.0));
        assert_eq!((m.discard.merge_percent, m.discard.await_ms), (50.0, 2.0));
        assert_eq!((m.flushes, m.flush_await_ms), (2.5, 2.0));
        assert_eq!((m.queue, m.utilisation), (0.045, 25.0));
        assert_eq!(Modern::combined_await(&d), 98.0 / 34.0);
    }

    #[test]
    fn an_idle_interval_is_all_zero() {
        assert_eq!(Classic::of(&Counters::default(), 1.0), Classic::default());
        assert_eq!(Modern::of(&Counters::default(), 0.0), Modern::default());
    }

    proptest! {
        #[test]
        fn columns_are_finite_and_obey_the_identities(
            fields in proptest::array::uniform17(0_u64..1 << 31),
            seconds in 0.001_f64..1e5,
        ) {
            let d = Counters(fields);
            let c = Classic::of(&d, seconds);
            let n = c.reads + c.writes;
            prop_assert!(c.row("x").split_ascii_whitespace().skip(1).all(|w| w.parse::<f64>().is_ok_and(f64::is_finite)));
            if d.reads() + d.writes() > 0 {
                let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()) + 1e-12;
                prop_assert!(close(c.utilisation, n * c.service_ms / 10.0));
                prop_assert!(close(c.request_sectors, (c.read_sectors + c.write_sectors) / n));
            }
        }
    }
}
