//! Prints btt's tables of a trace: `report BASE [json]`.

use std::path::Path;
use std::process::ExitCode;

use blktrace::{Trace, btt};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [base, rest @ ..] = &arguments[..] else {
        eprintln!("usage: report BASE [json]");
        return ExitCode::FAILURE;
    };
    let outcome = Trace::open(Path::new(base))
        .and_then(|mut trace| btt::run(&mut trace, &btt::Options::btt(), None));
    match outcome {
        Ok(outcome) if rest.first().is_some_and(|word| word == "json") => {
            match serde_json::to_string_pretty(&outcome.analysis()) {
                Ok(text) => println!("{text}"),
                Err(error) => eprintln!("report: {error}"),
            }
            ExitCode::SUCCESS
        }
        Ok(outcome) => {
            print!("{}{}", outcome.tables(true), outcome.ranges());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("report: {error}");
            ExitCode::FAILURE
        }
    }
}
