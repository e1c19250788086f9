//! Records of a CSV file.

/// One record as RFC 4180 has it, with its line end: fields that contain a comma, a quote or a line end are quoted.
///
/// A spreadsheet takes a field that begins with `=`, `+`, `-` or `@` for a formula, and names of files, jobs and processes may be
/// a stranger's. Such a field gets an apostrophe in front, by which spreadsheets know a text. Numbers and a lone sign stay as they
/// are.
///
/// ```
/// assert_eq!(words::csv_record(["a", "b,c", "d\"e"]), "a,\"b,c\",\"d\"\"e\"\r\n");
/// assert_eq!(words::csv_record(["=1+1", "-1.5", "-"]), "'=1+1,-1.5,-\r\n");
/// ```
pub fn csv_record<S: AsRef<str>>(fields: impl IntoIterator<Item = S>) -> String {
    let mut record = String::new();
    for (at, field) in fields.into_iter().enumerate() {
        let field = field.as_ref();
        if at > 0 {
            record.push(',');
        }
        let mark = if is_formula(field) { "'" } else { "" };
        if field.contains([',', '"', '\n', '\r']) {
            record.push('"');
            record.push_str(mark);
            record.push_str(&field.replace('"', "\"\""));
            record.push('"');
        } else {
            record.push_str(mark);
            record.push_str(field);
        }
    }
    record.push_str("\r\n");
    record
}

/// Whether a spreadsheet would compute a field. Some leave out white space before they look.
fn is_formula(field: &str) -> bool {
    let text = field.trim_start();
    text.len() > 1
        && text.starts_with(['=', '+', '-', '@'])
        && text.trim_end().parse::<f64>().is_err()
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

    #[test]
    fn no_field_is_a_formula_and_numbers_stay_numbers() {
        for formula in [
            "=cmd|' /C calc'!A0",
            "+1+1",
            "-2+3+cmd",
            "@SUM(1,1)",
            "\t=1+1",
            "\r\n=1+1",
            " =1+1",
            "-E nodiscard",
        ] {
            let record = csv_record([formula]);
            let field = record.trim_start_matches('"');
            assert!(field.starts_with('\''), "{record}");
            assert!(field.contains(formula), "{record}");
        }
        for same in [
            "-1", "+1.5e-9", "-inf", "-NaN", "1-2", "a=b", "-", "", "x@y",
        ] {
            assert_eq!(csv_record([same]), format!("{same}\r\n"));
        }
    }
}
