//! Values of columns, the same for every engine.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The value of a column, or of a parameter of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    /// A truth value; read from SQLite it is an `Int`.
    Bool(bool),
    Int(i64),
    /// A 64-bit number without a sign: `numeric(20)` in PostgreSQL, decimal text in SQLite.
    Number(u64),
    Real(f64),
    /// Text, and JSON as text.
    Text(String),
    Bytes(Vec<u8>),
    /// A time, to the microsecond; read from SQLite it is a `Text`.
    Time(Timestamp),
}

impl Value {
    pub(crate) fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    pub(crate) fn or_null<T>(value: Option<T>, made: impl FnOnce(T) -> Value) -> Value {
        value.map_or(Value::Null, made)
    }

    pub(crate) fn as_text(&self) -> Option<String> {
        match self {
            Value::Text(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Time(at) => Some(microseconds(*at)),
            _ => None,
        }
    }

    pub(crate) fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(number) => Some(*number),
            _ => None,
        }
    }

    pub(crate) fn as_real(&self) -> Option<f64> {
        match self {
            Value::Real(number) => Some(*number),
            Value::Int(number) => Some(*number as f64),
            _ => None,
        }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(truth) => Some(*truth),
            Value::Int(number) => Some(*number != 0),
            _ => None,
        }
    }

    pub(crate) fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// RFC 3339 in UTC with six digits of the second, so that the order of the texts is the order of the times.
pub(crate) fn microseconds(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC)
        .strftime("%Y-%m-%dT%H:%M:%S.%6fZ")
        .to_string()
}
