//! Writes a forged trace: `forge FOLDER BASE SEED REQUESTS [hostile]`.

use std::path::Path;
use std::process::ExitCode;

use fixtures::block_trace::Forge;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, base, seed, requests, rest @ ..] = &arguments[..] else {
        eprintln!("usage: forge FOLDER BASE SEED REQUESTS [hostile]");
        return ExitCode::FAILURE;
    };
    let (Ok(seed), Ok(requests)) = (seed.parse(), requests.parse()) else {
        eprintln!("forge: SEED and REQUESTS are numbers");
        return ExitCode::FAILURE;
    };
    let forge = if rest.first().is_some_and(|word| word == "hostile") {
        Forge::hostile(seed, requests)
    } else {
        Forge::plain(seed, requests)
    };
    match forge.write(Path::new(folder), base) {
        Ok(events) => {
            println!("{events} events");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("forge: {folder}: {error}");
            ExitCode::FAILURE
        }
    }
}
