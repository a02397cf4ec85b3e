//! Pictures of a document to paste elsewhere: its main charts on one sheet, as SVG and as PNG.

use std::io;
use std::sync::{Arc, OnceLock};

use maud::{Markup, PreEscaped, html};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::printable::printable;
use super::text::wrap;
use crate::report::chart::{self, DrawnPlot};
use crate::report::document::{Block, Chart, Document, Level, Section};

/// The ground that a picture is pasted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ground {
    Light,
    Dark,
}

/// Charts are those of so many sections, as they come.
const SECTIONS: usize = 2;
/// Most charts of a sheet.
const MOST: usize = 6;
/// Room around the sheet, between cards, and within them.
const MARGIN: f64 = 24.0;
const GAP: f64 = 16.0;
const PAD: f64 = 12.0;
/// Width of what the margin surrounds: two cards side by side, or a wide one.
const WIDTH: f64 = 944.0;
/// Characters that fit in a line of the head and of a card. They are by the widest font of the list, as a letter of
/// theirs has it on average.
const HEAD: usize = 118;
/// Characters that fit in a line of the title.
const TITLE: usize = 76;
/// Height of a line of text.
const LINE: f64 = 18.0;
/// Pixels of a PNG for each of a page: letters stay sharp on any screen.
const SCALE: f32 = 2.0;
/// Fonts of a picture that is shown by a browser, as on a page.
const FONTS: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
/// The font of a PNG.
const FONT: &str = "DejaVu Sans";

/// Draws the main charts of a document under its verdict, as a file of SVG.
pub(crate) fn picture(document: &Document, ground: Ground) -> String {
    sheet(document, ground, FONTS)
}

/// Draws the same as PNG. Letters that its own font lacks are those of this machine's fonts.
///
/// # Errors
/// If there is no memory for the picture.
pub(crate) fn raster(document: &Document, ground: Ground) -> io::Result<Vec<u8>> {
    static FOUND: OnceLock<Arc<fontdb::Database>> = OnceLock::new();
    let fonts = FOUND.get_or_init(|| {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_data(dejavu::sans::regular().to_vec());
        fonts.load_system_fonts();
        Arc::new(fonts)
    });
    let options = Options { font_family: FONT.to_owned(), fontdb: fonts.clone(), ..Options::default() };
    let tree = Tree::from_str(&sheet(document, ground, FONT), &options).map_err(io::Error::other)?;
    let size = tree.size().to_int_size().scale_by(SCALE);
    let pixels = size.and_then(|size| Pixmap::new(size.width(), size.height()));
    let mut pixels = pixels.ok_or_else(|| io::Error::other("the picture is too large for the memory"))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(io::Error::other)
}

/// The style of the marks in the colours of a ground.
fn style(ground: Ground, fonts: &str) -> String {
    let block = chart::COLOURS.split(":root {").nth(if ground == Ground::Light { 1 } else { 2 }).unwrap_or_default();
    let colours = block.split('}').next().unwrap_or_default().split(';');
    let own = format!(
        "svg {{ font-family: {fonts}; font-size: 12.5px; }} .ground {{ fill: var(--bg); }} \
         .card {{ fill: var(--card); stroke: var(--line); }} svg .heading {{ font-size: 20px; font-weight: 600; }} \
         svg .name {{ font-weight: 600; }} svg .below {{ fill: var(--muted); }} svg .good {{ fill: var(--good); }} \
         svg .bad {{ fill: var(--bad); }}"
    );
    let style = [chart::MARKS, &own].concat();
    colours
        .filter_map(|colour| colour.trim().strip_prefix("--")?.split_once(": "))
        .fold(style, |style, (name, colour)| style.replace(&format!("var(--{name})"), colour))
}

/// The charts that a sheet has, each with the heading that it stands under.
fn main_charts(document: &Document) -> Vec<(&str, &Chart)> {
    let open = document.sections.iter().filter(|section| matches!(section.level, Level::Summary | Level::Page));
    let with_charts = open.map(|section| (section.heading.as_deref().unwrap_or_default(), charts(section)));
    let chosen = with_charts.filter(|(_, charts)| !charts.is_empty()).take(SECTIONS);
    let named = chosen.flat_map(|(heading, charts)| charts.into_iter().map(move |chart| (heading, chart)));
    named
        .map(|(heading, chart)| (if chart.title.is_empty() { heading } else { &chart.title }, chart))
        .take(MOST)
        .collect()
}

fn charts(section: &Section) -> Vec<&Chart> {
    section.blocks.iter().filter_map(Block::chart).collect()
}

/// A card with a chart.
struct Card<'a> {
    title: &'a str,
    hint: Vec<String>,
    plot: DrawnPlot,
}

impl Card<'_> {
    /// One of page width is as wide as two of a column.
    fn width(&self) -> f64 {
        let width = self.plot.width + 2.0 * PAD;
        if width > WIDTH / 2.0 { WIDTH } else { width }
    }

    fn height(&self) -> f64 {
        self.plot.height + 2.0 * PAD + LINE * (1 + self.hint.len()) as f64
    }

    fn draw(&self, (x, y): (f64, f64)) -> Markup {
        let top = PAD + LINE * (1 + self.hint.len()) as f64;
        html! {
            g transform=(format!("translate({x:.1} {y:.1})")) {
                rect class="card" width=(self.width()) height=(format!("{:.1}", self.height())) rx="8" {}
                text class="name" x=(PAD) y=(PAD + 10.0) { (printable(self.title)) }
                @for (line, hint) in self.hint.iter().enumerate() {
                    text class="below" x=(PAD) y=(PAD + 10.0 + LINE * (line + 1) as f64) { (printable(hint)) }
                }
                g transform=(format!("translate({PAD} {top:.1})")) { (self.plot.marks) }
            }
        }
    }
}

