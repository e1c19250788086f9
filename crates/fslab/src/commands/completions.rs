//! `fslab completions`.

use clap::CommandFactory as _;
use clap_complete::{Shell as Syntax, generate};

use crate::cli::{Cli, CompletionsArgs, Shell};
use crate::{exit, out};

pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<u8> {
    let syntax = match args.shell {
        Shell::Bash => Syntax::Bash,
        Shell::Zsh => Syntax::Zsh,
        Shell::Fish => Syntax::Fish,
    };
    let mut script = Vec::new();
    generate(syntax, &mut Cli::command(), "fslab", &mut script);
    out::print(&String::from_utf8(script)?)?;
    Ok(exit::OK)
}
