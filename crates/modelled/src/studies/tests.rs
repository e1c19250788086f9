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
    for row in streams.row.iter().map(Spanned::get_ref) {
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
            .all(|row| names.contains(&row.get_ref().name.as_str()))
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
    table_of(ONE, &Catalogue::shipped().unwrap(), "own.toml", &text)
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
fn rows_of_the_studies_would_be_taken_from_a_user() {
    let streams: Streams = toml::from_str(STREAMS).unwrap();
    for row in &streams.row {
        assert_eq!(row.get_ref().problem(), None, "{}", row.get_ref().name);
    }
}

/// Why a row with these numbers and this stream is refused, in one line.
fn refusal(numbers: &str, stream: &str) -> String {
    let row = format!(
        "name = \"x\"\ndevice = \"7k500\"\n{numbers}\nunit = \"s\"\nstream = {{ {stream} }}"
    );
    let error = own(&row).unwrap_err();
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

const DIRECT: &str =
    "kind = \"direct\", write = false, file = \"1m\", record = \"4k\", order = \"random\"";

#[test]
fn rows_without_what_they_need_are_refused_with_their_line() {
    for (numbers, why) in [
        ("", "own.toml:2: has no number"),
        ("printed = [0.0]", "0 is not above 0"),
        ("printed = [nan]", "is not above 0"),
        (
            "published = [\"none-0001\"]",
            "own.toml:2: published/ has no number \"none-0001\"",
        ),
        ("printed = [1]\ncpu_s = -1", "`cpu_s`: -1 is not"),
        ("printed = [1]\nspeed = 3", "own.toml:6: unknown field"),
    ] {
        let error = refusal(numbers, DIRECT);
        assert!(error.contains(why), "{error}");
    }
    assert!(own("name = 1").unwrap_err().starts_with("own.toml:3: "));
    let name = "x".repeat(45);
    let long = own(&format!(
        "name = \"{name}\"\ndevice = \"7k500\"\nprinted = [1]\nunit = \"s\"\nstream = {{ {DIRECT} }}"
    ));
    let long = long.unwrap_err();
    assert!(long.contains("`name`: longer than 44 characters"), "{long}");
    let of = |text: &str| {
        let catalogue = Catalogue::shipped().unwrap();
        table_of(ONE, &catalogue, "own.toml", text).unwrap_err()
    };
    assert!(of("").contains("missing field `row`"));
    assert!(of("[[bound]]\nname = \"x\"\n").contains("unknown field `bound`"));
}

#[test]
fn streams_that_cannot_run_are_refused_in_a_line() {
    let with = |stream: &str, keys: &str| {
        let common = match stream {
            "direct" => "write = false",
            "chains" => "spacing = \"1m\", bytes = \"4k\", request = \"4k\", order = \"chain\"",
            "batches" => "batch = 1, depth = 1",
            _ => {
                "every = \"1m\", of = 1, start = \"0\", record = \"4k\", readahead = \"128k\", plug = \"none\", \
                 stripe = \"64k\""
            }
        };
        let stream = format!("kind = \"{stream}\", {common}, {keys}");
        refusal("printed = [1]", &stream)
    };
    for (stream, keys, why) in [
        (
            "direct",
            "file = \"1m\", record = \"0\", order = \"random\"",
            "`record`: 0 is not in",
        ),
        (
            "direct",
            "file = \"4k\", record = \"8k\", order = \"random\"",
            "`record`: 8,192 is not in 1..=4,096",
        ),
        (
            "direct",
            "file = \"1g\", record = \"1g\", order = \"random\"",
            "is not in 1..=67,108,864",
        ),
        (
            "direct",
            "file = \"1m\", record = \"4k\", order = \"level\"",
            "(ascending, random)",
        ),
        (
            "direct",
            "file = \"1t\", record = \"1m\", order = \"random\"",
            "ends at 1 TiB, and the device has",
        ),
        (
            "direct",
            "file = \"1t\", record = \"1\", order = \"random\"",
            "more than 20,000,000 requests",
        ),
        (
            "chains",
            "groups = 1, chains = 2, depth = 1",
            "`chains`: 2 is not in 1..=1",
        ),
        (
            "chains",
            "groups = 1, chains = 1, depth = 65537",
            "`depth`: 65,537 is not in",
        ),
        (
            "batches",
            "blocks = 19999999, block = \"64m\"",
            "moves more than 1 PiB",
        ),
        (
            "buffered",
            "run = \"2m\", runs = 1, members = 1",
            "`run`: 2,097,152 is not in 1..=1,048,576",
        ),
        (
            "buffered",
            "run = \"1m\", runs = 2, members = 1",
            "`runs`: 2 is not in 1..=1",
        ),
        (
            "buffered",
            "run = \"1m\", runs = 1, members = 99999",
            "`members`: 99,999 is not in",
        ),
        (
            "buffered",
            "run = \"1m\", runs = 1, members = 1, copy = 1e-300",
            "is not a rate of 1 MiB a second or more",
        ),
    ] {
        let error = with(stream, keys);
        assert!(error.contains(why), "{error}");
    }
}
