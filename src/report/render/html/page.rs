//! A document as a page: the verdict, then sections, the details folded; around them head, style, footer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use super::blocks::{self, class};
use crate::report::chart;
use crate::report::document::{Document, Level, Section, VerdictLine};
use crate::report::render::printable::printable;

/// The document as a page.
pub fn html(document: &Document) -> String {
    let shown: Vec<&Section> = document.sections.iter().filter(|section| section.level > Level::Brief).collect();
    let body = html! {
        h1 { (printable(&document.title)) }
        @if let about @ [_, ..] = document.about_and_when().collect::<Vec<_>>().as_slice() {
            p.muted { (printable(&about.join(" · "))) }
        }
        @if let Some(figure) = &document.headline {
            @let doubtful = document.verdict.as_ref().is_some_and(|line| line.word == "INVALID");
            (blocks::headline(figure, doubtful))
        }
        @if let Some(line) = &document.verdict { (verdict(line)) }
        @for group in groups(&shown) { (draw(group)) }
    };
    page(&document.title, &body)
}

fn verdict(line: &VerdictLine) -> Markup {
    html! {
        p.lead {
            span class=(class(line.tone)) { (line.tone.choose(["", "✓ ", "✗ "])) (printable(&line.word)) }
            @if !line.sentence.is_empty() { ": " (printable(&line.sentence)) }
        }
    }
}

/// Sections with those that continue them at the same level.
fn groups<'a, 'b>(sections: &'a [&'b Section]) -> impl Iterator<Item = &'a [&'b Section]> {
    sections.chunk_by(|before, after| after.heading.is_none() && before.level == after.level)
}

fn draw(group: &[&Section]) -> Markup {
    let blocks = html! { @for section in group { (blocks::draw(&section.blocks)) } };
    match (group[0].level, group[0].heading.as_deref()) {
        (Level::Brief | Level::Summary | Level::Page, heading) => html! {
            @if let Some(heading) = heading { h2 { (printable(heading)) } }
            (blocks)
        },
        (Level::Detail | Level::Reference, heading) => html! {
            details.section {
                summary { @if let Some(heading) = heading { h2 { (printable(heading)) } } @else { "More" } }
                (blocks)
            }
        },
    }
}

/// The style of every page, light and dark, on paper and on a telephone.
pub(super) const STYLE: [&str; 3] = [chart::COLOURS, chart::MARKS, include_str!("style.css")];

/// Crosshair, zoom and pinned figures; a page is whole without it.
const SCRIPT: &str = include_str!("page.js");

/// Allows the page its own style, its own script by its hash, and nothing else. That holds whatever a server's text
/// might try.
fn policy() -> String {
    let hash = STANDARD.encode(Sha256::digest(SCRIPT.trim_end()));
    format!("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'")
}

/// A whole page. `body` begins with its heading.
fn page(title: &str, body: &Markup) -> String {
    let (contents, body) = with_contents(body);
    let whole = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="generator" content={ "skyline " (env!("CARGO_PKG_VERSION")) };
                title { (printable(title)) }
                style { @for part in STYLE { (PreEscaped(part)) } }
            }
            body {
                main {
                    (contents)
                    (body)
                    footer {
                        "Made by skyline " (env!("CARGO_PKG_VERSION")) "."
                        // Text from elsewhere is escaped: only a chart is an image.
                        @if body.0.contains("<svg") {
                            " Hover over a point for its figures."
                            span.scripted hidden { " Click it to keep them (of a request also when its tokens came), \
                                drag to zoom in, double-click to zoom out." }
                        }
                    }
                }
                script { (PreEscaped(SCRIPT.trim_end())) }
            }
        }
    };
    // Control characters and marks that turn the direction of writing are made visible wherever they stand.
    whole.into_string().lines().map(printable).collect::<Vec<_>>().join("\n")
}

/// Sections from which a page has a list of them.
const MANY: usize = 6;

/// Returns the folded list of a page's sections, and the page itself. The page has an id at each heading. Foreign text
/// is escaped, so every `<h2>` is one of the page's own.
fn with_contents(body: &Markup) -> (Markup, Markup) {
    let mut parts = body.0.split("<h2>");
    let mut marked = parts.next().unwrap_or_default().to_owned();
    let mut headings = Vec::new();
    for part in parts {
        let heading = part.split("</h2>").next().unwrap_or_default();
        headings.push(PreEscaped(heading.to_owned()));
        marked.extend(["<h2 id=\"s", &headings.len().to_string(), "\">", part]);
    }
    if headings.len() < MANY {
        return (html! {}, PreEscaped(body.0.clone()));
    }
    let contents = html! {
        nav.contents aria-label="Contents" { details {
            summary { "Contents" }
            ul { @for (place, heading) in headings.iter().enumerate() {
                li { a href=(format!("#s{}", place + 1)) { (heading) } }
            } }
        } }
    };
    (contents, PreEscaped(marked))
}
