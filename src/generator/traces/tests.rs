//! Reads small traces of every format, and holds replays to what the trace says.

mod slices;

use std::fmt::Write as _;
use std::io::Write as _;

use super::error::TraceError;
use super::replay::{Replay, Replayed};
use super::requests::{Blocks, TracedRequest};
use super::survey::survey;
use crate::generator::traces::files::order::SortedRequests;
use crate::generator::traces::files::reader::TraceReader;
use crate::workload::{BadLines, Trace, TraceFormat};

fn sample(name: &str) -> Trace {
    Trace::whole(&format!("{}/tests/data/traces/{name}", env!("CARGO_MANIFEST_DIR")))
}

/// A trace of Mooncake's with these moments in milliseconds, lengths counted up from 1.
fn trace_of(folder: &tempfile::TempDir, moments: &[u64]) -> Trace {
    let mut text = String::new();
    for (place, moment) in moments.iter().enumerate() {
        let length = place + 1;
        let _ = writeln!(
            text,
            r#"{{"timestamp": {moment}, "input_length": {length}, "output_length": 1, "hash_ids": [{place}]}}"#
        );
    }
    written(folder, &text)
}

fn written(folder: &tempfile::TempDir, text: &str) -> Trace {
    let path = folder.path().join("trace");
    std::fs::write(&path, text).unwrap();
    Trace::whole(path.to_str().unwrap())
}

fn read(trace: &Trace) -> Result<Vec<TracedRequest>, TraceError> {
    let mut reader = TraceReader::open(trace)?;
    std::iter::from_fn(|| reader.read().transpose()).collect()
}

