//! One pass over a file of prompts, from beginning to end.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::ControlFlow;
use std::path::Path;

use csv::ByteRecord;
use sha2::{Digest, Sha256};

use super::error::{BadRow, DatasetError};
use super::json_list::{ItemPosition, JsonList, LONGEST_ROW, ListError};
use super::parse::{CsvColumns, DatasetRow, LENGTH_NAMES, RowParser, whole};
use crate::generator::rows::{FileLines, LineError};
use crate::workload::{Dataset, DatasetFormat, nearest};

/// Bytes read at once.
const BUFFER: usize = 256 << 10;

/// A row found by the pass.
pub(super) struct FoundRow {
    pub(super) place: ItemPosition,
    /// Bytes from there to the end of the row.
    pub(super) length: u32,
    pub(super) row: Result<DatasetRow, BadRow>,
}

impl FoundRow {
    fn new(bytes: &[u8], place: ItemPosition, parser: &RowParser) -> Self {
        Self { place, length: bytes.len() as u32, row: parser.parse(bytes, place) }
    }
}

/// Result of a pass.
pub(super) struct FileDigest {
    pub(super) parser: RowParser,
    pub(super) bytes: u64,
    /// SHA-256 of the file.
    pub(super) sha256: [u8; 32],
}

/// Passes every row to `visit` until it breaks off. The file is still read to its end, for its hash.
pub(super) fn over(
    dataset: &Dataset,
    mut visit: impl FnMut(FoundRow) -> Result<ControlFlow<()>, DatasetError>,
) -> Result<FileDigest, DatasetError> {
    let path = Path::new(&dataset.path);
    let unreadable = |cause| DatasetError::Unreadable { path: path.to_owned(), cause };
    let mut file = Hashed { file: File::open(path).map_err(unreadable)?, hash: Sha256::new(), bytes: 0 };
    let tags = dataset.metadata.values().cloned().collect();
    let mut parser = RowParser { format: dataset.format, columns: CsvColumns::default(), tags };
    match dataset.format {
        DatasetFormat::Sharegpt => conversations(path, &mut file, &parser, &mut visit),
        DatasetFormat::Jsonl => lines(path, &mut file, &parser, &mut visit),
        DatasetFormat::Csv => records(dataset, &mut file, &mut parser, &mut visit),
    }?;
    io::copy(&mut file, &mut io::sink()).map_err(unreadable)?;
    Ok(FileDigest { parser, bytes: file.bytes, sha256: file.hash.finalize().into() })
}

type Visit<'v> = &'v mut dyn FnMut(FoundRow) -> Result<ControlFlow<()>, DatasetError>;

/// Cure where one JSON format is mistaken for the other.
const SHAREGPT_CURE: &str =
    "the format sharegpt is one JSON list of conversations; for an object a line, the format is jsonl";
const JSONL_CURE: &str = "the format jsonl is one JSON object a line; for a single list, the format is sharegpt";

const CSV_CURE: &str = "the format csv has column names in its first line; name that of the prompts \
    `prompt`, or say in a workload file \
     what it is called: prompt_column";

fn malformed(path: &Path, line: u64, cause: &str, cure: &'static str) -> DatasetError {
    DatasetError::Malformed { path: path.to_owned(), line, cause: cause.to_owned(), cure }
}

fn conversations(path: &Path, file: &mut Hashed, parser: &RowParser, visit: Visit<'_>) -> Result<(), DatasetError> {
    let mut list = JsonList::new(BufReader::with_capacity(BUFFER, file));
    loop {
        let next = list.next().map_err(|error| match error {
            ListError::Read(cause) => DatasetError::Unreadable { path: path.to_owned(), cause },
            ListError::Shape { line, cause } => malformed(path, line, cause, SHAREGPT_CURE),
        })?;
        let Some((place, bytes)) = next else { return Ok(()) };
        if visit(FoundRow::new(bytes, place, parser))?.is_break() {
            return Ok(());
        }
    }
}

fn lines(path: &Path, file: &mut Hashed, parser: &RowParser, visit: Visit<'_>) -> Result<(), DatasetError> {
    let mut lines = FileLines::new(BufReader::with_capacity(BUFFER, file), LONGEST_ROW as u64);
    for row in 1.. {
        let more = lines.advance().map_err(|error| match error {
            LineError::Io(cause) => DatasetError::Unreadable { path: path.to_owned(), cause },
            LineError::TooLong => malformed(path, lines.number, "the line is longer than 64 MiB", JSONL_CURE),
        })?;
        if !more {
            break;
        }
        let place = ItemPosition { offset: lines.offset, line: lines.number, column: 1, row };
        if visit(FoundRow::new(&lines.line, place, parser))?.is_break() {
            break;
        }
    }
    Ok(())
}

fn records(dataset: &Dataset, file: &mut Hashed, parser: &mut RowParser, visit: Visit<'_>) -> Result<(), DatasetError> {
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
    let tag = |name: &String| {
        find(name).ok_or_else(|| {
            let near = nearest(name, names.iter()).map(|near| format!("; did you mean `{near}`?"));
            let cause = format!("there is no column `{name}` for a tag{}", near.unwrap_or_default());
            DatasetError::NoTag { path: path.to_owned(), cause }
        })
    };
    let tags = parser.tags.iter().map(tag).collect::<Result<_, _>>()?;
    let (prompt_name, answer_name) = (prompt_name.to_owned(), answer_name.to_owned());
    let called = LENGTH_NAMES.into_iter().find(|name| answer.is_none() && find(name).is_some()).map(str::to_owned);
    parser.columns = CsvColumns { prompt, prompt_name, answer, answer_name, called, tags };
    // With two-byte line ends the reader counts one line less.
    let behind = u64::from(reader.position().line() == 1);
    let mut record = ByteRecord::new();
    for row in 1.. {
        let begin = reader.position().clone();
        let read = reader.read_byte_record(&mut record);
        let inside: usize = record.iter().map(|field| memchr::memchr_iter(b'\n', field).count()).sum();
        let counted_back = (reader.position().line() + behind).saturating_sub(inside as u64 + 1);
        let line = counted_back.max(begin.line() + behind);
        let place = ItemPosition { offset: begin.byte(), line, column: 1, row };
        let row = match read {
            Ok(false) => return Ok(()),
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
    Ok(())
}

/// Hashes a file while it is read.
struct Hashed {
    file: File,
    hash: Sha256,
    bytes: u64,
}

impl Read for Hashed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.hash.update(buffer.get(..count).unwrap_or_default());
        self.bytes += count as u64;
        Ok(count)
    }
}
