//! `fslab metrics`.

use study::metrics::{CATALOGUE, Metric, Source, of_workload, text};

use crate::cli::{DocumentFormat, MetricsArgs};
use crate::{exit, out};

pub(crate) fn run(args: &MetricsArgs) -> anyhow::Result<u8> {
    let metrics: Vec<&Metric> = match &args.workload {
        None => Source::ALL
            .iter()
            .flat_map(|source| {
                CATALOGUE
                    .iter()
                    .filter(move |metric| metric.source == *source)
            })
            .collect(),
        Some(name) => of_workload(name).ok_or_else(|| {
            let names = Source::ALL.map(Source::name);
            lab::Error::Preflight(format!(
                "no metrics are known of {} ({}{})",
                words::quoted(name),
                words::hint(name, names),
                names.join(", ")
            ))
        })?,
    };
    match args.format {
        DocumentFormat::Text => out::print(&text(&metrics))?,
        DocumentFormat::Json => out::print(&serde_json::to_string_pretty(&metrics)?)?,
    }
    Ok(exit::OK)
}
