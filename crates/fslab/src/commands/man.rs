//! `fslab man`: manual pages, made of the command line as clap knows it, so that they are never older than the program.
//!
//! clap says nothing about exit codes, files and the environment; those sections are added here.

use std::convert::identity;
use std::io;
use std::path::Path;

use anyhow::Context as _;
use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::{Cli, ManArgs};
use crate::output_file::OutputFile;
use crate::{exit, out};

pub(crate) fn run(args: &ManArgs) -> anyhow::Result<u8> {
    let mut whole = Cli::command().disable_help_subcommand(true);
    whole.build();
    let Some(dir) = &args.dir else {
        let command = find(&whole, &args.command)?;
        out::print(&page(command)?)?;
        return Ok(exit::OK);
    };
    let name = out::path(dir);
    std::fs::create_dir_all(dir)
        .with_context(|| format!("{name}: cannot be made; choose another folder"))?;
    write(&whole, dir)?;
    Ok(exit::OK)
}

/// The command that these words name.
fn find<'c>(whole: &'c Command, words: &[String]) -> anyhow::Result<&'c Command> {
    words.iter().try_fold(whole, |command, word| {
        command.find_subcommand(word).ok_or_else(|| {
            let names = command.get_subcommands().map(Command::get_name);
            let message = format!(
                "man: {} is no command of {} ({}`fslab --help` lists them)",
                words::quoted(word),
                command.get_bin_name().unwrap_or("fslab"),
                words::hint(word, names)
            );
            lab::Error::Preflight(message).into()
        })
    })
}

/// Writes the page of a command and those of its subcommands, and prints their names.
fn write(command: &Command, dir: &Path) -> anyhow::Result<()> {
    let path = dir.join(Man::new(command.clone()).get_filename());
    let name = out::path(&path);
    let text = page(command)?;
    OutputFile::at(&path, &[])
        .and_then(|file| file.write(|out| out.write_all(text.as_bytes()), identity))
        .with_context(|| format!("{name}: cannot be written; choose another folder"))?;
    out::print(&format!("{name}\n"))?;
    command
        .get_subcommands()
        .try_for_each(|command| write(command, dir))
}

/// A page in roff.
fn page(command: &Command) -> anyhow::Result<String> {
    let mut text = Vec::new();
    // Without a date: the same program always writes the same page.
    let man = Man::new(command.clone())
        .manual("fslab")
        .source(concat!("fslab ", env!("CARGO_PKG_VERSION")))
        .date("");
    man.render(&mut text)?;
    ends(command, &mut text)?;
    Ok(String::from_utf8(text)?)
}

/// What every page ends with.
fn ends(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let name = command.get_bin_name().unwrap_or("fslab");
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in exit::meanings(name) {
        roff.control("TP", []);
        roff.text([bold(code.to_string())]);
        roff.text([roman(*meaning)]);
    }
    roff.control("SH", ["SEE ALSO"]);
    if name == "fslab" {
        roff.text([roman(
            "mke2fs(8), e2fsck(8), mkfs.xfs(8), xfs_repair(8), fio(1), blktrace(8)",
        )]);
    } else {
        roff.text([bold("fslab"), roman("(1)")]);
    }
    roff.to_writer(page)
}
