//! Tables as JSON: every figure with the column it is in.

use serde::Serialize;
use serde_json::Value;

use crate::error::Result;
use crate::model::{Column, Figure, Row, Table};

/// A figure with the name of its column.
#[derive(Serialize)]
pub(super) struct Named<'a> {
    pub column: &'a str,
    #[serde(flatten)]
    pub figure: &'a Figure,
}

#[derive(Serialize)]
struct OfTable<'a> {
    title: &'a str,
    subtitle: &'a str,
    base: &'a str,
    comparisons: usize,
    columns: &'a [Column],
    rows: Vec<OfRow<'a>>,
}

#[derive(Serialize)]
struct OfRow<'a> {
    #[serde(flatten)]
    row: &'a Row,
    figures: Vec<Named<'a>>,
}

/// Each as a JSON value.
pub(super) fn to_values<T: Serialize>(all: impl Iterator<Item = T>) -> Result<Vec<Value>> {
    all.map(|one| Ok(serde_json::to_value(one)?)).collect()
}

/// All tables.
pub(super) fn values(tables: &[Table]) -> Result<Vec<Value>> {
    to_values(tables.iter().map(|table| OfTable {
        title: &table.title,
        subtitle: &table.subtitle,
        base: table.base_name(),
        comparisons: table.family,
        columns: &table.columns,
        rows: table.rows.iter().map(|row| of_row(table, row)).collect(),
    }))
}

fn of_row<'a>(table: &'a Table, row: &'a Row) -> OfRow<'a> {
    let figures = table.columns.iter().zip(&row.figures);
    let figures = figures.map(|(column, figure)| Named {
        column: &column.name,
        figure,
    });
    OfRow {
        row,
        figures: figures.collect(),
    }
}
