//! Charts as inline SVG: in the page's font and colours, light or dark, told apart by shape as well as by colour, every
//! point with its figures for who hovers over it or has it read out.

mod axis;
mod bars;
mod curves;
mod ground;
mod ink;
mod lanes;
mod panels;
mod plot;
mod rows;
mod rules;
mod scatter;

pub(crate) use axis::Axis;
pub(crate) use bars::{Bar, Bars};
pub(crate) use curves::{Curve, Curves};
pub(crate) use ground::{Shade, ShadeKind};
pub(crate) use ink::Ink;
pub(crate) use lanes::{Ending, Lane, Lanes, Stretch};
pub(crate) use panels::{Panel, Panels, Slot, Track, TrackForm, Value};
pub(crate) use plot::{Line, Plot, Point, Series};
pub(crate) use rows::{Against, Row, Rows};
pub(crate) use rules::Rule;
pub(crate) use scatter::{Cloud, Speck};
