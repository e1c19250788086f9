use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
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

fn file() -> std::fs::File {
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
        live.write(to.clone(), 4096, &[7; 4096], true).unwrap();
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

/// A client of the protocol, as its description has it.
struct Client(UnixStream);

impl Client {
    fn option(&mut self, option: u32, data: &[u8]) {
        let mut bytes = Vec::from(*b"IHAVEOPT");
        bytes.extend(option.to_be_bytes());
        bytes.extend((data.len() as u32).to_be_bytes());
        bytes.extend(data);
        self.0.write_all(&bytes).unwrap();
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Kind and data of an option's reply.
    fn option_reply(&mut self) -> (u32, Vec<u8>) {
        let head: [u8; 20] = self.take();
        assert_eq!(head[..8], 0x3_e889_0455_65a9_u64.to_be_bytes());
        let kind = u32::from_be_bytes(head[12..16].try_into().unwrap());
        let mut data = vec![0; u32::from_be_bytes(head[16..].try_into().unwrap()) as usize];
        self.0.read_exact(&mut data).unwrap();
        (kind, data)
    }

    fn head(&mut self, command: u16, cookie: u64, offset: u64, len: u32) {
        let mut bytes = Vec::from(0x2560_9513_u32.to_be_bytes());
        bytes.extend(0_u16.to_be_bytes());
        bytes.extend(command.to_be_bytes());
        bytes.extend(cookie.to_be_bytes());
        bytes.extend(offset.to_be_bytes());
        bytes.extend(len.to_be_bytes());
        self.0.write_all(&bytes).unwrap();
    }

    fn request(&mut self, command: u16, cookie: u64, offset: u64, len: u32, data: &[u8]) {
        self.head(command, cookie, offset, len);
        self.0.write_all(data).unwrap();
    }

    /// Error and cookie of a reply.
    fn reply(&mut self) -> (u32, u64) {
        let head: [u8; 16] = self.take();
        assert_eq!(head[..4], 0x6744_6698_u32.to_be_bytes());
        (
            u32::from_be_bytes(head[4..8].try_into().unwrap()),
            u64::from_be_bytes(head[8..].try_into().unwrap()),
        )
    }
}

#[test]
fn a_client_of_nbd_negotiates_writes_and_reads() {
    let live = live();
    let (ours, theirs) = UnixStream::pair().unwrap();
    while_running(&live, || {
        std::thread::scope(|scope| {
            let server = scope.spawn(|| nbd::serve(&live, theirs));
            let mut client = Client(ours);
            assert_eq!(&client.take::<16>(), b"NBDMAGICIHAVEOPT");
            assert_eq!(client.take::<2>(), [0, 3]);
            client.0.write_all(&3_u32.to_be_bytes()).unwrap();
            client.option(99, b"what");
            assert_eq!(client.option_reply().0, (1 << 31) + 1);
            client.option(7, &[0; 6]);
            let (kind, info) = client.option_reply();
            assert_eq!((kind, &info[2..10]), (3, &SIZE.to_be_bytes()[..]));
            // Flags, flush, FUA and trim: the drive has a buffer.
            assert_eq!(info[10..], [0, 1 | 4 | 8 | 32]);
            assert_eq!(client.option_reply(), (1, vec![]));
            client.request(1, 11, 8192, 4096, &[5; 4096]);
            assert_eq!(client.reply(), (0, 11));
            client.request(0, 12, 8192, 4096, &[]);
            assert_eq!(client.reply(), (0, 12));
            assert_eq!(client.take::<4096>(), [5; 4096]);
            client.request(3, 13, 0, 0, &[]);
            assert_eq!(client.reply(), (0, 13));
            // Beyond the end, and not a command.
            client.request(0, 14, SIZE, 1, &[]);
            assert_eq!(client.reply(), (22, 14));
            client.request(77, 15, 0, 0, &[]);
            assert_eq!(client.reply(), (22, 15));
            client.request(2, 16, 0, 0, &[]);
            assert!(server.join().unwrap().is_ok());
        });
    });
}

/// Eight requests at once, and again: reads and writes of several sizes, in a changing order.
fn load(client: &mut Client, rounds: u64, buffer: &mut [u8]) {
    for round in 0..rounds {
        let mut data = [0; 8];
        for i in 0..8 {
            let at = (round * 8 + i) * 2_654_435_761 % (SIZE / 4096 - 32) * 4096;
            let len = 4096 << (i % 4);
            let is_write = i % 3 == 0;
            data[i as usize] = if is_write { 0 } else { len as usize };
            client.head(u16::from(is_write), i, at, len);
            if is_write {
                client.0.write_all(&buffer[..len as usize]).unwrap();
            }
        }
        for _ in 0..8 {
            let (error, cookie) = client.reply();
            assert_eq!(error, 0);
            let len = data[cookie as usize];
            client.0.read_exact(&mut buffer[..len]).unwrap();
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
        let (ours, theirs) = UnixStream::pair().unwrap();
        let more = std::thread::scope(|scope| {
            let _stop = Stop(&live);
            scope.spawn(|| {
                count.watch();
                live.run();
            });
            scope.spawn(|| {
                count.watch();
                nbd::requests(&live, theirs)
            });
            let mut client = Client(ours);
            let mut buffer = vec![3; 64 << 10];
            load(&mut client, 2000, &mut buffer);
            let before = count.so_far();
            load(&mut client, 2000, &mut buffer);
            count.so_far() - before
        });
        assert_eq!(live.served().requests, 32_000);
        assert_eq!(more, 0, "{name}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(50))]
    #[test]
    fn a_client_that_talks_nonsense_is_an_error_and_no_panic(
        bytes in proptest::collection::vec(0_u8.., 0..200), polite in proptest::bool::ANY,
    ) {
        let live = live();
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        if polite {
            ours.write_all(&3_u32.to_be_bytes()).unwrap();
            ours.write_all(b"IHAVEOPT\0\0\0\x01\0\0\0\0").unwrap();
        }
        ours.write_all(&bytes).unwrap();
        ours.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = nbd::serve(&live, theirs);
    }
}