fn replayed(trace: &Trace, seed: u64, length_ns: u64) -> Vec<Replayed> {
    Replay::open(trace, seed, length_ns, None).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn timestamps_that_are_dates_count_from_the_first_request_in_their_own_unit() {
    let folder = tempfile::tempdir().unwrap();
    for (first, second) in [
        ("1764300000000", "1764300001400"),
        ("1764300000", "1764300001.4"),
        ("1764300000000000", "1764300001400000"),
        ("1764300000000000000", "1764300001400000000"),
    ] {
        let line =
            |at: &str| format!(r#"{{"timestamp": {at}, "input_length": 5, "output_length": 1, "hash_ids": [1]}}"#);
        let found = survey(&written(&folder, &format!("{}\n{}\n", line(first), line(second))), 1).unwrap();
        assert_eq!((found.requests, found.format), (2, TraceFormat::Mooncake), "{first}");
        assert!((1.4..1.41).contains(&found.ends_s), "{first}: {}", found.ends_s);
    }
    // What is no date keeps the trace's own clock.
    assert!(survey(&trace_of(&folder, &[600_000, 601_000]), 1).unwrap().ends_s > 600.0);
}

#[test]
fn every_public_format_is_recognised_and_read_as_published() {
    let second = 1_000_000_000_i64;
    // Dates by `date -u -d '2023-11-16 18:15:46' +%s` and the like.
    for (name, format, first, lengths, kind, blocks) in [
        ("mooncake.jsonl", TraceFormat::Mooncake, 0, (1300, 50), None, vec![0, 1, 2]),
        (
            "bailian.jsonl",
            TraceFormat::Bailian,
            61_114 * second / 1000,
            (40, 132),
            Some("text"),
            vec![1089, 1090, 1091],
        ),
        ("azure_2023.csv", TraceFormat::Azure, 1_700_158_546 * second + 680_590_000, (374, 44), None, vec![]),
        ("azure_2024.csv", TraceFormat::Azure, 1_715_299_200 * second + 9_930_000, (2162, 5), None, vec![]),
        ("azure_lmm.csv", TraceFormat::Azure, 1_728_950_404 * second + 301_120_000, (1500, 130), None, vec![]),
        ("burst_gpt_1.csv", TraceFormat::BurstGpt, 5 * second, (472, 18), Some("Conversation log"), vec![]),
        ("burst_gpt_3.csv", TraceFormat::BurstGpt, 19_440_110 * second, (906, 446), Some("Conversation log"), vec![]),
        ("skyline.jsonl", TraceFormat::Skyline, 1_500_000_000, (70, 5), Some("chat"), vec![11, 12]),
    ] {
        let trace = sample(name);
        assert_eq!(TraceReader::open(&trace).unwrap().facts.format, format, "{name}");
        let requests = read(&trace).unwrap();
        let one = &requests[0];
        assert_eq!((one.at_ns, (one.input_tokens, one.output_tokens)), (first, lengths), "{name}");
        assert_eq!(one.kind.as_deref(), kind, "{name}");
        if name != "burst_gpt_3.csv" {
            assert_eq!(one.blocks.to_vec(), blocks, "{name}");
        }
        // What the spec says of the format makes no difference.
        let named = Trace { format: Some(format), ..trace };
        assert_eq!(read(&named).unwrap(), requests, "{name}");
    }
    let lengths: Vec<_> =
        read(&sample("azure_2023.csv")).unwrap().iter().map(|request| request.output_tokens).collect();
    assert_eq!(lengths, [44, 109, 55], "line ends of Windows are no part of a number");
}

#[test]
fn requests_of_one_session_begin_alike() {
    let folder = tempfile::tempdir().unwrap();
    let text = "Timestamp,Session ID,Request tokens,Response tokens\n1,a,40,8\n2,b,40,8\n3,a,100,8\n4,,40,8\n";
    let trace = written(&folder, text);
    assert_eq!(TraceReader::open(&trace).unwrap().facts.block_tokens, Some(16));
    let requests = read(&trace).unwrap();
    let [first, other, later, alone] = [0, 1, 2, 3].map(|place| requests[place].blocks.to_vec());
    // 40 tokens are 2 whole blocks of 16, 100 are 6, and the first 2 of those are what was said before.
    assert_eq!((first.len(), later.len()), (2, 6));
    assert_eq!(later[..2], first[..]);
    assert!(other.iter().all(|block| !later.contains(block)));
    assert!(alone.is_empty(), "no session, nothing in common");
    assert_eq!(TraceReader::open(&sample("burst_gpt_1.csv")).unwrap().facts.block_tokens, None);
}

#[test]
fn byte_order_marks_and_quotes_are_no_part_of_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let lengths = |text: &str| -> Vec<(u32, u32)> {
        let requests = read(&written(&folder, text)).unwrap();
        requests.iter().map(|request| (request.input_tokens, request.output_tokens)).collect()
    };
    let line = r#"{"timestamp": 0, "input_length": 6, "output_length": 5, "hash_ids": []}"#;
    assert_eq!(lengths(&format!("\u{feff}{line}\n{line}\n")), [(6, 5), (6, 5)]);
    // Commas of cells that are read over end no cell.
    let quoted = "\"Timestamp\",\"Model\",\"Request tokens\",\"Response tokens\",\"Log Type\"\n\
                  \"5.0\",\"GPT-4, new\",\"100\",\"7\",\"API log\"\n6,GPT-4,101,8,API log\n";
    assert_eq!(lengths(quoted), [(100, 7), (101, 8)]);
    assert_eq!(read(&written(&folder, quoted)).unwrap()[0].kind.as_deref(), Some("API log"));
}

#[test]
fn a_bad_line_is_named_with_line_column_and_cause() {
    let folder = tempfile::tempdir().unwrap();
    let mooncake = r#"{"timestamp": 0, "input_length": 5, "output_length": 5, "hash_ids": []}"#;
    let azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,1,1";
    let burst = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,GPT-4,1,1,2,API log";
    for (good, bad, message) in [
        (mooncake, "{\"timestamp\": 1, ", "line 2, column 16: EOF while parsing a value"),
        (
            mooncake,
            r#"{"timestamp": 1, "input_length": "5", "output_length": 5}"#,
            "line 2, column 36: invalid type: string \"5\", expected u64",
        ),
        (mooncake, r#"{"timestamp": 1, "input_length": 5}"#, "missing field `output_length`"),
        (
            mooncake,
            r#"{"timestamp": 1, "input_length": 5, "output_length": 0}"#,
            "line 2, column 37 (`output_length`): 0 tokens",
        ),
        (mooncake, r#"{"timestamp": -1, "input_length": 5, "output_length": 5}"#, "(`timestamp`): -1 is not a time"),
        (mooncake, r#"{"timestamp": 1, "input_length": 1000001, "output_length": 5}"#, "1000000 are the most"),
        (azure, "2023-11-16 18:15:47,x,1", "line 3, column 2 (`ContextTokens`): \"x\" is not a whole number"),
        (azure, "16.11.2023,1,1", "line 3, column 1 (`TIMESTAMP`): \"16.11.2023\" is not a date"),
        (azure, "2023-11-16 18:15:47,1", "line 3, column 3 (`GeneratedTokens`): the line has only 2 columns"),
        (burst, "7,GPT-4,12,0,12,API log", "line 3, column 4 (`Response tokens`): 0 tokens"),
        (burst, "soon,GPT-4,12,1,13,API log", "column 1 (`Timestamp`): \"soon\" is not a number of seconds"),
    ] {
        let trace = written(&folder, &format!("{good}\n{bad}\n{}\n", good.lines().last().unwrap()));
        let error = read(&trace).unwrap_err().to_string();
        assert!(error.contains(message) && error.contains("--skip-bad"), "{bad}: {error}");
        let skipping = Trace { bad_lines: BadLines::Skip, ..trace };
        let mut reader = TraceReader::open(&skipping).unwrap();
        assert_eq!(std::iter::from_fn(|| reader.read().unwrap()).count(), 2, "{bad}");
        assert_eq!(reader.facts.skipped, 1, "{bad}");
    }
}

#[test]
fn a_file_that_is_no_trace_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (text, message) in [
        ("", "is empty"),
        ("\u{feff}\n\n", "is empty"),
        ("hello\n", "has no known trace format (\"hello\"); of CSV files the first line names the columns"),
        ("{\"a\": 1}\n", "or convert it: `skyline trace from"),
        ("{\"skyline_trace\": 2}\n", "the trace has schema 2, and this skyline reads up to 1"),
        ("{\"skyline_trace\": 1, \"x\": 1}\n", "unknown field `x`"),
        ("\u{1f}\u{8b}", "has no known trace format"),
    ] {
        let error = read(&written(&folder, text)).unwrap_err().to_string();
        assert!(error.contains(message), "{text:?}: {error}");
    }
    let named = Trace { format: Some(TraceFormat::Azure), ..written(&folder, "a,b\n") };
    assert!(read(&named).unwrap_err().to_string().contains("does not name the columns TIMESTAMP"));
    let long = Trace { format: Some(TraceFormat::Azure), ..written(&folder, &"a,b".repeat(1_000)) };
    let error = read(&long).unwrap_err().to_string();
    assert!(error.contains("…\" does not name") && error.len() < 400, "{error}");
    let list = Trace { format: Some(TraceFormat::Mooncake), ..written(&folder, "[0,100,5,[1,2]]\n") };
    let error = read(&list).unwrap_err().to_string();
    assert!(error.contains("line 1, column 1: invalid type: sequence, expected an object"), "{error}");
    let error = read(&Trace::whole("no/such/file")).unwrap_err().to_string();
    assert!(error.contains("no/such/file cannot be read"), "{error}");
}

#[test]
fn a_compressed_trace_is_read_like_another() {
    let folder = tempfile::tempdir().unwrap();
    let plain = std::fs::read(&sample("azure_2023.csv").path).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).unwrap();
    let expected = read(&sample("azure_2023.csv")).unwrap();
    let packed = [("a.csv.gz", gzip.finish().unwrap()), ("a.csv.zst", zstd::encode_all(&plain[..], 1).unwrap())];
    for (name, packed) in packed {
        let path = folder.path().join(name);
        let trace = Trace::whole(path.to_str().unwrap());
        std::fs::write(&path, &packed).unwrap();
        assert_eq!(read(&trace).unwrap(), expected, "{name}");
        std::fs::write(&path, &packed[..packed.len() - 9]).unwrap();
        let error = read(&trace).unwrap_err().to_string();
        assert!(error.contains("cannot be unpacked with") && error.contains(name), "{error}");
    }
}

#[test]
fn small_disorder_is_put_right_and_great_disorder_refused() {
    let folder = tempfile::tempdir().unwrap();
    let trace = trace_of(&folder, &[5_000, 1_000, 1_000, 64_999, 5_001]);
    let mut in_order = SortedRequests::new(TraceReader::open(&trace).unwrap());
    let found: Vec<_> = in_order.by_ref().map(Result::unwrap).map(|r| (r.at_ns / 1_000_000, r.input_tokens)).collect();
    assert_eq!(found, [(1_000, 2), (1_000, 3), (5_000, 1), (5_001, 5), (64_999, 4)], "equal moments keep their lines");
    assert_eq!(in_order.facts().reordered, 3);
    let trace = trace_of(&folder, &[0, 1_000, 200_000, 500]);
    let error = SortedRequests::new(TraceReader::open(&trace).unwrap()).find_map(Result::err).unwrap().to_string();
    assert!(error.contains("line 4") && error.contains("199.500 s") && error.contains("sort"), "{error}");
}

#[test]
fn a_slice_keeps_its_own_distance_from_its_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let trace = Trace { from_s: 2.0, time_scale: 0.5, ..trace_of(&folder, &[0, 1_999, 3_000, 4_500]) };
    let found: Vec<_> = replayed(&trace, 0, 10)
        .iter()
        .map(|replayed| (replayed.at.as_nanos(), replayed.request.input_tokens))
        .collect();
    assert_eq!(found, [(500_000_000, 3), (1_250_000_000, 4)], "half a second: not moved to the run's zero");
    // Dates count from the first request.
    let dated: Vec<_> =
        replayed(&sample("azure_2023.csv"), 0, 10).iter().map(|replayed| replayed.at.as_nanos()).collect();
    assert_eq!(dated, [0, 4_314_579_000, 4_541_877_000]);
}

#[test]
fn thinning_keeps_the_asked_share_and_moves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let moments: Vec<u64> = (0..10_000).map(|place| place * 7).collect();
    let whole = trace_of(&folder, &moments);
    let thin = |seed| replayed(&Trace { rate_scale: 0.3, ..whole.clone() }, seed, 70_000_000_000);
    let kept = thin(1);
    // Binomial(10,000, 0.3) has mean 3,000 and standard deviation 45.8: 5 of them either way.
    assert!((2_771..3_229).contains(&kept.len()), "{}", kept.len());
    assert!(kept.iter().all(|r| r.at.as_nanos() == u64::from(r.request.input_tokens - 1) * 7_000_000));
    assert_eq!(kept, thin(1));
    assert_ne!(kept, thin(2));
}

