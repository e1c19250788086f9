//! `fslab context`.

use crate::cli::ContextArgs;
use crate::{exit, out};

pub(crate) fn run(args: &ContextArgs) -> anyhow::Result<u8> {
    if let Some(dir) = &args.dir {
        lab::preflight::directory(dir)?;
    }
    let subject = probe::context::Subject {
        target_folder: args.dir.as_deref(),
        ..probe::context::Subject::default()
    };
    out::print(&serde_json::to_string_pretty(&probe::context::take(
        &subject,
    ))?)?;
    Ok(exit::OK)
}
