//! Printed lines and readings, put in order: which pass ran when.
//!
//! Pure: it is given readings and never takes one, so recorded outputs can be replayed with any
//! clock. A pass lasts from its heading to the line that ends it: its own times (e2fsck),
//! the next heading, a word that nothing follows, or the end of the program.

use super::checker::{Checker, CpuSeconds, Event, Of, OutputSummary};
use super::report::Inventory;
use super::sampler::Reading;

/// The name of the whole check.
pub(super) const WHOLE: &str = "check";

/// A pass, or a part of one, while it runs and after.
#[derive(Clone, Debug)]
pub(super) struct Stretch {
    pub(super) pass: u8,
    pub(super) title: String,
    pub(super) begin: Reading,
    pub(super) end: Option<Reading>,
}

/// e2fsck's 1B to 1E and 3A.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) pass: u8,
    pub(super) label: String,
    pub(super) title: String,
    pub(super) begin_ns: u64,
    pub(super) end_ns: Option<u64>,
}

/// What has been printed and read so far.
pub(super) struct Ledger {
    pub(super) checker: &'static dyn Checker,
    pub(super) begin: Reading,
    pub(super) stretches: Vec<Stretch>,
    pub(super) parts: Vec<Part>,
    pub(super) took: Vec<(Of, f64, Option<CpuSeconds>)>,
    pub(super) read: Vec<(Of, u64, Option<u64>)>,
    /// Seeks and the bytes of their distances.
    pub(super) seeks: Vec<(Of, u64, u64)>,
    /// MiB of the program's own cache.
    pub(super) cache: Option<u64>,
    pub(super) summary: OutputSummary,
    pub(super) inventory: Inventory,
}

impl Ledger {
    /// Begins with the reading that was taken before the program was started.
    pub(super) fn new(checker: &'static dyn Checker, begin: Reading) -> Ledger {
        Ledger {
            checker,
            begin,
            stretches: Vec::new(),
            parts: Vec::new(),
            took: Vec::new(),
            read: Vec::new(),
            seeks: Vec::new(),
            cache: None,
            summary: OutputSummary::default(),
            inventory: Inventory::default(),
        }
    }

    /// Takes down what a line says; `reading` was taken when it arrived.
    pub(super) fn take(&mut self, event: Event, reading: &Reading) {
        match event {
            Event::Begins { pass, title } => self.open(pass, title, reading),
            Event::PartBegins { pass, label, title } => {
                self.close_part(reading.at_ns);
                self.parts.push(Part {
                    pass,
                    label,
                    title,
                    begin_ns: reading.at_ns,
                    end_ns: None,
                });
            }
            Event::Ends => self.close(reading),
            Event::Took { of, real, cpu } => {
                let of = self.resolve(of);
                match &of {
                    Of::Pass(pass) if self.open_pass() == Some(*pass) => self.close(reading),
                    Of::Part(_) => self.close_part(reading.at_ns),
                    _ => {}
                }
                self.took.push((of, real, cpu));
            }
            Event::Read { of, mib, cached } => {
                let of = self.resolve(of);
                self.read.push((of, mib, cached));
            }
            Event::Seeks { of, count, bytes } => {
                let of = self.resolve(of);
                self.seeks.push((of, count, bytes));
            }
            Event::CacheOf(mib) => self.cache = Some(mib),
            Event::Finds => self.summary.faults += 1,
            Event::Counted(inventory) => self.inventory = inventory,
            Event::Files(count) => {
                let files = self.inventory.files_used.get_or_insert(0);
                *files = files.saturating_add(count);
            }
            Event::GivesUp => self.summary.gave_up = true,
            Event::Dies(signal) => self.summary.signal = Some(signal),
        }
    }

    /// What a figure belongs to that does not say so.
    fn resolve(&self, of: Of) -> Of {
        match (of, self.open_pass()) {
            (Of::Open, Some(pass)) => Of::Pass(pass),
            (Of::Open, None) => Of::Whole,
            (of, _) => of,
        }
    }

    /// The program has ended: the pass that runs ends, too.
    pub(super) fn end(&mut self, reading: &Reading) {
        self.close(reading);
    }

    /// The pass that runs now.
    pub(super) fn open_pass(&self) -> Option<u8> {
        let last = self.stretches.last()?;
        last.end.is_none().then_some(last.pass)
    }

    fn open(&mut self, pass: u8, title: String, reading: &Reading) {
        self.close(reading);
        self.summary.passes = true;
        self.stretches.push(Stretch {
            pass,
            title,
            begin: reading.clone(),
            end: None,
        });
    }

    fn close(&mut self, reading: &Reading) {
        self.close_part(reading.at_ns);
        if let Some(last) = self.stretches.last_mut() {
            last.end.get_or_insert_with(|| reading.clone());
        }
    }

    fn close_part(&mut self, at_ns: u64) {
        if let Some(part) = self.parts.last_mut() {
            part.end_ns.get_or_insert(at_ns);
        }
    }
}
