//! `fslab doctor`: what this machine lets the lab see.

use std::fmt::Write as _;

use probe::capture::{Method, methods};

use crate::cli::{DoctorArgs, DocumentFormat};
use crate::{exit, out};

pub(crate) fn run(args: &DoctorArgs) -> anyhow::Result<u8> {
    let methods = methods();
    out::print(&match args.format {
        DocumentFormat::Text => text(&methods),
        DocumentFormat::Json => {
            serde_json::to_string_pretty(&serde_json::json!({ "block_traces": methods }))?
        }
    })?;
    Ok(exit::OK)
}

fn text(methods: &[Method]) -> String {
    let mut text = String::from("block traces (fslab trace record):\n");
    for method in methods {
        let is = match (method.available, method.chosen) {
            (true, true) => "ok, used",
            (true, false) => "ok",
            (false, _) => "missing",
        };
        let _ = writeln!(text, "  {:<18}: {is}", method.name);
        for line in [method.reads, &method.note] {
            let _ = writeln!(text, "    {}", out::line(line));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_says_what_it_reads_and_what_is_known() {
        let method = |name, available, chosen, note: &str| Method {
            name,
            reads: "tracefs: something",
            available,
            note: note.into(),
            chosen,
        };
        insta::assert_snapshot!(text(&[
            method("blk tracer", true, true, "3 devices can be traced"),
            method("block tracepoints", true, false, "not used: no devices"),
            method("relay files", false, false, "kernel lockdown (integrity)"),
        ]));
    }
}
