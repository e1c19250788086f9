//! The command that must start fast, looked for alone.
//!
//! To clap all commands are one tree, and making it touches parts of the program that `check` does not need. So where the first word is
//! `check`, only that is parsed. What does not parse so (help, a mistake) is said by the whole, in the same words as ever.

use clap::{Parser, Subcommand};

use super::{CheckArgs, Cli, Command};

#[derive(Debug, Parser)]
#[command(name = "fslab")]
struct Alone {
    #[command(subcommand)]
    command: Only,
}

#[derive(Debug, Subcommand)]
enum Only {
    Check(CheckArgs),
}

impl Cli {
    /// The arguments of this process.
    pub(crate) fn of_process() -> Result<Cli, clap::Error> {
        let checks = std::env::args_os()
            .nth(1)
            .is_some_and(|word| word == "check");
        if checks && let Ok(alone) = Alone::try_parse() {
            let Only::Check(arguments) = alone.command;
            return Ok(Cli {
                command: Command::Check(arguments),
            });
        }
        Cli::try_parse()
    }
}
