//! The tables of a run, read back by others than those who wrote them.

use ::parquet::file::metadata::RowGroupMetaData;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::{Field, Row};
use bytes::Bytes;
use serde_json::{Map, Value};

use super::column::{DataColumn, ReadAs};
use super::request::RequestRow;
use super::request::TokenRow;
use super::*;
use crate::analysis::Unit;
use crate::analysis::test_runs::{class, ms, record, run};
use crate::analysis::{Metric, summarise};
use crate::record::{Attempt, AttemptEnd, AttemptKind, Failure, FailureKind, Phase, RunLog, Turn};
use crate::report::run_report::{Out, RunReport};
use crate::report::sample_runs::observed;
use crate::workload::{ClientBehaviour, Priority, Slo};

/// A run with something of everything. It has warm-up, a turn, chunks of several tokens and of none, a failure with a
/// hostile message, and an answer that was cut off.
fn mixed() -> RunLog {
    let message = "=HYPERLINK(\"http://evil\",\"a, b\")\r\n\u{1b}[2Jsecond line";
    let failure = Failure::new(FailureKind::HttpStatus(503), message);
    let mut turn = record(1 << 28).sent_at(900, 901, 902).paced(950, 10, 3).usage(120, 4).build();
    turn.turn = Some(Turn { number: 1, of: Some(2), history_tokens: 50, ..Turn::default() }.into());
    let mut log = run(
        1_000,
        vec![
            record(2).sent_at(400, 400, 401).failed(450, failure).build(),
            record(0).phase(Phase::Warmup).sent_at(0, 0, 1).paced(30, 10, 2).build(),
            record(1).sent_at(100, 102, 103).chunks(&[(200, 1), (240, 3), (250, 0), (300, 1)]).build(),
            record(3).sent_at(500, 500, 501).chunks(&[(600, 1)]).asked(20).censored(5_000).build(),
            turn,
        ],
    );
    log.header.workload.classes =
        vec![class("-chat", &[(Priority::High, Slo { ttft_ms: Some(90.0), tpot_ms: None, e2e_ms: None })])];
    log
}

fn written(log: &RunLog, write: impl Fn(RunReport<'_>, Out<'_>) -> std::io::Result<()>) -> Vec<u8> {
    let summary = summarise(log, &["p50 ttft < 200ms".parse().unwrap()]);
    let mut bytes = Vec::new();
    write(RunReport { log, summary: &summary, diagnosis: None }, &mut bytes).unwrap();
    bytes
}

fn text(log: &RunLog, write: impl Fn(RunReport<'_>, Out<'_>) -> std::io::Result<()>) -> String {
    String::from_utf8(written(log, write)).unwrap()
}

