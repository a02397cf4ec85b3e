//! What a result says, before it looks like anything.

mod chart;
mod columns;
mod emphasis;
mod note;
mod outline;
mod table;

pub(crate) use chart::{BarChart, BarRow, Chart};

pub(crate) use emphasis::{Level, Tone};
pub(crate) use note::{Note, NoteKind};
pub use outline::Document;
pub(crate) use outline::{
    Attachment, Block, FigurePlace, KeyFigure, NamedFact, Section, Statement, VerdictLine,
};
pub(crate) use table::{
    ALWAYS, Align, FIRST_COLUMN, NOTHING, Table, TableCell, TableColumn, TableRow, cell, cut, figure,
    figure_as, known, mark, percentile, range, shortened,
};
