//! Every block as text, at both extents.

use super::*;
use crate::report::render::tests::everything;

#[test]
fn the_summary_is_what_everybody_needs() {
    insta::assert_snapshot!(text(&everything(), Style { width: 80, ..Style::PLAIN }, Extent::Summary));
}

#[test]
fn all_of_it() {
    insta::assert_snapshot!(text(&everything(), Style { width: 80, ..Style::PLAIN }, Extent::Full));
}

#[test]
fn colour_changes_nothing_but_colour() {
    let style = Style { colour: Colour::Ansi, ..Style::PLAIN };
    let coloured = text(&everything(), style, Extent::Full);
    let plain = console::strip_ansi_codes(&coloured);
    assert!(coloured.len() > plain.len(), "{coloured}");
    assert_eq!(plain, text(&everything(), Style::PLAIN, Extent::Full));
}
