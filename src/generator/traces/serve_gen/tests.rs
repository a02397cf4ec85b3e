//! Holds drawn requests to what a pool says, and to `ServeGen`'s own generator on the same pool.

use std::path::Path;

use super::pool::ClientPool;
use crate::generator::traces::requests::{RequestTrace, TracedRequest};
use crate::generator::traces::survey;
use crate::workload::{BadLines, Trace, TraceFormat};

fn sample() -> Trace {
    Trace::whole(&format!("{}/tests/data/traces/servegen", env!("CARGO_MANIFEST_DIR")))
}

fn requests(trace: &Trace, seed: u64) -> Vec<TracedRequest> {
    let found = survey(trace, seed).unwrap();
    RequestTrace::of_slice(trace, &found, seed).unwrap().requests
}

/// Returns the requests of every stretch of 600 s, over so many seeds. With them come their mean prompt and answer.
fn by_stretch(trace: &Trace, seeds: u64) -> Vec<(f64, f64, f64)> {
    let mut sums = vec![(0.0, 0.0, 0.0); 4];
    for request in (0..seeds).flat_map(|seed| requests(trace, seed)) {
        let sum = &mut sums[(request.at_ns / 600_000_000_000) as usize];
        sum.0 += 1.0;
        sum.1 += f64::from(request.input_tokens);
        sum.2 += f64::from(request.output_tokens);
    }
    sums.into_iter().map(|(n, input, output)| (n / seeds as f64, input / n, output / n)).collect()
}

/// Means of 400 seeds of `servegen.construct.generate_workload` with `get_scaled_rate_fn` (numpy 2.4.6). They are
/// requests, prompt tokens and answer tokens of the sample by stretch. It loses one request of each client and stretch,
/// which is added here; and it sends answers of 0 tokens, without which the mean of the first stretch, 27.03, is 30.
const SERVEGEN: [(f64, f64, f64); 4] =
    [(1_200.5, 190.1, 30.0), (300.3, 4_495.8, 7.0), (900.8, 2_166.7, 15.67), (300.2, 1_000.0, 20.0)];

#[test]
fn a_pool_brings_what_servegen_makes_of_it() {
    for (rate_scale, seeds) in [(1.0, 60), (3.0, 20)] {
        let found = by_stretch(&Trace { rate_scale, ..sample() }, seeds);
        for ((found, own), cv) in found.into_iter().zip(SERVEGEN).zip([2.0, 1.0, 2.24, 0.5]) {
            // The number of gaps with this CV in a stretch has a standard deviation of about cv·√number.
            let number = own.0 * rate_scale;
            let error = 4.0 * cv * (number / seeds as f64).sqrt() + 1.0;
            assert!((found.0 - number).abs() < error, "{found:?}, not {own:?} times {rate_scale}");
            let near = |found: f64, own: f64| (found / own - 1.0).abs() < 0.03;
            assert!(near(found.1, own.1) && near(found.2, own.2), "{found:?}, not {own:?}");
        }
    }
}

#[test]
fn gaps_are_those_of_the_client() {
    // ServeGen's own: 1.996 on average of 400 seeds; the pool says a CV of 2.
    let squares = |seed| {
        let moments: Vec<f64> = requests(&Trace { for_s: Some(600.0), ..sample() }, seed)
            .iter()
            .map(|request| request.at_ns as f64 / 1e9)
            .collect();
        let gaps: Vec<f64> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        gaps.iter().map(|gap| (gap / mean - 1.0).powi(2)).sum::<f64>() / gaps.len() as f64
    };
    let cv = ((0..40).map(squares).sum::<f64>() / 40.0).sqrt();
    assert!((cv - 2.0).abs() < 0.1, "{cv}");
}

