//! `fslab history`.

use ::compare::history::{By, history, render};
use ::compare::{Error, Folder, Property, Selector, Source};

use crate::cli::{ByArg, DocumentFormat, HistoryArgs};
use crate::commands::compare::options;
use crate::{exit, out};

pub(crate) fn run(args: &HistoryArgs) -> anyhow::Result<u8> {
    let mut selectors = vec![Selector {
        property: Property::Study,
        value: args.study.clone(),
    }];
    for text in &args.selectors {
        let selector = Selector::parse(text).unwrap_or_else(|| Err(Error::Selector(text.clone())));
        selectors.push(selector?);
    }
    let source = Folder {
        dir: args.figures.runs.clone(),
    };
    let runs = source.select(&selectors)?;
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
