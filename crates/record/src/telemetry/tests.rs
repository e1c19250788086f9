//! What is written is read; what is torn or garbage is left out.

use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;

use super::*;

/// Time and values of each row, as handed to the writer.
type Rows = Vec<(u64, Vec<(u32, i64)>)>;

fn write(columns: u32, rows: &Rows) -> Vec<u8> {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("t.tele");
    let mut writer = Writer::create(&path).unwrap();
    for n in 0..columns {
        assert_eq!(writer.column(&format!("column {n}"), "count"), n);
    }
    for (at, values) in rows {
        writer.row(*at, values).unwrap();
    }
    writer.finish().unwrap();
    fs::read(&path).unwrap()
}

/// What a column's series must be, the plain way.
fn expected(rows: &Rows, column: u32) -> (Vec<u64>, Vec<i64>) {
    let mut state = BTreeMap::new();
    let mut series = (Vec::new(), Vec::new());
    for (at, values) in rows {
        state.extend(values.iter().copied());
        if let Some(&value) = state.get(&column) {
            series.0.push(*at);
            series.1.push(value);
        }
    }
    series
}

fn rows(columns: u32) -> impl Strategy<Value = Rows> {
    let value = prop_oneof![any::<i64>(), -3_i64..3, Just(i64::MIN), Just(i64::MAX)];
    let at = prop_oneof![any::<u64>(), 0_u64..5_000_000_000];
    let row = (at, prop::collection::vec((0..columns, value), 0..12));
    prop::collection::vec(row, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn writing_and_reading_are_inverse(rows in rows(7)) {
        let table = Reader::decode(&write(7, &rows)).unwrap();
        prop_assert!(table.is_complete());
        prop_assert_eq!(table.dropped_bytes(), 0);
        prop_assert_eq!(table.columns.len(), 7);
        prop_assert_eq!(&table.times, &rows.iter().map(|row| row.0).collect::<Vec<_>>());
        for column in 0..8 {
            prop_assert_eq!(table.series(column), expected(&rows, column));
        }
    }

    #[test]
    fn a_cut_or_changed_file_gives_a_prefix(
        rows in rows(3),
        cut in any::<prop::sample::Index>(),
        to in any::<u8>(),
    ) {
        let whole = write(3, &rows);
        let at = cut.index(whole.len());
        let mut changed = whole.clone();
        changed[at] = to;
        for bytes in [&whole[..at], &changed] {
            if let Ok(table) = Reader::decode(bytes) {
                prop_assert!(table.rows() <= rows.len());
                for (n, &time) in table.times.iter().enumerate() {
                    prop_assert_eq!(time, rows[n].0);
                }
                let read = table.series(1);
                let all = expected(&rows, 1);
                prop_assert_eq!(&read.1[..], &all.1[..read.1.len()]);
            } else {
                prop_assert!(at < 12);
            }
        }
    }

    #[test]
    fn garbage_never_panics_nor_grows(payload in prop::collection::vec(any::<u8>(), 1..3000)) {
        let _ = Reader::decode(&payload);
        // The same as the records of a frame with a right sum.
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((payload.len() as u32).to_le_bytes());
        bytes.extend(checksum(&payload).to_le_bytes());
        bytes.extend(&payload);
        let table = Reader::decode(&bytes).unwrap();
        prop_assert!(table.rows() + table.columns.len() <= payload.len());
    }
}

#[test]
fn a_length_that_lies_allocates_nothing() {
    let mut bytes = write(1, &vec![(1, vec![(0, 1)])]);
    let good = bytes.len() as u64;
    bytes.extend([0xff; 9]);
    let table = Reader::decode(&bytes).unwrap();
    assert_eq!((table.rows(), table.dropped_bytes()), (1, 9));
    assert_eq!(bytes.len() as u64, good + 9);
}

/// The example of docs/formats.md.
#[test]
fn known_bytes() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("t.tele");
    let mut writer = Writer::create(&path).unwrap();
    let n = writer.column("n", "count");
    writer.row(300, &[(n, -1)]).unwrap();
    writer.row(301, &[(n, -2)]).unwrap();
    writer.finish().unwrap();
    let hex: String = fs::read(&path)
        .unwrap()
        .iter()
        .flat_map(|b| [b >> 4, b & 15])
        .map(digit)
        .collect();
    let documented = include_str!("../../../../docs/formats.md")
        .lines()
        .skip_while(|line| !line.starts_with("66 73 6c"))
        .take_while(|line| !line.starts_with("```"));
    let words = documented.flat_map(|line| {
        line.split_whitespace()
            .take_while(|w| w.len() == 2 && u8::from_str_radix(w, 16).is_ok())
    });
    assert_eq!(hex, words.collect::<String>());
}

