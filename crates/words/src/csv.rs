//! Records of a CSV file.

/// One record as RFC 4180 has it, with its line end: fields that contain a comma, a quote or a line end are quoted.
///
/// ```
/// assert_eq!(words::csv_record(["a", "b,c", "d\"e"]), "a,\"b,c\",\"d\"\"e\"\r\n");
/// ```
pub fn csv_record<S: AsRef<str>>(fields: impl IntoIterator<Item = S>) -> String {
    let mut record = String::new();
    for (at, field) in fields.into_iter().enumerate() {
        let field = field.as_ref();
        if at > 0 {
            record.push(',');
        }
        if field.contains([',', '"', '\n', '\r']) {
            record.push('"');
            record.push_str(&field.replace('"', "\"\""));
            record.push('"');
        } else {
            record.push_str(field);
        }
    }
    record.push_str("\r\n");
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_only_where_needed() {
        assert_eq!(
            csv_record(["a", "b,c", "d\"e", ""]),
            "a,\"b,c\",\"d\"\"e\",\r\n"
        );
        assert_eq!(csv_record(["two\nlines"]), "\"two\nlines\"\r\n");
    }
}
