//! The summary as JSON, and nothing else.

use crate::analysis::Summary;

/// The summary as indented JSON with a line break at its end: `summary.json`, and what `--json` prints.
pub fn json(summary: &Summary) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(summary)?;
    text.push('\n');
    Ok(text)
}