fn digit(nibble: u8) -> char {
    char::from_digit(u32::from(nibble), 16).unwrap()
}

#[test]
fn the_checksum_is_fnv1a() {
    // Test vectors of the FNV authors.
    assert_eq!(checksum(b""), 0x811c_9dc5);
    assert_eq!(checksum(b"a"), 0xe40c_292c);
    assert_eq!(checksum(b"foobar"), 0xbf9c_f968);
}

#[test]
fn columns_may_come_late_and_keep_their_number() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("t.tele");
    let mut writer = Writer::create(&path).unwrap();
    let early = writer.column("early", "kB");
    writer.row(10, &[(early, 5)]).unwrap();
    let late = writer.column("late", "ms");
    assert_eq!(writer.column("early", "kB"), early);
    writer.row(20, &[(late, 0)]).unwrap();
    let message = writer.row(30, &[(9, 0)]).unwrap_err().to_string();
    assert!(message.contains("column 9 of 2"), "{message}");
    assert_eq!(writer.rows(), 2);
    writer.finish().unwrap();
    let table = Reader::read(&path).unwrap();
    assert_eq!(table.series(early), (vec![10, 20], vec![5, 5]));
    assert_eq!(table.series(late), (vec![20], vec![0]));
    assert_eq!(table.column("late"), Some(late));
    assert_eq!(
        table.columns[1],
        Column {
            name: "late".into(),
            unit: "ms".into()
        }
    );
    assert_eq!(table.changes(1), [(late, 0)]);
}

#[test]
fn rows_reach_the_file_once_a_second_and_on_drop() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("t.tele");
    let mut writer = Writer::create(&path).unwrap();
    let column = writer.column("n", "count");
    let mut seen = Vec::new();
    for n in 0..25_u32 {
        writer
            .row(u64::from(n) * 100_000_000, &[(column, i64::from(n))])
            .unwrap();
        seen.push(Reader::read(&path).unwrap().rows());
    }
    assert_eq!(seen[9..12], [0, 11, 11]);
    assert_eq!(seen[24], 22);
    drop(writer);
    let table = Reader::read(&path).unwrap();
    assert_eq!(table.rows(), 25);
    assert!(
        !table.is_complete(),
        "a writer that was dropped did not finish"
    );
}

#[test]
fn other_files_are_refused_in_words() {
    let mut newer = MAGIC.to_vec();
    newer.extend(2_u32.to_le_bytes());
    for (bytes, expected) in [
        (&b""[..], "torn off in its first bytes"),
        (b"PK\x03\x04 and so on, long enough", "not a telemetry file"),
        (&newer, "version 2 is not the one"),
    ] {
        let message = Reader::decode(bytes).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
    let message = Reader::read(std::path::Path::new("/nowhere.tele"))
        .unwrap_err()
        .to_string();
    assert!(
        message.starts_with("cannot open /nowhere.tele: "),
        "{message}"
    );
}

/// 300 columns at 10 Hz for a minute; 10 % of the columns change each time, by amounts such as
/// disk and CPU counters change by. The figure in docs/formats.md is printed by this test.
#[test]
fn bytes_of_a_realistic_row() {
    let mut state = 1_u64;
    let mut random = move |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut counters: Vec<i64> = (0..300).map(|n| n * 1_000_003).collect();
    let mut rows: Rows = Vec::new();
    for n in 0..600_u64 {
        if n > 0 {
            for _ in 0..30 {
                let scale = [10, 300, 20_000, 1_000_000][random(4) as usize];
                counters[random(300) as usize] += random(scale) as i64;
            }
        }
        let at = 5_000_000_000_000 + n * 100_000_000 + random(200_000);
        rows.push((at, (0..).zip(counters.iter().copied()).collect()));
    }
    let per_row = write(300, &rows).len() as f64 / 600.0;
    let digits = |row: &(u64, Vec<(u32, i64)>)| {
        row.1
            .iter()
            .map(|change| 1 + change.1.to_string().len())
            .sum::<usize>()
            + 14
    };
    let as_csv = rows.iter().map(digits).sum::<usize>() as f64 / 600.0;
    println!("{per_row:.1} bytes a row; CSV: {as_csv:.1}");
    assert!(
        (60.0..130.0).contains(&per_row) && as_csv > 20.0 * per_row,
        "{per_row} bytes a row"
    );
}
