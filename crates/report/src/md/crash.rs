//! What power cuts would have left, in Markdown.

use record::Crash;

use super::escape;
use crate::Report;
use crate::crash::{TITLE, damage_lines, each, facts, unlisted};

/// Of each trial with a crash check; empty where there was none.
pub(super) fn print(report: &Report<'_>) -> String {
    let mut out = String::new();
    for (heading, crash) in each(report) {
        if out.is_empty() {
            out.push_str(&format!("## {TITLE}\n\n"));
        }
        out.push_str(&format!("### {}\n\n", escape(&heading)));
        out.push_str(&one(crash));
    }
    out
}

fn one(crash: &Crash) -> String {
    let mut out = "| | |\n|---|---|\n".to_owned();
    for (name, value) in facts(crash) {
        out.push_str(&format!("| {name} | {} |\n", escape(&value)));
    }
    out.push('\n');
    for damage in &crash.damages {
        for (n, line) in damage_lines(crash, damage).iter().enumerate() {
            let indent = if n == 0 { "" } else { "  " };
            out.push_str(&format!("{indent}- {}\n", escape(line)));
        }
    }
    if let Some(more) = unlisted(crash) {
        out.push_str(&format!("- {more}\n"));
    }
    if crash.damaged + crash.unjudged > 0 {
        out.push('\n');
    }
    out
}
