//! Prints a trace as blkparse does: `print BASE`.

use std::path::Path;
use std::process::ExitCode;

use blktrace::{Trace, text};

fn main() -> ExitCode {
    let Some(base) = std::env::args().nth(1) else {
        eprintln!("usage: print BASE");
        return ExitCode::FAILURE;
    };
    let printed = Trace::open(Path::new(&base)).and_then(|mut trace| {
        let mut out = std::io::stdout().lock();
        text::write(&mut trace, &text::Options::default(), &mut out)
    });
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("print: {error}");
            ExitCode::FAILURE
        }
    }
}