fn lines(log: &RunLog) -> Vec<Map<String, Value>> {
    text(log, requests_jsonl).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_name_ends_in_its_unit() {
    fn check<R>(columns: &[DataColumn<R>]) {
        for (place, column) in columns.iter().enumerate() {
            let name = column.name.as_ref();
            assert!(columns[..place].iter().all(|before| before.name != name), "{name} is there twice");
            let fits = match column.unit {
                Unit::NONE => !name.ends_with("_s") && !name.ends_with("_ms"),
                Unit::SECONDS => name.ends_with("_s"),
                Unit::MILLISECONDS => name.ends_with("_ms"),
                _ => name.contains("tokens"),
            };
            assert!(fits && !column.meaning.is_empty(), "{name}");
        }
    }
    check(&RequestRow::columns());
    check(&TokenRow::columns());
}

#[test]
fn requests_as_csv() {
    insta::assert_snapshot!(text(&mixed(), requests_csv));
}

#[test]
fn the_summary_as_csv() {
    insta::assert_snapshot!(text(&mixed(), summary_csv));
}

#[test]
fn the_summary_as_csv_has_the_server_and_the_client() {
    let text = text(&observed(), summary_csv);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<Map<String, Value>> = reader.deserialize().map(Result::unwrap).collect();
    let row = |metric: &str, statistic: &str| {
        let found = |row: &&Map<String, Value>| row["metric"] == metric && row["statistic"] == statistic;
        rows.iter().find(found).unwrap().clone()
    };
    let busy = row("server_kv_usage", "max");
    assert_eq!((&busy["scope"], &busy["name"], &busy["unit"]), (&"run".into(), &"short_chat".into(), &"share".into()));
    assert_eq!(busy["value"].as_f64(), Some(0.5));
    // What is known to lie in a bucket has bounds and no value.
    let p99 = row("server_queue", "p99");
    assert_eq!((p99["at_least"].as_f64(), p99["at_most"].as_f64()), (Some(250.0), Some(500.0)));
    assert_eq!((&p99["value"], &p99["unit"], p99["n"].as_f64()), (&"".into(), &"ms".into(), Some(590.0)));
    assert_eq!(row("client_retransmits", "total")["value"].as_f64(), Some(7.0));
}

#[test]
fn a_summary_has_no_slo_that_the_workload_does_not_have() {
    let mut log = mixed();
    assert!(text(&log, summary_csv).contains(",goodput,,1,"));
    for share in &mut log.header.workload.classes[0].priorities {
        share.slo = Slo::default();
    }
    let table = text(&log, summary_csv);
    assert!(!table.contains(",goodput,") && !table.contains(",slo_attainment,"), "{table}");
    assert!(table.contains(",objective_met,p50 ttft < 200ms,"), "{table}");
    let unit = |named: &str| table.lines().find(|line| line.contains(named)).unwrap().split(',').nth(9);
    assert_eq!(unit(",tokens_per_s_per_request,,"), Some("tokens/s"));
    assert_eq!(unit(",output_tokens_per_s,,"), Some("tokens/s"));
    assert_eq!(unit(",offered_requests,,"), Some("requests/s"));
    assert_eq!(unit(",ttft,censored,"), Some("samples"));
}

#[test]
fn tables_count_the_attempts_of_clients_that_try_again() {
    let attempt = |kind, begun, end| Attempt {
        kind,
        begun: ms(begun),
        sent: Some(ms(begun)),
        ended: ms(begun + 5),
        end,
        discarded_tokens: 0,
    };
    let busy = AttemptEnd::Failed(FailureKind::HttpStatus(429));
    let mut retried = record(1).sent_at(10, 10, 10).paced(100, 10, 3).build();
    retried.set_attempts(vec![
        attempt(AttemptKind::First, 10, busy),
        attempt(AttemptKind::Retry, 80, AttemptEnd::Answered),
    ]);
    let mut log = run(1_000, vec![record(0).sent_at(0, 0, 0).paced(50, 10, 3).build(), retried]);
    assert!(!text(&log, summary_csv).contains(",amplification,"), "clients that send once have no such figure");
    log.header.workload.clients = Some(ClientBehaviour { retries: 1, ..ClientBehaviour::default() });
    assert!(text(&log, summary_csv).contains(",amplification,,1.5,,,requests,"));
    let attempts: Vec<_> = lines(&log).iter().map(|row| row["attempts"].as_u64()).collect();
    assert_eq!(attempts, [Some(1), Some(2)]);
}

#[test]
fn csv_and_json_lines_say_the_same() {
    let log = mixed();
    let text = written(&log, requests_csv);
    let mut reader = ::csv::Reader::from_reader(text.as_slice());
    let names = reader.headers().unwrap().clone();
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    let lines = lines(&log);
    assert_eq!(rows.len(), log.records.len());
    for (row, line) in rows.iter().zip(&lines) {
        assert!(names.iter().eq(line.keys()));
        for (name, field) in names.iter().zip(row) {
            match &line[name] {
                Value::Null => assert_eq!(field, "", "{name}: what is not known is empty"),
                Value::Number(number) => {
                    assert_eq!(field.parse::<f64>().unwrap(), number.as_f64().unwrap(), "{name}");
                }
                Value::Bool(flag) => assert_eq!(field, flag.to_string()),
                Value::String(text) if text.starts_with(['=', '-']) => assert!(field.starts_with('\'')),
                Value::String(text) => assert_eq!(field, text),
                other => panic!("{name}: {other}"),
            }
        }
    }
}

#[test]
fn what_a_server_said_is_no_formula_and_no_second_line() {
    let text = text(&mixed(), requests_csv);
    assert_eq!(text.lines().count(), 1 + mixed().records.len());
    let begin = "\"'=HYPERLINK(\"\"http://evil\"\",\"\"a, b\"\")\\r\\n\\u{1b}[2J";
    assert!(text.contains(begin), "{text}");
    assert!(text.contains(",'-chat,"));
}

#[test]
fn rows_are_in_the_order_of_the_schedule_and_know_what_is_unknown() {
    let lines = lines(&mixed());
    let index: Vec<_> = lines.iter().map(|line| line["index"].as_u64().unwrap()).collect();
    assert_eq!(index, [0, 1, 2, 3, 1 << 28]);
    let [_, whole, failed, cut_off, turn] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!((&whole["ttft_ms"], &whole["longest_gap_ms"]), (&100.0.into(), &50.0.into()));
    assert_eq!(whole["slo_met"], false);
    assert_eq!(whole["request_id"], "0badcafe-0000-4000-8000-000000000001");
    assert_eq!((&failed["failure"], &failed["http_status"]), (&"http_status".into(), &503.into()));
    assert_eq!((&failed["ttft_ms"], &failed["ttft_at_least_ms"]), (&Value::Null, &Value::Null));
    assert_eq!((&cut_off["ttft_ms"], &cut_off["e2e_ms"]), (&100.0.into(), &Value::Null));
    assert_eq!(cut_off["e2e_at_least_ms"], 4_500.0);
    assert_eq!((&turn["session"], &turn["turn"], &turn["slo_met"]), (&0.into(), &1.into(), &true.into()));
}

/// The rows of a Parquet file, by its reader.
fn parquet_rows(bytes: Vec<u8>) -> Vec<Map<String, Value>> {
    let reader = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
    let value = |field: &Field| match field {
        Field::Null => Value::Null,
        Field::Str(text) => text.as_str().into(),
        Field::Long(count) => (*count).into(),
        Field::Double(number) => (*number).into(),
        Field::Bool(flag) => (*flag).into(),
        other => panic!("{other}"),
    };
    let row = |row: Row| row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect();
    reader.get_row_iter(None).unwrap().map(|read| row(read.unwrap())).collect()
}

#[test]
fn parquet_says_what_json_lines_say() {
    let log = mixed();
    assert_eq!(parquet_rows(written(&log, requests_parquet)), lines(&log));
}

#[test]
fn gaps_per_token_are_those_of_the_summary() {
    let log = mixed();
    let rows = parquet_rows(written(&log, tokens_parquet));
    assert_eq!(rows.len(), 2 + 4 + 1 + 3);
    let gaps: Vec<_> = rows[2..6].iter().map(|row| row["gap_ms"].as_f64()).collect();
    assert_eq!(gaps, [None, Some(40.0), Some(10.0), Some(50.0)]);
    let itl: Vec<_> = rows[2..6].iter().map(|row| row["itl_ms"].as_f64()).collect();
    assert_eq!(itl, [None, Some(40.0 / 3.0), None, Some(60.0)]);
    // Of the measured requests that completed, a gap of k tokens k times; the silence in which one was cut off is open.
    let mut whole = log.clone();
    whole.records.retain(|record| record.index != 3);
    let (mut sum, mut samples) = (0.0, 0.0);
    for row in parquet_rows(written(&whole, tokens_parquet)).iter().filter(|row| row["request_index"] != 0) {
        let tokens = row["tokens"].as_f64().unwrap();
        if let Some(itl) = row["itl_ms"].as_f64() {
            (sum, samples) = (sum + itl * tokens, samples + tokens);
        }
    }
    let mean = summarise(&whole, &[]).latency.row(Metric::Itl).unwrap().mean_ms.unwrap();
    assert!((sum / samples - mean).abs() < 1e-9, "{sum} / {samples} is not {mean}");
}

#[test]
fn a_long_table_comes_in_groups_of_rows() {
    let log = mixed();
    let rows = RequestRow::all(&log);
    let mut bytes = Vec::new();
    parquet::write("requests", &RequestRow::columns(), 2, &log, rows, &mut bytes).unwrap();
    let reader = SerializedFileReader::new(Bytes::from(bytes.clone())).unwrap();
    let groups = reader.metadata().row_groups();
    assert_eq!(groups.iter().map(RowGroupMetaData::num_rows).collect::<Vec<_>>(), [2, 2, 1]);
    assert_eq!(parquet_rows(bytes), lines(&log));
    let about = reader.metadata().file_metadata().key_value_metadata().unwrap();
    let of = |key: &str| about.iter().find(|entry| entry.key == key).unwrap().value.clone().unwrap();
    assert_eq!(of("skyline.version"), env!("CARGO_PKG_VERSION"));
    let columns: Value = serde_json::from_str(&of("skyline.columns")).unwrap();
    assert_eq!(columns.as_array().unwrap().len(), RequestRow::columns().len());
    assert_eq!(columns[0]["name"], "index");
}

#[test]
fn a_run_of_nothing_has_tables_without_rows() {
    let log = run(0, Vec::new());
    assert_eq!(text(&log, requests_csv).lines().count(), 1);
    assert_eq!(text(&log, requests_jsonl), "");
    assert!(parquet_rows(written(&log, requests_parquet)).is_empty());
    assert!(parquet_rows(written(&log, tokens_parquet)).is_empty());
}

const fn type_name<R>(read: &ReadAs<R>) -> &'static str {
    match read {
        ReadAs::Text(_) => "text",
        ReadAs::Whole(_) => "integer",
        ReadAs::Number(_) => "number",
        ReadAs::Flag(_) => "true or false",
    }
}