#[test]
fn copies_are_the_slice_turned_and_share_no_block() {
    let folder = tempfile::tempdir().unwrap();
    let moments: Vec<u64> = (0..1_000).map(|place| place * 10).collect();
    let trace = Trace { rate_scale: 2.5, ..trace_of(&folder, &moments) };
    let length_ns = 10_000_000_000;
    let replay = Replay::open(&trace, 3, length_ns, None).unwrap();
    let inside: Vec<_> = replay.map(Result::unwrap).take_while(|replayed| replayed.at.as_nanos() < length_ns).collect();
    assert!(inside.is_sorted_by_key(|replayed| replayed.at), "in order");
    let of = |copy: u32| inside.iter().filter(|replayed| replayed.copy == copy).collect::<Vec<_>>();
    assert_eq!((of(0).len(), of(1).len()), (1_000, 1_000));
    // Binomial(1,000, 0.5): 500 with a standard deviation of 15.8.
    assert!((421..579).contains(&of(2).len()), "{}", of(2).len());
    // A turned copy has the whole slice, in the same order from another beginning on.
    let lengths: Vec<_> = of(1).iter().map(|replayed| replayed.request.input_tokens).collect();
    let first = lengths[0];
    assert!(first > 1, "turned");
    let turned: Vec<_> = (first..=1_000).chain(1..first).collect();
    assert_eq!(lengths, turned);
    let gaps: Vec<_> = of(1).windows(2).map(|pair| pair[1].at.as_nanos() - pair[0].at.as_nanos()).collect();
    assert!(gaps.iter().all(|gap| *gap == 10_000_000), "and its own gaps");
    assert_eq!(Blocks::new(&[4, 5], 16, 0).ids.to_vec(), [4, 5]);
    assert_ne!(Blocks::new(&[4, 5], 16, 1).ids, Blocks::new(&[4, 5], 16, 2).ids);
}

