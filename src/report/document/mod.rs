//! What a result says, before it looks like anything.

mod cell;
mod chart;
mod fact;
mod note;
mod outline;
mod table;

pub(crate) use cell::{NOTHING, TableCell, cell, figure, figure_as, known, mark, mean, percentile, range};
pub(crate) use chart::{BarChart, BarRow, Chart};
pub(crate) use fact::{NamedFact, Statement};
pub(crate) use note::{Level, Note, NoteKind, Tone};
pub use outline::Document;
pub(crate) use outline::{Block, KeyFigure, Section, VerdictLine};
pub(crate) use table::{ALWAYS, Align, FIRST_COLUMN, FigureColumn, Table, TableColumn, TableOf, TableRow, shortened};
