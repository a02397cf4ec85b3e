//! What a result says, before it looks like anything.

mod chart;
mod note;
mod outline;
mod table;

pub(crate) use chart::{BarChart, BarRow, Chart};
pub(crate) use note::{Level, Note, NoteKind, Tone};
pub use outline::Document;
pub(crate) use outline::{Block, KeyFigure, NamedFact, Section, Statement, VerdictLine};
pub(crate) use table::{
    ALWAYS, Align, FIRST_COLUMN, FigureColumn, NOTHING, Table, TableCell, TableColumn, TableOf, TableRow, cell, figure,
    figure_as, known, mark, mean, percentile, range, shortened,
};
