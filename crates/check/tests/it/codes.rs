//! docs/checker-codes.md says of each code whether it is looked for, and what tests that. It is made from the sources, and
//! this test fails when it no longer agrees with them; `UPDATE_DOCS=1` writes it anew.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use check::{Class, Problem, Severity};

/// All Rust files below a folder.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
}

/// The problems whose constants a text names: `P1_ZERO_DTIME`.
fn named(text: &str) -> BTreeSet<u32> {
    let constant = |word: &str| {
        let name = word.strip_prefix('P')?;
        let problem = check::ext4::e2fsck::problems::ALL
            .iter()
            .find(|problem| problem.name == name);
        problem.map(|problem| problem.code)
    };
    let part = |c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    text.split(part).filter_map(constant).collect()
}

/// The problems whose names a text quotes: `"1_ZERO_DTIME"`.
fn quoted(text: &str) -> BTreeSet<u32> {
    let name = |word: &str| {
        let problem = check::ext4::e2fsck::problems::ALL
            .iter()
            .find(|p| p.name == word);
        problem.map(|problem| problem.code)
    };
    text.split('"').filter_map(name).collect()
}

/// The file of each code in product code, and its tests.
#[derive(Default)]
struct Found {
    product: BTreeMap<u32, String>,
    tests: BTreeMap<u32, BTreeSet<String>>,
}

impl Found {
    fn scan(root: &Path) -> Found {
        let mut found = Found::default();
        for case in forge::damage::all() {
            let tests = found.tests.entry(case.code).or_default();
            tests.insert(format!("`{}`", case.name));
        }
        for part in ["crates/check/src/ext4", "crates/check/tests"] {
            let mut files = Vec::new();
            sources(&root.join(part), &mut files);
            // The table defines every code, the verdict and the stops weigh some; none of them looks for one.
            let weigh = ["problems.rs", "stops.rs", "verdict.rs"];
            let looks = |file: &&PathBuf| {
                let folder = Path::new("e2fsck");
                !weigh.iter().any(|name| file.ends_with(folder.join(name)))
            };
            for file in files.iter().filter(looks) {
                found.file(part, &root.join(part), file);
            }
        }
        found
    }

    fn file(&mut self, part: &str, folder: &Path, file: &Path) {
        let text = std::fs::read_to_string(file).unwrap();
        let relative = file.strip_prefix(folder).unwrap().display().to_string();
        let is_test = part.ends_with("tests") || relative.contains("tests");
        let product = text.split("#[cfg(test)]\nmod").next().unwrap();
        let (product, test) = if is_test {
            ("", text.as_str())
        } else {
            (product, &text[product.len()..])
        };
        for code in named(&without_imports(product)) {
            self.product.entry(code).or_insert_with(|| relative.clone());
        }
        for code in named(test).into_iter().chain(quoted(test)) {
            self.tests.entry(code).or_default().insert("unit".into());
        }
    }
}

/// Imports raise nothing, nor do comments.
fn without_imports(text: &str) -> String {
    let (mut out, mut importing) = (String::new(), false);
    for line in text.lines().map(str::trim) {
        importing |= line.starts_with("use ") || line.starts_with("pub(crate) use ");
        if !importing && !line.starts_with("//") {
            out.push_str(line);
            out.push('\n');
        }
        importing &= !line.ends_with(';');
    }
    out
}

fn class(problem: &Problem) -> &'static str {
    match problem.class {
        Class::Error => "error",
        Class::Uncounted => "uncounted",
        Class::Stop => "stop",
        Class::Optional => "optional",
        Class::Notice => "notice",
        Class::Repair => "repair",
        Class::Dead => "dead",
    }
}

fn severity(problem: &Problem) -> &'static str {
    if !problem.is_fault() {
        return "";
    }
    match problem.severity {
        Severity::Data => "data",
        Severity::Metadata => "metadata",
        Severity::Accounting => "accounting",
        Severity::Cosmetic => "cosmetic",
    }
}