fn sheet(document: &Document, ground: Ground, fonts: &str) -> String {
    let cards = main_charts(document).into_iter().filter_map(|(title, chart)| {
        let plot = chart.plot.drawn()?;
        let room = HEAD * plot.width as usize / WIDTH as usize;
        // Nothing moves over a picture.
        let hint: Vec<&str> = chart.hint.split("; ").filter(|part| !part.starts_with("hover")).collect();
        let hint = if chart.hint.is_empty() { Vec::new() } else { wrap(&hint.join("; "), room) };
        Some(Card { title, hint, plot })
    });
    let mut y = MARGIN + 16.0;
    let head = head(document, &mut y);
    let (mut x, mut row, mut placed) = (0.0, 0.0_f64, Vec::new());
    for card in cards {
        if x > 0.0 && x + card.width() > WIDTH {
            (x, y, row) = (0.0, y + row + GAP, 0.0);
        }
        row = row.max(card.height());
        placed.push(card.draw((MARGIN + x, y)));
        x += card.width() + GAP;
    }
    let (width, height) = (WIDTH + 2.0 * MARGIN, (y + row + MARGIN + LINE).ceil());
    let drawn = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height) viewBox=(format!("0 0 {width} {height}"))
            role="img" {
            title { (printable(&document.title)) }
            style { (PreEscaped(style(ground, fonts))) }
            rect class="ground" width=(width) height=(height) {}
            (head)
            @for card in &placed { (card) }
            text class="below" x=(width - MARGIN) y=(height - MARGIN / 2.0) text-anchor="end" {
                "skyline " (env!("CARGO_PKG_VERSION"))
            }
        }
    };
    drawn.into_string().lines().map(printable).collect::<Vec<_>>().join("\n")
}

/// The title, what was measured and the verdict. It begins at `y`, and moves `y` below them.
fn head(document: &Document, y: &mut f64) -> Markup {
    let about = document.about_and_when().collect::<Vec<_>>().join(" · ");
    let mut lines: Vec<_> = wrap(&document.title, TITLE).into_iter().map(|line| ("heading", line)).collect();
    lines.extend(wrap(&about, HEAD).into_iter().map(|line| ("below", line)));
    if let Some(verdict) = &document.verdict {
        let class = verdict.tone.choose(["", "good", "bad"]);
        lines.extend(wrap(&verdict.in_words(), HEAD).into_iter().map(|line| (class, line)));
    }
    lines.retain(|(_, line)| !line.is_empty());
    let placed: Vec<_> = lines
        .into_iter()
        .map(|(class, line)| {
            let at = *y;
            *y += if class == "heading" { LINE + 6.0 } else { LINE };
            (class, line, at)
        })
        .collect();
    html! { @for (class, line, at) in &placed { text class=(class) x=(MARGIN) y=(at) { (printable(line)) } } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::documents;
    use crate::report::sample_runs;

    fn of_run(ground: Ground) -> String {
        let log = sample_runs::observed();
        sample_runs::report(&log, &[], |report| {
            picture(&documents::run(report.summary, report.diagnosis, Some(report.log)), ground)
        })
    }

    #[test]
    fn a_picture_is_whole_in_itself() {
        let drawn = of_run(Ground::Light);
        assert!(drawn.contains("TTFT, cumulative") && drawn.contains("VALID"), "{drawn}");
        for missing in ["var(", "hover", "class=\"wide\""] {
            assert!(!drawn.contains(missing), "{missing}");
        }
        assert!(Tree::from_str(&drawn, &Options::default()).is_ok(), "XML that every reader takes");
        let dark = of_run(Ground::Dark);
        assert!(drawn.contains("#0072b2") && !dark.contains("#0072b2") && dark.contains("#56b4e9"));
    }

    #[test]
    fn cards_lie_side_by_side_within_the_sheet() {
        let drawn = of_run(Ground::Light);
        let of = |text: &str, name: &str| -> f64 {
            text.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
        };
        let (width, height) = (of(&drawn, "width"), of(&drawn, "height"));
        let mut corners = Vec::new();
        for card in drawn.split("<g transform=\"translate(").skip(1).filter(|card| card.contains("class=\"card\"")) {
            let (x, y) = card.split(')').next().unwrap().split_once(' ').unwrap();
            let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
            assert!(x + of(card, "width") <= width - MARGIN && y + of(card, "height") <= height - MARGIN, "{x} {y}");
            corners.push((x, y));
        }
        assert!(corners.len() > 2 && corners[0].1 == corners[1].1 && corners[0].0 < corners[1].0, "{corners:?}");
    }

    #[test]
    fn a_raster_has_the_same_colours() {
        let document = Document::new("a run of Ω").about("mock · 10/s");
        for (ground, colour) in [(Ground::Light, [255, 255, 255]), (Ground::Dark, [0x13, 0x17, 0x1b])] {
            let pixels = Pixmap::decode_png(&raster(&document, ground).unwrap()).unwrap();
            assert_eq!(pixels.width(), ((WIDTH + 2.0 * MARGIN) * f64::from(SCALE)) as u32);
            let corner = pixels.pixel(0, 0).unwrap();
            assert_eq!([corner.red(), corner.green(), corner.blue()], colour);
            let inked = pixels.pixels().iter().filter(|pixel| **pixel != corner).count();
            assert!(inked > 1_000, "letters are drawn: {inked}");
        }
    }
}
