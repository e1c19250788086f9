//! `fslab export`.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind};

use store::{Format, Selector, Store};

use super::store_location;
use crate::cli::{ExportArgs, ExportFormat};
use crate::{exit, out};

pub(crate) fn run(args: &ExportArgs) -> anyhow::Result<u8> {
    let format = match args.format {
        ExportFormat::Csv => Format::Csv,
        ExportFormat::Jsonl => Format::Jsonl,
        ExportFormat::Parquet => Format::Parquet,
    };
    if !format.is_built() {
        let why = "--format parquet: this fslab was built without it; build it with --features parquet, or take csv or jsonl";
        return Err(lab::Error::Preflight(why.into()).into());
    }
    let selector = match &args.selector {
        Some(text) => text.parse().map_err(lab::Error::Store)?,
        None => Selector::default(),
    };
    let location = store_location(&args.store)?;
    let mut store = Store::existing(&location).map_err(lab::Error::from)?;
    let exported = match &args.output {
        Some(path) => {
            lab::preflight::output(path)?;
            let failed = |error: io::Error| {
                lab::Error::Preflight(format!("{}: {error}; choose another -o", path.display()))
            };
            let file = File::create(path).map_err(failed)?;
            store.export(&selector, format, &mut BufWriter::new(file))
        }
        None => store.export(&selector, format, &mut BufWriter::new(io::stdout())),
    };
    let exported = exported.map_err(|error| match error {
        store::Error::Output(cause) if cause.kind() == ErrorKind::BrokenPipe => {
            anyhow::Error::from(out::ClosedPipe)
        }
        other => lab::Error::from(other).into(),
    })?;
    if args.output.is_some() {
        out::say(&format!(
            "fslab: {} samples of {} runs",
            exported.samples, exported.runs
        ));
    }
    Ok(exit::OK)
}