/// Why no image raises it, where that is so, and why e2fsck does not raise it where one is made for it.
fn unreachable(problem: &Problem) -> Option<&'static str> {
    let known = forge::damage::UNREACHABLE.iter();
    let mut why = known.filter(|(code, _)| *code == problem.code);
    let silent = |case: &forge::damage::Case| match case.reference {
        forge::damage::Reference::Silent(why) if case.code == problem.code => Some(why),
        _ => None,
    };
    why.next().map_or_else(
        || forge::damage::all().find_map(silent),
        |(_, why)| Some(why.split_once(": ").map_or(*why, |(_, why)| why)),
    )
}

/// The file that looks for it, or why none does; why there is no case for it.
fn looked_for(found: &Found, problem: &Problem) -> String {
    let cased = forge::damage::all().any(|case| case.code == problem.code);
    match (found.product.get(&problem.code), unreachable(problem)) {
        (Some(file), Some(why)) if !cased => format!("{file} (no case: {why})"),
        (Some(file), _) => file.clone(),
        (None, Some(why)) => format!("(never: {why})"),
        (None, None) => String::new(),
    }
}

const HEAD: &str = "\
# The problem codes of `fslab check`

Codes, names and classes are those of e2fsprogs 1.47.4. What a class means: `error` counts (exit code 4); `uncounted` is found before pass 1
and leaves e2fsck's exit code 0, but not the strict one's; `stop` ends `e2fsck -fn`; `optional`, `notice`: no fault. Codes that only a repair
raises, and those that e2fsck no longer uses, are left out.

`looked for in` names the file below `crates/check/src/ext4`; codes without one are not raised: failures inside e2fsck itself (memory, its
own writes), questions that stand for another code here, banners, and what no image can raise (`never`). `tested by`: the named cases of
`fslab forge damage` that are made for the code, each held against e2fsck; `unit`: a test of this crate names it. Made from the sources by
`crates/check/tests/codes.rs`.

";

fn document(found: &Found) -> String {
    let mut out = HEAD.to_owned();
    let shown = || {
        let left_out = |problem: &Problem| matches!(problem.class, Class::Repair | Class::Dead);
        check::ext4::e2fsck::problems::ALL
            .iter()
            .filter(move |problem| !left_out(problem))
    };
    out.push_str("| class | codes | looked for | tested |\n|---|---|---|---|\n");
    for of in [
        Class::Error,
        Class::Uncounted,
        Class::Stop,
        Class::Optional,
        Class::Notice,
    ] {
        let all: Vec<_> = shown().filter(|problem| problem.class == of).collect();
        let count = |map: &dyn Fn(u32) -> bool| all.iter().filter(|p| map(p.code)).count();
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            class(all[0]),
            all.len(),
            count(&|code| found.product.contains_key(&code)),
            count(&|code| found.tests.contains_key(&code)),
        );
    }
    out.push_str("\n| code | name | class | severity | meaning | looked for in | tested by |\n");
    out.push_str("|---|---|---|---|---|---|---|\n");
    for problem in shown() {
        let tests = found.tests.get(&problem.code);
        let tests = tests.into_iter().flatten().cloned().collect::<Vec<_>>();
        let _ = writeln!(
            out,
            "| 0x{:06x} | {} | {} | {} | {} | {} | {} |",
            problem.code,
            problem.name,
            class(problem),
            severity(problem),
            problem.meaning,
            looked_for(found, problem),
            tests.join(", ")
        );
    }
    out
}

#[test]
fn the_table_of_codes_agrees_with_the_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = document(&Found::scan(&root));
    let file = root.join("docs/checker-codes.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &text).unwrap();
        return;
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == text,
        "docs/checker-codes.md is out of date: run this test with UPDATE_DOCS=1"
    );
}

#[test]
fn every_meaning_is_a_sentence() {
    let all = check::ext4::e2fsck::problems::ALL.iter().copied();
    let all = all
        .chain(check::xfs::xfs_repair::problems::all())
        .chain(check::ocfs2::fsck_ocfs2::problems::all());
    for problem in all {
        let meaning = problem.meaning;
        // What stands before a colon is where it is.
        let said = meaning.split_once(": ").map_or(meaning, |(_, said)| said);
        let words = said.split_whitespace().count();
        let cut = meaning.trim_end() != meaning
            || [":", ",", "although", "of", "the", "a"]
                .iter()
                .any(|end| said.ends_with(&format!(" {end}")) || meaning.ends_with(':'));
        assert!(words >= 2 && !cut, "{}: {meaning:?}", problem.name);
    }
}
