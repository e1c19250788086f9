//! CSV as in RFC 4180, with a head line. Numbers are not rounded; an empty field is unknown.

use std::io::Write;

use super::{Field, Record, Sink, columns};
use crate::error::Error;

pub(super) struct Csv<'o> {
    output: &'o mut (dyn Write + Send),
    factors: Vec<String>,
}

impl<'o> Csv<'o> {
    pub(super) fn new(
        output: &'o mut (dyn Write + Send),
        factors: Vec<String>,
    ) -> Result<Csv<'o>, Error> {
        let head = columns(&factors);
        let head = words::csv_record(head.iter().map(String::as_str));
        output.write_all(head.as_bytes())?;
        Ok(Csv { output, factors })
    }
}

impl Sink for Csv<'_> {
    fn row(&mut self, record: &Record<'_>) -> Result<(), Error> {
        let fields = record
            .fields(&self.factors)
            .into_iter()
            .map(|field| match field {
                Field::Null => String::new(),
                Field::Text(text) => text.to_owned(),
                Field::Int(number) => number.to_string(),
                Field::Real(number) => number.to_string(),
                Field::Bool(truth) => truth.to_string(),
            });
        let fields: Vec<String> = fields.collect();
        let line = words::csv_record(fields.iter().map(String::as_str));
        Ok(self.output.write_all(line.as_bytes())?)
    }

    fn finish(&mut self) -> Result<(), Error> {
        Ok(self.output.flush()?)
    }
}
