//! From a closed ledger to phases: what each pass used, and whether what the program says of itself
//! agrees.

use std::collections::BTreeMap;

use workload::{Clocks, Evidence, PhaseReport, RunReport};

use super::checker::{CpuSeconds, Of, OutputSummary};
use super::report::{Inventory, Span};
use super::sampler::Reading;
use super::timeline::{Ledger, Part, Stretch, WHOLE};
use super::usage_delta::Spent;

/// A ledger that is closed.
pub(super) struct Account {
    ledger: Ledger,
    end: Reading,
}

impl Account {
    /// Closes a ledger; `end` was read at the program's end.
    pub(super) fn of(mut ledger: Ledger, end: Reading) -> Account {
        ledger.end(&end);
        Account { ledger, end }
    }

    /// What matters for the exit code.
    pub(super) fn summary(&self) -> OutputSummary {
        self.ledger.summary
    }

    /// What the program counted.
    pub(super) fn inventory(&self) -> Inventory {
        self.ledger.inventory
    }

    /// When the whole and each pass ran, in order.
    pub(super) fn spans(&self) -> Vec<Span> {
        let whole = (WHOLE.to_string(), &self.ledger.begin, &self.end);
        let passes = self
            .stretches()
            .map(|(s, end)| (self.name(s.pass), &s.begin, end));
        std::iter::once(whole)
            .chain(passes)
            .map(|(name, begin, end)| Span {
                name,
                begin_ns: begin.at_ns,
                end_ns: end.at_ns,
            })
            .collect()
    }

    /// The whole, then each pass once, in the order they began.
    pub(super) fn phases(&self) -> Vec<PhaseReport> {
        let mut order: Vec<u8> = Vec::new();
        for stretch in &self.ledger.stretches {
            if !order.contains(&stretch.pass) {
                order.push(stretch.pass);
            }
        }
        let mut phases = vec![self.whole()];
        phases.extend(order.into_iter().map(|pass| self.pass(pass)));
        phases
    }

    /// Stretches with their ends; the ledger closed the last one.
    fn stretches(&self) -> impl Iterator<Item = (&Stretch, &Reading)> {
        let stretches = self.ledger.stretches.iter();
        stretches.map(|stretch| (stretch, stretch.end.as_ref().unwrap_or(&self.end)))
    }

    fn whole(&self) -> PhaseReport {
        let spent = Spent::between(&self.ledger.begin, &self.end);
        let mut phase = self.report(WHOLE.into(), &spent, &Of::Whole);
        if let Some(inodes) = self.ledger.inventory.files_used {
            phase.figures.insert("inodes_used".into(), inodes as f64);
        }
        phase.evidence.push(self.passes_seen());
        phase
    }

    fn pass(&self, pass: u8) -> PhaseReport {
        let mut spent = Spent::default();
        let (mut title, mut times) = (String::new(), 0);
        for (stretch, end) in self.stretches().filter(|(s, _)| s.pass == pass) {
            spent = spent.plus(&Spent::between(&stretch.begin, end), times == 0);
            title.clone_from(&stretch.title);
            times += 1;
        }
        let mut phase = self.report(self.name(pass), &spent, &Of::Pass(pass));
        phase.runs = self.runs(pass, &title, times);
        phase
    }

    /// Parts of a pass by name; nothing when it has none and ran once.
    fn runs(&self, pass: u8, title: &str, times: u32) -> Vec<RunReport> {
        let mut runs: Vec<RunReport> = self
            .ledger
            .parts
            .iter()
            .filter(|p| p.pass == pass)
            .map(part)
            .collect();
        if times > 1 {
            runs.extend(
                self.stretches()
                    .filter(|(s, _)| s.pass == pass)
                    .map(|(s, end)| RunReport {
                        target: self.ledger.checker.label(pass),
                        note: title.to_string(),
                        seconds: workload::clock::seconds(s.begin.at_ns, end.at_ns),
                        ..RunReport::default()
                    }),
            );
        }
        for (number, run) in (1..).zip(&mut runs) {
            run.number = number;
        }
        runs
    }

    fn report(&self, name: String, spent: &Spent, of: &Of) -> PhaseReport {
        let (user, system) = spent.divided(&self.end.cpu);
        let bytes = spent.device.map_or(0, |d| d.read);
        let seconds = spent.seconds;
        let original = |value: f64| Clocks {
            original: value.is_finite().then_some(value),
            ..Clocks::default()
        };
        PhaseReport {
            name,
            bytes_asked: bytes,
            bytes,
            bytes_transferred: bytes,
            operations: spent.device.map_or(0, |d| d.reads).max(1),
            seconds,
            clock_seconds: original(seconds),
            user_seconds: user,
            system_seconds: system,
            bytes_per_s: original(bytes as f64 / seconds),
            figures: self.figures(spent, (user, system), of),
            evidence: self.evidence(spent, of),
            ..PhaseReport::default()
        }
    }

