//! `cargo run --release -p benches -- NAME`: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    benches::main()
}
