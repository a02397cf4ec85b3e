//! Pages hold what was found, escape what others said, and need nothing from elsewhere.

use sha2::{Digest as _, Sha256};

use super::html;
use crate::report::document::{Document, KeyFigure, Tone, VerdictLine};
use crate::report::render::tests::everything;

/// Name that a server might give itself.
pub(in crate::report) const HOSTILE: &str =
    "</title><script src=https://evil.example/x.js></script>\u{202e}<img onerror=alert(1)>";

/// Asserts what every page must be.
pub(in crate::report) fn assert_page(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"), "{page}");
    assert!(page.contains("Content-Security-Policy") && page.contains("prefers-color-scheme"));
    for forbidden in ["<img", "src=\"", "href=\"h", "href=\"/", "@import", "url(", "NaN", "inf\"", "\u{202e}"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    // One script, its own, by its hash.
    let script = page.split("<script>").nth(1).unwrap().split("</script>").next().unwrap();
    let hash = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, Sha256::digest(script));
    assert!(page.contains(&format!("script-src 'sha256-{hash}'\"")) && page.matches("<script").count() == 1);
    // Links go to sections of the page, and to those that are there.
    for link in page.split("href=\"").skip(1) {
        let to = link.split('"').next().unwrap().strip_prefix('#').unwrap_or_else(|| panic!("{link}"));
        assert_eq!(page.matches(&format!("id=\"{to}\"")).count(), 1, "{to}");
    }
    assert_accessible(page);
    for tag in
        ["figure", "svg", "table", "g", "path", "details", "div", "circle", "text", "title", "rect", "ul", "dl", "pre"]
    {
        let opened = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "every <{tag}> is closed");
    }
}

/// Every picture says what it shows, every table too; headings come in their order.
fn assert_accessible(page: &str) {
    for picture in page.split("<svg").skip(1) {
        let tag = picture.split('>').next().unwrap();
        let label = tag.split("aria-label=\"").nth(1).unwrap_or_default().split('"').next().unwrap();
        assert!(tag.contains("role=\"img\"") && label.len() > 10, "{tag}");
    }
    assert_tables(page);
    assert!(page.contains("<html lang=\"en\">") && page.matches("<h1").count() == 1);
    assert!(page.find("<h1").unwrap() < page.find("<h2").unwrap_or(usize::MAX) && !page.contains("<h4"));
}

/// Every table has a caption, and every column that is named a scope.
pub(in crate::report) fn assert_tables(page: &str) {
    for table in page.split("<table").skip(1) {
        let table = table.split("</table>").next().unwrap();
        let caption = table.split("<caption>").nth(1).unwrap_or_default().split("</caption>").next().unwrap();
        assert!(!caption.trim().is_empty(), "a table without a caption: {table}");
        assert!(table.contains("scope=\"col\"") && !table.contains("scope=\"col\"></th>"), "{table}");
    }
}

#[test]
fn every_block_has_its_form() {
    let page = html(&everything());
    assert_page(&page);
    for form in [
        "<p class=\"lead\"><span class=\"good\">✓ VALID</span>: 600 of 600 requests completed</p>",
        "<div class=\"card\"><div class=\"name\">TTFT p50</div><div class=\"value\">144<span class=\"unit\"> \
         ms</span></div><div class=\"below\">95 %: 137–160</div></div>",
        "<th scope=\"row\">TTFT</th><td>600</td><td>144</td><td>410*<div class=\"below\">380–450</div></td>",
        "<span class=\"sign\">* </span>too few samples to rely on",
        "<span class=\"sign\">! </span>the client stalled for 430 ms, limit: 100 ms<p class=\"after\"><span \
         class=\"muted\">→ </span>free up CPU</p>",
        "<li class=\"bad\"><span class=\"sign\">✗ </span>p95 ttft &lt; 100ms: 144 ms</li>",
        "<dt>deployment</dt><dd>bfloat16 (reported by the server)</dd><dd>",
        "<pre class=\"command\">skyline bench chat --url 'http://host'</pre>",
        "<pre class=\"command\">docker run \\\n  vllm</pre>",
        "<div class=\"scroll wide\"",
    ] {
        assert!(page.contains(form), "no {form} in {page}");
    }
    assert!(page.contains("&lt;script src=https://evil.example/x.js&gt;") && !page.contains('\u{1b}'));
}

#[test]
fn the_answer_is_as_large_as_a_headline_and_pale_where_it_is_not_trusted() {
    let page = |word| {
        let answer = KeyFigure::new("highest load <b>", "28.1", "requests/s").below(["95 %: 27–29".to_owned()]);
        let verdict = VerdictLine::new(Tone::Neutral, word, "14 runs");
        html(&Document::new("Sweep").verdict(verdict).headline(Some(answer)))
    };
    let form = "<div class=\"headline\"><div class=\"value\">28.1<span class=\"unit\"> requests/s</span></div>\
                <div>highest load &lt;b&gt;<span class=\"muted\"> · 95 %: 27–29</span></div></div>";
    assert!(page("PASSED").contains(form), "{}", page("PASSED"));
    assert!(page("INVALID").contains("<div class=\"headline muted\">"));
}

#[test]
fn details_are_folded_and_the_summary_is_not() {
    let page = html(&everything());
    assert!(page.contains("<details class=\"section\"><summary><h2") && page.contains("<summary>More</summary>"));
    let summary = page.split("<details class=\"section\">").next().unwrap();
    assert!(summary.contains("Latency, ms") && !summary.contains("What was run"));
}
