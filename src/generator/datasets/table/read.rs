//! One pass over the files of a table.

use std::cell::OnceCell;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;

use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::columns::TableColumns;
use super::csv_rows;
use super::files::TableFiles;
use super::parquet::{self, ParquetFault};
use crate::generator::datasets::error::{BadRow, DatasetError};
use crate::generator::datasets::hashed::{FileDigest, Hashed};
use crate::generator::datasets::json_list::{ItemPosition, LONGEST_ROW};
use crate::generator::datasets::json_rows::{FoundRow, TakeItem, Visit, items, lines};
use crate::generator::datasets::parse::{DatasetRow, at, whole};
use crate::generator::packed::Unpacked;
use crate::generator::rows::Object;
use crate::units::{cut, hexadecimal};
use crate::workload::Dataset;

/// Passes every row of a table to `visit` until it breaks off. Files after that are neither fetched nor read.
pub(in crate::generator::datasets) fn table(dataset: &Dataset, visit: Visit<'_>) -> Result<FileDigest, DatasetError> {
    each_file(dataset, |file| file.rows(visit))
}

/// Passes every item of a dataset to `take` until it breaks off. An item is the JSON of an object.
pub(in crate::generator::datasets) fn objects(
    dataset: &Dataset,
    take: TakeItem<'_>,
) -> Result<FileDigest, DatasetError> {
    each_file(dataset, |file| file.objects(&mut |item, place| take(item, ItemPosition { file: file.number, ..place })))
}

fn each_file(
    dataset: &Dataset,
    mut read: impl FnMut(&TableFile<'_>) -> Result<ControlFlow<()>, DatasetError>,
) -> Result<FileDigest, DatasetError> {
    let files = TableFiles::find(dataset)?;
    let mut digest = FileDigest { revision: files.revision(), ..FileDigest::default() };
    let (mut hashes, columns) = (Vec::new(), OnceCell::new());
    let in_folder = digest.revision.is_none() && Path::new(&dataset.path).is_dir();
    for (name, number) in files.names.iter().zip(1..) {
        let (path, shown) = (files.path(name)?, files.shown(name));
        let number = if in_folder { number } else { 0 };
        let file = TableFile { dataset, files: &files, name: shown, number, path: &path, columns: &columns };
        let (bytes, sha256) = file.hashed()?;
        digest.bytes += bytes;
        hashes.push(sha256);
        digest.names.extend(digest.revision.is_some().then(|| name.clone()));
        if read(&file)?.is_break() {
            break;
        }
    }
    digest.sha256 = match &*hashes {
        [one] => *one,
        several => Sha256::digest(several.concat()).into(),
    };
    Ok(digest)
}

/// Bytes at the beginning of a file that say what it is.
const HEAD: u64 = 64 << 10;

/// Contents of a file, by its beginning.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begins {
    Parquet,
    /// A JSON list.
    List,
    /// A JSON object a line.
    Lines,
    /// One JSON object.
    Object,
    /// Lines of fields, of which the first names the columns. They are read for sessions only.
    Csv,
}

/// A file of a table.
struct TableFile<'t> {
    dataset: &'t Dataset,
    files: &'t TableFiles<'t>,
    name: String,
    /// Number in its folder, from 1; 0 without one.
    number: u32,
    path: &'t Path,
    /// The columns of the table, once its first row is known.
    columns: &'t OnceCell<Result<TableColumns, String>>,
}

