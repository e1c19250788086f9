use std::cell::Cell;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use device::{Catalogue, Variation};
use testkit::allocations::{Count, Counting};

use super::*;

const SIZE: u64 = 64 << 20;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn live_of(name: &str) -> Arc<Live> {
    let catalogue = Catalogue::shipped().unwrap();
    let model = catalogue.model(name, Variation::Nominal).unwrap();
    Arc::new(Live::new(model, Store::memory(SIZE).unwrap()))
}

fn live() -> Arc<Live> {
    live_of("nvme-2018")
}

/// Stops a device, also where a test fails.
struct Stop<'a>(&'a Live);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Runs the answering thread while `work` runs.
fn while_running<T>(live: &Live, work: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        let _stop = Stop(live);
        scope.spawn(|| live.run());
        work()
    })
}

/// A front that sends what it is given: a cookie, and the bytes after the head.
struct Channel(Sender<(u64, Vec<u8>)>);

impl Front for Channel {
    fn answer(&self, cookie: u64, _: Work, answer: &mut [u8]) {
        self.0.send((cookie, answer[HEAD..].to_vec())).unwrap();
    }
}

/// Who waits, with this cookie, for what is received.
fn waiting(cookie: u64) -> (Waiting, Receiver<(u64, Vec<u8>)>) {
    let (sent, received) = channel();
    let front = Arc::new(Channel(sent));
    (Waiting { front, cookie }, received)
}

fn read(store: &Store, offset: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![1; len];
    store.read(offset, &mut bytes)?;
    Ok(bytes)
}

fn file() -> File {
    let file = tempfile::tempfile().unwrap();
    file.set_len(SIZE).unwrap();
    file
}

#[test]
fn what_was_written_is_read_and_what_was_given_up_is_zero() {
    for store in [Store::memory(SIZE).unwrap(), Store::file(file(), SIZE)] {
        let bytes: Vec<u8> = (0..200_000_u32).map(|i| i as u8).collect();
        store.write(60_000, &bytes).unwrap();
        assert_eq!(read(&store, 60_000, bytes.len()).unwrap(), bytes);
        assert_eq!(read(&store, 0, 60_000).unwrap(), vec![0; 60_000]);
        assert!(read(&store, SIZE - 1, 2).is_err() && store.write(u64::MAX, &[1]).is_err());
        store.write(0, &vec![1; 300_000]).unwrap();
        store.discard(0, 1 << 17).unwrap();
        assert_eq!(read(&store, 65_536, 1).unwrap(), [0]);
        assert_eq!(read(&store, 200_000, 1).unwrap(), [1]);
    }
}

#[test]
fn what_was_given_up_reads_as_zeros_to_the_byte() {
    for store in [
        Store::memory(SIZE).unwrap(),
        Store::file(file(), SIZE),
        Store::device(file(), SIZE, true).unwrap(),
    ] {
        store.write(0, &vec![1; 300_000]).unwrap();
        // Within a page, and from one page over another into a third.
        for (from, to) in [(4096, 8192), (60_000, 140_000)] {
            store.discard(from, to - from).unwrap();
            let around = read(&store, from - 1, (to - from + 2) as usize).unwrap();
            let (first, last) = (around[0], around[around.len() - 1]);
            assert_eq!((first, last), (1, 1), "{from}");
            let zeros = around[1..around.len() - 1].iter().all(|byte| *byte == 0);
            assert!(zeros, "{from}");
        }
        assert_eq!(read(&store, 299_999, 2).unwrap(), [1, 0]);
        assert!(store.discard(SIZE, 1).is_err());
    }
}

#[test]
fn answers_come_and_are_counted() {
    let live = live();
    let (to, received) = waiting(7);
    while_running(&live, || {
        live.write(to.clone(), 4096, &[7; 4096]).unwrap();
        assert_eq!(received.recv().unwrap(), (7, vec![]));
        live.read(to.clone(), 4096, 4096).unwrap();
        assert_eq!(received.recv().unwrap(), (7, vec![7; 4096]));
        live.flush(to.clone());
        assert_eq!(received.recv().unwrap(), (7, vec![]));
    });
    let served = live.served();
    assert_eq!(served.requests, 3);
    assert!(served.modelled > 20_000);
    assert!(live.read(to, SIZE, 1).is_err());
    assert!(received.try_recv().is_err(), "beyond the end, and answered");
}

#[test]
fn lateness_decides_whether_times_stand_for_the_device() {
    let good = Served {
        requests: 1000,
        modelled: 5_000_000_000,
        lateness: 50_000_000,
        late: 10,
    };
    assert!(good.is_sound());
    assert!(!Served { late: 11, ..good }.is_sound());
    let late = Served {
        lateness: 251_000_000,
        ..good
    };
    assert!(!late.is_sound());
}

