//! A fast path for `fslab check`.
//!
//! clap builds one tree of all commands, which reads parts of the program that `check` does not need. So
//! when the first argument is `check`, only that command is parsed. Anything else, including
//! help and wrong arguments, goes to the full parser, so that its messages are the same.

use clap::{Parser, Subcommand};

use super::{CheckArgs, Cli, Command};

#[derive(Debug, Parser)]
#[command(name = "fslab")]
struct CheckOnly {
    #[command(subcommand)]
    command: OnlyCommand,
}

#[derive(Debug, Subcommand)]
enum OnlyCommand {
    Check(CheckArgs),
}

impl Cli {
    /// The arguments of this process.
    pub(crate) fn of_process() -> Result<Cli, clap::Error> {
        let checks = std::env::args_os()
            .nth(1)
            .is_some_and(|word| word == "check");
        if checks && let Ok(parsed) = CheckOnly::try_parse() {
            let OnlyCommand::Check(arguments) = parsed.command;
            return Ok(Cli {
                command: Command::Check(arguments),
            });
        }
        Cli::try_parse()
    }
}
