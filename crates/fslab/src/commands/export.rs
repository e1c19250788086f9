//! `fslab export`.

use std::io::{BufWriter, Write as _};
use std::path::Path;

use store::{Format, Selector, Store};

use super::store_location;
use crate::cli::{ExportArgs, ExportFormat};
use crate::out::Output;
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
    let inputs: Vec<&Path> = location.file().into_iter().collect();
    let output = Output::of(args.output.as_deref(), &inputs)?;
    let mut store = Store::existing(&location).map_err(lab::Error::from)?;
    let exported = output.write(
        |out| {
            let mut out = BufWriter::new(out);
            let exported = store.export(&selector, format, &mut out)?;
            out.flush()?;
            Ok(exported)
        },
        store::Error::from,
    );
    let exported = exported.map_err(|error| match error {
        store::Error::Output(cause) => output.failed(&cause),
        other => lab::Error::from(other).into(),
    })?;
    if output.is_file() {
        out::say(&format!(
            "fslab: {} samples of {} runs",
            exported.samples, exported.runs
        ));
    }
    Ok(exit::OK)
}
