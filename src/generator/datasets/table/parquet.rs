//! The rows of a Parquet file.

use std::fs::File;
use std::ops::ControlFlow;

use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use parquet::schema::types::Type;
use serde_json::{Map, Value};

use super::columns::TableColumns;
use crate::generator::datasets::error::DatasetError;

/// Reason why a Parquet file cannot be read.
pub(super) enum ParquetFault {
    /// Damage, in the words of the library.
    Broken(ParquetError),
    /// Compression of a column that is not read.
    Codec(String),
    /// Question which columns are meant.
    Columns(String),
    /// Fault of a row, or of what takes it.
    Row(DatasetError),
}

impl From<ParquetError> for ParquetFault {
    fn from(error: ParquetError) -> Self {
        Self::Broken(error)
    }
}

/// Passes the rows of the file, cut down to their columns, to `visit`. `find` chooses the columns, or all.
pub(super) fn rows<'c>(
    file: File,
    find: impl FnOnce(&[String]) -> Result<Option<&'c TableColumns>, String>,
    mut visit: impl FnMut(u64, Map<String, Value>) -> Result<ControlFlow<()>, DatasetError>,
) -> Result<ControlFlow<()>, ParquetFault> {
    let reader = SerializedFileReader::new(file)?;
    let schema = reader.metadata().file_metadata().schema();
    let names: Vec<_> = schema.get_fields().iter().map(|field| field.name().to_owned()).collect();
    let columns = find(&names).map_err(ParquetFault::Columns)?;
    let is_wanted = |name: &str| columns.is_none_or(|columns| columns.has(name));
    for column in reader.metadata().row_groups().iter().flat_map(RowGroupMetaData::columns) {
        let is_read = column.column_path().parts().first().is_some_and(|name| is_wanted(name));
        match column.compression() {
            Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::GZIP(_) | Compression::ZSTD(_) => {}
            other if is_read => return Err(ParquetFault::Codec(other.to_string())),
            _ => {}
        }
    }
    let wanted = schema.get_fields().iter().filter(|field| is_wanted(field.name())).cloned().collect();
    let wanted = Type::group_type_builder(schema.name()).with_fields(wanted).build()?;
    let mut number = 0;
    for group in 0..reader.num_row_groups() {
        for row in reader.get_row_group(group)?.get_row_iter(Some(wanted.clone()))? {
            number += 1;
            if visit(number, object(&row?)).map_err(ParquetFault::Row)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn object(row: &Row) -> Map<String, Value> {
    row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect()
}

fn value(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Str(text) => Value::String(text.clone()),
        // Some writers do not say that their bytes are text.
        Field::Bytes(bytes) => bytes.as_utf8().map_or(Value::Null, |text| Value::String(text.to_owned())),
        Field::Group(row) => Value::Object(object(row)),
        Field::ListInternal(list) => list.elements().iter().map(value).collect(),
        other => {
            let text = other.to_string();
            serde_json::from_str(&text).unwrap_or(Value::String(text))
        }
    }
}
