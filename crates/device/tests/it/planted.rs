//! Planted errors: each check passes on the model as it is, and fails on a model with the error that it is there to find. A check
//! that cannot fail would not be noticed otherwise.

use std::sync::{Arc, Mutex};

use device::array::{Array, Layout, Level, Strategy};
use device::{
    Catalogue, Completion, Model, Nanoseconds, Op, Request, Usage, Variation, expected, limits,
};

const DISK: &str = r#"
[device.disk]
kind = "disk"
capacity = "300 GB"
rpm = 15000
seek_ms = { track = 0.2, average = 3.5, full = 7.4 }
rate = { outer = "125 MB/s", inner = "73 MB/s" }
surfaces = 8
cache = { look_ahead = "512k", write_back = false }
queue = 64
"#;

/// The disk with a part of its file replaced.
fn disk(replaced: &str, by: &str) -> Catalogue {
    assert!(DISK.contains(replaced));
    let mut catalogue = Catalogue::default();
    catalogue
        .add("disk.toml", &DISK.replace(replaced, by))
        .unwrap();
    catalogue
}

fn model(catalogue: &Catalogue) -> Box<dyn Model> {
    catalogue.model("disk", Variation::Nominal).unwrap()
}

/// Runs requests of which `depth` are in flight; the time of the last completion.
fn run(
    model: &mut dyn Model,
    depth: u64,
    count: u64,
    next: impl Fn(u64) -> Request,
) -> Nanoseconds {
    let (mut sent, mut finished, mut now) = (0, 0, 0);
    let mut done = Vec::new();
    while finished < count {
        while sent < count && sent - finished < depth {
            model.submit(now, next(sent));
            sent += 1;
        }
        now = now.max(model.next_event().expect("requests are in flight"));
        model.advance(now, &mut done);
        finished += done.len() as u64;
        done.clear();
    }
    now
}

/// Places that no two requests share, all over a device.
fn anywhere(model: &dyn Model, number: u64) -> u64 {
    let blocks = model.capacity() / 4096;
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16) % blocks * 4096
}

/// A reader in order that takes a moment between two reads has the sustained rate.
fn streams(catalogue: &Catalogue) -> bool {
    let mut model = model(catalogue);
    let took = run(&mut *model, 1, 500, |n| {
        Request::read(n, n * 65_536, 65_536)
    });
    500.0 * 65_536.0 * 1e9 / took as f64 > 0.95 * 125e6
}

#[test]
fn without_look_ahead_a_reader_in_order_loses_turns() {
    assert!(streams(&disk("512k", "512k")));
    assert!(!streams(&disk("512k", "0k")));
}

/// 32 requests in flight gain what shortest positioning gains: 2.3 to 2.6 times on a disk of 15,000 turns.
fn gains(catalogue: &Catalogue) -> bool {
    let took = |depth| {
        let mut model = model(catalogue);
        let places: Vec<u64> = (0..4000).map(|n| anywhere(&*model, n)).collect();
        run(&mut *model, depth, 4000, |n| {
            Request::read(n, places[n as usize], 4096)
        })
    };
    (2.2..2.7).contains(&(took(1) as f64 / took(32) as f64))
}

#[test]
fn a_queue_that_is_served_in_order_gains_nothing() {
    assert!(gains(&disk("queue = 64", "queue = 64")));
    assert!(!gains(&disk("queue = 64", "queue = 1")));
}

/// A random read takes command, the published average seek over uniform addresses, half a turn and transfer.
fn seeks(catalogue: &Catalogue, published: &Catalogue) -> bool {
    let found = limits(|| catalogue.model("disk", Variation::Nominal)).unwrap();
    let known = expected(published, "disk").unwrap().random_read_ms.unwrap();
    (found.random_read_ms / known - 1.0).abs() < 0.01
}

#[test]
fn a_seek_curve_by_square_root_is_found() {
    let published = disk("rpm", "rpm");
    assert!(seeks(&published, &published));
    // From the same track-to-track and full times, as a table.
    let rows: Vec<String> = (0..=40)
        .map(|step| {
            let share = f64::from(step) / 40.0;
            format!(
                "[{}, {}]",
                1 + (share * 60_000.0) as u64,
                0.2 + 7.2 * share.sqrt()
            )
        })
        .collect();
    let table = format!("seek_ms = {{ table = [{}] }}", rows.join(", "));
    let root = disk(
        "seek_ms = { track = 0.2, average = 3.5, full = 7.4 }",
        &table,
    );
    assert!(!seeks(&root, &published));
}

