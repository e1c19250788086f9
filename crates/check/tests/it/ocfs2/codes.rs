//! docs/check-ocfs2.md lists every problem. The list is made from the sources.

use std::fmt::Write as _;
use std::path::Path;

use check::frame::problem::Class;
use check::ocfs2::fsck_ocfs2::problems;

const BEGIN: &str = "<!-- codes -->\n";
const END: &str = "<!-- end of codes -->\n";

fn table() -> String {
    let mut table =
        "| code | name | pass | class | severity | meaning |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for problem in problems::all() {
        let class = format!("{:?}", problem.class).to_lowercase();
        let severity = match problem.class {
            Class::Notice | Class::Optional | Class::Repair => String::new(),
            _ => format!("{:?}", problem.severity).to_lowercase(),
        };
        let _ = writeln!(
            table,
            "| {:#08x} | {} | {} | {class} | {severity} | {} |",
            problem.code, problem.name, problem.pass.name, problem.meaning
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
    let file = root.join("docs/check-ocfs2.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (stored, after) = rest.split_once(END).unwrap();
    let table = table();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(file, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
        return;
    }
    assert!(
        stored == table,
        "docs/check-ocfs2.md is out of date: run this test with UPDATE_DOCS=1"
    );
}

#[test]
fn codes_are_unique_and_all_of_fsck_ocfs2_are_there() {
    let codes: Vec<u32> = problems::all().map(|problem| problem.code).collect();
    let mut unique = codes.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), codes.len());
    assert_eq!(codes.iter().filter(|&&code| code < 0x100).count(), 153);
}
