//! Every format, of one comparison with every verdict and mark.

use compare::format::{Format, render};
use compare::{Compared, FailOn, Options, compare};

use crate::common::{of_cells, side};

/// Worse, better, equal and unclear; evidence that fails; a changed kernel; hostile names.
fn example(fail_on: Option<FailOn>) -> Compared {
    let base = of_cells(0, 5, &[1000.0; 5], 1);
    let mut other = of_cells(10, 5, &[900.0, 1100.0, 1000.0, 1000.0, 1000.0], 2);
    for (run, factor) in other.iter_mut().zip([0.9, 1.1, 0.95, 1.08, 1.0]) {
        run.kernel = "6.1.90".into();
        for rate in &mut run.rates[3] {
            *rate *= factor;
        }
    }
    for run in &mut other {
        run.rates[4] = vec![0.0; 3];
    }
    let hostile = "b</testsuite><script>alert('x')</script> | `x` \u{1b}[2J";
    let sides = [side("main", &base), side(hostile, &other)];
    let options = Options {
        fail_on,
        ..Options::default()
    };
    compare(&sides, &options).expect("two sides")
}

#[test]
fn text() {
    let text = render(&example(None), Format::Text);
    let long: Vec<&str> = text
        .lines()
        .filter(|line| line.chars().count() > 78)
        .collect();
    assert!(long.is_empty(), "{long:#?}");
    insta::assert_snapshot!(text);
}

#[test]
fn text_of_a_gate() {
    insta::assert_snapshot!(render(&example(Some(FailOn::Worse)), Format::Text));
}

#[test]
fn text_of_a_gate_that_demands_evidence() {
    insta::assert_snapshot!(render(&example(Some(FailOn::NotShown)), Format::Text));
}

#[test]
fn markdown() {
    let text = render(&example(None), Format::Md);
    assert!(!text.contains("<script"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn github() {
    let text = render(&example(Some(FailOn::Worse)), Format::Github);
    assert!(
        text.starts_with("> [!CAUTION]") && !text.contains("<script"),
        "{text}"
    );
    insta::assert_snapshot!(text);
}

#[test]
fn a_summary_for_github_has_less_than_a_mebibyte() {
    let mut compared = example(None);
    let row = compared.rows[0].clone();
    compared.rows.extend(std::iter::repeat_n(row, 20_000));
    let text = render(&compared, Format::Github);
    assert!(text.len() < 1 << 20, "{}", text.len());
    assert!(text.contains("The rest is left out") && text.ends_with("</details>\n"));
}

#[test]
fn gitlab() {
    let text = render(&example(Some(FailOn::Worse)), Format::Gitlab);
    let entries: serde_json::Value = serde_json::from_str(&text).unwrap();
    for entry in entries.as_array().unwrap() {
        for key in ["description", "check_name", "fingerprint", "severity"] {
            assert!(entry[key].is_string(), "{key}: {entry}");
        }
        assert!(
            entry["location"]["path"].is_string() && entry["location"]["lines"]["begin"].is_u64()
        );
    }
    insta::assert_snapshot!(text);
}

#[test]
fn json() {
    let text = render(&example(Some(FailOn::Worse)), Format::Json);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&document["format"], &document["outcome"]),
        (&1.into(), &"failed".into())
    );
    assert_eq!(document["rows"].as_array().unwrap().len(), 5);
    // The whole document is long; a row and the answer show its shape.
    insta::assert_snapshot!(format!(
        "{:#}\n{:#}",
        document["answer"], document["rows"][0]
    ));
}

#[test]
fn junit() {
    let text = render(&example(Some(FailOn::Worse)), Format::Junit);
    insta::assert_snapshot!(text);
}

/// Python's parser reads it, and counts what the attributes say.
#[test]
fn junit_is_xml_with_true_counts() {
    const SCRIPT: &str = "
import sys, xml.etree.ElementTree as tree
root = tree.fromstring(sys.stdin.buffer.read())
assert root.tag == 'testsuites', root.tag
suites = list(root)
cases = [case for suite in suites for case in suite.findall('testcase')]
assert all(case.get('name') and case.get('classname') for case in cases)
for name, count in [('tests', len(cases)), ('failures', len(root.findall('.//failure'))),
        ('errors', len(root.findall('.//error'))), ('skipped', len(root.findall('.//skipped')))]:
    assert int(root.get(name)) == count, (name, root.get(name), count)
    assert sum(int(suite.get(name)) for suite in suites) == count, name
print(len(cases), len(root.findall('.//failure')), len(root.findall('.//error')), len(root.findall('.//skipped')))
";
    use std::io::Write;
    use std::process::{Command, Stdio};
    let text = render(&example(Some(FailOn::Worse)), Format::Junit);
    let child = Command::new("python3")
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        testkit::skip!("python3 is missing");
        return;
    };
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{text}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "5 1 1 1");
}
