//! The mail format: what fits into a message to a kernel list, 78 columns wide.
//!
//! Each table is printed as Ts'o laid out the 2009 study, with nothing added inside it but a mark
//! on a number in doubt. What the original lacked follows below the table: medians, intervals, n,
//! ratios with their intervals, and the published numbers beside ours.

mod details;
mod doubts;
mod header;
mod published;
mod table;
mod wrap;

use crate::error::Result;
use crate::{Format, Report};

pub(crate) use details::{family, few, few_blocks, method, table_warnings};
pub(crate) use header::{begun, order, trials};
pub(crate) use table::decimals;
pub(crate) use wrap::wrap;

/// The text format.
#[derive(Clone, Copy, Debug)]
pub struct Text;

impl Format for Text {
    fn render(&self, report: &Report<'_>) -> Result<String> {
        let width = match report.options.width {
            0 => usize::MAX,
            width => width,
        };
        let mut out = header::print(report, width);
        for table in &report.tables {
            out.push_str("\n\n");
            out.push_str(&table::print(table, width));
            out.push('\n');
            out.push_str(&details::print(report, table, width));
            if let Some(document) = report.published.filter(|_| table.has_published()) {
                out.push('\n');
                out.push_str(&published::print(&document.document, table, width));
            }
        }
        out.push_str("\n\n");
        out.push_str(&doubts::print(report, width));
        out.push('\n');
        out.push_str(&details::legend(report, width));
        Ok(out)
    }
}

/// The mail tables alone, as the original message has them.
pub fn mail_tables(report: &Report<'_>) -> String {
    let width = match report.options.width {
        0 => usize::MAX,
        width => width,
    };
    let tables: Vec<String> = report
        .tables
        .iter()
        .map(|t| table::print(t, width))
        .collect();
    tables.join("\n\n")
}
