//! The page around what it says: head, style, footer.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::report::printable;

/// The style of every page, light and dark, on paper and on a telephone.
const STYLE: &str = include_str!("style.css");

/// Allows the page its own style and nothing else, whatever a server's text might try.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// A whole page. `body` begins with its heading.
pub(super) fn page(title: &str, body: &Markup) -> String {
    let whole = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="generator" content={ "skyline " (env!("CARGO_PKG_VERSION")) };
                title { (printable(title)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    (body)
                    footer { "Made by skyline " (env!("CARGO_PKG_VERSION")) ". Hover over a point for its figures." }
                }
            }
        }
    };
    // Control characters and marks that turn the direction of writing are made visible wherever they stand.
    whole.into_string().lines().map(printable).collect::<Vec<_>>().join("\n")
}
