//! Tags of a run: words of the user's, kept in the log's first line, by which runs are chosen later.

use std::collections::BTreeMap;

/// Name to value.
pub type Tags = BTreeMap<String, String>;

/// Most tags of a run.
pub const MOST: usize = 64;
/// Longest name, bytes.
const LONGEST_NAME: usize = 64;
/// Longest value, bytes.
const LONGEST_VALUE: usize = 256;

/// Reads `NAME=VALUE`.
///
/// A name is a letter, then letters, digits, `_`, `-` and `.`, so that it needs no quotes in a shell, a query or a column. A value
/// is any text of one line.
///
/// # Errors
/// What is wrong, in one line.
pub fn parse(text: &str) -> Result<(String, String), String> {
    let example = "as in --tag branch=main";
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("a tag is NAME=VALUE, {example}"))?;
    let first = name.chars().next();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if !first.is_some_and(|c| c.is_ascii_alphabetic()) || !name.chars().all(plain) {
        return Err(format!(
            "the name of a tag is a letter, then letters, digits, '_', '-' and '.', {example}"
        ));
    }
    if name.len() > LONGEST_NAME {
        return Err(format!(
            "the name of a tag has at most {LONGEST_NAME} bytes"
        ));
    }
    let value = value.trim();
    if value.is_empty() || value.len() > LONGEST_VALUE {
        return Err(format!(
            "the value of a tag has 1 to {LONGEST_VALUE} bytes, {example}"
        ));
    }
    if words::printable(value) != value {
        return Err("the value of a tag is one line without control characters".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// Puts tags together; each name may be given once.
///
/// # Errors
/// What is wrong, in one line.
pub fn collect(tags: &[(String, String)]) -> Result<Tags, String> {
    let mut all = Tags::new();
    for (name, value) in tags {
        if let Some(other) = all.insert(name.clone(), value.clone()) {
            return Err(format!(
                "tag {name} is given twice, as {other} and as {value}; give it once"
            ));
        }
    }
    if all.len() > MOST {
        return Err(format!("{} tags; a run has at most {MOST}", all.len()));
    }
    Ok(all)
}

/// Tags in one line: `branch=main, machine=rack-7`. None: there are none.
pub fn line(tags: &Tags) -> Option<String> {
    let pairs: Vec<String> = tags
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    (!pairs.is_empty()).then(|| pairs.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_checked() {
        let of = |text: &str| parse(text).map(|(name, value)| format!("{name}:{value}"));
        assert_eq!(of("branch=main").unwrap(), "branch:main");
        assert_eq!(of("ci.job-1=a = b, c").unwrap(), "ci.job-1:a = b, c");
        for wrong in [
            "branch",
            "=x",
            "1st=x",
            "a b=x",
            "a,b=x",
            "a=",
            "a=  ",
            "a=x\ny",
            "a=\u{1b}[2J",
        ] {
            let message = of(wrong).unwrap_err();
            assert!(!message.is_empty() && !message.contains('\n'), "{wrong:?}");
        }
        assert!(of(&format!("{}=x", "n".repeat(65))).is_err());
        assert!(of(&format!("n={}", "x".repeat(257))).is_err());
    }

    #[test]
    fn a_name_is_given_once() {
        let tag = |n: &str, v: &str| (n.to_owned(), v.to_owned());
        let message = collect(&[tag("a", "1"), tag("a", "2")]).unwrap_err();
        assert!(message.contains("tag a is given twice"), "{message}");
        let many: Vec<_> = (0..=MOST).map(|n| tag(&format!("t{n}"), "x")).collect();
        assert!(collect(&many).is_err());
        assert_eq!(collect(&many[1..]).unwrap().len(), MOST);
    }
}
