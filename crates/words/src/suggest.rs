//! `did you mean X?`: the known word nearest to a misspelt one.

/// Most characters of a word that is compared; a longer one is no slip of the keyboard.
const LONGEST: usize = 64;

/// The candidate within two edits (one for words of up to four letters), nearest first.
///
/// An edit is an insertion, a deletion, a substitution or a swap of neighbours (Damerau 1964), so that
/// `sise`, `theads` and `thraeds` are all near.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A number near another is no slip: 16 is not 1.
    if word.len() > LONGEST || word.parse::<f64>().is_ok() {
        return None;
    }
    let allowed = if word.len() <= 4 { 1 } else { 2 };
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= LONGEST)
        .map(|candidate| (strsim::osa_distance(word, candidate), candidate))
        .filter(|(edits, _)| *edits <= allowed)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// `did you mean X?`, or `known: A, B, C`.
pub fn suggest<'a>(word: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    nearest(word, known.clone()).map_or_else(
        || format!("known: {}", known.collect::<Vec<_>>().join(", ")),
        |near| format!("did you mean {near}?"),
    )
}

/// `did you mean X? `, to go before a list; empty where no candidate is near.
pub fn hint<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates).map_or_else(String::new, |known| format!("did you mean {known}? "))
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
        assert_eq!(nearest("16", ["1", "8"]), None);
        assert_eq!(nearest(&"x".repeat(1000), keys), None);
        assert_eq!(hint("sise", keys), "did you mean size? ");
        assert_eq!(hint("colour", keys), "");
        assert_eq!(
            suggest("colour", keys.into_iter()),
            "known: threads, size, record, direct"
        );
    }
}
