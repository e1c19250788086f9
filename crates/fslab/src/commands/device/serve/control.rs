//! A server that a program controls by its standard input.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use modelled::live::{Lead, Served};

use crate::out;

/// What a line of input may ask of a server.
pub(super) trait Controlled: Send + Sync + 'static {
    /// From now on, answers that much before the model says.
    fn begin(&self, lead: Lead);
    /// What it has done so far.
    fn served(&self) -> Served;
}

/// Standard input, which a thread reads.
pub(super) struct Input(Arc<AtomicBool>);

impl Input {
    /// Whether its end was reached.
    pub(super) fn has_ended(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The longest time by which answers leave before they are due, ns: a program's calls take far less.
const LONGEST_LEAD: u64 = 1_000_000_000;

/// The lead of a line `begin NS [NS_PER_MIB]`.
fn lead(line: &str) -> Option<Lead> {
    let mut numbers = line.strip_prefix("begin ")?.split(' ');
    let lead = Lead {
        ns: numbers.next()?.parse().ok()?,
        ns_per_mib: numbers.next().map_or(Ok(0), str::parse).ok()?,
    };
    let is_all = numbers.next().is_none();
    is_all.then_some(Lead {
        ns: lead.ns.min(LONGEST_LEAD),
        ns_per_mib: lead.ns_per_mib.min(LONGEST_LEAD),
    })
}

/// Answers each line of standard input with the counters. `begin NS [NS_PER_MIB]` starts the model, and has answers leave so much before
/// they are due, for each request and for each MiB that it reads or writes: a second at most.
pub(super) fn answer_lines<C: Controlled>(server: &Arc<C>) -> Input {
    let ended = Arc::new(AtomicBool::new(false));
    let (server, over) = (Arc::clone(server), Arc::clone(&ended));
    // Not joined: it ends with its input, or with the process.
    std::thread::spawn(move || {
        answer(&*server);
        over.store(true, Ordering::Relaxed);
    });
    Input(ended)
}

fn answer(server: &dyn Controlled) {
    let mut lines = io::stdin().lines();
    while let Some(Ok(line)) = lines.next() {
        if let Some(lead) = lead(&line) {
            server.begin(lead);
        }
        let served = server.served();
        let line = serde_json::json!({
            "requests": served.requests, "modelled": served.modelled,
            "lateness": served.lateness, "late": served.late, "sound": served.is_sound(),
        });
        if out::print(&format!("{line}\n")).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_begins_the_model_with_a_lead() {
        let of = |ns, ns_per_mib| Some(Lead { ns, ns_per_mib });
        assert_eq!(lead("begin 1200"), of(1200, 0));
        assert_eq!(lead("begin 1200 34"), of(1200, 34));
        assert_eq!(lead("begin 18446744073709551615 7"), of(LONGEST_LEAD, 7));
        for line in [
            "",
            "begin",
            "begin x",
            "begin 1 x",
            "begin 1 2 3",
            "begin -1",
        ] {
            assert_eq!(lead(line), None, "{line}");
        }
    }
}
