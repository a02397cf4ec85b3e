//! What the style's colours come to on each other's ground, by the formula of WCAG 2.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::page;

static STYLE: LazyLock<String> = LazyLock::new(|| page::STYLE.concat());

type Colour = [f64; 3];

/// A colour as `#rgb`, `#rrggbb` or `#rrggbbaa`, and its opacity. That is how much of it covers what is under it, 0 to
/// 1.
fn parse(text: &str) -> (Colour, f64) {
    let digits = text.trim_start_matches('#');
    let digits =
        if digits.len() == 3 { digits.chars().flat_map(|digit| [digit; 2]).collect() } else { digits.to_owned() };
    let part = |at: usize| f64::from(u8::from_str_radix(&digits[at..at + 2], 16).unwrap()) / 255.0;
    ([part(0), part(2), part(4)], if digits.len() == 8 { part(6) } else { 1.0 })
}

fn over((colour, share): (Colour, f64), ground: Colour) -> Colour {
    std::array::from_fn(|i| colour[i] * share + ground[i] * (1.0 - share))
}

/// Relative luminance, <https://www.w3.org/TR/WCAG21/#dfn-relative-luminance>.
fn luminance(colour: Colour) -> f64 {
    let linear = |part: f64| if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) };
    0.2126 * linear(colour[0]) + 0.7152 * linear(colour[1]) + 0.0722 * linear(colour[2])
}

/// Contrast ratio, <https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio>.
fn contrast(a: Colour, b: Colour) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// The three palettes of the style: light, dark, print.
fn palettes() -> Vec<BTreeMap<&'static str, (Colour, f64)>> {
    let blocks = STYLE.split(":root {").skip(1).map(|rest| rest.split('}').next().unwrap());
    blocks
        .map(|block| {
            let lines = block.split(';').filter_map(|line| line.trim().strip_prefix("--")?.split_once(": "));
            lines.map(|(name, colour)| (name, parse(colour.trim()))).collect()
        })
        .collect()
}

/// A number of the style behind a text that stands in it once.
fn number(before: &str) -> f64 {
    let rest = STYLE.split(before).nth(1).unwrap_or_else(|| panic!("no {before} in the style"));
    let digits: String = rest.chars().take_while(|digit| digit.is_ascii_digit() || *digit == '.').collect();
    digits.parse().unwrap()
}

#[test]
fn the_formula_is_that_of_the_web() {
    let ratio = |a, b| contrast(parse(a).0, parse(b).0);
    assert!((ratio("#000", "#ffffff") - 21.0).abs() < 1e-9);
    // The lightest grey that is legible on white, and the first that is not; then 3:1.
    assert!((ratio("#767676", "#fff") - 4.54).abs() < 0.005 && (ratio("#777", "#fff") - 4.48).abs() < 0.005);
    assert!((ratio("#949494", "#fff") - 3.03).abs() < 0.005);
}

/// Text stands out by 4.5:1, lines and marks by 3:1. That holds light, dark and on paper, also on stretches that are
/// shaded.
#[test]
fn every_ink_stands_out_on_every_ground() {
    let palettes = palettes();
    assert_eq!(palettes.len(), 3, "light, dark, print");
    for (palette, name) in palettes.iter().zip(["light", "dark", "print"]) {
        let colour = |name: &str| palette[name].0;
        let (card, uncounted) =
            (colour("card"), (colour("faint"), number(".uncounted { fill: var(--faint); opacity: ")));
        let grounds = [colour("bg"), card, over(palette["shade"], card), over(uncounted, card)];
        for ground in grounds {
            for ink in ["fg", "muted", "good", "bad"] {
                let ratio = contrast(colour(ink), ground);
                assert!(ratio >= 4.5, "{name}: text in {ink} has {ratio:.2} on {ground:?}");
            }
            for ink in ["i0", "i1", "i2", "i3", "faint", "bad", "muted"] {
                let ratio = contrast(colour(ink), ground);
                assert!(ratio >= 3.0, "{name}: {ink} has {ratio:.2} on {ground:?}");
            }
        }
        // Links are text too.
        assert!(contrast(colour("i0"), colour("bg")) >= 4.5, "{name}");
    }
}
