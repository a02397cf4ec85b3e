//! Rows of CSV as objects, whose values are texts.

use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use serde_json::{Map, Value};

use crate::generator::datasets::error::DatasetError;
use crate::generator::datasets::json_list::ItemPosition;
use crate::generator::datasets::json_rows::{TakeItem, malformed};

const CURE: &str = "the first line names the columns, and each row has as many fields";

/// Passes the rows of a file to `take`, each as the JSON of an object.
pub(super) fn rows(path: &Path, content: impl Read, take: TakeItem<'_>) -> Result<ControlFlow<()>, DatasetError> {
    let mut reader = csv::Reader::from_reader(content);
    let broken = |error: csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        let cause = match error.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("it has {len} fields, and the first line names {expected_len} columns")
            }
            _ => error.to_string(),
        };
        malformed(path, line, &cause, CURE)
    };
    let names: Vec<String> = reader.headers().map_err(broken)?.iter().map(name_of).collect();
    for (record, row) in reader.records().zip(1..) {
        let record = record.map_err(broken)?;
        let line = record.position().map_or(0, csv::Position::line);
        let fields = names.iter().cloned().zip(&record);
        let object: Map<String, Value> = fields.map(|(name, value)| (name, value.trim().into())).collect();
        let place = ItemPosition { line, row, ..ItemPosition::FIRST };
        if take(Value::Object(object).to_string().as_bytes(), place)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// The name of a column. A mark of the order of bytes may stand before the first.
fn name_of(heading: &str) -> String {
    heading.trim_start_matches('\u{feff}').trim().to_owned()
}
