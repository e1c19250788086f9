//! The known word nearest to a misspelt one.

/// The candidate within two edits (one for words of up to four letters), nearest first.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let allowed = if word.len() <= 4 { 1 } else { 2 };
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(edits, _)| *edits <= allowed)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// `did you mean X?`, or all that is known.
pub(crate) fn suggest<'a>(word: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    nearest(word, known.clone()).map_or_else(
        || format!("known: {}", known.collect::<Vec<_>>().join(", ")),
        |near| format!("did you mean {near}?"),
    )
}

/// `did you mean X? `, to go before a list, or nothing.
pub(crate) fn hint<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates).map_or_else(String::new, |known| format!("did you mean {known}? "))
}

/// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours
/// (Damerau 1964), so that `sise` and `theads` and `thraeds` are all near.
fn distance(a: &str, b: &str) -> usize {
    const LONGEST: usize = 64;
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().max(b.len()) > LONGEST {
        return usize::MAX;
    }
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1)
                .min(row[j - 1] + 1)
                .min(rows[i - 1][j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_slips_are_near_and_other_words_are_not() {
        let keys = ["threads", "size", "record", "direct"];
        for (slip, meant) in [
            ("theads", "threads"),
            ("thraeds", "threads"),
            ("sise", "size"),
            ("recrod", "record"),
        ] {
            assert_eq!(nearest(slip, keys), Some(meant), "{slip}");
        }
        assert_eq!(nearest("colour", keys), None);
        assert_eq!(nearest("", keys), None);
        assert_eq!(nearest(&"x".repeat(1000), keys), None);
    }
}
