//! The report of a block trace: text for a mail, and one page with four plots.
//!
//! blkparse prints every event and btt two dozen tables, and their readers have to know what is
//! wrong with the trace, which of the tables matter, and that btt's median is none. So the order here
//! is another one: first what is missing from the trace, since it is missing from every figure below;
//! then what was asked of the device and what became of it (sizes, merges), how long each step took
//! (quantiles, not only means), where it went (distances, sequential shares), who asked, and for what.
//! blkparse's and btt's own words are there for comparison: `blktrace::text` and
//! `blktrace::btt` print them.
//!
//! Text, Markdown and page are printed from one list of sections ([`view`]), so none can know more than the others.
//! The plots are static SVG: a trace's analysis has at most some thousand points and 512 bins, and a
//! page that is kept beside a run should still open in ten years.

mod csv;
mod figures;
mod html;
mod md;
mod plot;
mod text;
mod view;

use std::collections::BTreeMap;

use blktrace::Analysis;
use serde::Deserialize;

pub use csv::csv;
pub use html::html;
pub use md::md;
pub use text::text;

/// What the recorder says of a trace (`<dev>.blktrace.json`, docs/formats.md): the part that a report
/// needs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Recorded {
    /// `sda`.
    pub device: String,
    /// `8:0`.
    pub number: String,
    /// How the events were taken.
    pub way: String,
    /// The kernel's release.
    pub kernel: String,
    /// Categories asked for, or `all`.
    pub actions: String,
    /// Seconds of tracing.
    pub seconds: f64,
    /// Events lost.
    pub lost: u64,
    /// Whether `lost` may be other devices'.
    pub lost_is_shared: bool,
    /// Pages of the kernel's buffer that could not be read.
    pub broken_pages: u64,
    /// The files lie on the device itself, whose trace so holds their own writing.
    pub traces_itself: bool,
}

impl Recorded {
    /// From the text of the JSON file; none where it is another one, or damaged.
    pub fn from_json(text: &str) -> Option<Recorded> {
        serde_json::from_str(text).ok()
    }

    /// The device's number as records have it: major << 20 | minor.
    pub fn device_number(&self) -> Option<u32> {
        let (major, minor) = self.number.split_once(':')?;
        Some(major.parse::<u32>().ok()? << 20 | minor.parse::<u32>().ok()?)
    }
}

/// A trace to be reported.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// What was found in it.
    pub analysis: &'a Analysis,
    /// The recorder's own account, where there is one: one for each device.
    pub recorded: &'a [Recorded],
    /// Names of devices (major << 20 | minor).
    pub names: &'a BTreeMap<u32, String>,
    /// The devices that have rows, in this order; none: all.
    pub devices: &'a [u32],
    /// The processes that have rows; none: the ten that moved most.
    pub processes: &'a [String],
}

