//! Both databases give the same answers about the same runs.

#![cfg(feature = "postgres")]

use super::runs::{self, Like};
use super::{Place, dump, rows};
use crate::error::Error;
use crate::export::Format;
use crate::select::Selector;
use crate::store::Store;

const RUNS: u64 = 200;

fn like(number: u64) -> Like {
    let kernels = ["6.1.140", "6.12.48", "6.12.49-cloud", "6.18-rc3"];
    Like {
        kernel: kernels[number as usize % 4],
        tags: match number % 3 {
            0 => vec![("branch", "main"), ("machine", "rack-7")],
            1 => vec![("branch", "next, maybe \"quoted\"")],
            _ => Vec::new(),
        },
        tool: [
            "fslab 0.1.0 (0123456789ab)",
            "fslab 0.1.0 (fedcba987654-dirty)",
            "fslab 0.1.0",
        ][number as usize % 3],
        ..Like::number(number)
    }
}

#[test]
fn both_stores_answer_alike_about_200_runs() {
    let Some(server) = Place::server() else {
        return;
    };
    let file = Place::file();
    let (mut one, mut other) = (file.open(), server.open());
    let temp = tempfile::tempdir().unwrap();
    for number in 0..RUNS {
        let dir = temp.path().join(number.to_string());
        let mut lines = runs::lines(&runs::entries(&like(number)));
        // Some were stopped in the middle.
        lines.truncate(if number % 10 == 9 { 60 } else { lines.len() });
        runs::put(&dir, &lines.concat());
        assert_eq!(one.import(&dir).unwrap(), other.import(&dir).unwrap());
    }
    assert_eq!(
        rows(&mut one, "select count(*) from run"),
        [RUNS.to_string()]
    );
    same(&mut one, &mut other);
}

fn same(one: &mut Store, other: &mut Store) {
    assert_eq!(dump(one), dump(other));
    for sql in [
        "select v.run_id, v.cell, m.phase {bytes}, m.metric, m.clock, m.unit, v.n, v.median, v.holds from run_median v
         join metric m on m.metric_id = v.metric_id order by 1, 2, m.phase {bytes}, m.metric {bytes}, m.clock {bytes}, m.unit {bytes}",
        "select v.kernel, v.machine, k.cell_sha, m.phase, m.metric, m.clock, m.unit, v.runs, v.median from kernel_median v
         join metric m on m.metric_id = v.metric_id join cell_kind k on k.cell_id = v.cell_id
         order by v.kernel {bytes}, v.machine {bytes}, k.cell_sha, m.phase {bytes}, m.metric {bytes}, m.clock {bytes}, m.unit {bytes}",
    ] {
        let found = rows(one, sql);
        assert!(found.len() > 100, "{}", found.len());
        assert_eq!(found, rows(other, sql));
    }
    for text in [
        "kernel=6.1",
        "kernel=6.12",
        "commit=0123",
        "machine=rack-7",
        "machine=Example CPU",
        "tag.branch=main,kernel=6.18",
        "tag.branch=next, maybe \"quoted\"",
        "id=0",
        "study=journal,run=journal-7",
        "study=none",
    ] {
        let selector: Selector = text.parse().unwrap();
        let (mut found, mut there) = (
            one.select(&selector).unwrap(),
            other.select(&selector).unwrap(),
        );
        // Numbers of series are of each store.
        for cell in found
            .iter_mut()
            .chain(&mut there)
            .flat_map(|run| &mut run.cells)
        {
            cell.series = 0;
        }
        assert_eq!(found.is_empty(), text == "study=none", "{text}");
        assert!(found == there, "{text}");
        assert!(
            one.runs(&selector).unwrap() == other.runs(&selector).unwrap(),
            "{text}"
        );
        let format = if text.starts_with("tag") {
            Format::Jsonl
        } else {
            Format::Csv
        };
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let exported = one.export(&selector, format, &mut left);
        let also = other.export(&selector, format, &mut right);
        if found.is_empty() {
            for answer in [exported, also] {
                let refused = matches!(answer, Err(Error::NothingSelected { .. }));
                assert!(refused, "{text}: {answer:?}");
            }
        } else {
            assert_eq!(exported.unwrap(), also.unwrap());
        }
        assert!(left == right, "{text} {format:?}");
    }
}
