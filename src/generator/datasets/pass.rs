//! One pass over a file of prompts, from beginning to end.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use csv::ByteRecord;
use sha2::{Digest, Sha256};

use super::error::DatasetError;
use super::hashed::{FileDigest, Hashed};
use super::json_list::{ItemPosition, LONGEST_ROW};
use super::json_rows::{BUFFER, FoundRow, Visit, items, lines, malformed};
use super::parse::{CsvColumns, LENGTH_NAMES, RowParser, whole};
use super::table::table;
use crate::generator::packed::Unpacked;
use crate::workload::{Dataset, DatasetFormat, nearest};

/// Passes every row to `visit` until it breaks off. The file is still read to its end, for its hash.
pub(super) fn over(dataset: &Dataset, visit: Visit<'_>) -> Result<FileDigest, DatasetError> {
    if dataset.format == DatasetFormat::Table {
        return table(dataset, visit);
    }
    let path = Path::new(&dataset.path);
    let unreadable = |cause| DatasetError::Unreadable { path: path.to_owned(), cause };
    if let Some(packing) = Unpacked::open(path).map_err(unreadable)?.packing {
        let (format, what) = (dataset.format.name(), dataset.path.clone());
        let cause = format!("it is compressed with {packing}, and the format {format} is read uncompressed");
        let cure = "unpack it, or take the format table, which JSON fits".to_owned();
        return Err(DatasetError::NoTable { what, cause, cure });
    }
    let mut file = Hashed { file: File::open(path).map_err(unreadable)?, hash: Sha256::new(), bytes: 0 };
    let tags = dataset.metadata.values().cloned().collect();
    let expected = dataset.score.as_ref().map(|scoring| scoring.column.clone());
    let mut parser = RowParser { format: dataset.format, columns: CsvColumns::default(), tags, expected };
    if dataset.format == DatasetFormat::Csv {
        let _ = records(dataset, &mut file, &mut parser, visit)?;
    } else {
        let mut take = |bytes: &[u8], place| {
            visit(FoundRow { place, length: bytes.len() as u32, row: parser.parse(bytes, place) })
        };
        let _ = match dataset.format {
            DatasetFormat::Sharegpt => items(path, &mut file, &mut take),
            _ => lines(path, &mut file, &mut take),
        }?;
    }
    io::copy(&mut file, &mut io::sink()).map_err(unreadable)?;
    let sha256 = file.hash.finalize().into();
    Ok(FileDigest { parser: Some(parser), bytes: file.bytes, sha256, ..FileDigest::default() })
}

const CSV_CURE: &str = "the format csv has column names in its first line; name that of the prompts \
    `prompt`, or say in a workload file \
     what it is called: prompt_column";

fn records(
    dataset: &Dataset,
    file: &mut Hashed,
    parser: &mut RowParser,
    visit: Visit<'_>,
) -> Result<ControlFlow<()>, DatasetError> {
    let path = Path::new(&dataset.path);
    let mut reader = csv::ReaderBuilder::new().buffer_capacity(BUFFER).from_reader(file);
    let broken = |line: u64, cause: String| malformed(path, line, &cause, CSV_CURE);
    let names = reader.headers().map_err(|error| broken(1, error.to_string()))?.clone();
    if names.is_empty() {
        return Err(broken(1, "the file is empty".to_owned()));
    }
    let find = |wanted: &str| names.iter().position(|name| name.trim() == wanted);
    let prompt_name = dataset.prompt_column.as_deref().unwrap_or("prompt");
    let Some(prompt) = find(prompt_name) else {
        let there = names.iter().collect::<Vec<_>>().join(", ");
        return Err(broken(1, format!("there is no column `{prompt_name}`; the columns are: {there}")));
    };
    let answer_name = dataset.output_tokens_column.as_deref().unwrap_or("output_tokens");
    let answer = find(answer_name);
    if answer.is_none() && dataset.output_tokens_column.is_some() {
        return Err(broken(1, format!("there is no column `{answer_name}`")));
    }
    let lacks = |name: &str, role: &str| {
        let near = nearest(name, names.iter()).map(|near| format!("; did you mean `{near}`?"));
        format!("there is no column `{name}` {role}{}", near.unwrap_or_default())
    };
    let tag = |name: &String| {
        find(name).ok_or_else(|| DatasetError::NoTag { path: path.to_owned(), cause: lacks(name, "for a tag") })
    };
    let tags = parser.tags.iter().map(tag).collect::<Result<_, _>>()?;
    let expected = parser.expected.as_deref();
    let expected = expected.map(|name| find(name).ok_or_else(|| broken(1, lacks(name, "to score answers by"))));
    let expected = expected.transpose()?;
    let (prompt_name, answer_name) = (prompt_name.to_owned(), answer_name.to_owned());
    let called = LENGTH_NAMES.into_iter().find(|name| answer.is_none() && find(name).is_some()).map(str::to_owned);
    parser.columns = CsvColumns { prompt, prompt_name, answer, answer_name, called, tags, expected };
    // With two-byte line ends the reader counts one line less.
    let behind = u64::from(reader.position().line() == 1);
    let mut record = ByteRecord::new();
    for row in 1.. {
        let begin = reader.position().clone();
        let read = reader.read_byte_record(&mut record);
        let inside: usize = record.iter().map(|field| memchr::memchr_iter(b'\n', field).count()).sum();
        let counted_back = (reader.position().line() + behind).saturating_sub(inside as u64 + 1);
        let line = counted_back.max(begin.line() + behind);
        let place = ItemPosition { offset: begin.byte(), line, row, ..ItemPosition::FIRST };
        let row = match read {
            Ok(false) => return Ok(ControlFlow::Continue(())),
            Ok(true) => parser.record(&record, place),
            Err(error) => match error.kind() {
                csv::ErrorKind::UnequalLengths { expected_len, len, .. } => Err(whole(
                    place,
                    format!("it has {len} fields, and the first line {expected_len}; quote texts with commas"),
                )),
                _ => return Err(broken(place.line, error.to_string())),
            },
        };
        let length = reader.position().byte() - begin.byte();
        if length > LONGEST_ROW as u64 {
            return Err(broken(place.line, "the row is longer than 64 MiB; is a quote missing?".to_owned()));
        }
        if visit(FoundRow { place, length: length as u32, row })?.is_break() {
            break;
        }
    }
    Ok(ControlFlow::Break(()))
}
