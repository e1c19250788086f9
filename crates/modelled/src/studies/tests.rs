use super::*;

const ONE: Estimator = Estimator { runs: 1, seed: 1 };

#[test]
fn the_data_are_valid_and_name_twenty_predicted_numbers() {
    let streams: Streams = toml::from_str(STREAMS).unwrap();
    let published = Published::load().unwrap();
    let catalogue = Catalogue::shipped().unwrap();
    let mut predicted = 0;
    for row in &streams.row {
        assert!(catalogue.device(&row.device).is_ok(), "{}", row.name);
        for id in row.published.iter().chain(&row.cpu) {
            assert!(published.value(id).unwrap() > 0.0, "{}: {id}", row.name);
        }
        if !row.fitted {
            predicted += row.published.len() + row.printed.len();
        }
    }
    assert_eq!(predicted, 20);
    for bound in &streams.bound {
        assert!(catalogue.device(&bound.device).is_ok(), "{}", bound.name);
        assert!(bound.published.iter().all(|id| published.value(id).is_ok()));
    }
    assert!(published.value("mushran2011-9999").is_err());
}

/// The rows that take little time; `fslab device check --studies` has all.
#[test]
fn quick_rows_are_where_they_were_when_the_files_were_frozen() {
    let quick = |name: &str| {
        ["0a, set 2", "0b, set 2", "0c, all", "readahead 128 KiB"]
            .iter()
            .any(|part| name.contains(part))
    };
    let table = table(ONE, &quick).unwrap();
    insta::assert_snapshot!(table.text());
}
