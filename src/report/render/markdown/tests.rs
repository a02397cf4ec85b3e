//! Every block as Markdown.

use super::markdown;
use crate::report::document::{Document, Section};
use crate::report::render::tests::everything;

#[test]
fn every_block_has_its_form() {
    insta::assert_snapshot!(markdown(&everything()));
}

/// The summary of a fold is HTML, in which a backslash escapes nothing.
#[test]
fn a_heading_that_is_folded_has_no_backslashes() {
    let section = Section::detail("Class *a_b* [`x`] <i> \\").text(["one"]);
    let document = Document::new("chat").with([section]);
    let summary = "<summary>Class *a_b* [`x`] &lt;i&gt; &#92;</summary>";
    assert!(markdown(&document).contains(summary), "{}", markdown(&document));
}
