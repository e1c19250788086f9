//! Exports have every sample once, with its factors.

use record::Event;

use super::Place;
use super::runs::{self, Like};
use crate::export::{Exported, Format};
use crate::select::Selector;
use crate::store::Store;

/// Two runs of different factors, one of which has the name of a column.
fn store(place: &Place) -> Store {
    let temp = tempfile::tempdir().unwrap();
    let mut store = place.open();
    let mut entries = runs::entries(&Like::number(1));
    if let Event::RunStarted { plan, .. } = &mut entries[0].event {
        for cell in &mut plan.cells {
            cell.levels.insert("value".into(), "a,\"b\"".into());
        }
    }
    store
        .import(&runs::put(temp.path(), &runs::lines(&entries).concat()))
        .unwrap();
    let other = runs::run(&temp.path().join("other"), &Like::number(2));
    store.import(&other).unwrap();
    store
}

fn exported(store: &mut Store, selector: &str, format: Format) -> (Exported, Vec<u8>) {
    let selector: Selector = match selector {
        "" => Selector::default(),
        text => text.parse().unwrap(),
    };
    let mut bytes = Vec::new();
    let exported = store.export(&selector, format, &mut bytes).unwrap();
    (exported, bytes)
}

#[test]
fn csv_has_a_column_for_each_factor() {
    let place = Place::file();
    let mut store = store(&place);
    let (all, bytes) = exported(&mut store, "", Format::Csv);
    let text = String::from_utf8(bytes).unwrap();
    let lines: Vec<&str> = text.split_terminator("\r\n").collect();
    assert_eq!(lines.len() as u64, all.samples + 1);
    assert_eq!(all.runs, 2);
    assert_eq!(
        lines[0],
        "run_id,run,study,profile,tool,commit,machine,kernel,started_at,trial,block,cell,label,\
         filesystem,factor_value,workload,phase,metric,clock,value,unit,holds,timing"
    );
    assert!(lines[1].contains(",\"a,\"\"b\"\"\","), "{}", lines[1]);
    assert!(lines[1].contains("journal-1,journal,"), "{}", lines[1]);
    let (one, _) = exported(&mut store, "run=journal-2", Format::Csv);
    assert_eq!((one.runs, one.samples * 2), (1, all.samples));
    let mut untouched = Vec::new();
    let none = "run=none".parse().unwrap();
    let error = store
        .export(&none, Format::Csv, &mut untouched)
        .unwrap_err();
    assert!(
        error.is_usage() && error.to_string().contains("nothing to export"),
        "{error}"
    );
    assert!(untouched.is_empty());
}

#[test]
fn json_lines_have_the_levels_of_their_cell() {
    let place = Place::file();
    let mut store = store(&place);
    let (all, bytes) = exported(&mut store, "", Format::Jsonl);
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.lines().count() as u64, all.samples);
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(first["levels"]["value"], "a,\"b\"");
    assert_eq!(first["run"], "journal-1");
    assert!(first["value"].is_f64());
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["run"], "journal-2");
    assert!(last["levels"].get("value").is_none());
}

