//! `TraceLab`'s rounds in CSV, as its simulators read them: lengths and waits, without dates.

use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;

use super::minted::MintedBlocks;
use crate::generator::datasets::error::BadRow;
use crate::generator::datasets::json_list::ItemPosition;
use crate::generator::datasets::parse::whole;
use crate::generator::datasets::sessions::blocks::PromptBlocks;
use crate::generator::datasets::sessions::rows::{NamedRows, RowsBySession};
use crate::generator::datasets::sessions::session::{FileRequest, FileSession, FoundSessions, SessionReader};
use crate::generator::rows::{Object, cause_of, excerpt, nanoseconds, tokens};

/// Reader of `TraceLab`'s rounds in CSV.
#[derive(Debug, Default)]
pub(in crate::generator::datasets::sessions) struct TraceLabTable(RowsBySession<TableRound>);

/// A row, whose values are texts.
#[derive(Deserialize)]
struct TableLine {
    id: String,
    input_len: String,
    output_len: String,
    arrival_time: String,
    round_idx: String,
    tool_wait_after_ms: String,
    prefix_len: String,
}

/// A round.
#[derive(Debug)]
struct TableRound {
    index: u64,
    /// Tokens of the whole prompt, and those that were in the provider's cache.
    tokens: u32,
    cached: u64,
    output_tokens: u32,
    at_ns: i64,
    /// Time from its end to the next round.
    pause: Duration,
}

/// Whether a file that begins like this has such rounds.
pub(in crate::generator::datasets::sessions) fn fits(head: &str) -> bool {
    let columns = head.lines().next().unwrap_or_default();
    ["round_idx", "tool_wait_after_ms"].iter().all(|name| columns.split(',').any(|column| column.trim() == *name))
}

impl SessionReader for TraceLabTable {
    fn take(&mut self, item: &[u8], place: ItemPosition, _found: &mut FoundSessions) -> Result<(), BadRow> {
        let read = serde_json::from_slice(item).map_err(|error| whole(place, cause_of(&error)));
        let Object(line): Object<TableLine> = read?;
        let round = line.round().map_err(|cause| whole(place, cause))?;
        self.0.add(line.id, place, round);
        Ok(())
    }

    fn finish(&mut self, found: &mut FoundSessions) -> Result<(), BadRow> {
        found.sessions.extend(self.0.drain().into_iter().map(session));
        Ok(())
    }
}

impl TableLine {
    fn round(&self) -> Result<TableRound, String> {
        fn number<N: FromStr>(name: &str, text: &str) -> Result<N, String> {
            text.parse().map_err(|_| format!("`{name}` is {:?}, no such number", excerpt(text)))
        }
        let time = |name: &str, text: &str| {
            let ns = number(name, text).map(|ms: f64| nanoseconds(ms, 1e6).filter(|ns| *ns >= 0))?;
            ns.ok_or_else(|| format!("`{name}` is {}; it must be a number of milliseconds, at least 0", excerpt(text)))
        };
        let cached: u64 = number("prefix_len", &self.prefix_len)?;
        let new: u64 = number("input_len", &self.input_len)?;
        let output: u64 = number("output_len", &self.output_len)?;
        Ok(TableRound {
            index: number("round_idx", &self.round_idx)?,
            tokens: tokens(cached.saturating_add(new)).map_err(|cause| format!("its prompt has {cause}"))?,
            cached,
            output_tokens: tokens(output.max(1)).map_err(|cause| format!("`output_len` says {cause}"))?,
            at_ns: time("arrival_time", &self.arrival_time)?,
            pause: Duration::from_nanos(time("tool_wait_after_ms", &self.tool_wait_after_ms)? as u64),
        })
    }
}

fn session(NamedRows { name, place, mut rows }: NamedRows<TableRound>) -> FileSession {
    rows.sort_by_key(|round| round.index);
    let (mut blocks, mut held, mut before) = (MintedBlocks::default(), PromptBlocks::default(), None);
    let requests = rows.iter().zip(0_usize..).map(|(round, at)| FileRequest {
        name: format!("round {}", round.index),
        waits: before.replace((at, round.pause)).into_iter().collect(),
        prompt: blocks.prompt(&mut held, round.tokens, round.cached),
        output_tokens: Some(round.output_tokens),
        ..FileRequest::default()
    });
    let requests = requests.collect();
    let begins_ns = rows.first().map(|round| round.at_ns);
    FileSession { name, place, begins_ns, requests, blocks: blocks.tree() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::generator::datasets::sessions::session::read_items;

    fn row([id, input, output, at, round, wait, prefix]: [&str; 7]) -> String {
        json!({"id": id, "input_len": input, "output_len": output, "arrival_time": at, "round_idx": round,
            "tool_wait_after_ms": wait, "prefix_len": prefix})
        .to_string()
    }

    #[test]
    fn rounds_follow_one_another_after_the_wait_of_the_one_before() {
        assert!(fits("id,input_len,output_len,arrival_time,round_idx,tool_wait_after_ms,prefix_len\n"));
        let rows = [
            row(["a", "64", "4", "1500", "1", "0", "128"]),
            row(["a", "130", "0", "1500", "0", "250.5", "0"]),
            row(["b", "1", "9", "20", "0", "0", "0"]),
        ];
        let found = read_items(TraceLabTable::default(), &rows.each_ref().map(String::as_str)).unwrap();
        let [a, b] = &found.sessions[..] else { panic!("{found:?}") };
        assert_eq!((a.begins_ns, b.begins_ns), (Some(1_500_000_000), Some(20_000_000)));
        let waits: Vec<_> = a.requests.iter().map(|request| request.waits.clone()).collect();
        assert_eq!(waits, [vec![], vec![(0, Duration::from_micros(250_500))]]);
        assert_eq!((a.ids(0), a.ids(1)), (vec![0, 1], vec![0, 1, 2]));
        assert_eq!((a.requests[0].output_tokens, b.requests[0].output_tokens), (Some(1), Some(9)));
    }

    #[test]
    fn what_is_no_number_is_said_with_its_column() {
        for (place, value, said) in [
            (1, "many", "`input_len` is \"many\", no such number"),
            (1, "0", "its prompt has 0 tokens"),
            (3, "-3", "`arrival_time` is -3; it must be a number of milliseconds"),
            (4, "1.5", "`round_idx` is \"1.5\""),
        ] {
            let mut fields = ["a", "64", "4", "0", "0", "0", "0"];
            fields[place] = value;
            let error = read_items(TraceLabTable::default(), &[&row(fields)]).unwrap_err();
            assert!(error.contains(said) && error.starts_with("row 1, line 1"), "{error}");
        }
        let error = read_items(TraceLabTable::default(), &["{\"id\":\"a\"}"]).unwrap_err();
        assert!(error.contains("row 1, line 1: missing field `input_len`"), "{error}");
    }
}
