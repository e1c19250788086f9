//! The mail tables against the message they repeat.

use crate::common;

use report::{Options, Report, mail_tables};

const TSO: &str = include_str!("../data/tso-2009.txt");

fn tokens(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[test]
fn the_published_records_print_as_tso_did_token_for_token() {
    let run = common::wohlgemuth();
    let options = Options {
        width: 0,
        ..Options::default()
    };
    let report = Report::new(&run, None, &options).unwrap();
    assert_eq!(report.tables.len(), 3);
    let ours = mail_tables(&report);
    assert_eq!(tokens(&ours), tokens(TSO));
}

#[test]
fn columns_stand_where_the_message_has_them() {
    let run = common::wohlgemuth();
    let options = Options {
        width: 0,
        ..Options::default()
    };
    let report = Report::new(&run, None, &options).unwrap();
    let lines = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|l| !l.trim().is_empty())
            .map(|l| l.trim_end().to_owned())
            .collect()
    };
    assert_eq!(lines(&mail_tables(&report)), lines(TSO));
}

#[test]
fn panels_keep_every_token_and_fit_the_width() {
    let run = common::wohlgemuth();
    let options = Options::default();
    let report = Report::new(&run, None, &options).unwrap();
    let ours = mail_tables(&report);
    assert!(ours.lines().all(|l| l.chars().count() <= 78), "{ours}");
    // The fourth group stands in a second panel of each table, with the labels repeated.
    assert_eq!(ours.matches("initl_writers:").count(), 4);
    let count = |text: &str, token: &str| tokens(text).iter().filter(|t| **t == token).count();
    for value in ["56.6", "592.4", "39.4)", "(0.2)"] {
        assert_eq!(count(&ours, value), count(TSO, value), "{value}");
    }
    insta::assert_snapshot!(ours);
}
