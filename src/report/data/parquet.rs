//! Tables as Apache Parquet, a row group at a time, so that a long run needs no more memory than a short one.

use std::io;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use serde_json::json;

use super::column::{DataColumn, ReadAs};
use super::request::TokenRow;
use super::request::{RequestRow, in_order};
use crate::record::RunLog;
use crate::report::run_report::{Out, RunReport};

/// Rows of a group: what is held at a time.
const REQUESTS_AT_A_TIME: usize = 1 << 16;
const TOKENS_AT_A_TIME: usize = 1 << 19;

/// `requests.parquet`: a row a request, in order of their scheduled moments.
pub(in crate::report) fn requests_parquet(report: RunReport<'_>, out: Out<'_>) -> io::Result<()> {
    let rows = RequestRow::all(report.log);
    write("requests", &RequestRow::columns_of(report.log), REQUESTS_AT_A_TIME, report.log, rows, out)
        .map_err(io::Error::from)
}

/// `tokens.parquet`: a row a chunk, answer by answer in the same order.
pub(in crate::report) fn tokens_parquet(report: RunReport<'_>, out: Out<'_>) -> io::Result<()> {
    let places = in_order(report.log);
    let records = report.log.records.in_places(&places);
    let rows = records.flat_map(|record| TokenRow::from_record(&record).collect::<Vec<_>>());
    write("tokens", &TokenRow::columns(), TOKENS_AT_A_TIME, report.log, rows, out).map_err(io::Error::from)
}

/// Writes a table of which so many rows are held at a time.
pub(super) fn write<R>(
    name: &str,
    columns: &[DataColumn<R>],
    at_a_time: usize,
    log: &RunLog,
    mut rows: impl Iterator<Item = R>,
    out: Out<'_>,
) -> Result<()> {
    let properties = WriterProperties::builder()
        .set_created_by(format!("skyline {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(about(columns, log)))
        .build();
    let mut writer = SerializedFileWriter::new(out, schema(name, columns)?, Arc::new(properties))?;
    loop {
        let group: Vec<_> = rows.by_ref().take(at_a_time).collect();
        if group.is_empty() {
            break;
        }
        let mut chunks = writer.next_row_group()?;
        for column in columns {
            if let Some(mut into) = chunks.next_column()? {
                write_column(column, &group, &mut into)?;
                into.close()?;
            }
        }
        chunks.close()?;
    }
    writer.close().map(drop)
}

/// Returns the metadata that a reader finds beside the rows. It says which program wrote the rows of which run, and
/// what the columns mean.
fn about<R>(columns: &[DataColumn<R>], log: &RunLog) -> Vec<KeyValue> {
    let column =
        |column: &DataColumn<R>| json!({ "name": column.name, "unit": column.unit.sign, "meaning": column.meaning });
    let columns: Vec<_> = columns.iter().map(column).collect();
    let header = &log.header;
    let run = json!({
        "workload": header.workload.name,
        "seed": header.workload.seed,
        "plan_hash": header.plan.hash,
        "started_at": header.started_at,
        "engine": header.engine().engine,
        "model": header.engine().model,
    });
    let known = [
        ("skyline.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("skyline.columns", json!(columns).to_string()),
        ("skyline.run", run.to_string()),
    ];
    known.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value)).collect()
}

fn schema<R>(name: &str, columns: &[DataColumn<R>]) -> Result<Arc<Type>> {
    let field = |column: &DataColumn<R>| {
        let (physical, logical) = match &column.read {
            ReadAs::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            ReadAs::Whole(_) => (Physical::INT64, None),
            ReadAs::Number(_) => (Physical::DOUBLE, None),
            ReadAs::Flag(_) => (Physical::BOOLEAN, None),
        };
        let builder = Type::primitive_type_builder(&column.name, physical).with_logical_type(logical);
        builder.with_repetition(Repetition::OPTIONAL).build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<_>>()?;
    Type::group_type_builder(name).with_fields(fields).build().map(Arc::new)
}

fn write_column<R>(column: &DataColumn<R>, rows: &[R], into: &mut SerializedColumnWriter<'_>) -> Result<()> {
    match &column.read {
        ReadAs::Text(read) => {
            let bytes = |row| read(row).map(|text| ByteArray::from(text.into_owned().into_bytes()));
            write_values::<ByteArrayType>(rows.iter().map(bytes), into)
        }
        ReadAs::Whole(read) => write_values::<Int64Type>(rows.iter().map(|row| read(row).map(u64::cast_signed)), into),
        ReadAs::Number(read) => write_values::<DoubleType>(rows.iter().map(read), into),
        ReadAs::Flag(read) => write_values::<BoolType>(rows.iter().map(read), into),
    }
}

/// Writes what is known of a column. The level of a row is 1 where it is known, else 0.
fn write_values<D: DataType>(
    values: impl Iterator<Item = Option<D::T>>,
    into: &mut SerializedColumnWriter<'_>,
) -> Result<()> {
    let (mut known, mut levels) = (Vec::new(), Vec::new());
    for value in values {
        levels.push(i16::from(value.is_some()));
        known.extend(value);
    }
    into.typed::<D>().write_batch(&known, Some(&levels), None).map(drop)
}
