use super::*;
use crate::disk::{Disk, Geometry, Parameters, SeekCurve};
use crate::model::run_alone;
use crate::noted::{Noted, Sent};

const KIB: u64 = 1024;

fn layout(level: Level, members: usize, chunk: u64) -> Layout {
    Layout {
        level,
        chunk,
        members,
        member_size: 64 << 20,
        ends: Vec::new(),
        failed: Vec::new(),
        rebuilt: 0,
    }
}

/// A disk of 15,000 rpm: mean seek 3.5 ms, no caches.
fn disk(phase: f64) -> Box<dyn Model> {
    let geometry = Geometry::linear(300_000_000_000, 15_000.0, 125e6, 73e6, phase);
    let cylinders = geometry.sweep() / (1.2 * 8.0 * geometry.turn());
    Box::new(Disk::new(Parameters {
        seek: SeekCurve::three_points(0.2e6, 3.5e6, 7.4e6, cylinders),
        geometry,
        command: 100_000,
        interface: 300e6,
        look_ahead: 512 * KIB,
        write_cache: 0,
        destage_window: 1,
        window: 64,
        store_and_forward: false,
        flush_is_barrier: false,
    }))
}

fn array(layout: Layout, strategy: Strategy) -> Array {
    let members = (0..layout.members)
        .map(|i| disk(i as f64 * 0.618))
        .collect();
    Array::new(layout, strategy, members)
}

fn read(layout: &Layout, offset: u64, len: u64, heads: &[u64]) -> Vec<Part> {
    let mut parts = Vec::new();
    layout.read(offset, len, heads, &mut parts);
    parts
}

fn write(layout: &Layout, offset: u64, len: u64) -> Vec<Part> {
    let mut parts = Vec::new();
    layout.write(offset, len, &mut parts);
    parts
}

#[test]
fn chunks_of_a_stripe_go_round_and_neighbours_on_a_member_are_one_request() {
    let parts = read(&layout(Level::Raid0, 3, 64 * KIB), 32 * KIB, 224 * KIB, &[]);
    let expected = [(0, 32, 96), (1, 0, 64), (2, 0, 64)].map(|(member, at, len)| Part {
        member,
        address: at * KIB,
        len: len * KIB,
    });
    assert_eq!(parts, expected);
}

