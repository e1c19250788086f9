//! `fslab doctor`: what this machine lets the lab see.

use std::fmt::Write as _;

use probe::capture::{Way, ways};

use crate::cli::{DoctorArgs, DocumentFormat};
use crate::{exit, out};

pub(crate) fn run(args: &DoctorArgs) -> anyhow::Result<u8> {
    let ways = ways();
    out::print(&match args.format {
        DocumentFormat::Text => text(&ways),
        DocumentFormat::Json => {
            serde_json::to_string_pretty(&serde_json::json!({ "block_traces": ways }))?
        }
    })?;
    Ok(exit::OK)
}

fn text(ways: &[Way]) -> String {
    let mut text = String::from("block traces (fslab trace record):\n");
    for way in ways {
        let is = match (way.available, way.chosen) {
            (true, true) => "ok, used",
            (true, false) => "ok",
            (false, _) => "missing",
        };
        let _ = writeln!(text, "  {:<18}: {is}", way.name);
        for line in [way.reads, &way.note] {
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
        let way = |name, available, chosen, note: &str| Way {
            name,
            reads: "tracefs: something",
            available,
            note: note.into(),
            chosen,
        };
        insta::assert_snapshot!(text(&[
            way("blk tracer", true, true, "3 devices can be traced"),
            way("block tracepoints", true, false, "not used: no devices"),
            way("relay files", false, false, "kernel lockdown (integrity)"),
        ]));
    }
}
