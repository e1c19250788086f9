//! Values in PostgreSQL's binary format (its manual, "Frontend/Backend Protocol"; the types' `_send` and `_recv` functions).

use std::error::Error;

use bytes::BytesMut;
use jiff::Timestamp;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::value::Value;

type Boxed = Box<dyn Error + Sync + Send>;

/// 2000-01-01T00:00:00Z, the server's first microsecond, in microseconds since 1970.
const EPOCH: i64 = 946_684_800_000_000;

impl ToSql for Value {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Boxed> {
        match (self, kind) {
            (Value::Null, _) => Ok(IsNull::Yes),
            (Value::Bool(truth), &Type::BOOL) => truth.to_sql(kind, out),
            (Value::Int(number), &Type::INT8) => number.to_sql(kind, out),
            (Value::Int(number), &Type::INT4) => i32::try_from(*number)?.to_sql(kind, out),
            (Value::Number(number), &Type::NUMERIC) => {
                numeric(*number, out);
                Ok(IsNull::No)
            }
            (Value::Real(number), &Type::FLOAT8) => number.to_sql(kind, out),
            (Value::Text(text), &Type::TEXT | &Type::JSON) => {
                out.extend_from_slice(text.as_bytes());
                Ok(IsNull::No)
            }
            (Value::Text(text), &Type::JSONB) => {
                // Version 1 of the binary format is its text.
                out.extend_from_slice(&[1]);
                out.extend_from_slice(text.as_bytes());
                Ok(IsNull::No)
            }
            (Value::Bytes(bytes), &Type::BYTEA) => bytes.to_sql(kind, out),
            (Value::Time(at), &Type::TIMESTAMPTZ) => {
                let microseconds = at.as_nanosecond().div_euclid(1000);
                (i64::try_from(microseconds)? - EPOCH).to_sql(&Type::INT8, out)
            }
            (value, kind) => Err(format!("{value:?} does not fit the type {kind}").into()),
        }
    }

    fn accepts(_kind: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A number as `numeric`: digits to the base 10,000, the highest first.
fn numeric(mut number: u64, out: &mut BytesMut) {
    let mut digits: Vec<i16> = Vec::new();
    while number > 0 {
        digits.insert(0, (number % 10_000) as i16);
        number /= 10_000;
    }
    let count = digits.len() as i16;
    // Count of digits, weight of the first, sign, digits after the point.
    for word in [count, (count - 1).max(0), 0, 0].into_iter().chain(digits) {
        out.extend_from_slice(&word.to_be_bytes());
    }
}

impl<'r> FromSql<'r> for Value {
    fn from_sql(kind: &Type, raw: &'r [u8]) -> Result<Value, Boxed> {
        Ok(match *kind {
            Type::BOOL => Value::Bool(FromSql::from_sql(kind, raw)?),
            Type::INT8 => Value::Int(FromSql::from_sql(kind, raw)?),
            Type::INT4 => Value::Int(i32::from_sql(kind, raw)?.into()),
            Type::FLOAT8 => Value::Real(FromSql::from_sql(kind, raw)?),
            Type::TEXT | Type::VARCHAR | Type::NAME => Value::Text(FromSql::from_sql(kind, raw)?),
            Type::BYTEA => Value::Bytes(FromSql::from_sql(kind, raw)?),
            Type::TIMESTAMPTZ => {
                let microseconds = i64::from_sql(&Type::INT8, raw)?.saturating_add(EPOCH);
                Value::Time(Timestamp::from_microsecond(microseconds)?)
            }
            Type::VOID => Value::Null,
            _ => {
                return Err(
                    format!("a column of the type {kind}, which a store does not have").into(),
                );
            }
        })
    }

    fn from_sql_null(_kind: &Type) -> Result<Value, Boxed> {
        Ok(Value::Null)
    }

    fn accepts(_kind: &Type) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_encoded_as_the_server_reads_them() {
        let of = |number| {
            let mut out = BytesMut::new();
            numeric(number, &mut out);
            let words = out
                .chunks(2)
                .map(|pair| i16::from_be_bytes([pair[0], pair[1]]));
            words.collect::<Vec<_>>()
        };
        assert_eq!(of(0), [0, 0, 0, 0]);
        assert_eq!(of(7), [1, 0, 0, 0, 7]);
        assert_eq!(of(10_000), [2, 1, 0, 0, 1, 0]);
        assert_eq!(of(u64::MAX), [5, 4, 0, 0, 1844, 6744, 737, 955, 1615]);
    }
}