#[test]
fn parity_rotates_to_the_left_and_data_follows_it() {
    // md's left-symmetric layout of 4 members, rows 0 to 3: numbers of data chunks, P for parity.
    //   0 1 2 P
    //   4 5 P 3
    //   8 P 6 7
    //   P 9 10 11
    let raid5 = layout(Level::Raid5, 4, KIB);
    let member = |chunk: u64| raid5.data_member(chunk / 3, chunk % 3);
    let members: Vec<usize> = (0..12).map(member).collect();
    assert_eq!(members, [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
    let parities: Vec<usize> = (0..4).flat_map(|row| raid5.parity_members(row)).collect();
    assert_eq!(parities, [3, 2, 1, 0]);

    let raid6 = layout(Level::Raid6, 5, KIB);
    assert_eq!(raid6.parity_members(0).collect::<Vec<_>>(), [4, 0]);
    assert_eq!(raid6.parity_members(1).collect::<Vec<_>>(), [3, 4]);
    assert_eq!((raid6.data_member(0, 0), raid6.data_member(1, 0)), (1, 0));
}

#[test]
fn near_copies_are_on_neighbours_also_with_an_odd_number_of_members() {
    let raid10 = layout(Level::Raid10, 3, KIB);
    let members: Vec<Vec<usize>> = (0..3)
        .map(|chunk| {
            write(&raid10, chunk * KIB, KIB)
                .iter()
                .map(|part| part.member)
                .collect()
        })
        .collect();
    assert_eq!(members, [vec![0, 1], vec![2, 0], vec![1, 2]]);
    assert_eq!(raid10.capacity(), 96 << 20);
    // The nearer head reads, and so a sequential stream stays where it is.
    assert_eq!(read(&raid10, 0, KIB, &[5000, 10, 0])[0].member, 1);
}

#[test]
fn members_follow_each_other_and_a_request_is_split_where_one_ends() {
    let linear = Layout {
        level: Level::Linear,
        members: 3,
        ends: ends(&[64 * KIB, 32 * KIB, 64 * KIB]),
        ..layout(Level::Linear, 3, KIB)
    };
    assert_eq!(linear.capacity(), 160 * KIB);
    let part = |member: usize, at: u64, len: u64| Part {
        member,
        address: at * KIB,
        len: len * KIB,
    };
    for (from, len, expected) in [
        (0, 64, vec![part(0, 0, 64)]),
        (64, 4, vec![part(1, 0, 4)]),
        (60, 40, vec![part(0, 60, 4), part(1, 0, 32), part(2, 0, 4)]),
        (159, 1, vec![part(2, 63, 1)]),
    ] {
        assert_eq!(read(&linear, from * KIB, len * KIB, &[]), expected);
        assert_eq!(write(&linear, from * KIB, len * KIB), expected);
    }
}

#[test]
fn a_volume_costs_nothing_but_the_split() {
    // The same reads of the second member, and of a disk alone.
    let disk_size = 300_000_000_000;
    let mut linear = layout(Level::Linear, 2, KIB);
    linear.ends = ends(&[disk_size, disk_size]);
    let mut volume = Array::new(linear, Strategy::LeastReads, vec![disk(0.5), disk(0.2)]);
    let mut alone = disk(0.2);
    let (mut now, mut random) = (0, crate::random::Random::new(3));
    for tag in 0..50 {
        let offset = random.bits() % (disk_size / 4096) * 4096;
        let of_volume = Request::read(tag, disk_size + offset, 4096);
        let done = run_alone(&mut volume, now, of_volume);
        assert_eq!(
            done,
            run_alone(&mut *alone, now, Request::read(tag, offset, 4096))
        );
        now = done;
    }
}

/// What a write to one row reads, and then writes.
fn plan(layout: &Layout, strategy: Strategy, offset: u64, len: u64) -> [Vec<Part>; 2] {
    let rows = layout.rows(offset, len);
    assert_eq!(rows.len(), 1);
    [rows[0].reads(&[], layout, strategy), rows[0].writes(layout)]
}

#[test]
fn a_full_row_is_written_without_reads() {
    let raid5 = layout(Level::Raid5, 4, 64 * KIB);
    let rows = raid5.rows(0, 192 * KIB);
    assert!(rows.len() == 1 && rows[0].is_full(&raid5));
    let counts = plan(&raid5, Strategy::LeastReads, 0, 192 * KIB).map(|parts| parts.len());
    assert_eq!(counts, [0, 4]);
}

#[test]
fn a_small_write_reads_what_is_less() {
    let raid5 = layout(Level::Raid5, 5, 64 * KIB);
    let members = |[reads, writes]: [Vec<Part>; 2]| {
        [reads, writes].map(|parts| parts.iter().map(|part| part.member).collect::<Vec<_>>())
    };
    let least = Strategy::LeastReads;
    // Old data and old parity, then both anew.
    let small = members(plan(&raid5, least, 0, 4 * KIB));
    assert_eq!(small, [vec![0, 4], vec![0, 4]]);
    // Three of four chunks: the fourth is read.
    let most = members(plan(&raid5, least, 0, 192 * KIB));
    assert_eq!(most, [vec![3], vec![0, 1, 2, 4]]);
    // RAID-6 before Linux 4.1: the rest of the row.
    let raid6 = layout(Level::Raid6, 10, 128 * KIB);
    let old = plan(&raid6, Strategy::Reconstruct, 0, 4 * KIB);
    assert_eq!(old.map(|parts| parts.len()), [7, 3]);
    let new = plan(&raid6, least, 0, 4 * KIB);
    assert_eq!(new.map(|parts| parts.len()), [3, 3]);
}

#[test]
fn a_degraded_array_reads_a_row_for_a_lost_chunk_and_writes_without_lost_parity() {
    let mut raid5 = layout(Level::Raid5, 4, 64 * KIB);
    raid5.failed = vec![1];
    assert_eq!(read(&raid5, 64 * KIB, 4 * KIB, &[]).len(), 3);
    assert_eq!(read(&raid5, 0, 4 * KIB, &[]).len(), 1);
    // Writing the lost chunk: parity from the rest of the row.
    let lost = plan(&raid5, Strategy::LeastReads, 64 * KIB, 4 * KIB);
    assert_eq!(lost.map(|parts| parts.len()), [2, 1]);
    // Row 2 has its parity on member 1: a plain write.
    let plain = plan(&raid5, Strategy::LeastReads, 6 * 64 * KIB, 4 * KIB);
    assert_eq!(plain.map(|parts| parts.len()), [0, 1]);
}

#[test]
fn a_small_write_to_raid5_takes_a_random_read_and_a_turn() {
    let mut size = layout(Level::Raid5, 4, 64 * KIB);
    size.member_size = 200_000_000_000;
    let capacity = size.capacity();
    let mut raid5 = array(size, Strategy::LeastReads);
    let mut random = crate::random::Random::new(1);
    let (mut now, count) = (0, 400);
    for tag in 0..count {
        let offset = random.bits() % (capacity / 4096) * 4096;
        now = run_alone(&mut raid5, now, Request::write(tag, offset, 4096));
    }
    // The later of two reads, then a turn of 4 ms less what passed: more than one read of 5.6 ms and a turn,
    // and less than one turn longer.
    let mean = now as f64 / count as f64 / 1e6;
    assert!((9.6..12.5).contains(&mean), "{mean}");
}

#[test]
fn a_small_write_costs_each_of_two_members_a_random_read_and_a_turn() {
    let chunk = 64 * KIB;
    let mut size = layout(Level::Raid5, 5, chunk);
    size.member_size = 299_999_952_896;
    let rows = size.member_size / chunk;
    // Alike in everything, and only rows with data on member 0 and parity on member 4: both are done at the same time.
    let members = (0..5).map(|_| disk(0.3)).collect();
    let mut raid5 = Array::new(size, Strategy::LeastReads, members);
    let mut random = crate::random::Random::new(2);
    let (mut now, count) = (0, 1000);
    for tag in 0..count {
        let row = random.bits() % (rows / 5) * 5;
        now = run_alone(&mut raid5, now, Request::write(tag, row * 4 * chunk, 4096));
    }
    let mean = now as f64 / count as f64 / 1e6;
    // 5.6 + 4.0 ms.
    assert!((mean / 9.6 - 1.0).abs() < 0.02, "{mean}");
    let mut parts = Vec::new();
    raid5.usage(&mut parts);
    let busy: Vec<u64> = parts.iter().map(|disk| disk.busy).collect();
    assert_eq!((busy[0], &busy[1..4]), (busy[4], &[0, 0, 0][..]));
    assert!(
        (busy[0] as f64 / now as f64 - 1.0).abs() < 0.001,
        "{busy:?}"
    );
}

#[test]
fn what_must_be_on_the_medium_is_so_with_its_parity() {
    let caching = |phase| -> Box<dyn Model> {
        let geometry = Geometry::linear(300_000_000_000, 15_000.0, 125e6, 73e6, phase);
        Box::new(Disk::new(Parameters {
            seek: SeekCurve::three_points(0.2e6, 3.5e6, 7.4e6, 50_000.0),
            geometry,
            command: 100_000,
            interface: 300e6,
            look_ahead: 0,
            write_cache: 1 << 20,
            destage_window: 1,
            window: 64,
            store_and_forward: false,
            flush_is_barrier: false,
        }))
    };
    let row = |fua| {
        let members = (0..4).map(|_| caching(0.0)).collect();
        let mut raid5 = Array::new(layout(Level::Raid5, 4, KIB), Strategy::LeastReads, members);
        let write = Request::write(0, 0, 3 * KIB);
        run_alone(&mut raid5, 0, Request { fua, ..write })
    };
    // Caches answer a full row after a command; the medium needs its turn.
    assert!(row(false) < 110_000);
    assert!(row(true) > 3_000_000, "{}", row(true));
}

#[test]
fn striped_reads_are_as_fast_as_all_members_together() {
    for members in [2, 8] {
        let mut size = layout(Level::Raid0, members, 128 * KIB);
        size.member_size = 300_000_000_000 / size.chunk * size.chunk;
        let mut raid0 = array(size, Strategy::LeastReads);
        let row = members as u64 * 128 * KIB;
        let warm = run_alone(&mut raid0, 0, Request::read(0, 0, row));
        let mut now = warm;
        for i in 1..200 {
            now = run_alone(&mut raid0, now, Request::read(i, i * row, row));
        }
        let rate = 199.0 * row as f64 * 1e9 / (now - warm) as f64;
        let expected = members as f64 * 125e6;
        assert!((rate / expected - 1.0).abs() < 0.01, "{rate} of {expected}");
    }
}

#[test]
fn writes_submitted_together_share_their_row() {
    let size = layout(Level::Raid5, 4, 64 * KIB);
    let mut raid5 = array(size, Strategy::LeastReads);
    for tag in 0..3 {
        raid5.submit(0, Request::write(tag, tag * 64 * KIB, 64 * KIB));
    }
    let mut done = Vec::new();
    while let Some(at) = raid5.next_event() {
        raid5.advance(at, &mut done);
    }
    assert_eq!(done.len(), 3);
    let mut parts = Vec::new();
    raid5.usage(&mut parts);
    assert!(
        parts.iter().all(|disk| disk.requests == 1),
        "no reads: {parts:?}"
    );
}

/// Reads and writes of all members, and when the last of `writes` (time in us, chunk of 64 KiB) is done, in ms.
fn written(sync: bool, writes: &[(u64, u64)]) -> (u64, f64) {
    let mut raid5 = array(layout(Level::Raid5, 4, 64 * KIB), Strategy::LeastReads);
    let mut done = Vec::new();
    for (tag, (us, chunk)) in writes.iter().enumerate() {
        let now = us * 1000;
        while let Some(at) = raid5.next_event().filter(|at| *at <= now) {
            raid5.advance(at, &mut done);
        }
        let write = Request::write(tag as u64, chunk * 64 * KIB, 64 * KIB);
        raid5.submit(now, Request { sync, ..write });
    }
    while let Some(at) = raid5.next_event() {
        raid5.advance(at, &mut done);
    }
    let mut tags: Vec<u64> = done.iter().map(|c| c.tag).collect();
    tags.sort_unstable();
    assert!(tags.into_iter().eq(0..writes.len() as u64), "{done:?}");
    let last = done.iter().map(|c| c.at).max().unwrap_or(0);
    let mut parts = Vec::new();
    raid5.usage(&mut parts);
    let requests = parts.iter().map(|disk| disk.requests).sum();
    (requests, last as f64 / 1e6)
}

#[test]
fn writeback_fills_rows_while_another_row_reads() {
    // 60 chunks in order, 10 us apart: 20 rows. The first write goes out by itself.
    let in_order: Vec<(u64, u64)> = (0..60).map(|chunk| (chunk * 10, chunk)).collect();
    let (requests, writeback) = written(false, &in_order);
    // 19 full rows of four writes; of the first row two reads, what its other chunks lack, and its writes.
    assert!((80..=84).contains(&requests), "{requests}");
    // Waited for, each row reads as soon as its first write is there; the others of the row join it.
    let (requests, waited) = written(true, &in_order);
    assert!((100..=140).contains(&requests), "{requests}");
    assert!(waited > writeback, "{waited} {writeback}");
}

#[test]
fn a_write_joins_a_row_that_reads_and_follows_one_that_is_written() {
    // Old data and parity take some ms. The second write comes meanwhile: its old data are read, and one parity is written.
    assert_eq!(written(true, &[(0, 0), (100, 1)]).0, 2 + 1 + 3);
    // With all of the row there nothing more is read.
    assert_eq!(written(true, &[(0, 0), (100, 1), (100, 2)]).0, 2 + 4);
    // A second row in between is one of its own.
    assert_eq!(written(true, &[(0, 0), (100, 3)]).0, 4 + 4);
    // The same chunk again: while it reads for nothing, and after that at the cost of the first.
    let (one, alone) = written(true, &[(0, 0)]);
    assert_eq!((one, written(true, &[(0, 0), (100, 0)]).0), (4, 4));
    let during_write = (alone * 1000.0) as u64 - 100;
    let (requests, twice) = written(true, &[(0, 0), (during_write, 0)]);
    assert_eq!(requests, 8);
    assert!(twice > alone * 1.9, "{twice} {alone}");
}

#[test]
fn writeback_of_two_rows_reads_for_one_after_the_other() {
    let (_, alone) = written(false, &[(0, 0)]);
    let (requests, both) = written(false, &[(0, 0), (100, 3)]);
    assert_eq!(requests, 8);
    let (_, waited) = written(true, &[(0, 0), (100, 3)]);
    assert!(both >= waited && both > alone, "{alone} {waited} {both}");
}

/// What members of a RAID-5 of 4 with chunks of 64 KiB were sent for writes (time in us, offset and length in KiB): operation, member, offset
/// in the first row and length in KiB. Each takes 5 ms.
fn sent_to_members(writes: &[(u64, u64, u64)]) -> Vec<(Op, usize, u64, u64)> {
    let sent = Sent::default();
    let members = 0..4;
    let member =
        |number| Box::new(Noted::new(number, 64 << 20, 5_000_000, &sent)) as Box<dyn Model>;
    let raid5 = layout(Level::Raid5, 4, 64 * KIB);
    let mut raid5 = Array::new(raid5, Strategy::LeastReads, members.map(member).collect());
    let mut done = Vec::new();
    for (tag, (us, at, len)) in writes.iter().enumerate() {
        while let Some(next) = raid5.next_event().filter(|next| *next <= us * 1000) {
            raid5.advance(next, &mut done);
        }
        let write = Request::write(tag as u64, at * KIB, len * KIB);
        raid5.submit(
            us * 1000,
            Request {
                sync: true,
                ..write
            },
        );
    }
    while let Some(at) = raid5.next_event() {
        raid5.advance(at, &mut done);
    }
    assert_eq!(done.len(), writes.len());
    let sent = sent.lock().unwrap();
    let in_kib = |s: &(usize, Op, u64, u64)| (s.1, s.0, s.2 / KIB, s.3 / KIB);
    sent.iter().map(in_kib).collect()
}

#[test]
fn a_write_that_would_join_two_rows_waits_for_them() {
    // Two pages of the first chunk are worked on when all of the second chunk is written, which has parity with both.
    let sent = sent_to_members(&[(0, 0, 4), (100, 32, 4), (200, 64, 64)]);
    let of_parity: Vec<_> = sent.iter().filter(|s| s.1 == 3).collect();
    let pages = [(0, 4), (32, 4)];
    let pages = |op| pages.map(|(at, len)| (op, 3, at, len));
    let expected = [
        &pages(Op::Read)[..],
        &pages(Op::Write),
        &[(Op::Read, 3, 0, 64), (Op::Write, 3, 0, 64)],
    ]
    .concat();
    assert!(of_parity.into_iter().eq(&expected), "{sent:?}");
}

#[test]
fn pages_of_a_row_end_in_any_order_and_a_write_waits_for_its_own() {
    // The first of three pages reads twice, because of a write that joins it, and ends last: at 15 ms. The second ends at 11 ms, the
    // third at 12. What comes for the first page at 11.5 ms waits for it: another row that begins at 13 ms reads before.
    let writes = [
        (0, 0, 4),
        (1_000, 16, 4),
        (2_000, 32, 4),
        (4_000, 64, 4),
        (11_500, 0, 4),
        (13_000, 192, 4),
    ];
    let sent = sent_to_members(&writes);
    let of_member = sent.iter().filter(|s| s.1 == 3).map(|s| (s.0, s.2));
    let reads = [0, 16, 32].map(|page| (Op::Read, page));
    let writes = [16, 32, 0].map(|page| (Op::Write, page));
    // The other row begins at 64 KiB.
    let later = [Op::Read, Op::Write].map(|op| [(op, 64), (op, 0)]).concat();
    assert!(
        of_member.eq([&reads[..], &writes, &later].concat()),
        "{sent:?}"
    );
}

#[test]
fn a_degraded_read_of_neighbours_reads_each_byte_once() {
    let mut raid5 = layout(Level::Raid5, 4, 64 * KIB);
    raid5.failed = vec![1];
    // The end of the first chunk, and the lost second one, which is computed from all others.
    let parts = read(&raid5, 32 * KIB, 96 * KIB, &[]);
    let part = |member| Part {
        member,
        address: 0,
        len: 64 * KIB,
    };
    assert_eq!(parts, [part(0), part(2), part(3)]);
}

#[test]
fn a_flush_moves_no_head() {
    let sent = Sent::default();
    let member = |number| Box::new(Noted::new(number, 1 << 40, 5_000_000, &sent)) as Box<dyn Model>;
    let mut mirror = layout(Level::Raid1, 2, 64 * KIB);
    mirror.member_size = 1 << 40;
    let mut mirror = Array::new(mirror, Strategy::LeastReads, (0..2).map(member).collect());
    let (mut tag, mut now) = (0, 0);
    let mut submit = |request: fn(u64, u64, u64) -> Request, offset| {
        tag += 1;
        now = run_alone(&mut mirror, now, request(tag, offset, 4096));
    };
    // The first head goes to the middle, and the second stays where it is.
    for offset in [0, 1 << 39, 0] {
        submit(Request::read, offset);
    }
    submit(|tag, _, _| Request::flush(tag), 0);
    submit(Request::read, 1 << 20);
    let sent = sent.lock().unwrap();
    let reads = sent.iter().filter(|s| s.1 == Op::Read);
    let members: Vec<usize> = reads.map(|s| s.0).collect();
    assert_eq!(members, [0, 0, 1, 1]);
}
