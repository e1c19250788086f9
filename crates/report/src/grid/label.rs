//! Levels as a reader says them: a device of `2g` is 2 under a head that says GiB, and 51000000 files
//! are 51 under a head that says Millions, as in the table of 2012.

use study::Bytes;

/// A step from one unit to the next larger, by name.
type Unit = (&'static str, f64);

const BYTES: [Unit; 5] = [
    ("TiB", 1_099_511_627_776.0),
    ("GiB", 1_073_741_824.0),
    ("MiB", 1_048_576.0),
    ("KiB", 1024.0),
    ("bytes", 1.0),
];
const COUNTS: [Unit; 3] = [("Millions", 1e6), ("Thousands", 1e3), ("", 1.0)];

/// Factors whose levels count files.
const FILES: [&str; 2] = ["files", "total_files"];

/// A label column in its natural unit.
pub(super) struct Natural {
    /// Its head, which says the unit.
    pub head: String,
    /// Its levels without the unit.
    pub levels: Vec<String>,
    /// Its levels with the unit, for places without a head above them: `1 GiB`, `20 thousand files`, `prefill=true`.
    pub named: Vec<String>,
}

/// The head of a label column and its levels, both in the unit that suits all levels.
///
/// Levels of bytes are those with a suffix (`512m`); levels of counts are whole numbers of the factor
/// `files` or `total_files`, or of one whose label already names a unit, as in `(in Millions)`. Others stay as they
/// are, and so does a level that is no number (`none`).
pub(super) fn natural(label: &str, factor: &str, levels: &[&str]) -> Natural {
    let is_files = FILES.contains(&factor);
    let numbers: Vec<Option<f64>> = levels.iter().map(|level| bytes(level)).collect();
    if !is_files && numbers.iter().any(Option::is_some) {
        return scaled([label, factor], levels, &numbers, &BYTES, "");
    }
    let numbers: Vec<Option<f64>> = levels.iter().map(|level| count(level)).collect();
    let counted = is_files || label.contains("(in ");
    if counted && numbers.iter().any(Option::is_some) {
        return scaled(
            [label, factor],
            levels,
            &numbers,
            &COUNTS,
            if is_files { "files" } else { "" },
        );
    }
    let is_bare = levels.iter().any(|level| is_bare(level));
    let named = levels.iter().map(|level| {
        if is_bare {
            explain::subject(factor, level)
        } else {
            (*level).to_owned()
        }
    });
    Natural {
        head: label.to_owned(),
        named: named.collect(),
        levels: levels.iter().map(|l| (*l).to_owned()).collect(),
    }
}

/// Whether a level says nothing without its factor: a number, `true`, `none`.
fn is_bare(level: &str) -> bool {
    level.starts_with(|c: char| c.is_ascii_digit()) || ["true", "false", "none"].contains(&level)
}

/// Bytes of a level with a suffix.
fn bytes(level: &str) -> Option<f64> {
    let has_suffix = level.ends_with(|c: char| c.is_ascii_alphabetic());
    let value = level.parse::<Bytes>().ok().filter(|_| has_suffix)?;
    Some(value.get() as f64)
}

fn count(level: &str) -> Option<f64> {
    level.parse::<u64>().ok().map(|n| n as f64)
}

fn scaled(
    [label, factor]: [&str; 2],
    levels: &[&str],
    numbers: &[Option<f64>],
    units: &[Unit],
    of: &str,
) -> Natural {
    let fits = |(_, size): &&Unit| {
        let mut present = numbers.iter().flatten();
        present.all(|n| *n == 0.0 || (n / size >= 0.1 && is_short(n / size)))
    };
    let (name, size) = units.iter().find(fits).copied().unwrap_or(("", 1.0));
    let words = match name {
        "Millions" => "million",
        "Thousands" => "thousand",
        other => other,
    };
    let unit = [words, of].join(" ");
    let mut natural = Natural {
        head: head(label, name),
        levels: Vec::new(),
        named: Vec::new(),
    };
    for (level, number) in levels.iter().zip(numbers) {
        let (short, named) = match number {
            Some(number) => {
                let short = (number / size).to_string();
                let named = format!("{short} {}", unit.trim());
                (short, named.trim().to_owned())
            }
            None => ((*level).to_owned(), explain::subject(factor, level)),
        };
        natural.levels.push(short);
        natural.named.push(named);
    }
    natural
}

/// Whether two decimals are enough.
fn is_short(value: f64) -> bool {
    let hundredths = value * 100.0;
    (hundredths - hundredths.round()).abs() < 1e-9 * hundredths.max(1.0)
}

/// The label with the unit in place of the one it names, or after it.
fn head(label: &str, unit: &str) -> String {
    let words = if unit.is_empty() {
        String::new()
    } else {
        format!("(in {unit})")
    };
    let text = match label.find("(in ").map(|at| (at, label[at..].find(')'))) {
        Some((at, Some(end))) => format!("{}{words}{}", &label[..at], &label[at + end + 1..]),
        _ => format!("{label} {words}"),
    };
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(label: &str, factor: &str, levels: &[&str]) -> (String, String) {
        let natural = natural(label, factor, levels);
        (natural.head, natural.levels.join(" "))
    }

    #[test]
    fn sizes_say_their_unit_in_the_head() {
        let label = "File System Size (in TB)";
        let written = |levels: &[&str]| of(label, "device_size", levels);
        let expect =
            |unit: &str, levels: &str| (format!("File System Size (in {unit})"), levels.to_owned());
        assert_eq!(written(&["2g", "4g"]), expect("GiB", "2 4"));
        assert_eq!(written(&["512m", "2g"]), expect("GiB", "0.5 2"));
        assert_eq!(written(&["100m", "2g"]), expect("MiB", "100 2048"));
        assert_eq!(written(&["38t", "72t"]), expect("TiB", "38 72"));
        assert_eq!(
            of("Memory", "memory", &["none", "512m"]),
            ("Memory (in GiB)".to_owned(), "none 0.5".to_owned())
        );
    }

    #[test]
    fn counts_of_files_are_thousands_or_millions() {
        let label = "Number of Files (in Millions)";
        assert_eq!(
            of(label, "files", &["105000000", "51000000", "10200000"]),
            (label.to_owned(), "105 51 10.2".to_owned())
        );
        assert_eq!(
            of(label, "files", &["2000", "20000"]),
            (
                "Number of Files (in Thousands)".to_owned(),
                "2 20".to_owned()
            )
        );
        assert_eq!(
            of(label, "files", &["50", "1234"]),
            ("Number of Files".to_owned(), "50 1234".to_owned())
        );
        let named = natural(label, "files", &["2000", "20000"]).named;
        assert_eq!(named, ["2 thousand files", "20 thousand files"]);
        assert_eq!(natural(label, "files", &["50"]).named, ["50 files"]);
        assert_eq!(
            natural("Memory", "memory", &["none", "512m"]).named,
            ["memory=none", "0.5 GiB"]
        );
        let kernels = natural("Kernel", "kernel", &["6.1", "6.12"]).named;
        assert_eq!(kernels, ["kernel 6.1", "kernel 6.12"]);
        // A level that says nothing alone has its factor, and so have the others.
        let bare = natural("Prefill", "prefill", &["true", "false"]).named;
        assert_eq!(bare, ["prefill=true", "prefill=false"]);
        let mixed = natural("Disk", "limit", &["none", "read=35m"]).named;
        assert_eq!(mixed, ["limit=none", "limit=read=35m"]);
        let plain = natural("Filesystem", "filesystem", &["ext4", "xfs"]).named;
        assert_eq!(plain, ["ext4", "xfs"]);
        // A readahead in sectors is no count of things and keeps its level.
        assert_eq!(
            of("Readahead", "readahead", &["256", "65536"]),
            ("Readahead".to_owned(), "256 65536".to_owned())
        );
    }
}
