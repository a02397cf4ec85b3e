//! Charts as inline SVG: in the page's font and colours, light or dark, told apart by shape as well as by colour, every
//! point with its figures for who hovers over it or has it read out.

mod axis;
mod ink;
mod plot;
mod rows;

pub(crate) use axis::Axis;
pub(crate) use ink::Ink;
pub(crate) use plot::{Line, Plot, Point, Rule, Series, Shade};
pub(crate) use rows::{Row, Rows};
