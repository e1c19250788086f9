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

/// A file of streams with this row.
fn own(row: &str) -> Result<Table, String> {
    let text = format!("# mine\n[[row]]\n{row}\n");
    table_of(ONE, &Catalogue::shipped().unwrap(), &text)
}

#[test]
fn rows_of_the_user_are_compared_without_targets() {
    let table = own(
        "name = \"a gigabyte\"\ndevice = \"cheetah-15k.5\"\nprinted = [110.0]\nunit = \"MiB/s\"\n\
         stream = { kind = \"direct\", write = false, file = \"1g\", record = \"1m\", order = \"ascending\" }",
    );
    let table = table.unwrap();
    let row = &table.rows[0];
    // What is read in order: 125 MB/s at the start.
    assert!(
        (row.modelled / (125.0 / 1.048_576) - 1.0).abs() < 0.03,
        "{row:?}"
    );
    assert!(row.error_percent() > 0.0 && row.is_near());
    assert!(table.is_met());
    let text = table.text();
    assert!(
        text.starts_with("1 of 1 predicted numbers are within 25 %, median |error|"),
        "{text}"
    );
    assert!(!text.contains("target"), "{text}");
}

#[test]
fn rows_that_cannot_be_are_refused_in_a_line() {
    let row = |numbers: &str, stream: &str| {
        let row = format!(
            "name = \"x\"\ndevice = \"7k500\"\n{numbers}\nunit = \"s\"\nstream = {{ {stream} }}"
        );
        let error = own(&row).unwrap_err();
        assert_eq!(error.lines().count(), 1, "{error}");
        error
    };
    let direct = |file: &str, record: &str, order: &str| {
        format!(
            "kind = \"direct\", write = false, file = \"{file}\", record = \"{record}\", order = \"{order}\""
        )
    };
    let good = direct("1m", "4k", "random");
    let batches = |blocks: &str, block: &str| {
        format!("kind = \"batches\", blocks = {blocks}, block = \"{block}\", batch = 1, depth = 1")
    };
    let buffered = "kind = \"buffered\", run = \"1m\", every = \"1m\", runs = 1, of = 1, start = \"0\", record = \"4k\", \
        readahead = \"128k\", plug = \"none\", stripe = \"64k\"";
    for (numbers, stream, why) in [
        ("", good.as_str(), "has no number"),
        ("printed = [0.0]", &good, "0 is not above 0"),
        ("printed = [nan]", &good, "is not above 0"),
        (
            "published = [\"none-0001\"]",
            &good,
            "has no number \"none-0001\"",
        ),
        ("printed = [1]\ncpu_s = -1", &good, "`cpu_s`: -1 is not"),
        ("printed = [1]\nspeed = 3", &good, "line 6: unknown field"),
        (
            "printed = [1]",
            &direct("1m", "0", "random"),
            "`record`: 0 is not in",
        ),
        (
            "printed = [1]",
            &direct("1m", "4k", "level"),
            "`order`: not of this kind of stream (ascending, random)",
        ),
        (
            "printed = [1]",
            &direct("1t", "1m", "random"),
            "its stream ends at 1 TiB, and the device has",
        ),
        (
            "printed = [1]",
            &direct("1t", "1", "random"),
            "more than 100000000 requests",
        ),
        (
            "printed = [1]",
            &batches("99999999", "500p"),
            "its stream ends at a place beyond 2^64",
        ),
        (
            "printed = [1]",
            &format!("{buffered}, members = 99999"),
            "`members`: more than 4096",
        ),
        (
            "printed = [1]",
            &format!("{buffered}, members = 1, copy = 0.0"),
            "`copy`: 0 is not a rate",
        ),
    ] {
        let error = row(numbers, stream);
        assert!(error.contains(why), "{error}");
    }
    assert!(own("name = 1").unwrap_err().contains("line 3: "));
    let nothing = table_of(ONE, &Catalogue::shipped().unwrap(), "").unwrap_err();
    assert_eq!(nothing, "has no [[row]] and no [[bound]]");
}