/// Answers a flush before anything else.
struct Impatient(Box<dyn Model>, Vec<Completion>);

impl Model for Impatient {
    fn capacity(&self) -> u64 {
        self.0.capacity()
    }

    fn submit(&mut self, now: Nanoseconds, request: Request) {
        if request.op == Op::Flush {
            self.1.push(Completion {
                tag: request.tag,
                at: now,
            });
        } else {
            self.0.submit(now, request);
        }
    }

    fn next_event(&self) -> Option<Nanoseconds> {
        self.1.first().map(|done| done.at).or(self.0.next_event())
    }

    fn advance(&mut self, now: Nanoseconds, done: &mut Vec<Completion>) {
        done.append(&mut self.1);
        self.0.advance(now, done);
    }

    fn usage(&self, parts: &mut Vec<Usage>) {
        self.0.usage(parts);
    }
}

/// A flush after cached writes at random takes as long as writing them does.
fn flushes(model: &mut dyn Model) -> bool {
    let places: Vec<u64> = (0..50).map(|n| anywhere(model, n)).collect();
    let cached = run(model, 1, 50, |n| {
        Request::write(n, places[n as usize], 4096)
    });
    model.submit(cached, Request::flush(99));
    let mut done = Vec::new();
    let mut now = cached;
    while !done.iter().any(|c: &Completion| c.tag == 99) {
        now = now.max(model.next_event().expect("a flush is in flight"));
        model.advance(now, &mut done);
    }
    // A seek and half a turn each, less what sorting saves.
    now - cached > 50 * 1_500_000
}

#[test]
fn a_flush_that_does_not_wait_is_found() {
    let cached = disk("write_back = false", "size = \"16m\", write_back = true");
    assert!(flushes(&mut *model(&cached)));
    assert!(!flushes(&mut Impatient(model(&cached), Vec::new())));
}

type Seen = Arc<Mutex<Vec<(usize, Op)>>>;

/// A member that notes its requests and answers them at once.
struct Member {
    number: usize,
    seen: Seen,
    done: Vec<Completion>,
}

impl Model for Member {
    fn capacity(&self) -> u64 {
        1 << 20
    }

    fn submit(&mut self, now: Nanoseconds, request: Request) {
        self.seen.lock().unwrap().push((self.number, request.op));
        self.done.push(Completion {
            tag: request.tag,
            at: now + 1,
        });
    }

    fn next_event(&self) -> Option<Nanoseconds> {
        self.done.first().map(|done| done.at)
    }

    fn advance(&mut self, now: Nanoseconds, done: &mut Vec<Completion>) {
        let (due, rest) = self.done.drain(..).partition(|c| c.at <= now);
        self.done = rest;
        done.extend::<Vec<_>>(due);
    }

    fn usage(&self, _: &mut Vec<Usage>) {}
}

/// Where md puts data and parity of four members (left-symmetric), by chunk: `0 1 2 P`, `4 5 P 3`, `8 P 6 7`, `P 9 10 11`.
fn is_left_symmetric(first: usize) -> bool {
    (0..12_u64).all(|chunk| {
        let seen = Seen::default();
        let member = |number| -> Box<dyn Model> {
            Box::new(Member {
                number,
                seen: Arc::clone(&seen),
                done: Vec::new(),
            })
        };
        let layout = Layout {
            level: Level::Raid5,
            chunk: 4096,
            members: 4,
            member_size: 1 << 20,
            ends: Vec::new(),
            failed: Vec::new(),
            rebuilt: 0,
        };
        let members = (0..4).map(|n| member((n + first) % 4)).collect();
        let mut array = Array::new(layout, Strategy::LeastReads, members);
        run(&mut array, 1, 1, |tag| {
            Request::write(tag, chunk * 4096, 4096)
        });
        let mut written: Vec<usize> = seen
            .lock()
            .unwrap()
            .iter()
            .filter(|(_, op)| *op == Op::Write)
            .map(|(number, _)| *number)
            .collect();
        written.sort_unstable();
        let (data, parity) = ((chunk % 4) as usize, 3 - (chunk / 3 % 4) as usize);
        let mut expected = vec![data, parity];
        expected.sort_unstable();
        written == expected
    })
}

#[test]
fn parity_on_the_wrong_member_is_found() {
    assert!(is_left_symmetric(0));
    for first in 1..4 {
        assert!(!is_left_symmetric(first));
    }
}