#[test]
fn a_slice_is_drawn_from_its_beginning_and_lasts_as_long_as_it_says() {
    let found = survey(&sample(), 1).unwrap();
    assert_eq!((found.format, found.ends_s, found.skipped_lines), (TraceFormat::ServeGen, 2_400.0, 0));
    let slice = Trace { from_s: 700.0, for_s: Some(1_000.0), time_scale: 0.5, ..sample() };
    let requests = requests(&slice, 1);
    assert!(requests.is_sorted_by_key(|request| request.at_ns));
    // 500 s of chunk 7 alone, then both; twice as fast.
    let (alone, both) = requests.split_at(requests.partition_point(|request| request.at_ns < 250_000_000_000));
    assert!(alone.iter().all(|request| request.input_tokens >= 3_000));
    assert!(both.iter().any(|request| request.input_tokens == 1_000));
    // What comes after the first stretch is the same wherever a slice begins.
    let later = Trace { from_s: 1_300.0, ..sample() };
    let tail = |trace: &Trace, begins_s: i64| -> Vec<_> {
        let requests = crate::generator::traces::serve_gen::tests::requests(trace, 1);
        let moment = |request: &TracedRequest| (request.at_ns + begins_s * 1_000_000_000, request.input_tokens);
        requests.iter().map(moment).filter(|(at_ns, _)| *at_ns >= 1_800_000_000_000).collect()
    };
    assert_eq!(tail(&sample(), 0), tail(&later, 1_300));
    let beyond = Trace { from_s: 2_400.0, ..sample() };
    let error = survey(&beyond, 1).unwrap_err().to_string();
    assert!(error.contains("no request from 2400 s on; it ends 2400 s after its zero"), "{error}");
    let past = Trace { from_s: 2_000.0, for_s: Some(401.0), ..sample() };
    let error = survey(&past, 1).unwrap_err().to_string();
    assert!(error.contains("ends 2400 s after its zero, and the slice goes on until 2401 s"), "{error}");
}

/// A pool of one client.
fn pool(folder: &Path, trace: &str, dataset: &str) -> Trace {
    std::fs::write(folder.join("chunk-3-trace.csv"), trace).unwrap();
    std::fs::write(folder.join("chunk-3-dataset.json"), dataset).unwrap();
    Trace::whole(folder.to_str().unwrap())
}

const TRACE: &str = "0,2,1,Gamma,1,0.5\n600,2,1,Gamma,1,0.5\n";
const DATASET: &str = "{\n\"0\": {\n\"text_tokens\": \"{8: 1}\",\n\"output_tokens\": \"{9: 0.5, 5: 0.5}\"\n}}";

#[test]
fn what_is_wrong_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let good = pool(folder.path(), TRACE, DATASET);
    assert!(ClientPool::open(&good, 0).is_ok_and(|mut pool| pool.next().is_some_and(|r| r.input_tokens == 8)));
    for (trace, message) in [
        ("0,x,1,Gamma,1,1\n600,0,0,,0,0\n", "chunk-3-trace.csv, line 1, column 2 (`rate`): \"x\" is not a number"),
        ("0,1,1,Gamma,1,1\n0,0,0,,0,0\n", "line 2, column 1 (`t`): 0 s is not after the line before"),
        ("0,1,1,Pareto,1,1\n600,0,0,,0,0\n", "column 4 (`pattern`): \"Pareto\" is neither Gamma nor Weibull"),
        ("0,1,1,Gamma,0,1\n600,0,0,,0,0\n", "column 5 (`shape`): 0 is not a shape above 0"),
        ("0,1,1\n600,0,0,,0,0\n", "column 4 (`pattern`): the line has only 3 columns"),
        ("0,1,1,Gamma,1,1\n", "has fewer than two lines"),
    ] {
        let error = ClientPool::open(&pool(folder.path(), trace, DATASET), 0).unwrap_err().to_string();
        assert!(error.contains(message), "{trace}: {error}");
    }
    for (dataset, message) in [
        ("{", "chunk-3-dataset.json, line 1: is not a JSON object"),
        (
            "{\"0\": {\n\"input_tokens\": \"{1: 0.4}\", \"output_tokens\": \"{1: 1}\"}}",
            "line 2, moment \"0\", field \"input_tokens\": its shares are 0.4 together, not 1",
        ),
        ("{\"0\": {\"input_tokens\": \"{1: 1}\"}}", "field \"output_tokens\": is missing"),
        ("{\"0\": {\"input_tokens\": \"{1 1}\", \"output_tokens\": \"{1: 1}\"}}", "entry 1, \"1 1\", is not a count"),
        (
            "{\"600\": {\"input_tokens\": \"{1: 1}\", \"output_tokens\": \"{1: 1}\"}}",
            "moment \"0\": the client sends requests then, and no table says how long they are",
        ),
    ] {
        let bad = pool(folder.path(), TRACE, dataset);
        let error = ClientPool::open(&bad, 0).unwrap_err().to_string();
        assert!(error.contains(message), "{dataset}: {error}");
    }
    let skipping = Trace { bad_lines: BadLines::Skip, ..pool(folder.path(), &format!("{TRACE}x\n"), DATASET) };
    assert_eq!(ClientPool::open(&skipping, 0).unwrap().facts().skipped, 1);
    let good = pool(folder.path(), TRACE, DATASET);
    std::fs::remove_file(folder.path().join("chunk-3-dataset.json")).unwrap();
    assert!(ClientPool::open(&good, 0).unwrap_err().to_string().contains("chunk-3-dataset.json cannot be read"));
    std::fs::remove_file(folder.path().join("chunk-3-trace.csv")).unwrap();
    assert!(survey(&good, 0).unwrap_err().to_string().contains("holds no file chunk-N-trace.csv"));
}