    fn figures(&self, spent: &Spent, cpu: (f64, f64), of: &Of) -> BTreeMap<String, f64> {
        let mut figures = BTreeMap::new();
        let mut put = |name: &str, value: f64| figures.insert(name.to_string(), value);
        put("user_seconds", cpu.0);
        put("system_seconds", cpu.1);
        if spent.peak_rss > 0 {
            put("peak_rss", spent.peak_rss as f64);
        }
        if let Some(device) = spent.device {
            put("device_read", device.read as f64);
            put("device_written", device.written as f64);
            put("read_requests", device.reads as f64);
            put("write_requests", device.writes as f64);
        }
        if let Some(seconds) = self.printed_seconds(of) {
            put("reported_seconds", seconds);
        }
        let mib = |mib: u64| mib as f64 * f64::from(1 << 20);
        if let Some((user, system)) = self.printed_cpu(of) {
            put("reported_user_seconds", user);
            put("reported_system_seconds", system);
        }
        if let Some(read) = self.printed_mib(of) {
            put("reported_read", mib(read));
        }
        if let Some(cached) = self.printed_cached(of) {
            put("reported_cache", mib(cached));
        }
        if let Some((count, bytes)) = self.printed_seeks(of) {
            put("seeks", count as f64);
            put("seek_bytes", bytes as f64);
        }
        if let (Of::Whole, Some(cache)) = (of, self.ledger.cache) {
            put("cache_size", mib(cache));
        }
        figures
    }

    /// The sum of what the program printed, none when it printed nothing of this.
    fn printed_seconds(&self, of: &Of) -> Option<f64> {
        let took = self.ledger.took.iter().filter(|(which, ..)| which == of);
        took.map(|(_, seconds, _)| *seconds).reduce(|a, b| a + b)
    }

    fn printed_cpu(&self, of: &Of) -> Option<CpuSeconds> {
        let took = self.ledger.took.iter().filter(|(which, ..)| which == of);
        let all = took.filter_map(|(_, _, cpu)| *cpu);
        all.reduce(|(user, system), (u, s)| (user + u, system + s))
    }

    fn printed_mib(&self, of: &Of) -> Option<u64> {
        let read = self.ledger.read.iter().filter(|(which, ..)| which == of);
        read.map(|(_, mib, _)| *mib).reduce(u64::saturating_add)
    }

    fn printed_cached(&self, of: &Of) -> Option<u64> {
        let read = self.ledger.read.iter().filter(|(which, ..)| which == of);
        read.filter_map(|(_, _, cached)| *cached)
            .reduce(u64::saturating_add)
    }

    /// Seeks of a pass, and of all passes for the whole.
    fn printed_seeks(&self, of: &Of) -> Option<(u64, u64)> {
        let seeks = self.ledger.seeks.iter();
        let wanted = seeks.filter(|(which, ..)| *of == Of::Whole || which == of);
        wanted
            .map(|(_, count, bytes)| (*count, *bytes))
            .reduce(|a, b| (a.0.saturating_add(b.0), a.1.saturating_add(b.1)))
    }

    fn evidence(&self, spent: &Spent, of: &Of) -> Vec<Evidence> {
        let io = self.printed_mib(of).map(|mib| self.io_agrees(mib, spent));
        self.clock_agrees(spent, of).into_iter().chain(io).collect()
    }

    fn name(&self, pass: u8) -> String {
        format!("{WHOLE}_pass_{}", self.ledger.checker.label(pass))
    }

    /// A program that never prints times says so once, for the whole.
    fn clock_agrees(&self, spent: &Spent, of: &Of) -> Option<Evidence> {
        let program = self.ledger.checker.program();
        let ours = spent.seconds;
        let tolerance = self.ledger.checker.tolerance(ours);
        let in_part = *of == Of::Whole && !self.ledger.checker.times_all();
        let (holds, detail) = match (tolerance, self.printed_seconds(of)) {
            (Some(_), Some(printed)) if in_part => {
                let why = "its own time begins when its cache is made";
                let detail = format!("{program} reports {printed} s, the clock {ours:.3} s: {why}");
                ((printed > ours + BUSY).then_some(false), detail)
            }
            (Some(tolerance), Some(printed)) => two_clocks(program, printed, spent, tolerance),
            (Some(_), None) => (None, format!("{program} printed no time of it")),
            (None, _) if *of == Of::Whole => (None, format!("{program} prints no times")),
            (None, _) => return None,
        };
        Some(Evidence {
            name: "clock_agrees".into(),
            holds,
            detail,
        })
    }

