//! The contrast of the colours of text on a page, as WCAG 2.1 computes it (success criterion 1.4.3: at least 4.5 for
//! text; 1.4.11: at least 3 for the lines of a drawing).

use super::CSS;

/// Least contrast of a text.
const TEXT: f64 = 4.5;
/// Least contrast of a line of a drawing.
const LINE: f64 = 3.0;

/// Colours of text, and what each is on.
const TEXTS: [(&str, &[&str]); 12] = [
    ("ink", &["bg", "card", "badbg"]),
    ("soft", &["bg", "card"]),
    ("link", &["bg", "card"]),
    ("bad", &["bg", "card", "badbg"]),
    ("better", &["bg"]),
    ("worse", &["bg"]),
    ("pub", &["bg"]),
    // Names of laws in a plot.
    ("s0", &["bg"]),
    ("s1", &["bg"]),
    ("s2", &["bg"]),
    ("s3", &["bg"]),
    ("s5", &["bg"]),
];

type Colour = [f64; 3];

/// The colour variables of the `n`th `:root` rule.
struct Palette(Vec<(String, String)>);

impl Palette {
    fn nth(n: usize) -> Palette {
        let rule = CSS.split(":root{").nth(n + 1).unwrap();
        let rule = rule.split('}').next().unwrap();
        let pairs = rule.split(';').filter_map(|pair| pair.split_once(':'));
        Palette(
            pairs
                .map(|(name, value)| (name[2..].to_owned(), value.to_owned()))
                .collect(),
        )
    }

    fn colour(&self, name: &str) -> Colour {
        let found = self.0.iter().find(|(known, _)| known == name);
        let digits = found.unwrap_or_else(|| panic!("{name}")).1[1..].to_owned();
        let wide = match digits.len() {
            3 => digits.chars().flat_map(|c| [c, c]).collect(),
            _ => digits,
        };
        [0, 2, 4].map(|at| f64::from(u8::from_str_radix(&wide[at..at + 2], 16).unwrap()))
    }
}

/// Relative luminance.
fn luminance(colour: Colour) -> f64 {
    let [red, green, blue] = colour.map(|value| match value / 255.0 {
        value if value <= 0.039_28 => value / 12.92,
        value => ((value + 0.055) / 1.055).powf(2.4),
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

fn contrast(a: Colour, b: Colour) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// `percent` of a colour over another.
fn mixed(over: Colour, percent: f64, below: Colour) -> Colour {
    [0, 1, 2].map(|at| (over[at] * percent + below[at] * (100.0 - percent)) / 100.0)
}

#[test]
fn black_on_white_has_the_contrast_that_wcag_names() {
    assert!((contrast([0.0; 3], [255.0; 3]) - 21.0).abs() < 1e-9);
    assert!((contrast([119.0; 3], [255.0; 3]) - 4.48).abs() < 0.01);
}

#[test]
fn every_text_has_enough_contrast_in_both_schemes() {
    for (n, scheme) in ["light", "dark"].into_iter().enumerate() {
        let palette = Palette::nth(n);
        for (text, grounds) in TEXTS {
            for ground in grounds {
                let found = contrast(palette.colour(text), palette.colour(ground));
                assert!(found >= TEXT, "{scheme}: {text} on {ground}: {found:.2}");
            }
        }
        for line in 0..6 {
            let found = contrast(palette.colour(&format!("s{line}")), palette.colour("bg"));
            assert!(found >= LINE, "{scheme}: s{line}: {found:.2}");
        }
    }
}

#[test]
fn every_text_in_a_shaded_cell_has_enough_contrast() {
    let degrees = CSS.split("{--h:").skip(1);
    let degrees: Vec<f64> = degrees
        .map(|rest| rest.split('}').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(degrees.len(), 5);
    // Marks, units and footnotes have the cell's own colour.
    assert!(
        CSS.contains("td[data-heat]{color:var(--ink)!important}td[data-heat] *{color:inherit}")
    );
    for n in 0..2 {
        let palette = Palette::nth(n);
        for tone in ["better", "worse"] {
            for degree in &degrees {
                let cell = mixed(palette.colour(tone), *degree, palette.colour("bg"));
                let found = contrast(palette.colour("ink"), cell);
                assert!(found >= TEXT, "{tone} {degree} %: {found:.2}");
            }
        }
    }
}
