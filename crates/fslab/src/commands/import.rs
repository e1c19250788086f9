//! `fslab import`.

use std::path::Path;

use store::foreign::{self, ForeignRun, Program};
use store::{Imported, Store};

use super::{store_location, tool};
use crate::cli::{ImportArgs, ProgramArg};
use crate::{exit, out};

/// Imports each run. One that cannot be imported does not keep the others out; the code is that of the first failure.
pub(crate) fn run(args: &ImportArgs) -> anyhow::Result<u8> {
    if let (Some(program), Some(out)) = (args.from, &args.out) {
        return of_another_program(args, program, out);
    }
    let location = store_location(&args.store)?;
    // Opened with the first run: a name that is wrong makes no store.
    let mut store: Option<Store> = None;
    let mut code = exit::OK;
    for dir in &args.runs {
        let imported = record::RunFolder::open(dir)
            .map_err(lab::Error::from)
            .and_then(|_| {
                let store = match &mut store {
                    Some(store) => store,
                    closed => closed.insert(Store::open(&location)?),
                };
                Ok(store.import(dir)?)
            });
        match imported {
            Ok(imported) => out::print(&line(dir, imported))?,
            Err(error) if args.runs.len() == 1 => return Err(error.into()),
            Err(error) => {
                let error = anyhow::Error::from(error);
                out::say(&format!("fslab: {}", out::error_line(&error.to_string())));
                if code == exit::OK {
                    code = super::exit_code(&error);
                }
            }
        }
    }
    Ok(code)
}

/// Makes a run of results, and imports it where a store is named.
fn of_another_program(args: &ImportArgs, program: ProgramArg, out: &Path) -> anyhow::Result<u8> {
    let program = match program {
        ProgramArg::Fio => Program::Fio,
        ProgramArg::Ior => Program::Ior,
        ProgramArg::Mdtest => Program::Mdtest,
    };
    // A store that cannot be opened is found before the run is made.
    let store = match args.store.store {
        Some(_) => Some(Store::open(&store_location(&args.store)?).map_err(lab::Error::from)?),
        None => None,
    };
    let trials = foreign::write(&ForeignRun {
        program,
        files: &args.runs,
        out,
        tool: tool(),
        command: std::env::args_os()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        tags: record::tags::collect(&args.tag).map_err(lab::Error::Preflight)?,
    })
    .map_err(lab::Error::from)?;
    let dir = out::path(out);
    out::print(&format!(
        "{dir}: {trials} trials of {}; `fslab report {dir}` prints them",
        program.name()
    ))?;
    if let Some(mut store) = store {
        let imported = store.import(out).map_err(lab::Error::from)?;
        out::print(&line(out, imported))?;
    }
    Ok(exit::OK)
}

fn line(dir: &Path, imported: Imported) -> String {
    let dir = out::path(dir);
    match imported {
        Imported::New { samples } => format!("{dir}: imported, {samples} samples"),
        Imported::Grown { lines, samples } => {
            format!(
                "{dir}: {lines} new lines imported, {samples} samples of the trials that they change"
            )
        }
        Imported::Completed { samples } => {
            format!("{dir}: imported again with its plan, {samples} samples")
        }
        Imported::Unchanged => format!("{dir}: nothing new"),
    }
}