/// A line of the guide's list.
fn documented<R>(column: &DataColumn<R>) -> String {
    format!("| `{}` | {} | {} | {} |", column.name, type_name(&column.read), column.unit.sign, column.meaning)
}

#[test]
fn the_guide_lists_the_columns() {
    let readme = include_str!("../../guide/formats.md");
    let requests: Vec<_> = RequestRow::columns().iter().map(documented).collect();
    let tokens: Vec<_> = TokenRow::columns().iter().map(documented).collect();
    for list in [requests, tokens] {
        let list = list.join("\n");
        assert!(readme.contains(&list), "src/guide/formats.md does not have this list:\n{list}");
    }
}

#[test]
fn percentiles_that_were_asked_for_are_rows() {
    let mut log = mixed();
    log.header.percentiles = vec![75.0, 95.0];
    let table = text(&log, summary_csv);
    let rows = |statistic: &str| {
        let of_run = table.lines().filter(|line| line.contains(",run,"));
        of_run.filter(|line| line.contains(&format!(",ttft,{statistic},"))).count()
    };
    assert_eq!(["p50", "p75", "p95", "p99"].map(rows), [1, 1, 1, 1], "{table}");
}

#[test]
fn tags_are_columns_behind_the_others() {
    let mut log = mixed();
    log.header.workload.classes[0].metadata = [("team".to_owned(), "search".to_owned())].into();
    let tags: Vec<_> = lines(&log).iter().map(|row| row["tag_team"].clone()).collect();
    assert!(tags.contains(&"search".into()) && tags.iter().all(|tag| tag == "search" || tag.is_null()), "{tags:?}");
    assert!(text(&log, requests_csv).lines().next().unwrap().ends_with(",tag_team"));
    assert_eq!(parquet_rows(written(&log, requests_parquet)), lines(&log));
    assert!(text(&log, summary_csv).contains(",tag,team=search,"));
    assert!(!text(&mixed(), requests_csv).contains("tag_"));
}