impl TableFile<'_> {
    fn fault(&self, cause: String, cure: String) -> DatasetError {
        DatasetError::NoTable { what: self.name.clone(), cause, cure }
    }

    fn unreadable(&self, cause: io::Error) -> DatasetError {
        DatasetError::Unreadable { path: self.path.to_owned(), cause }
    }

    fn open(&self) -> Result<File, DatasetError> {
        File::open(self.path).map_err(|cause| self.unreadable(cause))
    }

    fn unpacked(&self) -> Result<Unpacked, DatasetError> {
        Unpacked::open(self.path).map_err(|cause| self.unreadable(cause))
    }

    /// Size and SHA-256 of the file. The hub names the content of a large file by it.
    fn hashed(&self) -> Result<(u64, [u8; 32]), DatasetError> {
        let mut file = Hashed { file: self.open()?, hash: Sha256::new(), bytes: 0 };
        let read = io::copy(&mut file, &mut io::sink());
        read.map_err(|cause| self.unreadable(cause))?;
        let sha256: [u8; 32] = file.hash.finalize().into();
        let content = fs::canonicalize(self.path).ok();
        let content = content.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
        let named = content.filter(|name| name.len() == 64 && self.files.revision().is_some());
        if named.is_some_and(|name| name != hexadecimal(&sha256)) {
            let cause = "the file in the cache is cut short or damaged: its SHA-256 is not the hub's".to_owned();
            return Err(self.fault(cause, self.files.cure(self.path)));
        }
        Ok((file.bytes, sha256))
    }

    /// Passes its rows to `visit`.
    fn rows(&self, visit: Visit<'_>) -> Result<ControlFlow<()>, DatasetError> {
        let mut visit = |found: FoundRow| match self.columns.get() {
            Some(Err(question)) => Err(self.fault(question.clone(), COLUMNS_CURE.to_owned())),
            _ => visit(found),
        };
        let begins = self.begin()?;
        if begins == Begins::Parquet {
            let find = |names: &[String]| self.columns_among(names).as_ref().map(Some).map_err(Clone::clone);
            return self
                .parquet(find, |fields, place| visit(FoundRow { place, length: 0, row: self.row(&fields, place) }));
        }
        let parse = |bytes: &[u8], place: ItemPosition| {
            let Object(fields): Object<Map<String, Value>> =
                serde_json::from_slice(bytes).map_err(|error| at(place, &error))?;
            self.row(&fields, place)
        };
        self.json(begins, &mut |bytes, place| {
            visit(FoundRow { place, length: bytes.len() as u32, row: parse(bytes, place) })
        })
    }

    /// Passes its items to `take`, each as the JSON of an object.
    fn objects(&self, take: TakeItem<'_>) -> Result<ControlFlow<()>, DatasetError> {
        match self.begin()? {
            Begins::Parquet => {
                self.parquet(|_| Ok(None), |fields, place| take(Value::Object(fields).to_string().as_bytes(), place))
            }
            begins => self.json(begins, take),
        }
    }

    /// Tells what the file is.
    fn begin(&self) -> Result<Begins, DatasetError> {
        let mut head = Vec::new();
        let content = self.unpacked()?;
        let packing = content.packing;
        content.take(HEAD).read_to_end(&mut head).map_err(|cause| self.unreadable(cause))?;
        let text = String::from_utf8_lossy(&head);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        match text.as_bytes() {
            [b'P', b'A', b'R', b'1', ..] => match packing {
                None => Ok(Begins::Parquet),
                Some(packing) => {
                    Err(self.fault(format!("it is Parquet inside {packing}"), "unpack the file first".to_owned()))
                }
            },
            [b'[', ..] => Ok(Begins::List),
            // One object over many lines.
            [b'{', ..] => match text.split_once('\n') {
                Some((line, _)) if serde_json::from_str::<IgnoredAny>(line).is_err() => Ok(Begins::Object),
                _ => Ok(Begins::Lines),
            },
            _ if self.dataset.has_sessions() && is_csv(text) => Ok(Begins::Csv),
            _ => {
                let begins = cut(text.lines().next().unwrap_or_default().to_owned(), 40);
                let cause = format!("it is neither Parquet nor JSON: it begins with {begins:?}");
                let cure = "give a file as it was published, or compressed with gzip or zstd";
                Err(self.fault(cause, cure.to_owned()))
            }
        }
    }

    fn json(&self, begins: Begins, take: TakeItem<'_>) -> Result<ControlFlow<()>, DatasetError> {
        let path = Path::new(&self.name);
        let content = self.unpacked()?;
        let passed = match begins {
            Begins::List => items(path, content, take),
            Begins::Object => {
                let mut bytes = Vec::new();
                let read = content.take(LONGEST_ROW as u64 + 1).read_to_end(&mut bytes);
                read.map_err(|cause| self.unreadable(cause))?;
                if bytes.len() > LONGEST_ROW {
                    let cause = "it is one object of more than 64 MiB".to_owned();
                    return Err(self.fault(cause, "write an object a line".to_owned()));
                }
                take(bytes.trim_ascii_end(), ItemPosition::FIRST)
            }
            Begins::Csv => csv_rows::rows(path, content, take),
            Begins::Lines | Begins::Parquet => lines(path, content, take),
        };
        passed.map_err(|error| match error {
            DatasetError::BadRow { row, .. } => DatasetError::BadRow { path: path.to_owned(), row },
            DatasetError::Malformed { line, cause, .. } => {
                self.fault(format!("line {line}: {cause}"), self.files.cure(self.path))
            }
            other => other,
        })
    }

    fn parquet<'c>(
        &self,
        find: impl FnOnce(&[String]) -> Result<Option<&'c TableColumns>, String>,
        mut visit: impl FnMut(Map<String, Value>, ItemPosition) -> Result<ControlFlow<()>, DatasetError>,
    ) -> Result<ControlFlow<()>, DatasetError> {
        let path = Path::new(&self.name);
        let passed = parquet::rows(self.open()?, find, |row, fields| {
            visit(fields, ItemPosition { line: 0, row, ..ItemPosition::FIRST })
        });
        passed.map_err(|fault| match fault {
            ParquetFault::Row(DatasetError::BadRow { row, .. }) => DatasetError::BadRow { path: path.to_owned(), row },
            ParquetFault::Row(error) => error,
            ParquetFault::Columns(question) => self.fault(question, COLUMNS_CURE.to_owned()),
            ParquetFault::Codec(codec) => self.fault(
                format!("its columns are compressed with {codec}; SNAPPY, GZIP, ZSTD and no compression are read"),
                "write it again with one of them, or take JSONL".to_owned(),
            ),
            ParquetFault::Broken(error) => {
                let cause = format!("it is cut short or damaged, and cannot be read as Parquet: {error}");
                self.fault(cause, self.files.cure(self.path))
            }
        })
    }

    fn columns_among(&self, names: &[String]) -> &Result<TableColumns, String> {
        self.columns.get_or_init(|| TableColumns::find(self.dataset, names))
    }

    fn row(&self, fields: &Map<String, Value>, place: ItemPosition) -> Result<DatasetRow, BadRow> {
        let names = || fields.keys().cloned().collect::<Vec<_>>();
        let columns = self.columns.get_or_init(|| TableColumns::find(self.dataset, &names()));
        let row = columns.as_ref().map_err(Clone::clone).and_then(|columns| columns.row(fields));
        row.map_err(|cause| whole(place, cause))
    }
}

/// Whether the first line names columns.
fn is_csv(text: &str) -> bool {
    let names = |line: &str| line.split(',').all(|name| !name.trim().is_empty()) && line.contains(',');
    text.lines().next().is_some_and(names)
}

const COLUMNS_CURE: &str = "name columns with --dataset-columns prompt=NAME,output=NAME, or with prompt_column and \
                            output_tokens_column in a workload file";
