//! Tables as JSON Lines: an object a row.

use std::io;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::column::{DataColumn, ReadAs};
use super::request::{RequestRow, in_order};
use crate::report::data::json::write_line;
use crate::report::{Out, RunReport};

/// `requests.jsonl`: a line a request, in order of their scheduled moments.
pub(in crate::report) fn requests_jsonl(report: RunReport<'_>, out: Out<'_>) -> io::Result<()> {
    for record in in_order(report.log) {
        let row = RequestRow::of(report.log, record);
        write_line(out, &Line { columns: RequestRow::COLUMNS, row: &row })?;
    }
    Ok(())
}

struct Line<'r, R> {
    columns: &'r [DataColumn<R>],
    row: &'r R,
}

impl<R> Serialize for Line<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { columns, row } = self;
        let mut line = serializer.serialize_map(Some(columns.len()))?;
        for column in *columns {
            match column.read {
                ReadAs::Text(read) => line.serialize_entry(column.name, &read(row))?,
                ReadAs::Whole(read) => line.serialize_entry(column.name, &read(row))?,
                ReadAs::Number(read) => line.serialize_entry(column.name, &read(row))?,
                ReadAs::Flag(read) => line.serialize_entry(column.name, &read(row))?,
            }
        }
        line.end()
    }
}
