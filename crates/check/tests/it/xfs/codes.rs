//! docs/checker-codes-xfs.md lists every problem, where it is looked for and which case of forge makes it. It is made from the sources.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use check::Class;
use check::xfs::xfs_repair::problems;

const BEGIN: &str = "<!-- codes -->\n";
const END: &str = "<!-- end of codes -->\n";

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
}

/// The file that raises each constant: imports raise nothing.
fn raised(root: &Path) -> BTreeMap<String, String> {
    let folder = root.join("crates/check/src/xfs");
    let mut files = Vec::new();
    sources(&folder, &mut files);
    let mut raised = BTreeMap::new();
    for file in files {
        let relative = file.strip_prefix(&folder).unwrap().display().to_string();
        if relative.contains("problems") || relative == "xfs_repair.rs" {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let mut importing = false;
        for line in text.lines().map(str::trim) {
            importing |= line.starts_with("use ");
            if !importing && !line.starts_with("//") {
                let part = |c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
                for word in line.split(part).filter(|word| !word.is_empty()) {
                    raised
                        .entry(word.to_owned())
                        .or_insert_with(|| relative.clone());
                }
            }
            importing &= !line.ends_with(';');
        }
    }
    raised
}

fn table(root: &Path) -> String {
    let raised = raised(root);
    let mut cases: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for case in forge::damage::xfs::all() {
        cases.entry(case.code).or_default().push(case.name);
    }
    let mut table =
        "| number | code | phase | under -n | severity | looked for in | cases | meaning |\n\
                     |---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for problem in problems::all() {
        let constant = problem.name.trim_start_matches("XFS-").replace('-', "_");
        let class = match problem.class {
            _ if problem.code >= 0x800 => "not looked for",
            Class::Error => "1",
            Class::Stop => "1, ends",
            _ => "0",
        };
        let place = raised.get(&constant).map_or("-", String::as_str);
        let cases = cases.get(problem.name).map(|names| {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            names.join(" ")
        });
        let _ = writeln!(
            table,
            "| {:#06x} | {} | {} | {class} | {} | `{place}` | {} | {} |",
            problem.code,
            problem.name,
            problem.pass.name,
            format!("{:?}", problem.severity).to_lowercase(),
            cases.unwrap_or_default(),
            problem.meaning
        );
    }
    table
}

#[test]
fn the_document_lists_every_problem() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    let file = root.join("docs/checker-codes-xfs.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (stored, after) = rest.split_once(END).unwrap();
    let table = table(root);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(file, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
        return;
    }
    assert!(
        stored == table,
        "docs/checker-codes-xfs.md is out of date: run this test with UPDATE_DOCS=1"
    );
}