impl Subject<'_> {
    /// A device by its name, or `8,0`.
    fn name(&self, device: u32) -> String {
        let plain = || format!("{},{}", device >> 20, device & 0xf_ffff);
        self.names.get(&device).cloned().unwrap_or_else(plain)
    }

    /// What speaks against the figures, a sentence each; none where nothing does.
    pub fn doubts(&self) -> Vec<String> {
        [self.missing(), self.disorder(), self.own_writes()].concat()
    }

    /// What the doubts come to, in one line: a trace that lacks events is degraded, one whose events are out of
    /// order or of its own making is whole. None where nothing speaks against the figures.
    fn verdict(&self) -> Option<String> {
        let kinds = [
            (self.missing(), "is not whole"),
            (self.disorder(), "is not in order"),
            (self.own_writes(), "holds the writes of its own recording"),
        ];
        let kinds = kinds.iter().filter(|(doubts, _)| !doubts.is_empty());
        let words: Vec<&str> = kinds.map(|(_, words)| *words).collect();
        let word = match words.first()? {
            &"is not whole" => "DEGRADED",
            _ => "IN DOUBT",
        };
        Some(format!("{word}: the trace {}.", words.join(", and ")))
    }

    /// Events that are not in the files.
    fn missing(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        self.lost(&mut doubts);
        let losses = &self.analysis.losses;
        if losses.absent > 0 {
            doubts.push(format!(
                "{} CPUs have no file although a later CPU has one: their events are missing, \
                 unless they were offline",
                losses.absent
            ));
        }
        if losses.strays > 0 {
            doubts.push(format!(
                "{} records name another CPU than their file and were left out",
                losses.strays
            ));
        }
        doubts
    }

    /// Events that are not where their times say.
    fn disorder(&self) -> Vec<String> {
        let backwards = self.analysis.losses.backwards;
        let doubt = blktrace::analysis::shuffled(backwards, self.analysis.events);
        doubt.into_iter().collect()
    }

    /// Events that tracing itself caused.
    fn own_writes(&self) -> Vec<String> {
        let own = self.recorded.iter().filter(|trace| trace.traces_itself);
        let doubts = own.map(|trace| {
            format!(
                "the trace of {0} was written to {0} itself, so the writes of its own files are among \
                 the events; --out on another disk avoids it",
                trace.device
            )
        });
        doubts.collect()
    }

    /// Events that the tracer dropped: by the recorder's count, or by the numbers that are missing.
    fn lost(&self, doubts: &mut Vec<String>) {
        let (events, losses) = (self.analysis.events, &self.analysis.losses);
        let shared = self.recorded.iter().any(|trace| trace.lost_is_shared);
        let counts = self.recorded.iter().map(|trace| trace.lost);
        let counted = if shared {
            counts.max()
        } else {
            Some(counts.sum())
        };
        let lost = counted
            .unwrap_or(0)
            .max(if shared { 0 } else { losses.missing });
        let lost = if lost == 0 { losses.missing } else { lost };
        if lost > 0 {
            let share = 100.0 * lost as f64 / (lost + events) as f64;
            let whose = if shared {
                " by all the devices traced together"
            } else {
                ""
            };
            doubts.push(format!(
                "{lost} events were lost{whose} ({share:.2} %), in {} places: every figure below is \
                 of what is left",
                losses.gaps.max(1)
            ));
        }
        let broken: u64 = self.recorded.iter().map(|trace| trace.broken_pages).sum();
        if broken > 0 {
            doubts.push(format!(
                "{broken} pages of the kernel's buffer could not be read, their events are missing"
            ));
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use blktrace::{Trace, btt};
    use fixtures::block_trace::Forge;

    pub(super) fn analysis(forge: &Forge) -> Analysis {
        let folder = tempfile::tempdir().unwrap();
        forge.write(folder.path(), "sda").unwrap();
        let mut trace = Trace::open(&folder.path().join("sda")).unwrap();
        let outcome = btt::run(&mut trace, &btt::Options::default(), None);
        outcome.unwrap().analysis()
    }

    /// A subject without a recorder.
    pub(super) fn subject<'a>(
        analysis: &'a Analysis,
        names: &'a BTreeMap<u32, String>,
    ) -> Subject<'a> {
        Subject {
            analysis,
            recorded: &[],
            names,
            devices: &[],
            processes: &[],
        }
    }

    pub(super) fn names() -> BTreeMap<u32, String> {
        BTreeMap::from([(8 << 20, "sda".into()), ((8 << 20) | 16, "sdb".into())])
    }

    #[test]
    fn a_whole_trace_has_no_doubts_and_a_hostile_one_has_its_own() {
        let (plain, hostile) = (Forge::plain(1, 300), Forge::hostile(1, 2000));
        let names = names();
        let analysis = analysis(&plain);
        assert_eq!(subject(&analysis, &names).doubts(), [""; 0]);
        let analysis = super::tests::analysis(&hostile);
        let doubts = subject(&analysis, &names).doubts();
        assert!(doubts[0].contains("events were lost"), "{doubts:?}");
        assert!(doubts[1].contains("another CPU"), "{doubts:?}");
    }

    #[test]
    fn a_trace_on_its_own_disk_is_whole_and_says_what_is_wrong() {
        let names = names();
        let analysis = analysis(&Forge::plain(1, 300));
        let mut recorded = Recorded {
            device: "vda".into(),
            traces_itself: true,
            ..Recorded::default()
        };
        let of = |recorded: &Recorded| {
            let recorded = std::slice::from_ref(recorded);
            let subject = Subject {
                recorded,
                ..subject(&analysis, &names)
            };
            (text(&subject), html(&subject).unwrap(), subject.verdict())
        };
        let (text, page, verdict) = of(&recorded);
        let words = "the trace holds the writes of its own recording.";
        assert_eq!(verdict.unwrap(), format!("IN DOUBT: {words}"));
        for printed in [text, page] {
            assert!(printed.contains(words), "{printed}");
            assert!(!printed.contains("not whole"), "{printed}");
        }
        recorded.lost = 3;
        let both = "DEGRADED: the trace is not whole, and holds the writes of its own recording.";
        assert_eq!(of(&recorded).2.unwrap(), both);
        recorded.traces_itself = false;
        let lost = "DEGRADED: the trace is not whole.";
        assert_eq!(of(&recorded).2.unwrap(), lost);
    }

    #[test]
    fn a_loss_that_devices_share_is_counted_once() {
        let names = names();
        let analysis = analysis(&Forge::plain(1, 300));
        let of = |device: &str, lost| Recorded {
            device: device.into(),
            lost,
            lost_is_shared: lost > 0,
            ..Recorded::default()
        };
        let recorded = [of("sda", 70), of("sdb", 70)];
        let subject = Subject {
            recorded: &recorded,
            ..subject(&analysis, &names)
        };
        let doubts = subject.doubts();
        assert_eq!(doubts.len(), 1);
        assert!(
            doubts[0].starts_with("70 events were lost by all"),
            "{doubts:?}"
        );
    }

    #[test]
    fn a_recorders_file_is_read_and_another_is_not() {
        let text = r#"{"format":1,"device":"sda","number":"8:16","way":"blk tracer","clock":"mono",
            "kernel":"6.18.0","seconds":1.5,"actions":"all","buffer":8,"cpus":[],"events":9,
            "bytes":480,"lost":3,"lost_is_shared":false,"broken_pages":0,"degraded":true,
            "traces_itself":false}"#;
        let recorded = Recorded::from_json(text).unwrap();
        assert_eq!(
            (recorded.lost, recorded.device_number()),
            (3, Some((8 << 20) | 16))
        );
        assert_eq!(Recorded::from_json("{}"), None);
        assert_eq!(Recorded::from_json("no json"), None);
    }
}
