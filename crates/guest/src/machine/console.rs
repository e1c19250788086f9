//! The last words of a console: what an error quotes.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes of the console's end that are looked at.
const END: i64 = 16 << 10;
/// Lines quoted when no line says more than the others.
const LINES: usize = 3;
/// Characters quoted.
const WIDTH: usize = 300;

/// The console's last words as a piece of a sentence: `: Kernel panic - not syncing: ...`, or
/// nothing when it has none.
pub(super) fn last_words(console: &Path, from: u64) -> String {
    quote(&end_of(console, from).unwrap_or_default())
}

fn end_of(console: &Path, from: u64) -> std::io::Result<String> {
    let mut file = File::open(console)?;
    let length = file.metadata()?.len();
    let begin = length.saturating_sub(END as u64).max(from.min(length));
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A panic's own line where there is one, else the last lines.
fn quote(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| line.chars().filter(|c| !c.is_control()).collect::<String>())
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    let said = ["Kernel panic", "panicked at", "BUG:", "fslab:"]
        .iter()
        .find_map(|sign| lines.iter().rfind(|line| line.contains(sign)).cloned())
        .unwrap_or_else(|| lines[lines.len().saturating_sub(LINES)..].join(" | "));
    if said.is_empty() {
        return String::new();
    }
    let short: String = said.chars().take(WIDTH).collect();
    format!(": {short}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_quoted_before_what_follows_it() {
        let text = "[ 1.0] Run /init\n[ 1.2] Kernel panic - not syncing: No working init found.\r\n\
                    [ 1.3] CPU: 0 PID: 1\n[ 1.4] Call Trace:\n";
        assert_eq!(
            quote(text),
            ": [ 1.2] Kernel panic - not syncing: No working init found."
        );
    }

    #[test]
    fn else_the_last_lines_in_one() {
        assert_eq!(quote("a\nb\n\nc\n\u{1b}d\n"), ": b | c | d");
        assert_eq!(quote(""), "");
        assert_eq!(quote("\n\n"), "");
    }

    #[test]
    fn an_earlier_machine_of_the_same_console_is_not_quoted() {
        let temp = tempfile::tempdir().unwrap();
        let console = temp.path().join("console");
        std::fs::write(&console, "Kernel panic\nnew\n").unwrap();
        assert_eq!(last_words(&console, 13), ": new");
        assert_eq!(last_words(&console, 99), "");
        assert_eq!(last_words(&temp.path().join("none"), 0), "");
    }
}
