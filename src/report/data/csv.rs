//! Tables as comma-separated values (RFC 4180), fit for a spreadsheet.

use std::borrow::Cow;
use std::io::{self, Write as _};

use csv::Writer;

use super::column::{DataColumn, ReadAs};
use super::request::RequestRow;
use crate::report::render::printable;
use crate::report::run_report::{Out, RunReport};

/// `requests.csv`: a line a request, in order of their scheduled moments. What is not known is empty.
pub(in crate::report) fn requests_csv(report: RunReport<'_>, out: Out<'_>) -> io::Result<()> {
    let rows = RequestRow::all(report.log);
    write(&RequestRow::columns_of(report.log), rows, out)
}

/// Writes a table: its columns' names, then a line a row.
pub(super) fn write<R>(columns: &[DataColumn<R>], rows: impl Iterator<Item = R>, out: Out<'_>) -> io::Result<()> {
    let mut writer = Writer::from_writer(out);
    writer.write_record(columns.iter().map(|column| column.name.as_bytes()))?;
    let mut field = Vec::new();
    for row in rows {
        for column in columns {
            field.clear();
            match &column.read {
                ReadAs::Text(read) => field.extend(read(&row).map(text).unwrap_or_default().bytes()),
                ReadAs::Whole(read) => read(&row).map_or(Ok(()), |count| write!(field, "{count}"))?,
                ReadAs::Number(read) => read(&row).map_or(Ok(()), |value| write!(field, "{value}"))?,
                ReadAs::Flag(read) => read(&row).map_or(Ok(()), |flag| write!(field, "{flag}"))?,
            }
            writer.write_field(&field)?;
        }
        writer.write_record(None::<&[u8]>)?;
    }
    writer.flush()
}

/// Returns a text as a spreadsheet shows it and does nothing else with it. It is on one line, and has an apostrophe
/// before what the spreadsheet would take for a formula (OWASP, *CSV Injection*), in full-width signs too. The text may
/// be a server's.
fn text(text: Cow<'_, str>) -> Cow<'_, str> {
    let text = if text.is_ascii() && !text.bytes().any(|byte| byte.is_ascii_control()) {
        text
    } else {
        printable(&text).into()
    };
    if text.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']) { format!("'{text}").into() } else { text }
}
