//! A server that a program controls by its standard input.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use modelled::live::Served;

use crate::out;

/// What a line of input may ask of a server.
pub(super) trait Controlled: Send + Sync + 'static {
    /// From now on, answers `lead` ns before the model says.
    fn begin(&self, lead: u64);
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

/// Answers each line of standard input with the counters. `begin NS` starts the model, and has answers leave so much before they
/// are due, a second at most.
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
        let lead = line.strip_prefix("begin ").and_then(|ns| ns.parse().ok());
        if let Some(lead) = lead {
            server.begin(LONGEST_LEAD.min(lead));
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
