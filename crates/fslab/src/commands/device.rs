//! `fslab device`.

pub(crate) mod serve;

use std::convert::identity;
use std::fmt::Write as _;
use std::path::Path;

use ::device::{Catalogue, Variation};
use anyhow::Context as _;
use modelled::drives::Drives;
use modelled::studies::Table;
use modelled::{Estimator, bench, catalogue, check_file};
use serde_json::json;

use crate::cli::DocumentFormat;
use crate::cli::device::{DeviceBenchArgs, DeviceCheckArgs, DeviceListArgs, DeviceShowArgs};
use crate::output_file::OutputFile;
use crate::{exit, out};

/// Bytes of a device.
fn size(catalogue: &Catalogue, name: &str) -> Option<u64> {
    let model = catalogue.model(name, Variation::Nominal).ok()?;
    Some(model.capacity())
}

pub(crate) fn list(args: &DeviceListArgs) -> anyhow::Result<u8> {
    let catalogue = catalogue(args.devices.devices_file.as_deref())?;
    let text = match args.format {
        DocumentFormat::Text => {
            let width = catalogue.devices().map(|d| d.name.len()).max().unwrap_or(0);
            let line = |device: &device::Device| {
                let mut text = format!(
                    "{:<width$}  {:<5}  {:>8}  {}",
                    device.name,
                    device.kind_name(),
                    size(&catalogue, &device.name).map_or_else(String::new, device::decimal_size),
                    device.stands_for
                );
                if !device.studies.is_empty() {
                    let _ = write!(text, " ({})", words::list(&device.studies));
                }
                text.trim_end().to_owned() + "\n"
            };
            let head = format!("{:<width$}  kind       size  stands for\n", "name");
            let lines = catalogue.devices().map(line);
            std::iter::once(head).chain(lines).collect()
        }
        DocumentFormat::Json => {
            let one = |device: &device::Device| {
                json!({
                    "name": device.name, "kind": device.kind_name(),
                    "bytes": size(&catalogue, &device.name),
                    "stands_for": device.stands_for, "studies": device.studies,
                })
            };
            let all: Vec<_> = catalogue.devices().map(one).collect();
            serde_json::to_string_pretty(&json!({ "devices": all }))?
        }
    };
    out::print(&text)?;
    Ok(exit::OK)
}

pub(crate) fn show(args: &DeviceShowArgs) -> anyhow::Result<u8> {
    let catalogue = catalogue(args.devices.devices_file.as_deref())?;
    let device = catalogue
        .device(&args.name)
        .map_err(modelled::Error::from)?;
    let rows = device.described();
    let text = match args.format {
        DocumentFormat::Text => {
            let of_size = |bytes| format!(", {}", device::decimal_size(bytes));
            let mut text = format!(
                "{} ({}{}): {}\n",
                device.name,
                device.kind_name(),
                size(&catalogue, &args.name).map_or_else(String::new, of_size),
                device.stands_for
            );
            for row in &rows {
                let source = match row.of.as_str() {
                    "" => row.origin.to_string(),
                    of => format!("{}: {of}", row.origin),
                };
                let lead = format!("  {:<12} ", row.key);
                text += &words::wrap(&lead, 15, &format!("{} [{source}]", row.value), 100);
            }
            text
        }
        DocumentFormat::Json => {
            let one = |row: &device::Described| {
                json!({
                    "key": row.key, "value": row.value,
                    "origin": row.origin.to_string(), "of": row.of,
                })
            };
            serde_json::to_string_pretty(&json!({
                "name": device.name, "kind": device.kind_name(),
                "bytes": size(&catalogue, &args.name),
                "stands_for": device.stands_for, "studies": device.studies,
                "figures": rows.iter().map(one).collect::<Vec<_>>(),
            }))?
        }
    };
    out::print(&text)?;
    Ok(exit::OK)
}

