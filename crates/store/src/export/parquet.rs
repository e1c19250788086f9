//! Parquet with flat columns: texts, 64-bit integers, doubles and truth values, in row groups of bounded size.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::{AFTER, BEFORE, Field, Record, Sink, columns};
use crate::error::Error;

/// Rows of a row group: some 30 MB of memory.
const GROUP: usize = 100_000;

/// The columns that are no text.
const INTEGERS: [&str; 3] = ["trial", "block", "cell"];

/// The values of a column of the row group, and for each row whether it has one.
enum Column {
    Text(Vec<ByteArray>, Vec<i16>),
    Int(Vec<i64>),
    Real(Vec<f64>),
    Bool(Vec<bool>),
}

pub(super) struct Parquet<'o> {
    writer: Option<SerializedFileWriter<&'o mut (dyn Write + Send)>>,
    factors: Vec<String>,
    columns: Vec<Column>,
    rows: usize,
}

impl<'o> Parquet<'o> {
    pub(super) fn new(
        output: &'o mut (dyn Write + Send),
        factors: Vec<String>,
    ) -> Result<Parquet<'o>, Error> {
        let names = columns(&factors);
        let fields: Result<Vec<_>, ParquetError> = names
            .iter()
            .enumerate()
            .map(|(place, name)| field(name, kind(place, names.len())).map(Arc::new))
            .collect();
        let schema = fields.and_then(|fields| {
            Type::group_type_builder("sample")
                .with_fields(fields)
                .build()
        });
        let schema = Arc::new(schema.map_err(failed)?);
        let properties = WriterProperties::builder()
            .set_compression(Compression::UNCOMPRESSED)
            .set_created_by(concat!("fslab ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let writer =
            SerializedFileWriter::new(output, schema, Arc::new(properties)).map_err(failed)?;
        let count = names.len();
        Ok(Parquet {
            writer: Some(writer),
            factors,
            columns: (0..count).map(|place| empty(kind(place, count))).collect(),
            rows: 0,
        })
    }

    /// Writes the rows so far as a row group.
    fn flush(&mut self) -> Result<(), Error> {
        let Some(writer) = self.writer.as_mut().filter(|_| self.rows > 0) else {
            return Ok(());
        };
        let mut group = writer.next_row_group().map_err(failed)?;
        for column in &mut self.columns {
            write(&mut group, column).map_err(failed)?;
        }
        group.close().map_err(failed)?;
        self.rows = 0;
        Ok(())
    }
}

impl Sink for Parquet<'_> {
    fn row(&mut self, record: &Record<'_>) -> Result<(), Error> {
        for (field, column) in record
            .fields(&self.factors)
            .into_iter()
            .zip(&mut self.columns)
        {
            push(column, field);
        }
        self.rows += 1;
        if self.rows >= GROUP {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.flush()?;
        match self.writer.take() {
            Some(writer) => writer.close().map(drop).map_err(failed),
            None => Ok(()),
        }
    }
}

/// The type of a column, by its place among `count` columns.
fn kind(place: usize, count: usize) -> Physical {
    let after = count - AFTER.len();
    let name = match place {
        _ if place < BEFORE.len() => BEFORE[place],
        _ if place >= after => AFTER[place - after],
        _ => "",
    };
    match name {
        "value" => Physical::DOUBLE,
        "holds" => Physical::BOOLEAN,
        name if INTEGERS.contains(&name) => Physical::INT64,
        _ => Physical::BYTE_ARRAY,
    }
}

fn field(name: &str, kind: Physical) -> Result<Type, ParquetError> {
    let builder = Type::primitive_type_builder(name, kind);
    match kind {
        Physical::BYTE_ARRAY => builder
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(Some(LogicalType::String))
            .build(),
        _ => builder.with_repetition(Repetition::REQUIRED).build(),
    }
}

fn empty(kind: Physical) -> Column {
    match kind {
        Physical::DOUBLE => Column::Real(Vec::new()),
        Physical::BOOLEAN => Column::Bool(Vec::new()),
        Physical::INT64 => Column::Int(Vec::new()),
        _ => Column::Text(Vec::new(), Vec::new()),
    }
}

fn push(column: &mut Column, field: Field<'_>) {
    match (column, field) {
        (Column::Text(_, defined), Field::Null) => defined.push(0),
        (Column::Text(texts, defined), field) => {
            texts.push(match field {
                Field::Text(text) => text.into(),
                _ => ByteArray::new(),
            });
            defined.push(1);
        }
        (Column::Int(numbers), Field::Int(number)) => numbers.push(number),
        (Column::Real(numbers), Field::Real(number)) => numbers.push(number),
        (Column::Bool(truths), Field::Bool(truth)) => truths.push(truth),
        // A column has the fields of its own type alone: see `kind`.
        _ => {}
    }
}

fn write<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &mut Column,
) -> Result<(), ParquetError> {
    match column {
        Column::Text(texts, defined) => {
            batch::<ByteArrayType, W>(group, texts, Some(defined))?;
            texts.clear();
            defined.clear();
        }
        Column::Int(numbers) => {
            batch::<Int64Type, W>(group, numbers, None)?;
            numbers.clear();
        }
        Column::Real(numbers) => {
            batch::<DoubleType, W>(group, numbers, None)?;
            numbers.clear();
        }
        Column::Bool(truths) => {
            batch::<BoolType, W>(group, truths, None)?;
            truths.clear();
        }
    }
    Ok(())
}

fn batch<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    defined: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("a row group without the column".into());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(values, defined, None)?;
    column.close()
}

fn failed(error: ParquetError) -> Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<std::io::Error>() {
            Ok(cause) => Error::Output(*cause),
            Err(cause) => Error::Output(std::io::Error::other(cause)),
        },
        other => Error::Output(std::io::Error::other(other)),
    }
}
