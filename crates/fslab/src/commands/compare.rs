//! `fslab compare`.

use std::path::Path;

use ::compare::format::{Format, render};
use ::compare::{FailOn, Folder, Outcome, Side, Source, Stored};
use store::{Location, Store};

use crate::cli::{ClockArg, CompareArgs, CompareFormat, FailOnArg, FigureArgs};
use crate::out::Output;
use crate::{exit, out};

pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<u8> {
    let options = ::compare::Options {
        fail_on: args.fail_on.map(|what| match what {
            FailOnArg::Worse => FailOn::Worse,
            FailOnArg::NotShown => FailOn::NotShown,
        }),
        margin: args.margin,
        one_run: args.one_run,
        ..options(&args.figures)?
    };
    let store: Option<Location> = match &args.figures.store {
        Some(name) => Some(name.parse().map_err(::compare::Error::from)?),
        None => None,
    };
    let inputs: Vec<&Path> = store.iter().filter_map(Location::file).collect();
    let output = Output::of(args.output.as_deref(), &inputs)?;
    let sides = sides(&args.sides, &args.figures)?;
    if args.plan {
        let planned = ::compare::plan::plan(&sides, &options)?;
        let text = match args.format {
            CompareFormat::Text => ::compare::plan::text(&planned),
            CompareFormat::Json => serde_json::to_string_pretty(&planned)?,
            _ => {
                return Err(::compare::Error::Option(
                    "--plan prints text and json; choose one of them with --format".to_owned(),
                )
                .into());
            }
        };
        output.text(&text)?;
        return Ok(exit::OK);
    }
    let compared = ::compare::compare(&sides, &options)?;
    let text = match args.format {
        CompareFormat::Text => render(&compared, Format::Text),
        CompareFormat::Json => render(&compared, Format::Json),
        CompareFormat::Md => render(&compared, Format::Md),
        CompareFormat::Junit => render(&compared, Format::Junit),
        CompareFormat::Gitlab => render(&compared, Format::Gitlab),
        CompareFormat::Github => render(&compared, Format::Github),
        CompareFormat::Html => site::comparison_page(&compared, &super::tool())?,
    };
    if compared.outcome == Outcome::Nothing && output.is_file() {
        // A file that is there is not lost to a selection that is empty.
        out::print(&text)?;
    } else {
        output.text(&text)?;
    }
    Ok(match compared.outcome {
        Outcome::Passed => exit::OK,
        Outcome::Nothing => {
            out::say(
                "fslab: nothing to compare: no figure of a cell with the same parameters on both sides; the output \
                 names what differs, and --across lets a parameter differ",
            );
            exit::USAGE
        }
        Outcome::Failed => exit::REGRESSION,
        Outcome::Invalid => exit::INVALID,
    })
}

/// What the options of the figures ask.
pub(super) fn options(args: &FigureArgs) -> anyhow::Result<::compare::Options> {
    let filters: Vec<_> = args
        .filter
        .iter()
        .map(|text| ::report::Options::parse_filter(text))
        .collect::<Result<_, _>>()
        .map_err(lab::Error::from)?;
    Ok(::compare::Options {
        metric: args.metric.clone(),
        clock: args.clock.map(clock),
        phase: args.phase.clone(),
        filter: filters.concat(),
        across: args.across.clone(),
        ..::compare::Options::default()
    })
}

const fn clock(clock: ClockArg) -> study::Clock {
    match clock {
        ClockArg::Original => study::Clock::Original,
        ClockArg::Fsync => study::Clock::Fsync,
        ClockArg::Syncfs => study::Clock::Syncfs,
    }
}

/// Where selectors look: in the store that is named, else in the folder of runs.
pub(super) fn source(args: &FigureArgs) -> Result<Box<dyn Source>, ::compare::Error> {
    Ok(match &args.store {
        Some(name) => {
            let location: Location = name.parse()?;
            Box::new(Stored::new(
                Store::existing(&location)?,
                &location.to_string(),
            ))
        }
        None => Box::new(Folder {
            dir: args.runs.clone(),
        }),
    })
}

/// Finds the runs of each side.
pub(super) fn sides(words: &[String], args: &FigureArgs) -> Result<Vec<Side>, ::compare::Error> {
    let source = source(args)?;
    let find = |word: &String| Side::find(word, &args.runs, &*source);
    words.iter().map(find).collect()
}