/// Ends with [`exit::INVALID`] when the studies' numbers or the drives' miss their targets.
pub(crate) fn check(args: &DeviceCheckArgs) -> anyhow::Result<u8> {
    if !args.studies
        && let Some(file) = &args.file
    {
        let names = check_file(file)?;
        out::print(&match args.format {
            DocumentFormat::Text => format!(
                "{}: {}: {}\n",
                out::path(file),
                words::plural(names.len() as u64, "device"),
                words::list(&names)
            ),
            DocumentFormat::Json => serde_json::to_string_pretty(&json!({ "devices": names }))?,
        })?;
        return Ok(exit::OK);
    }
    let drives = args.drives.as_deref().map(Drives::compare).transpose()?;
    let studies = args.studies.then(|| studies(args)).transpose()?;
    out::print(&match args.format {
        DocumentFormat::Text => {
            let texts = [
                studies.as_ref().map(Table::text),
                drives.as_ref().map(Drives::text),
            ];
            let texts: Vec<String> = texts.into_iter().flatten().collect();
            texts.join("\n")
        }
        DocumentFormat::Json => match (&studies, &drives) {
            (Some(table), None) => serde_json::to_string_pretty(table)?,
            (None, drives) => serde_json::to_string_pretty(drives)?,
            both => serde_json::to_string_pretty(&json!({ "studies": both.0, "drives": both.1 }))?,
        },
    })?;
    let are_met =
        studies.is_none_or(|table| table.is_met()) && drives.is_none_or(|drives| drives.is_met());
    Ok(if are_met { exit::OK } else { exit::INVALID })
}

fn studies(args: &DeviceCheckArgs) -> anyhow::Result<Table> {
    let estimator = Estimator {
        runs: args.runs,
        whole: true,
        ..Estimator::default()
    };
    let catalogue = catalogue(args.file.as_deref())?;
    if let Some(path) = &args.streams {
        return Ok(modelled::studies::own_table(estimator, &catalogue, path)?);
    }
    Ok(modelled::studies::table(estimator, &catalogue, &|_| true)?)
}

/// What is measured is called so in a device file; a name of its own would need an option.
const FITTED: &str = "fitted";

pub(crate) fn bench(args: &DeviceBenchArgs) -> anyhow::Result<u8> {
    if args.name.contains('/') {
        return fit(args);
    }
    if args.write.is_some() {
        let why = format!(
            "--write: {} is a model already; name the path of a real device, as in /dev/sdb",
            words::printable(&args.name)
        );
        return Err(lab::Error::Preflight(why).into());
    }
    let catalogue = catalogue(args.devices.devices_file.as_deref())?;
    let checks = bench::checks(&catalogue, &args.name)?;
    out::print(&match args.format {
        DocumentFormat::Text => bench::text(&args.name, &checks),
        DocumentFormat::Json => serde_json::to_string_pretty(&json!({
            "device": args.name, "timing": "modelled", "checks": checks,
        }))?,
    })?;
    Ok(exit::OK)
}

fn fit(args: &DeviceBenchArgs) -> anyhow::Result<u8> {
    let device = Path::new(&args.name);
    // Before the seconds of measuring.
    let unfit = |path: &Path, error: std::io::Error| {
        let why = format!("{}: {error}; choose another --write", out::path(path));
        lab::Error::Preflight(why)
    };
    let file = args.write.as_ref().map(|path| {
        let file = OutputFile::at(path, &[device]).map_err(|error| unfit(path, error))?;
        Ok::<_, lab::Error>((path, file))
    });
    let file = file.transpose()?;
    let fit = modelled::fit::fit(device, FITTED)?;
    out::print(&match args.format {
        DocumentFormat::Text => fit.text(),
        DocumentFormat::Json => serde_json::to_string_pretty(&fit)?,
    })?;
    if let Some((path, file)) = file {
        let written = file.write(|out| out.write_all(fit.file.as_bytes()), identity);
        written.with_context(|| format!("the device file {}", out::path(path)))?;
    }
    Ok(exit::OK)
}
