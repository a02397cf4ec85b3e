//! Pages hold what was found, escape what others said, and need nothing from elsewhere.

pub(super) const HOSTILE: &str =
    "</title><script src=https://evil.example/x.js></script>\u{202e}<img onerror=alert(1)>";

/// What every page must be.
pub(super) fn assert_page(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"), "{page}");
    assert!(page.contains("Content-Security-Policy") && page.contains("prefers-color-scheme"));
    for forbidden in
        ["<script", "<img", "src=\"", "href=\"h", "href=\"/", "@import", "url(", "NaN", "inf\"", "\u{202e}"]
    {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    // Links go to sections of the page, and to those that are there.
    for link in page.split("href=\"").skip(1) {
        let to = link.split('"').next().unwrap().strip_prefix('#').unwrap_or_else(|| panic!("{link}"));
        assert_eq!(page.matches(&format!("id=\"{to}\"")).count(), 1, "{to}");
    }
    assert_accessible(page);
    for tag in [
        "figure", "svg", "table", "g", "path", "details", "div", "circle", "text", "title", "rect", "ul",
        "dl", "pre",
    ] {
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
pub(super) fn assert_tables(page: &str) {
    for table in page.split("<table").skip(1) {
        let table = table.split("</table>").next().unwrap();
        let caption = table.split("<caption>").nth(1).unwrap_or_default().split("</caption>").next().unwrap();
        assert!(!caption.trim().is_empty(), "a table without a caption: {table}");
        assert!(table.contains("scope=\"col\"") && !table.contains("scope=\"col\"></th>"), "{table}");
    }
}
