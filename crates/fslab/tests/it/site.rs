//! `fslab site` from the outside. What it makes is tested in the crate `site`.

use crate::common::{Scratch, assert_code, error_line, example_run, run_in, stdout};

#[test]
fn runs_come_from_a_folder_or_from_a_store() {
    let scratch = Scratch::new();
    let run = example_run(&scratch);
    let run = run.to_str().unwrap();
    assert_code(
        &run_in(scratch.path(), &["import", run, "--store", "s.sqlite"]),
        0,
    );
    for (dir, from) in [("of-folder", "."), ("of-store", "s.sqlite")] {
        let output = run_in(scratch.path(), &["site", dir, "--from", from]);
        assert_code(&output, 0);
        assert!(
            stdout(&output).contains("1 run and 0 comparisons"),
            "{}",
            stdout(&output)
        );
        let index = std::fs::read_to_string(scratch.join(dir).join("index.html")).unwrap();
        assert!(index.contains("href=\"run/"), "{from}");
    }
    std::fs::write(scratch.join("text"), "no store").unwrap();
    let output = run_in(scratch.path(), &["site", "of-text", "--from", "text"]);
    assert_ne!(output.status.code(), Some(0));
    assert!(error_line(&output).contains("text"));
    assert!(!scratch.join("of-text").exists(), "nothing is made");
}
