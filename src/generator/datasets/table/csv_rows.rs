//! Rows of CSV as objects, whose values are texts.

use std::cell::Cell;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;

use serde_json::{Map, Value};

use crate::generator::datasets::error::DatasetError;
use crate::generator::datasets::json_list::{ItemPosition, LONGEST_ROW};
use crate::generator::datasets::json_rows::{TakeItem, malformed};

const CURE: &str = "the first line names the columns, and each row has as many fields";

/// Passes the rows of a file to `take`, each as the JSON of an object.
pub(super) fn rows(path: &Path, content: impl Read, take: TakeItem<'_>) -> Result<ControlFlow<()>, DatasetError> {
    let since_last = Cell::new(0);
    let mut reader = csv::Reader::from_reader(UntilLong { content, since_last: &since_last });
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
        since_last.set(0);
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

/// Content that fails where a record is too long. One whose quotes are not closed is.
struct UntilLong<'a, R> {
    content: R,
    /// Bytes since the end of the last record.
    since_last: &'a Cell<usize>,
}

impl<R: Read> Read for UntilLong<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.since_last.get() > LONGEST_ROW {
            return Err(io::Error::other(format!("a row of more than {} MiB; are quotes open?", LONGEST_ROW >> 20)));
        }
        let read = self.content.read(into)?;
        self.since_last.set(self.since_last.get() + read);
        Ok(read)
    }
}

/// The name of a column. A mark of the order of bytes may stand before the first.
fn name_of(heading: &str) -> String {
    heading.trim_start_matches('\u{feff}').trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_without_end_is_refused_before_all_of_it_is_read() {
        let content = b"a,b\n1,\"".chain(io::repeat(b'x'));
        let refused = rows(Path::new("x.csv"), content, &mut |_, _| panic!("it has no row")).unwrap_err();
        assert!(refused.to_string().contains("a row of more than 64 MiB"), "{refused}");
    }
}
