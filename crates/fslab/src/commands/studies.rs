//! `fslab studies`.

use study::Study;
use study::listing::{Entry, entry, text, text_of};

use crate::cli::{DocumentFormat, StudiesArgs};
use crate::{exit, out};

pub(crate) fn run(args: &StudiesArgs) -> anyhow::Result<u8> {
    let load = |name: &str| -> Result<Entry, lab::Error> { Ok(entry(&Study::load(name)?)?) };
    match (&args.study, args.format) {
        (Some(name), DocumentFormat::Text) => out::print(&text_of(&load(name)?))?,
        (Some(name), DocumentFormat::Json) => {
            out::print(&serde_json::to_string_pretty(&load(name)?)?)?;
        }
        (None, format) => {
            let entries: Result<Vec<Entry>, _> = Study::builtin().into_iter().map(load).collect();
            let entries = entries?;
            match format {
                DocumentFormat::Text => out::print(&text(&entries))?,
                DocumentFormat::Json => out::print(&serde_json::to_string_pretty(&entries)?)?,
            }
        }
    }
    Ok(exit::OK)
}
