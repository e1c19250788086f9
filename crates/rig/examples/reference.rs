//! Measures what a disk can do by itself, reading only: the shortest use of [`rig::reference`], and
//! what is held against `hdparm -t` by hand.
//!
//! `reference /dev/NODE [PASSES]`

use std::path::PathBuf;
use std::process::ExitCode;

use progress::Silent;
use rig::reference::{Options, measure};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(node) = arguments.next().map(PathBuf::from) else {
        eprintln!("usage: reference /dev/NODE [PASSES]");
        return ExitCode::from(2);
    };
    let passes = arguments
        .next()
        .and_then(|word| word.to_str()?.parse().ok());
    let options = Options {
        passes: passes.unwrap_or(Options::default().passes),
        ..Options::default()
    };
    match measure(&node, &options, &Silent) {
        Ok(measured) => {
            println!("{}", measured.line);
            println!("{measured:#?}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