/// The context of a guest names its clock alone; the parameters of a cell say that its disk is a model.
#[test]
fn rows_say_whose_times_they_are() {
    let place = Place::file();
    let mut store = place.open();
    let temp = tempfile::tempdir().unwrap();
    let model = study::Stack {
        name: "model:7k500".into(),
        about: String::new(),
        layers: study::Layers::Model(study::Model {
            device: "7k500".into(),
            capacity: study::Bytes(1 << 38),
            studies: Vec::new(),
            figures: None,
        }),
    };
    for (number, said, on_model, timing) in [
        (1, "real", false, "real"),
        (2, "modelled", true, "modelled"),
        (3, "virtual", true, "modelled-virtual"),
        (4, "virtual", false, "virtual"),
    ] {
        let mut entries = runs::entries(&Like::number(number));
        for entry in &mut entries {
            match &mut entry.event {
                Event::RunStarted { plan, .. } if on_model => {
                    for cell in &mut plan.cells {
                        cell.device.stack = Some(model.clone());
                    }
                }
                Event::Context { context, .. } => {
                    context["items"]["run.timing"] =
                        serde_json::json!({"value": said, "source": "the lab"});
                }
                _ => {}
            }
        }
        let log = runs::lines(&entries).concat();
        store
            .import(&runs::put(&temp.path().join(number.to_string()), &log))
            .unwrap();
        let (all, bytes) = exported(&mut store, &format!("run=journal-{number}"), Format::Jsonl);
        assert!(all.samples > 0);
        for line in String::from_utf8(bytes).unwrap().lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(row["timing"], timing);
        }
    }
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let place = Place::file();
    let mut store = store(&place);
    for format in [Format::Csv, Format::Jsonl, Format::Parquet] {
        let error = store
            .export(&Selector::default(), format, &mut Full)
            .unwrap_err();
        assert!(matches!(error, crate::Error::Output(_)), "{error}");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_has_the_fields_of_the_csv() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    let place = Place::file();
    let mut store = store(&place);
    let (all, csv) = exported(&mut store, "", Format::Csv);
    let (same, bytes) = exported(&mut store, "", Format::Parquet);
    assert_eq!(all, same);
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let mut lines = csv.split_terminator("\r\n");
    let mut rows = 0;
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    for (row, line) in reader.get_row_iter(None).unwrap().zip(lines) {
        let fields = row
            .unwrap()
            .get_column_iter()
            .map(|(name, field)| {
                assert!(head.contains(&name.as_str()));
                match field {
                    Field::Null => String::new(),
                    Field::Str(text) => text.clone(),
                    Field::Long(number) => number.to_string(),
                    Field::Double(number) => number.to_string(),
                    Field::Bool(truth) => truth.to_string(),
                    other => panic!("{other:?}"),
                }
            })
            .collect::<Vec<_>>();
        let record = words::csv_record(fields.iter().map(String::as_str));
        assert_eq!(record.trim_end(), line);
        rows += 1;
    }
    assert_eq!(rows, all.samples);
}

/// The sums of the columns, by a reader that is not ours.
#[cfg(feature = "parquet")]
const READERS: [(&str, &[&str]); 2] = [
    (
        "python3",
        &[
            "-c",
            "import sys, pyarrow.parquet as p\n\
             t = p.read_table(sys.argv[1])\n\
             print(t.num_rows, ','.join(t.column_names), repr(sum(t['value'].to_pylist())))",
        ],
    ),
    (
        "python3",
        &[
            "-c",
            "import sys, duckdb\n\
             r = duckdb.sql('select * from read_parquet(\\'%s\\')' % sys.argv[1])\n\
             v = [row[r.columns.index('value')] for row in r.fetchall()]\n\
             print(len(v), ','.join(r.columns), repr(sum(v)))",
        ],
    ),
];

#[cfg(feature = "parquet")]
#[test]
fn another_reader_reads_the_parquet() {
    let place = Place::file();
    let mut store = store(&place);
    let (all, bytes) = exported(&mut store, "", Format::Parquet);
    let (_, csv) = exported(&mut store, "", Format::Csv);
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("all.parquet");
    std::fs::write(&path, bytes).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let mut read = 0;
    for (program, words) in READERS {
        let output = std::process::Command::new(program)
            .args(words)
            .arg(&path)
            .output();
        let Some(output) = output.ok().filter(|output| output.status.success()) else {
            continue;
        };
        read += 1;
        let text = String::from_utf8(output.stdout).unwrap();
        let fields: Vec<&str> = text.trim_end().splitn(3, ' ').collect();
        assert_eq!(fields[0], all.samples.to_string());
        assert_eq!(Some(fields[1]), csv.split("\r\n").next());
        let sum: f64 = fields[2].parse().unwrap();
        let (_, lines) = exported(&mut store, "", Format::Jsonl);
        let lines = String::from_utf8(lines).unwrap();
        let value =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["value"].as_f64();
        let ours: f64 = lines.lines().filter_map(value).sum();
        assert!((sum - ours).abs() <= 1e-9 * ours.abs(), "{sum} {ours}");
    }
    if read == 0 {
        testkit::skip!("needs pyarrow or duckdb for python3 to read Parquet");
    }
}
