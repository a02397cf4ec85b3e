//! Charts as inline SVG: in the page's font and colours, series distinct by shape as well as by colour, every
//! point with its figures for a reader who hovers over it or has it read out.

mod axis;
mod frame;
mod levels;
mod marks;
mod palette;
mod plot;
mod rules;
mod svg;

pub(crate) use axis::Axis;
pub(crate) use levels::{LevelStyle, Levels, Value};
pub(crate) use palette::Palette;
pub(crate) use plot::{
    Bar, LineStyle, Panel, Plot, Point, ReferenceLine, Row, RowSpan, Series, SeriesForm, Slot, Width, Zone, ZoneKind,
};
pub(crate) use svg::DrawnPlot;

/// Colours of everything that is drawn, light and dark.
pub(crate) const COLOURS: &str = include_str!("colours.css");
/// Style of the marks of charts, in those colours.
pub(crate) const MARKS: &str = include_str!("marks.css");