#[test]
fn answers_leave_earlier_by_what_the_way_takes() {
    let live = live();
    let (to, received) = waiting(0);
    let read = || {
        live.read(to.clone(), 0, 4096).unwrap();
        received.recv().unwrap();
    };
    // Nothing runs the model's clock, so an answer that came was not waited for.
    live.hold();
    read();
    assert_eq!(live.served().requests, 0);
    // More than a read takes: due as soon as it is there.
    live.begin(Lead::of_requests(1_000_000_000));
    while_running(&live, read);
    let served = live.served();
    assert_eq!(served.requests, 1);
    assert!(served.modelled > 20_000);
}

/// The kernel's end of a FUSE connection: requests and answers are whole packets, as on /dev/fuse.
struct Kernel(File);

/// A connection, and its other end.
fn connected() -> (Kernel, Arc<fuse::Connection>) {
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let file = |end: UnixDatagram| File::from(OwnedFd::from(end));
    (Kernel(file(ours)), Arc::new(fuse::Connection(file(theirs))))
}

const READ: u32 = 15;
const WRITE: u32 = 16;

impl Kernel {
    /// Sends a read or a write of what is in the buffer after [`Kernel::HEADS`] bytes.
    fn send(&mut self, code: u32, unique: u64, offset: u64, len: usize, buffer: &mut [u8]) {
        let data = if code == WRITE { len } else { 0 };
        let all = Self::HEADS + data;
        buffer[..Self::HEADS].fill(0);
        buffer[..4].copy_from_slice(&(all as u32).to_ne_bytes());
        buffer[4..8].copy_from_slice(&code.to_ne_bytes());
        buffer[8..16].copy_from_slice(&unique.to_ne_bytes());
        buffer[48..56].copy_from_slice(&offset.to_ne_bytes());
        buffer[56..60].copy_from_slice(&(len as u32).to_ne_bytes());
        assert_eq!(self.0.write(&buffer[..all]).unwrap(), all);
    }

    /// `struct fuse_in_header`, and a read's or a write's own head.
    const HEADS: usize = 80;

    /// Cookie, error and length of an answer, whose bytes follow in the buffer after [`HEAD`] bytes.
    fn answer(&mut self, buffer: &mut [u8]) -> (u64, i32, usize) {
        let len = self.0.read(buffer).unwrap();
        let error = i32::from_ne_bytes(buffer[4..8].try_into().unwrap());
        let unique = u64::from_ne_bytes(buffer[8..HEAD].try_into().unwrap());
        assert_eq!(buffer[..4], (len as u32).to_ne_bytes());
        (unique, error, len - HEAD)
    }
}

/// Eight requests at once, and again: reads and writes of several sizes, in a changing order.
fn load(kernel: &mut Kernel, rounds: u64, buffer: &mut [u8]) {
    for round in 0..rounds {
        let mut sizes = [0; 8];
        for i in 0..8 {
            let at = (round * 8 + i) * 2_654_435_761 % (SIZE / 4096 - 32) * 4096;
            let len = 4096 << (i % 4);
            // A write is answered with its length alone.
            let (code, answer) = if i % 3 == 0 { (WRITE, 8) } else { (READ, len) };
            sizes[i as usize] = answer;
            kernel.send(code, i, at, len, buffer);
        }
        for _ in 0..8 {
            let (unique, error, len) = kernel.answer(buffer);
            assert_eq!((error, len), (0, sizes[unique as usize]));
        }
    }
}

#[test]
fn nothing_is_allocated_while_it_serves() {
    for name in ["cheetah-15k.5", "nvme-2018", "lun-2011", "dokos"] {
        let count: &'static Count = Box::leak(Box::default());
        let live = live_of(name);
        // An hour: the load takes less on each model, so nothing is waited for.
        live.begin(Lead::of_requests(3_600_000_000_000));
        let (mut kernel, connection) = connected();
        let more = std::thread::scope(|scope| {
            let _stop = Stop(&live);
            scope.spawn(|| {
                count.watch();
                live.run();
            });
            scope.spawn(|| {
                count.watch();
                fuse::requests(&live, &connection, fuse::NAME, &|| live.is_over())
            });
            let mut buffer = vec![3; 64 << 10];
            load(&mut kernel, 2000, &mut buffer);
            let before = count.so_far();
            load(&mut kernel, 2000, &mut buffer);
            count.so_far() - before
        });
        assert_eq!(live.served().requests, 32_000);
        assert_eq!(more, 0, "{name}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(50))]
    #[test]
    fn a_request_that_makes_no_sense_is_an_error_and_no_panic(
        code in 0_u32..50, bytes in proptest::collection::vec(0_u8.., 0..200),
    ) {
        let live = live();
        let (mut kernel, connection) = connected();
        let request = [&[0; 4][..], &code.to_ne_bytes(), &bytes].concat();
        kernel.0.write_all(&request).unwrap();
        kernel.0.write_all(&bytes).unwrap();
        let calls = Cell::new(0);
        let is_over = || calls.replace(calls.get() + 1) == 2;
        let served = fuse::requests(&live, &connection, fuse::NAME, &is_over);
        // A request has a head of 40 bytes.
        proptest::prop_assert_eq!(served.is_err(), bytes.len() < 40);
    }
}
