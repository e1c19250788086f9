//! Tidy CSV: one row per sample, factor levels as columns, stored units, RFC 4180 quoting.

use crate::error::Result;
use crate::model::clock_name;
use crate::samples::lines;
use crate::{Format, Report};

/// The CSV format.
#[derive(Clone, Copy, Debug)]
pub struct Csv;

impl Format for Csv {
    fn render(&self, report: &Report<'_>) -> Result<String> {
        let factors = report.factors();
        let mut head: Vec<&str> = vec!["run", "trial", "block"];
        head.extend(factors.iter().map(String::as_str));
        head.extend(["phase", "metric", "clock", "value", "unit", "marks"]);
        let mut out = record(head);
        for line in lines(report) {
            let (trial, block) = (line.trial.to_string(), line.block.to_string());
            let value = line.sample.value.to_string();
            let marks: Vec<&str> = line.marks.iter().map(|m| m.name()).collect();
            let marks = marks.join(" ");
            let mut fields: Vec<&str> = vec![&report.run.name, &trial, &block];
            fields.extend(
                factors
                    .iter()
                    .map(|f| line.cell.levels.get(f).map_or("", String::as_str)),
            );
            fields.extend([
                line.sample.phase.as_str(),
                &line.sample.metric,
                clock_name(line.sample.clock),
                &value,
                &line.sample.unit,
                &marks,
            ]);
            out.push_str(&record(fields));
        }
        Ok(out)
    }
}

fn record<'a>(fields: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = fields.into_iter().map(quote).collect();
    format!("{}\r\n", quoted.join(","))
}

/// A field as RFC 4180 wants it.
fn quote(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_only_where_needed() {
        assert_eq!(
            record(["a", "b,c", "d\"e", ""]),
            "a,\"b,c\",\"d\"\"e\",\r\n"
        );
    }
}
