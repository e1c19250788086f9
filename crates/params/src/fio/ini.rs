//! Sections and options of an INI file as fio reads them.

use super::JobError;

/// A section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    /// Line of its head.
    pub(super) line: usize,
    pub(super) entries: Vec<Entry<'a>>,
}

/// One option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub(super) line: usize,
    pub(super) key: &'a str,
    /// `None`: the key alone.
    pub(super) value: Option<&'a str>,
}

impl Section<'_> {
    /// Keys and values; a key alone is left out, as in fio's own output.
    pub(super) fn options_as_written(&self) -> Vec<(String, String)> {
        let written = |entry: &Entry<'_>| {
            let value = entry.value?;
            Some((entry.key.to_owned(), value.to_owned()))
        };
        self.entries.iter().filter_map(written).collect()
    }
}

/// The sections of a text, in order.
pub(super) fn sections(text: &str) -> Result<Vec<Section<'_>>, JobError> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for (line, written) in (1..).zip(text.lines()) {
        let content = written.split([';', '#']).next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        if let Some(head) = content.strip_prefix('[') {
            let name = head.strip_suffix(']').map(str::trim);
            let Some(name) = name.filter(|name| !name.is_empty()) else {
                let reason = format!(
                    "{}: not the head of a section; write [NAME]",
                    quoted(content)
                );
                return Err(JobError::at(line, reason));
            };
            sections.push(Section {
                name,
                line,
                entries: Vec::new(),
            });
            continue;
        }
        let (key, value) = match content.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (content, None),
        };
        let Some(section) = sections.last_mut() else {
            let reason = format!("{key}: an option outside of a section; write [global] above it");
            return Err(JobError::at(line, reason));
        };
        section.entries.push(Entry { line, key, value });
    }
    Ok(sections)
}

/// Text of a file in a message: one line, not too long.
pub(super) fn quoted(text: &str) -> String {
    let short: String = text.chars().take(60).collect();
    format!("{short:?}")
}
