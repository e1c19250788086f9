//! Names beside bars: short ones as they are, of long ones the part that distinguishes them.
//!
//! Mount options and columns of a study are long and begin alike
//! (`Write(delalloc,journal_async_commit,data=writeback)`, `Write(delalloc)`); cut at the same letter they
//! would all read the same. So what all names share is elided first, at the start and at the end, and only
//! then what still is too long, in its middle. Every name keeps its whole text as a tooltip.

/// Stands for what was left out.
const ELLIPSIS: &str = "…";

/// Letters that stay readable of a shared part: less is not worth an ellipsis.
const LEAST_SHARED: usize = 4;

/// The names in at most `letters` letters each, no two alike unless they were.
pub(super) fn fitted(names: &[&str], letters: usize) -> Vec<String> {
    if names.iter().all(|name| length(name) <= letters) {
        return names.iter().map(|name| (*name).to_owned()).collect();
    }
    let without = without_shared(names);
    if without.iter().all(|name| length(name) <= letters) && tells_apart(names, &without) {
        return without;
    }
    // More of the end where the begins are alike, and the other way round.
    let room = letters.saturating_sub(1);
    let half = room / 2;
    let heads = (0..=half).flat_map(|away| [half + away, half.saturating_sub(away)]);
    for head in heads.filter(|head| *head <= room) {
        let cut: Vec<String> = without
            .iter()
            .map(|name| middle_out(name, head, room - head))
            .collect();
        if tells_apart(names, &cut) {
            return cut;
        }
    }
    // Names that differ only far inside: their number in the plot distinguishes them.
    let numbered = without.iter().enumerate().map(|(at, name)| {
        let number = format!("{} ", at + 1);
        let room = letters.saturating_sub(number.len() + 1);
        format!("{number}{}", middle_out(name, room, 0))
    });
    numbered.collect()
}

/// A name in two lines of at most `letters` letters each, broken after a space, a comma or a bracket as near to the
/// middle as possible.
pub(super) fn halves(name: &str, letters: usize) -> Option<(&str, &str)> {
    let breaks = name.char_indices().filter(|(_, c)| " ,(/".contains(*c));
    // A comma stays on the first line, a bracket begins the second.
    let cuts = breaks.map(|(at, c)| if c == '(' { at } else { at + c.len_utf8() });
    let halves = cuts.map(|at| (name[..at].trim(), name[at..].trim()));
    let fits = |half: &&str| !half.is_empty() && length(half) <= letters;
    let fitting = halves.filter(|(first, second)| fits(first) && fits(second));
    fitting.min_by_key(|(first, second)| length(first).abs_diff(length(second)))
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// The names without what all of them begin and end with.
fn without_shared(names: &[&str]) -> Vec<String> {
    let letters: Vec<Vec<char>> = names.iter().map(|name| name.chars().collect()).collect();
    let shortest = letters.iter().map(Vec::len).min().unwrap_or(0);
    let alike = |at: &dyn Fn(&Vec<char>) -> Option<char>| {
        let mut all = letters.iter().map(at);
        let first = all.next().flatten();
        first.is_some() && all.all(|other| other == first)
    };
    let begin = (0..shortest).take_while(|i| alike(&|name| name.get(*i).copied()));
    let begin = word(&letters, begin.count());
    let end = (0..shortest - begin).take_while(|i| {
        alike(&|name| {
            name.len()
                .checked_sub(i + 1)
                .and_then(|at| name.get(at).copied())
        })
    });
    let end = end.count();
    let (begin, end) = (worth(begin), worth(end));
    let kept = letters.iter().map(|name| {
        let middle: String = name[begin..name.len() - end].iter().collect();
        let mark = |left_out: usize| if left_out > 0 { ELLIPSIS } else { "" };
        format!("{}{middle}{}", mark(begin), mark(end))
    });
    kept.collect()
}

/// A shared start ends after a sign, not within a word.
fn word(letters: &[Vec<char>], shared: usize) -> usize {
    let Some(first) = letters.first() else {
        return 0;
    };
    let ends_word = |at: &usize| !first[*at].is_alphanumeric() && first[*at] != '_';
    (0..shared).rev().find(ends_word).map_or(0, |at| at + 1)
}

fn worth(shared: usize) -> usize {
    if shared < LEAST_SHARED { 0 } else { shared }
}

/// A name with its first `head` and its last `tail` letters.
fn middle_out(name: &str, head: usize, tail: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= head + tail + 1 {
        return name.to_owned();
    }
    let text = |part: &[char]| part.iter().collect::<String>();
    format!(
        "{}{ELLIPSIS}{}",
        text(&letters[..head]),
        text(&letters[letters.len() - tail..])
    )
}

/// Whether names that differ still do.
fn tells_apart(names: &[&str], shown: &[String]) -> bool {
    let mut pairs = names.iter().zip(shown).enumerate();
    pairs.all(|(at, (name, text))| {
        let mut others = names.iter().zip(shown).skip(at + 1);
        others.all(|(other, shown)| other == name || shown != text)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn long_names_break_where_words_end() {
        let found = halves("XFS - xfs_repair time (Seconds)", 25);
        assert_eq!(found, Some(("XFS - xfs_repair", "time (Seconds)")));
        let found = halves("delalloc,data=writeback", 16);
        assert_eq!(found, Some(("delalloc,", "data=writeback")));
        assert_eq!(halves("onewordwithoutanybreak", 16), None);
        assert_eq!(halves("a reallylongsecondhalfofaname", 16), None);
    }

    #[test]
    fn what_is_shared_gives_way_first() {
        let options = [
            "Write(delalloc,journal_async_commit,data=writeback)",
            "Write(delalloc,nodiscard)",
        ];
        assert_eq!(
            fitted(&options, 26),
            ["…journal_asy…ta=writeback)", "…nodiscard)"]
        );
        let sizes = ["filesystem=ext4 size=1g", "filesystem=ext4 size=16g"];
        assert_eq!(fitted(&sizes, 15), ["…1g", "…16g"]);
        assert_eq!(fitted(&["ext4", "xfs"], 15), ["ext4", "xfs"]);
    }

    #[test]
    fn names_that_differ_far_inside_are_numbered() {
        let same = "a".repeat(40);
        let names = [format!("{same}x{same}"), format!("{same}y{same}")];
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let shown = fitted(&names, 15);
        assert!(shown[0] != shown[1], "{shown:?}");
    }

    proptest! {
        #[test]
        fn every_name_fits_and_stays_another(
            names in proptest::collection::hash_set("[ab,=é]{0,40}", 1..9),
            letters in 8usize..30,
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let shown = fitted(&names, letters);
            for text in &shown {
                prop_assert!(length(text) <= letters, "{text:?}");
            }
            prop_assert!(tells_apart(&names, &shown), "{names:?} {shown:?}");
        }
    }
}
