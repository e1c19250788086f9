use super::*;
use crate::ram::Ram;
use crate::sync_queue::SyncQueue;
use device::{Catalogue, Usage, Variation};
use std::sync::atomic::{AtomicUsize, Ordering};

fn disk() -> Box<dyn Model> {
    let catalogue = Catalogue::shipped().unwrap();
    catalogue
        .model("cheetah-15k.5", Variation::Nominal)
        .unwrap()
}

#[test]
fn a_read_takes_at_least_its_modelled_time() {
    let source = OnModel::new(Ram::sparse(1 << 40), disk());
    let mut buf = [0; 4096];
    let begin = Instant::now();
    for i in 0..5 {
        source.read_at(&mut buf, (i * 37 % 100) << 30).unwrap();
    }
    // Five random reads of a disk of 15,000 rpm: no more is certain than a tenth of the mean.
    let elapsed = begin.elapsed();
    assert!(elapsed > Duration::from_millis(3));
    let served = source.lateness().so_far();
    assert_eq!(served.requests, 5);
    let waited = Duration::from_nanos(served.modelled + served.lateness);
    assert!(
        waited <= elapsed && served.modelled > 3_000_000,
        "{served:?}"
    );
}

#[test]
fn a_queue_hands_out_each_read_once_in_the_order_of_the_model() {
    let bytes: Vec<u8> = (0..64_u8).flat_map(|i| [i; 4096]).collect();
    let source = OnModel::new(Ram::new(&bytes), disk());
    let mut queue = source.queue(8).unwrap();
    let mut seen = Vec::new();
    for i in 0..8_u64 {
        queue
            .submit(Request::page(i, (i * 29 % 64) * 4096))
            .unwrap();
    }
    assert_eq!(queue.in_flight(), 8);
    while let Some(done) = queue.wait() {
        assert_eq!(done.bytes().unwrap()[0], (done.tag * 29 % 64) as u8);
        seen.push(done.tag);
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..8).collect::<Vec<_>>());
}

/// No test waits for it.
const LONG: u64 = 60_000_000_000;

/// A model that is done with each read after some time, or at once with all when it has been given some number of them.
struct After {
    time: u64,
    enough: Box<dyn Fn(usize) -> bool + Send>,
    held: Vec<Done>,
}

impl After {
    fn boxed(time: u64, enough: impl Fn(usize) -> bool + Send + 'static) -> Box<dyn Model> {
        Box::new(After {
            time,
            enough: Box::new(enough),
            held: Vec::new(),
        })
    }
}

impl Model for After {
    fn capacity(&self) -> u64 {
        1 << 40
    }

    fn submit(&mut self, now: u64, request: ModelRequest) {
        self.held.push(Done {
            tag: request.tag,
            at: now + self.time,
        });
    }

    fn next_event(&self) -> Option<u64> {
        let first = self.held.iter().map(|done| done.at).min()?;
        Some(if (self.enough)(self.held.len()) {
            0
        } else {
            first
        })
    }

    fn advance(&mut self, now: u64, done: &mut Vec<Done>) {
        if (self.enough)(self.held.len()) {
            self.held.iter_mut().for_each(|done| done.at = now);
        }
        done.extend(self.held.extract_if(.., |done| done.at <= now));
    }

    fn usage(&self, _parts: &mut Vec<Usage>) {}
}

#[test]
fn no_read_is_handed_out_early() {
    // Shorter than the lead, and longer.
    for time in [1_000, 50_000, 2_000_000] {
        let source = OnModel::new(Ram::sparse(1 << 20), After::boxed(time, |_| false));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let begin = Instant::now();
                        source.read_at(&mut [0; 512], 0).unwrap();
                        assert!(begin.elapsed() >= Duration::from_nanos(time));
                    }
                });
            }
        });
    }
}

#[test]
fn a_sleeping_reader_is_woken_when_the_next_event_is_earlier() {
    let model = After::boxed(LONG, |held| held == 2);
    let source = OnModel::new(Ram::sparse(1 << 20), model);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| source.read_at(&mut [0; 512], 0).unwrap());
        // Most likely it sleeps by then.
        std::thread::sleep(Duration::from_millis(20));
        source.read_at(&mut [0; 512], 0).unwrap();
    });
    assert!(begin.elapsed() < Duration::from_nanos(LONG));
}

/// Counts reads.
struct Counted(Ram, Arc<AtomicUsize>);

impl crate::source::Layer for Counted {
    type Below = Ram;

    fn below(&self) -> &Ram {
        &self.0
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), ReadError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.read_at(buf, offset)
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn Queue + '_>, OpenError> {
        Ok(Box::new(SyncQueue::new(self, depth)))
    }
}

#[test]
fn what_the_waiting_thread_reads_itself_it_reads_before_the_model_is_done() {
    let reads = Arc::new(AtomicUsize::new(0));
    let below = Counted(Ram::sparse(1 << 20), Arc::clone(&reads));
    // The model is done when all are read.
    let model = After::boxed(LONG, move |_| reads.load(Ordering::SeqCst) == 4);
    let source = OnModel::new(below, model);
    let begin = Instant::now();
    let mut queue = source.queue(4).unwrap();
    for tag in 0..4 {
        queue.submit(Request::page(tag, 0)).unwrap();
    }
    let mut tags: Vec<u64> = (0..4).map(|_| queue.wait().unwrap().tag).collect();
    tags.sort_unstable();
    assert_eq!(tags, [0, 1, 2, 3]);
    assert!(begin.elapsed() < Duration::from_nanos(LONG));
}

#[test]
fn the_lead_rises_at_once_falls_slowly_and_has_a_bound() {
    let mut lead = Lead(Lead::FIRST);
    lead.woke(120_000);
    assert_eq!(lead.0, 150_000);
    lead.woke(10_000);
    assert!((140_000..150_000).contains(&lead.0), "{}", lead.0);
    lead.woke(u64::MAX);
    assert_eq!(lead.0, Lead::MOST);
    for _ in 0..200 {
        lead.woke(8_000);
    }
    assert_eq!(lead.0, 10_000);
}