    /// The program counts what it asks for, the device what reaches it. Less on the device means
    /// that the page cache served the rest (e2fsck itself reads ahead, for a pass while the one
    /// before still runs), more that the kernel read ahead or others read too.
    fn io_agrees(&self, mib: u64, spent: &Spent) -> Evidence {
        let program = self.ledger.checker.program();
        let (holds, detail) = match spent.device {
            None => (
                None,
                format!("{program} read {mib} MiB (rounded up), the device's counters are unknown"),
            ),
            Some(device) => {
                let on_device = device.read as f64 / f64::from(1 << 20);
                let served = on_device < mib as f64 - 1.0;
                let what = if served {
                    ": the page cache served the rest, as read before or ahead"
                } else {
                    ""
                };
                (
                    (!served).then_some(true),
                    format!(
                        "{program} read {mib} MiB (rounded up), the device {on_device:.2} MiB{what}"
                    ),
                )
            }
        };
        Evidence {
            name: "io_agrees".into(),
            holds,
            detail,
        }
    }

    /// Holds when it got to its last pass: one that skips its passes (an option, another language,
    /// a version that words them differently) would otherwise look fast.
    fn passes_seen(&self) -> Evidence {
        let program = self.ledger.checker.program();
        let passes = || self.ledger.stretches.iter().map(|s| s.pass);
        let label = |pass| self.ledger.checker.label(pass);
        let names: Vec<String> = passes().map(label).collect();
        Evidence {
            name: "passes_seen".into(),
            holds: Some(passes().max() >= Some(self.ledger.checker.passes())),
            detail: if names.is_empty() {
                format!("{program} printed no heading that is known here")
            } else {
                let names = names.join(", ");
                format!("{program} printed the headings of passes {names}")
            },
        }
    }
}

/// What a busy machine may add to the way of a line to us, seconds: the program, the kernel's worker
/// that moves what is printed on a terminal, and we wait for a CPU.
const BUSY: f64 = 0.075;

/// Whether two clocks agree. How long the program and we waited for a CPU the kernel counts, and
/// that much is no disagreement; the worker in between may have waited as long again. Only waits at
/// the ends of a stretch part the clocks, though, so that more than [`BUSY`] is not excused by them.
/// What they or a busy machine may have added speaks against neither clock: unknown, not false.
fn two_clocks(
    program: &str,
    printed: f64,
    spent: &Spent,
    tolerance: f64,
) -> (Option<bool>, String) {
    let ours = spent.seconds;
    let apart = (printed - ours).abs();
    let waited = spent.waited.unwrap_or(0.0);
    let both = format!("{program} reports {printed} s, the clock {ours:.3} s");
    let may = format!("they may differ by {tolerance:.3} s");
    if apart <= tolerance {
        (Some(true), format!("{both}; {may}"))
    } else if apart <= tolerance + (2.0 * waited).min(BUSY) {
        let why = format!("{both}; {may}, and the two waited {waited:.3} s for a CPU meanwhile");
        (Some(true), why)
    } else if apart <= tolerance + BUSY.max(2.0 * waited) {
        let detail =
            format!("{both}; {may}, and a busy machine may add {BUSY} s: it was too busy to tell");
        (None, detail)
    } else {
        (Some(false), format!("{both}; {may}"))
    }
}

fn part(part: &Part) -> RunReport {
    RunReport {
        target: part.label.clone(),
        note: part.title.clone(),
        seconds: workload::clock::seconds(part.begin_ns, part.end_ns.unwrap_or(part.begin_ns)),
        ..RunReport::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_cpu_explains_a_difference_up_to_what_it_lasted() {
        let holds = |ours: f64, waited: Option<f64>| {
            let spent = Spent {
                seconds: ours,
                waited,
                ..Spent::default()
            };
            two_clocks("e2fsck", 0.10, &spent, 0.03)
        };
        assert_eq!(holds(0.12, Some(0.0)).0, Some(true));
        assert_eq!(holds(0.15, None).0, None, "not counted, so not known");
        assert_eq!(holds(0.15, Some(0.001)).0, None);
        let (agrees, why) = holds(0.15, Some(0.012));
        assert_eq!(agrees, Some(true));
        assert!(why.contains("the two waited 0.012 s for a CPU"), "{why}");
        assert_eq!(holds(0.25, Some(0.1)).0, None, "perhaps, in the middle");
        assert_eq!(holds(0.25, Some(0.03)).0, Some(false));
        assert_eq!(holds(0.25, None).0, Some(false));
    }
}
