//! `fslab context`.

use crate::cli::{ContextArgs, DocumentFormat};
use crate::{exit, out};

pub(crate) fn run(args: &ContextArgs) -> anyhow::Result<u8> {
    if let Some(dir) = &args.dir {
        lab::preflight::directory(dir)?;
    }
    let subject = probe::context::Subject {
        target_folder: args.dir.as_deref(),
        ..probe::context::Subject::default()
    };
    let record = serde_json::to_value(probe::context::take(&subject))?;
    match args.format {
        DocumentFormat::Text => out::print(&::report::facts::text(&record))?,
        DocumentFormat::Json => out::print(&serde_json::to_string_pretty(&record)?)?,
    }
    Ok(exit::OK)
}
