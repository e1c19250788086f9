//! `fslab list`.

use crate::cli::{DocumentFormat, ListArgs};
use crate::commands::runs;
use crate::{exit, out};

pub(crate) fn run(args: &ListArgs) -> anyhow::Result<u8> {
    let listings = match runs(args.dir.as_ref()) {
        Some(dir) => record::list::list(&dir).map_err(lab::Error::from)?,
        None => Vec::new(),
    };
    match args.format {
        DocumentFormat::Text => out::print(&record::list::render(&listings))?,
        DocumentFormat::Json => out::print(&serde_json::to_string_pretty(&listings)?)?,
    }
    Ok(exit::OK)
}
