//! `fslab history`.

use ::compare::history::{By, history, render};
use ::compare::{Error, Selector};

use crate::cli::{ByArg, DocumentFormat, HistoryArgs};
use crate::commands::compare::{options, source};
use crate::{exit, out};

pub(crate) fn run(args: &HistoryArgs) -> anyhow::Result<u8> {
    let mut selector = Selector::default().of_study(&args.study);
    for text in &args.selectors {
        selector = selector.and(text.parse().map_err(Error::Store)?);
    }
    let source = source(&args.figures)?;
    let runs = source.select(&selector)?;
    if runs.is_empty() {
        return Err(Error::NoRuns {
            side: args.study.clone(),
            place: source.describe(),
        }
        .into());
    }
    let by = match args.by {
        ByArg::Date => By::Date,
        ByArg::Commit => By::Commit,
        ByArg::Kernel => By::Kernel,
    };
    let found = history(&args.study, runs, by, &options(&args.figures)?)?;
    match args.format {
        DocumentFormat::Text => out::print(&render(&found))?,
        DocumentFormat::Json => out::print(&serde_json::to_string_pretty(&found)?)?,
    }
    Ok(exit::OK)
}
