//! Forged traces as inputs for the fuzz target: `corpus FOLDER`. See fuzz/fuzz_targets/files.rs.

use std::path::Path;
use std::process::ExitCode;

use fixtures::block_trace::Forge;

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: corpus FOLDER");
        return ExitCode::FAILURE;
    };
    match write(Path::new(&folder)) {
        Ok(count) => {
            println!("{count} inputs");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("corpus: {folder}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(folder: &Path) -> std::io::Result<usize> {
    std::fs::create_dir_all(folder)?;
    let mut count = 0;
    for seed in 0..64 {
        for requests in [2, 8, 30] {
            let forge = Forge {
                cpus: 2,
                ..Forge::hostile(seed, requests)
            };
            let files = forge.bytes()?;
            let first = u16::try_from(files[0].len()).unwrap_or(u16::MAX);
            let input = [&first.to_le_bytes()[..], &files.concat()].concat();
            std::fs::write(folder.join(format!("{seed}-{requests}")), input)?;
            count += 1;
        }
    }
    Ok(count)
}