#[test]
fn the_survey_counts_what_is_there() {
    let found = survey(&sample("mooncake.jsonl"), 0).unwrap();
    assert_eq!((found.requests, found.same_moment, found.peak_per_s), (5, 1, 2));
    assert_eq!((found.ends_s, found.input_tokens, found.output_tokens), (9.001, 1082.0, 28.2));
    // By hand: request 2 finds one block of 512, request 3 finds two, request 4 is one whole block that is there.
    assert_eq!(found.reusable_share, Some((512.0 + 1024.0 + 512.0) / 5410.0));
    assert_eq!(found.arrivals_by(9.001), 5.0);
    let found = survey(&sample("bailian.jsonl"), 0).unwrap();
    let kinds: Vec<_> = found.kinds.iter().map(|kind| (kind.name.as_str(), kind.requests)).collect();
    assert_eq!(kinds, [("search", 1), ("text", 2)]);
    let slice = Trace { from_s: 3.0, for_s: Some(3.0), ..sample("mooncake.jsonl") };
    let found = survey(&slice, 0).unwrap();
    assert_eq!((found.requests, found.ends_s), (2, 3.0));
    let beyond = Trace { from_s: 100.0, ..sample("mooncake.jsonl") };
    let error = survey(&beyond, 0).unwrap_err().to_string();
    assert!(error.contains("no request from 100 s on"), "{error}");
    let slow = Trace { time_scale: 100.0, ..sample("burst_gpt_3.csv") };
    assert_eq!(survey(&slow, 0).unwrap().ends_s, 8_200.1);
}
