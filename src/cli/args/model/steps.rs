//! Reads a table of measured step times.

use std::path::Path;
use std::time::Duration;

use crate::simulator::StepTable;

/// The table in the file at `path`: lines `batch,ms`, batch sizes rising. Empty lines, `#` comments and a heading are
/// passed over.
pub(super) fn read(path: &Path, prefill_tokens_per_s: Option<f64>) -> Result<StepTable, String> {
    let said = |what: String| format!("--step-times {}: {what}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| said(error.to_string()))?;
    let rows = rows(&text).map_err(said)?;
    StepTable::new(&rows, prefill_tokens_per_s).map_err(|error| said(error.to_string()))
}

fn rows(text: &str) -> Result<Vec<(u32, Duration)>, String> {
    let mut rows = Vec::new();
    for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1..) {
        let content = line.split('#').next().unwrap_or("").trim();
        let is_heading = rows.is_empty() && content.starts_with(|c: char| c.is_alphabetic());
        if content.is_empty() || is_heading {
            continue;
        }
        let row = content.split_once(',').and_then(|(batch, ms)| {
            let time = Duration::try_from_secs_f64(ms.trim().parse::<f64>().ok()? / 1e3).ok()?;
            Some((batch.trim().parse().ok()?, time))
        });
        rows.push(row.ok_or_else(|| {
            format!(
                "line {number}: `{content}` is no row; write a batch size and milliseconds, such as 8,31.5"
            )
        })?);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_with_or_without_a_heading() {
        let expected = vec![(1, Duration::from_micros(30_500)), (8, Duration::from_millis(33))];
        assert_eq!(rows("batch,ms\n1, 30.5\n\n# measured on Tuesday\n8,33 # a note\n").unwrap(), expected);
        assert_eq!(rows("1,30.5\n8,33").unwrap(), expected);
    }

    #[test]
    fn a_bad_row_is_named() {
        for text in ["1,30\n8;33\n", "1,30\n8,soon\n", "1,30\n-8,3\n", "1,30\nms,batch\n"] {
            let error = rows(text).unwrap_err();
            assert!(error.contains("line 2") && error.contains("such as 8,31.5"), "{error}");
        }
    }
}
