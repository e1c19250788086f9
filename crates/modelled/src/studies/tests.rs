use super::*;

const ONE: Estimator = Estimator {
    runs: 1,
    seed: 1,
    whole: true,
};

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
    let table = table(ONE, &Catalogue::shipped().unwrap(), &quick).unwrap();
    insta::assert_snapshot!(table.text());
}

#[test]
fn the_table_that_reports_show_is_the_one_that_is_computed() {
    let kept = include_str!("../../data/table.json");
    let kept: serde_json::Value = serde_json::from_str(kept).unwrap();
    let streams: Streams = toml::from_str(STREAMS).unwrap();
    let rows = kept["rows"].as_array().unwrap();
    let names: Vec<&str> = rows
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert!(
        streams
            .row
            .iter()
            .all(|row| names.contains(&row.name.as_str()))
    );
    let quick = |name: &str| name.contains("0a, set 2") || name.contains("0c, all");
    let computed = table(ONE, &Catalogue::shipped().unwrap(), &quick).unwrap();
    assert_eq!(computed.rows.len(), 2);
    for row in &computed.rows {
        let kept = rows.iter().find(|kept| kept["name"] == *row.name).unwrap();
        assert_eq!(kept["document"], *row.document);
        assert_eq!(kept["cause"], *row.cause);
        let number = |key: &str| kept[key].as_f64().unwrap();
        assert!((number("published") - row.published).abs() < 1e-9, "{kept}");
        // As `fslab device check --studies --format json` prints it.
        assert!(
            (number("modelled") / row.modelled - 1.0).abs() < 1e-9,
            "{kept}"
        );
    }
}
