//! Mooncake's traces with sessions: a line a request, whose blocks count in the whole file.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::blocks::{BlockTree, KnownPrompts, PromptBlocks, filling};
use super::rows::{NamedRows, RowsBySession, read_item};
use super::session::{FilePrompt, FileRequest, FileSession, FoundSessions, SessionReader};
use crate::generator::datasets::error::BadRow;
use crate::generator::datasets::json_list::ItemPosition;
use crate::generator::datasets::parse::whole;
use crate::generator::rows::{excerpt, nanoseconds, tokens};

/// Reader of Mooncake's traces with sessions.
#[derive(Debug, Default)]
pub(super) struct MooncakeReader {
    rows: RowsBySession<MooncakeRow>,
    known: KnownPrompts,
}

#[derive(Deserialize)]
struct MooncakeLine {
    session_id: String,
    input_length: u64,
    output_length: u64,
    #[serde(default)]
    hash_ids: Vec<u64>,
    /// Milliseconds after the start of the trace.
    timestamp: Option<f64>,
    /// Milliseconds after the end of the request before it.
    delay: Option<f64>,
}

#[derive(Debug)]
struct MooncakeRow {
    name: String,
    tokens: u32,
    output_tokens: u32,
    blocks: PromptBlocks,
    at_ns: Option<i64>,
    delay: Duration,
}

/// Tokens of a block.
const BLOCK_TOKENS: u32 = 512;

/// Whether a file that begins like this has such traces.
pub(super) fn fits(head: &str) -> bool {
    ["\"session_id\"", "\"input_length\""].iter().all(|key| head.contains(key))
}

impl SessionReader for MooncakeReader {
    fn take(&mut self, item: &[u8], place: ItemPosition, found: &mut FoundSessions) -> Result<(), BadRow> {
        let line: MooncakeLine = read_item(item, place, &["type"], found)?;
        let length = |key: &str, length| tokens(length).map_err(|cause| whole(place, format!("`{key}` says {cause}")));
        let time = |key: &str, ms: Option<f64>| match ms.map(|ms| nanoseconds(ms, 1e6).filter(|ns| *ns >= 0)) {
            Some(None) => {
                let found = ms.unwrap_or_default();
                Err(whole(place, format!("`{key}` is {found}; it must be a number of milliseconds, at least 0")))
            }
            ns => Ok(ns.flatten()),
        };
        let tokens = length("input_length", line.input_length)?;
        let row = MooncakeRow {
            name: format!("line {}", place.line),
            tokens,
            output_tokens: length("output_length", line.output_length.max(1))?,
            blocks: self.known.add(filling(&line.hash_ids, tokens, BLOCK_TOKENS)),
            at_ns: time("timestamp", line.timestamp)?,
            delay: Duration::from_nanos(time("delay", line.delay)?.unwrap_or(0) as u64),
        };
        let before =
            self.rows.last(&line.session_id).filter(|before| row.at_ns.is_some_and(|at| Some(at) < before.at_ns));
        if let Some(before) = before {
            let (session, before) = (excerpt(&line.session_id), &before.name);
            return Err(whole(
                place,
                format!("its `timestamp` is before that of {before} of session `{session}`; put its lines in order"),
            ));
        }
        self.rows.add(line.session_id, place, row);
        Ok(())
    }

    fn finish(&mut self, found: &mut FoundSessions) -> Result<(), BadRow> {
        let blocks = Arc::new(std::mem::take(&mut self.known).tree());
        found.sessions.extend(self.rows.drain().iter().map(|rows| session(rows, &blocks)));
        Ok(())
    }
}

fn session(NamedRows { name, place, rows }: &NamedRows<MooncakeRow>, blocks: &Arc<BlockTree>) -> FileSession {
    let begins_ns = rows.first().and_then(|row| row.at_ns);
    let after_first = |at_ns: i64| Some(Duration::from_nanos(at_ns.abs_diff(begins_ns?)));
    let requests = rows.iter().zip(0_usize..).map(|(row, at)| FileRequest {
        name: row.name.clone(),
        waits: at.checked_sub(1).map(|before| (before, row.delay)).into_iter().collect(),
        begins: row.at_ns.and_then(after_first),
        agent: 0,
        prompt: FilePrompt::Blocks {
            tokens: row.tokens,
            block_tokens: BLOCK_TOKENS,
            blocks: row.blocks,
            is_local: false,
        },
        output_tokens: Some(row.output_tokens),
        model: None,
    });
    let (name, requests) = (name.clone(), requests.collect());
    FileSession { name, place: *place, begins_ns, requests, blocks: Arc::clone(blocks) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::datasets::sessions::session::read_items;

    const LINES: [&str; 3] = [
        r#"{"session_id":"a","timestamp":1000,"input_length":1300,"output_length":52,"hash_ids":[0,1,2]}"#,
        r#"{"session_id":"b","timestamp":1270,"input_length":1900,"output_length":0,"hash_ids":[0,1,2,3]}"#,
        r#"{"session_id":"a","timestamp":9000,"delay":250.5,
            "input_length":1100,"output_length":9,"hash_ids":[0,1,7,8]}"#,
    ];

    #[test]
    fn lines_of_one_id_are_one_session() {
        assert!(fits(LINES[0]));
        let found = read_items(MooncakeReader::default(), &LINES).unwrap();
        let [a, b] = &found.sessions[..] else { panic!("{found:?}") };
        assert_eq!((a.name.as_str(), a.begins_ns, b.begins_ns), ("a", Some(1_000_000_000), Some(1_270_000_000)));
        assert_eq!(a.requests[1].waits, [(0, Duration::from_micros(250_500))]);
        assert_eq!((a.requests[1].name.as_str(), b.requests[0].output_tokens), ("line 3", Some(1)));
        assert_eq!(a.ids(1), [0, 1, 7], "1,100 tokens fill two blocks and a part of the third");
        let FilePrompt::Blocks { is_local: false, block_tokens: 512, .. } = b.requests[0].prompt else {
            panic!("{b:?}")
        };
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (line, old, new, said) in [
            (0, "\"session_id\":\"a\",", "", "row 1, line 1, column "),
            (0, "\"input_length\":1300,", "", "missing field `input_length`"),
            (0, "1300", "0", "row 1, line 1: `input_length` says 0 tokens"),
            (0, "1000", "-1000", "`timestamp` is -1000; it must be a number of milliseconds"),
            (2, "250.5", "-3", "row 3, line 3: `delay` is -3;"),
            (2, "9000", "900", "its `timestamp` is before that of line 1 of session `a`; put its lines in order"),
            (1, "[0,1,2,3]", "7", "invalid type: integer `7`, expected a sequence"),
        ] {
            let mut lines = LINES.map(str::to_owned);
            lines[line] = lines[line].replace(old, new);
            let lines: Vec<_> = lines.iter().map(String::as_str).collect();
            let error = read_items(MooncakeReader::default(), &lines).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn fields_that_would_change_what_is_sent_are_counted() {
        let line = LINES[0].replace("\"timestamp\"", "\"type\":\"chat\",\"extra\":{},\"timestamp\"");
        let found = read_items(MooncakeReader::default(), &[&line]).unwrap();
        assert_eq!(found.ignored.into_iter().collect::<Vec<_>>(), [("extra".to_owned(), 1)]);
    }
}
