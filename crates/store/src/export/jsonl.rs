//! JSON Lines: an object for each sample, with its factors as an object of their own (`levels`).

use std::io::Write;

use serde_json::{Map, Value as Json, json};

use super::{AFTER, BEFORE, Field, Record, Sink};
use crate::error::Error;

pub(super) struct Jsonl<'o> {
    output: &'o mut (dyn Write + Send),
}

impl<'o> Jsonl<'o> {
    pub(super) fn new(output: &'o mut (dyn Write + Send)) -> Jsonl<'o> {
        Jsonl { output }
    }
}

impl Sink for Jsonl<'_> {
    fn row(&mut self, record: &Record<'_>) -> Result<(), Error> {
        let before = BEFORE.into_iter().zip(record.before());
        let fields = before.chain(AFTER.into_iter().zip(record.after()));
        let mut object: Map<String, Json> = fields
            .map(|(name, field)| (name.to_owned(), json_of(field)))
            .collect();
        object.insert("levels".into(), json!(record.levels));
        let mut line = Json::from(object).to_string();
        line.push('\n');
        Ok(self.output.write_all(line.as_bytes())?)
    }

    fn finish(&mut self) -> Result<(), Error> {
        Ok(self.output.flush()?)
    }
}

fn json_of(field: Field<'_>) -> Json {
    match field {
        Field::Null => Json::Null,
        Field::Text(text) => text.into(),
        Field::Int(number) => number.into(),
        Field::Real(number) => number.into(),
        Field::Bool(truth) => truth.into(),
    }
}
