//! A trace read in one thread and used in another.
//!
//! Reading and merging cost about a third of the time of a report, and need nothing of the rest. So a
//! second core reads ahead by a few batches; what is copied is 64 bytes an event that is wanted.

use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{self, Builder};

use crate::error::Error;
use crate::file::Event;
use crate::record::Head;
use crate::trace::Trace;

/// Events of a batch.
const BATCH: usize = 2048;

/// Batches that are read ahead.
const AHEAD: usize = 4;

/// Events with their files, and their PDUs one after the other.
#[derive(Default)]
struct Batch {
    events: Vec<(u32, Head)>,
    pdus: Vec<u8>,
}

impl Batch {
    #[inline]
    fn push(&mut self, file: usize, event: &Event<'_>) {
        self.events.push((file as u32, event.head));
        if !event.pdu.is_empty() {
            self.pdus.extend_from_slice(event.pdu);
        }
    }

    /// Gives each event to `take`.
    fn each<E>(&self, take: &mut impl FnMut(usize, &Event<'_>) -> Result<(), E>) -> Result<(), E> {
        let mut rest = &self.pdus[..];
        for &(file, head) in &self.events {
            let (pdu, after) = rest.split_at(usize::from(head.pdu_len));
            rest = after;
            take(file as usize, &Event { head, pdu })?;
        }
        Ok(())
    }
}

/// Gives every event of a trace to `take`, in order, while another thread reads ahead.
///
/// # Errors
/// What `take` says; damage in the trace, after the events before it.
pub(crate) fn each(
    trace: &mut Trace,
    take: impl FnMut(usize, &Event<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    each_of(trace, |_, _| true, take)
}

/// Gives the events of a trace that are wanted to `take`, in order, while another thread reads ahead. That thread calls `wanted`, for
/// each event.
///
/// # Errors
/// What `take` says; damage in the trace, after the events before it.
pub fn each_of<E: From<Error>>(
    trace: &mut Trace,
    wanted: impl FnMut(usize, &Head) -> bool + Send,
    take: impl FnMut(usize, &Event<'_>) -> Result<(), E>,
) -> Result<(), E> {
    each_by(Builder::new(), trace, wanted, take)
}

fn each_by<E: From<Error>>(
    reader: Builder,
    trace: &mut Trace,
    mut wanted: impl FnMut(usize, &Head) -> bool + Send,
    mut take: impl FnMut(usize, &Event<'_>) -> Result<(), E>,
) -> Result<(), E> {
    if let Some(used) = read_ahead(reader, trace, &mut wanted, &mut take) {
        return used;
    }
    while let Some((file, event)) = trace.next()? {
        if wanted(file, &event.head) {
            take(file, &event)?;
        }
    }
    Ok(())
}

/// None when there is no thread to read ahead; nothing was read then.
fn read_ahead<E: From<Error>>(
    reader: Builder,
    trace: &mut Trace,
    wanted: &mut (impl FnMut(usize, &Head) -> bool + Send),
    mut take: impl FnMut(usize, &Event<'_>) -> Result<(), E>,
) -> Option<Result<(), E>> {
    let (full, batches) = sync_channel(AHEAD);
    let (empty, spares) = channel();
    thread::scope(|scope| {
        let reader = reader.name("fslab-trace".into());
        let reader = reader
            .spawn_scoped(scope, move || read(trace, wanted, &full, &spares))
            .ok()?;
        // Owned here, so that the reader notices when this ends early.
        let batches: Receiver<Batch> = batches;
        let mut used = Ok(());
        for mut batch in batches {
            used = batch.each(&mut take);
            if used.is_err() {
                break;
            }
            batch.events.clear();
            batch.pdus.clear();
            // The reader may have ended; then the batch is not needed.
            let _ = empty.send(batch);
        }
        // The loop has dropped the receiver, which ends the reader.
        let read = reader.join();
        let read = read.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Some(used.and_then(|()| Ok(read?)))
    })
}

fn read(
    trace: &mut Trace,
    wanted: &mut impl FnMut(usize, &Head) -> bool,
    full: &SyncSender<Batch>,
    spares: &Receiver<Batch>,
) -> Result<(), Error> {
    loop {
        let mut batch = spares.try_recv().unwrap_or_default();
        let ended = loop {
            match trace.next() {
                Ok(Some((file, event))) if wanted(file, &event.head) => batch.push(file, &event),
                Ok(Some(_)) => {}
                Ok(None) => break Some(Ok(())),
                Err(error) => break Some(Err(error)),
            }
            if batch.events.len() == BATCH {
                break None;
            }
        };
        let sent = full.send(batch);
        match ended {
            Some(result) => return result,
            None if sent.is_err() => return Ok(()),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forge::Forge;

    #[test]
    fn events_come_as_without_a_thread_and_an_error_ends_it() {
        let folder = tempfile::tempdir().unwrap();
        Forge::hostile(2, 3000).write(folder.path(), "sda").unwrap();
        let base = folder.path().join("sda");
        let mut plain = Vec::new();
        let mut trace = Trace::open(&base).unwrap();
        while let Some((file, event)) = trace.next().unwrap() {
            plain.push((file, event.head, event.pdu.to_vec()));
        }
        let mut found = Vec::new();
        each(&mut Trace::open(&base).unwrap(), |file, event| {
            found.push((file, event.head, event.pdu.to_vec()));
            Ok(())
        })
        .unwrap();
        assert!(found == plain);
        // No address space has room for such a stack: there is no thread.
        let mut alone = Vec::new();
        let no_thread = Builder::new().stack_size(1 << 48);
        each_by(
            no_thread,
            &mut Trace::open(&base).unwrap(),
            |_, _| true,
            |file, event| {
                alone.push((file, event.head, event.pdu.to_vec()));
                Ok::<(), Error>(())
            },
        )
        .unwrap();
        assert!(alone == plain);
        // What is left out takes its PDU with it.
        let wanted = |head: &Head| head.sector % 3 == 1;
        let mut some = Vec::new();
        each_of(
            &mut Trace::open(&base).unwrap(),
            |_, head| wanted(head),
            |file, event| {
                some.push((file, event.head, event.pdu.to_vec()));
                Ok::<(), Error>(())
            },
        )
        .unwrap();
        plain.retain(|(_, head, _)| wanted(head));
        assert!(some == plain && !some.is_empty());
        let mut count = 0;
        let result = each(&mut Trace::open(&base).unwrap(), |_, _| {
            count += 1;
            if count < 10 {
                return Ok(());
            }
            Err(Error::Output(std::io::ErrorKind::StorageFull.into()))
        });
        assert!(matches!(result, Err(Error::Output(_))));
        assert_eq!(count, 10);
    }
}
