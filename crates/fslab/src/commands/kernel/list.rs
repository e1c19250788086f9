//! Tables of kernels: those in the cache, their capabilities, and those that can be fetched.

use std::fmt::Write as _;
use std::path::Path;

use guest::boot_probe::Answer;
use guest::kernel::{CAPABILITIES, Capability, Error, Form, Has, Kernel, Offer, Source, newest};
use serde_json::{Map, Value, json};

use crate::out;

const MIB: u64 = 1 << 20;
/// More kernels than that, and capabilities are printed in one column instead of two.
const NARROW: usize = 7;

pub(super) fn kernels_text(cache: &Path, kernels: &[Kernel], answers: &[Option<Answer>]) -> String {
    let cache = out::path(cache);
    if kernels.is_empty() {
        return format!("no kernels in {cache}; `fslab kernel fetch 6.1` brings one\n");
    }
    let mut text = format!("kernels in {cache}:\n\n");
    let _ = writeln!(
        text,
        "{:>2}  {:<27} {:<9} {:<7} {:>5}  {:<4}  from",
        "#", "kernel", "version", "form", "MiB", "runs"
    );
    for (n, (kernel, answer)) in kernels.iter().zip(answers).enumerate() {
        let _ = writeln!(
            text,
            "{:>2}  {:<27} {:<9} {:<7} {:>5}  {:<4}  {}",
            n + 1,
            kernel.name,
            kernel.version,
            form(kernel.form),
            kernel.bytes.div_ceil(MIB),
            runs(answer.as_ref()),
            from(&kernel.source)
        );
    }
    for (kernel, answer) in kernels.iter().zip(answers) {
        if let Some(reason) = answer.as_ref().and_then(Answer::failure) {
            let _ = writeln!(
                text,
                "\n{} does not run here: {}",
                kernel.name,
                out::line(reason)
            );
        }
    }
    text.push('\n');
    let (left, right) = columns(kernels);
    if kernels.len() > NARROW {
        text.extend(
            left.iter()
                .chain(&right)
                .flat_map(|line| [line.as_str(), "\n"]),
        );
    } else {
        let width = left.iter().map(String::len).max().unwrap_or(0) + 4;
        for n in 0..left.len().max(right.len()) {
            let line = |side: &[String]| side.get(n).cloned().unwrap_or_default();
            let whole = format!("{:<width$}{}", line(&left), line(&right));
            let _ = writeln!(text, "{}", whole.trim_end());
        }
    }
    text.push_str("\ny: built in; m: module; -: not there; ?: not known (no configuration)\n");
    text.push_str("runs: on this machine, by a test boot; ?: not tried (`fslab kernel probe`)\n");
    text
}

/// The capabilities by group, as lines: the first half of the groups, and the rest.
fn columns(kernels: &[Kernel]) -> (Vec<String>, Vec<String>) {
    let mut columns = [Vec::new(), Vec::new()];
    let mut group = "";
    let mut groups = 0;
    for capability in CAPABILITIES {
        // Filesystems, md and device-mapper are half of the lines.
        if capability.group != group {
            groups += 1;
            group = capability.group;
            let column = &mut columns[usize::from(groups > 3)];
            if !column.is_empty() {
                column.push(String::new());
            }
            let mut heading = format!("{group:<16}");
            for n in 1..=kernels.len() {
                let _ = write!(heading, "{n:>3}");
            }
            column.push(heading);
        }
        columns[usize::from(groups > 3)].push(row(capability, kernels));
    }
    let [left, right] = columns;
    (left, right)
}

fn row(capability: &Capability, kernels: &[Kernel]) -> String {
    let mut row = format!("  {:<14}", capability.name);
    for kernel in kernels {
        let mark = match kernel.capabilities.get(capability.name) {
            Some(Has::Builtin) => "y",
            Some(Has::Module) => "m",
            Some(Has::No) | None => "-",
            Some(Has::Unknown) => "?",
        };
        let _ = write!(row, "{mark:>3}");
    }
    row
}

fn form(form: Form) -> &'static str {
    match form {
        Form::Vmlinux => "vmlinux",
        Form::Uml => "uml",
    }
}

fn runs(answer: Option<&Answer>) -> &'static str {
    match answer.map(Answer::failure) {
        Some(None) => "yes",
        Some(Some(_)) => "no",
        None => "?",
    }
}

fn from(source: &Source) -> String {
    match source {
        Source::Debian { suite, .. } => suite.clone(),
        Source::Added { image } => out::path(image),
    }
}

pub(super) fn kernels_json(
    cache: &Path,
    kernels: &[Kernel],
    answers: &[Option<Answer>],
    broken: &[Error],
) -> anyhow::Result<String> {
    let one = |(kernel, answer): (&Kernel, &Option<Answer>)| {
        let capabilities: Map<String, Value> = CAPABILITIES
            .iter()
            .map(|c| (c.name.to_owned(), json!(kernel.capabilities.get(c.name))))
            .collect();
        json!({
            "name": kernel.name,
            "release": kernel.release,
            "version": kernel.version,
            "form": kernel.form,
            "source": kernel.source,
            "image": kernel.image,
            "config": kernel.config,
            "bytes": kernel.bytes,
            "modules": kernel.modules(),
            "libraries": kernel.libraries,
            "probe": answer,
            "capabilities": capabilities,
        })
    };
    Ok(serde_json::to_string_pretty(&json!({
        "cache": cache,
        "kernels": kernels.iter().zip(answers).map(one).collect::<Vec<_>>(),
        "broken": broken.iter().map(ToString::to_string).collect::<Vec<_>>(),
    }))?)
}

pub(super) fn offers_text(offers: &[Offer]) -> String {
    let mut text = format!(
        "{:<10} {:<26} {:<18} {:<17} {:>3}\n",
        "series", "newest", "package", "suite", "MB"
    );
    for offer in newest(offers) {
        let _ = writeln!(
            text,
            "{:<10} {:<26} {:<18} {:<17} {:>3}",
            offer.series,
            offer.release,
            offer.package_version,
            offer.suite,
            offer.bytes.div_ceil(1_000_000)
        );
    }
    let _ = writeln!(
        text,
        "\n{} kernels in all (--format json lists them); `fslab kernel fetch SERIES` brings the newest",
        offers.len()
    );
    text
}

pub(super) fn offers_json(offers: &[Offer]) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(
        &json!({ "available": offers }),
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_fetched_is_a_table() {
        let offer = |series: &str, release: &str, version: &str, bytes| Offer {
            series: series.into(),
            release: release.into(),
            version: "1.2.3".into(),
            package_version: version.into(),
            suite: "bookworm-security".into(),
            bytes,
            ..Offer::default()
        };
        insta::assert_snapshot!(offers_text(&[
            offer("uml", "6.1.176", "6.1um4+b13", 41_388_548),
            offer("6.1", "6.1.0-55-amd64", "6.1.190-1", 68_000_000),
            offer("6.1", "6.1.0-56-amd64", "6.1.192-2", 68_000_001),
            offer(
                "6.12-cloud",
                "6.12.117+deb12-cloud-amd64",
                "6.12.117-1~deb12u1",
                34_000_000
            ),
        ]));
    }
}