/// Returns how many requests of a pool of one client leave in each stretch. Stretches are of 600 s.
fn sent(trace: &Trace) -> [usize; 3] {
    let mut sent = [0; 3];
    for request in ClientPool::open(trace, 1).unwrap() {
        sent[(request.at_ns / 600_000_000_000) as usize] += 1;
    }
    sent
}

#[test]
fn nothing_is_sent_where_a_line_or_table_was_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let skipping =
        |trace: &str, dataset: &str| Trace { bad_lines: BadLines::Skip, ..pool(folder.path(), trace, dataset) };
    let bad_line = "0,2,1,Gamma,1,0.5\n600,2,1,Pareto,1,0.5\n1200,2,1,Gamma,1,0.5\n";
    let [before, bad, after] = sent(&skipping(bad_line, DATASET));
    assert!(before > 900 && bad == 0 && after > 900, "{before} {bad} {after}");
    let good = "0,2,1,Gamma,1,0.5\n600,2,1,Gamma,1,0.5\n1200,2,1,Gamma,1,0.5\n";
    let known = r#"{"input_tokens": "{8: 1}", "output_tokens": "{5: 1}"}"#;
    for (table, skipped, nearest) in [("{8: 0.4}", 2, 0), ("{0: 1.0}", 0, 1)] {
        let other = format!(r#"{{"input_tokens": "{table}", "output_tokens": "{{5: 1}}"}}"#);
        let dataset = format!(r#"{{"0": {known}, "600": {other}, "1200": {known}}}"#);
        let trace = skipping(good, &dataset);
        let [before, bad, after] = sent(&trace);
        assert!(before > 900 && bad == 0 && after > 900, "{table}: {before} {bad} {after}");
        let pool = ClientPool::open(&trace, 1).unwrap();
        assert_eq!((pool.facts().skipped, pool.facts().nearest), (skipped, nearest), "{table}");
    }
}

#[test]
fn shapes_beyond_what_is_drawn_are_taken_as_the_nearest() {
    let folder = tempfile::tempdir().unwrap();
    // Shapes of m-large and m-mid, and one so large that gaps are all alike.
    for (shape, nearest) in [("45230", 0), ("2198", 0), ("0.0067", 1), ("1e9", 1)] {
        let text = format!("0,2,1,Gamma,{shape},1\n600,2,1,Weibull,1,1\n1200,0,0,,0,0\n");
        let trace = pool(folder.path(), &text, DATASET);
        assert_eq!(ClientPool::open(&trace, 1).unwrap().facts().nearest, nearest, "{shape}");
        let found = survey(&trace, 1).unwrap();
        assert_eq!(found.nearest_drawn, nearest, "{shape}");
        if shape != "0.0067" {
            // Two a second, next to evenly.
            assert!((1_199..=1_201).contains(&sent(&trace)[0]), "{shape}: {:?}", sent(&trace));
        }
    }
}
