//! The findings as CSV: one row for each that was kept.

use words::{csv_record, printable};

use super::Report;
use crate::frame::affected::AffectedFile;
use crate::frame::finding::Finding;

const COLUMNS: [&str; 17] = [
    "code",
    "name",
    "class",
    "severity",
    "group",
    "inode",
    "directory",
    "block",
    "file_block",
    "byte",
    "entry",
    "path",
    "found",
    "expected",
    "reference_stops",
    "note",
    "meaning",
];

/// One row for each affected file, the worst first, and one for each finding, in the order of the check; a filesystem without findings is the head alone. The verdict is
/// the exit code.
pub fn csv(report: &Report) -> String {
    let files = report.affected.files.iter().map(affected);
    let rows = files.chain(report.shown().map(row));
    std::iter::once(csv_record(COLUMNS)).chain(rows).collect()
}

/// A file: `name` is `AFFECTED_FILE`, `found` is what is wrong.
fn affected(file: &AffectedFile) -> String {
    let wrong: Vec<&str> = file.wrong.iter().map(|harm| harm.word()).collect();
    let mut fields: [String; COLUMNS.len()] = Default::default();
    for (column, value) in [
        ("name", "AFFECTED_FILE".to_owned()),
        ("severity", "data".to_owned()),
        (
            "inode",
            file.inode.map_or(String::new(), |inode| inode.to_string()),
        ),
        (
            "path",
            file.path
                .as_ref()
                .map_or(String::new(), |path| printable(path).into_owned()),
        ),
        ("found", wrong.join(", ")),
        (
            "note",
            format!("{} bytes in lost or shared blocks", file.bytes),
        ),
        (
            "meaning",
            "a file of which something is wrong, the worst first".to_owned(),
        ),
    ] {
        if let Some(at) = COLUMNS.iter().position(|name| *name == column) {
            fields[at] = value;
        }
    }
    csv_record(fields)
}

fn row(finding: &Finding) -> String {
    let (problem, place) = (finding.problem, &finding.place);
    let number = |number: Option<u64>| number.map_or(String::new(), |n| n.to_string());
    // Names come from the image: none may steer a terminal.
    let foreign = |text: Option<&String>| text.map_or(String::new(), |t| printable(t).into_owned());
    let value = |value: Option<String>| foreign(value.as_ref());
    let fields: [String; COLUMNS.len()] = [
        format!("0x{:06x}", problem.code),
        problem.name.to_owned(),
        word(&problem.class),
        word(&problem.severity),
        number(place.group.map(u64::from)),
        number(place.inode),
        number(place.directory),
        number(place.block),
        number(place.logical),
        number(place.offset.map(u64::from)),
        foreign(place.name.as_ref()),
        foreign(finding.path.as_ref()),
        value(finding.found.as_ref().map(ToString::to_string)),
        value(finding.expected.as_ref().map(ToString::to_string)),
        finding.reference_stops.to_string(),
        foreign(finding.note.as_ref()),
        problem.meaning.to_owned(),
    ];
    csv_record(fields)
}

/// A word as JSON has it.
fn word(value: &impl serde::Serialize) -> String {
    let word = serde_json::to_value(value).ok();
    let word = word.as_ref().and_then(serde_json::Value::as_str);
    word.unwrap_or_default().to_owned()
}
