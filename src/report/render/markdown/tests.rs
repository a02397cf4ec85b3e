//! Every block as Markdown.

use super::markdown;
use crate::report::render::tests::everything;

#[test]
fn every_block_has_its_form() {
    insta::assert_snapshot!(markdown(&everything()));
}
