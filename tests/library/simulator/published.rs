//! Throughputs that others published of real servers, and what the model predicts of them; `skyline guide simulate` shows
//! the table.

use std::time::Duration;

use skyline::clock::Timestamp;
use skyline::guide::Topic;
use skyline::simulator::{
    BatchingConfig, BatchingEngine, Deployment, Efficiency, Job, JobId, Precision, SimulatedServer,
};
use skyline::units::count;

/// A row for each published figure, with the page that it stands on. All requests come at once and have the same lengths
/// (those of vLLM 0.6 are an assumption: its page names a data set of chats). Limits that a row leaves out are vLLM's
/// defaults; vLLM 0.11 and older scheduled synchronously by default. The page of TensorRT-LLM names the sizes of its
/// batches and the share of the memory, not the format of its KV cache: its checkpoints ask for 8 bits.
const PUBLISHED: &str = include_str!("../../data/published.csv");
/// The source whose rows have a median error that the guide names.
const MAIN_SOURCE: &str = "TensorRT-LLM 1.0";

struct Row {
    cells: Vec<&'static str>,
}

impl Row {
    fn all() -> Vec<Self> {
        PUBLISHED.lines().skip(1).map(|line| Self { cells: line.split(',').collect() }).collect()
    }

    fn cell(&self, name: &str) -> &'static str {
        let place = PUBLISHED.lines().next().unwrap().split(',').position(|column| column == name);
        self.cells[place.unwrap_or_else(|| panic!("no column {name}"))]
    }

    fn number(&self, name: &str) -> u32 {
        self.cell(name).parse().unwrap_or_else(|_| panic!("{name} in {:?}", self.cells))
    }

    fn published(&self) -> f64 {
        self.cell("output_tokens_per_s").parse().unwrap()
    }

    /// Output tokens per second until the last answer is whole, the requests a tenth of a millisecond apart.
    fn predicted(&self) -> f64 {
        let kv_cache = if self.cell("kv_cache") == "auto" { Precision::Bf16 } else { Precision::Fp8 };
        let deployment = Deployment {
            weights: self.cell("precision").parse().unwrap(),
            kv_cache,
            tensor_parallel: self.number("tensor_parallel"),
            ..Deployment::new(self.cell("hardware").parse().unwrap(), self.cell("model").parse().unwrap())
        };
        let mut config = BatchingConfig::vllm(&deployment, Efficiency::default()).unwrap();
        let limits = &mut config.limits;
        limits.async_scheduling = self.cell("scheduling") == "async";
        limits.max_num_batched_tokens =
            self.cell("max_num_batched_tokens").parse().unwrap_or(limits.max_num_batched_tokens);
        limits.max_num_seqs = self.cell("max_num_seqs").parse().unwrap_or(limits.max_num_seqs);
        let mut engine = BatchingEngine::new(config);
        let (input, output) = (self.number("input_tokens"), self.number("output_tokens"));
        let mut coming = (0..u64::from(self.number("requests")))
            .map(|id| (Timestamp::from_nanos(id * 100_000), Job::new(JobId(id), input, output)))
            .peekable();
        let (mut now, mut events, mut tokens) = (Timestamp::ZERO, Vec::new(), 0_u64);
        while coming.peek().is_some() || engine.jobs() > 0 {
            while let Some((at, job)) = coming.next_if(|(at, _)| *at <= now) {
                engine.submit(at, job).unwrap();
            }
            match engine.begin_step(now) {
                Some(step) => now = step.ends_at,
                None => now = now.after(Duration::from_micros(100)),
            }
            engine.end_step(&mut events);
            tokens += events.drain(..).map(|event| u64::from(event.tokens)).sum::<u64>();
        }
        tokens as f64 / now.as_secs_f64()
    }

    /// The row as the guide has it.
    fn shown(&self, predicted: f64) -> String {
        let ranks = self.number("tensor_parallel");
        let hardware = if ranks == 1 { String::new() } else { format!("{ranks} × ") } + self.cell("hardware");
        let tokens = |value: f64| count(value.round() as u64);
        format!(
            "| {} | {}, {} | {hardware} | {} → {} | {} | {} | {} |",
            self.cell("source"),
            self.cell("model"),
            self.cell("precision"),
            tokens(f64::from(self.number("input_tokens"))),
            tokens(f64::from(self.number("output_tokens"))),
            tokens(self.published()),
            tokens(predicted),
            percent(100.0 * (predicted / self.published() - 1.0))
        )
    }
}

fn percent(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "+" };
    format!("{sign}{:.0} %", value.abs())
}

/// The rows of the table in the guide.
fn table() -> Vec<&'static str> {
    let rows = Topic::find("simulate").unwrap().text.lines();
    rows.filter(|line| Row::all().iter().any(|row| line.starts_with(&format!("| {} |", row.cell("source"))))).collect()
}

/// Computes these rows and looks for each in the guide.
fn hold(rows: &[Row]) {
    let shown: Vec<String> = rows.iter().map(|row| row.shown(row.predicted())).collect();
    println!("{}", shown.join("\n"));
    let missing: Vec<&String> = shown.iter().filter(|row| !table().contains(&row.as_str())).collect();
    assert!(missing.is_empty(), "src/guide/simulate.md lacks\n{missing:#?}");
}

#[test]
fn short_rows_of_published_throughput_are_what_the_model_predicts() {
    let tokens = |row: &Row| row.number("output_tokens") * row.number("requests");
    let short: Vec<Row> = Row::all().into_iter().filter(|row| tokens(row) < 500_000).collect();
    assert!(short.len() >= 6, "{}", short.len());
    hold(&short);
}

#[test]
#[ignore = "takes minutes unoptimised; `tests/interop/long_tests.sh` runs it"]
fn all_rows_of_published_throughput_are_what_the_model_predicts() {
    hold(&Row::all());
    assert_eq!(table().len(), Row::all().len());
}

/// The guide says how far the table is off: the median and the largest error of one engine at its limit, and which rows are
/// wrong by more than a quarter. The model has neither experts on several accelerators nor attention that runs on each of
/// them by itself, and knows no host that is slower than its accelerator.
#[test]
fn the_guide_says_how_far_published_throughput_is_off() {
    let guide = Topic::find("simulate").unwrap().text.replace("**", "");
    let guide = guide.split_whitespace().collect::<Vec<_>>().join(" ");
    let ratio = |row: &&str| {
        let cells: Vec<f64> = row.split('|').filter_map(|cell| cell.trim().replace(',', "").parse().ok()).collect();
        let [published, predicted] = cells[..] else { panic!("two figures in {row}") };
        predicted / published
    };
    let of_main = |row: &&&str| row.starts_with(&format!("| {MAIN_SOURCE} |"));
    let mut main: Vec<f64> = table().iter().filter(of_main).map(|row| 100.0 * (ratio(row) - 1.0).abs()).collect();
    main.sort_by(f64::total_cmp);
    let (count, largest) = (main.len(), main[main.len() - 1]);
    let said = format!("the median error of its {count} rows is {:.1} %, the largest {largest:.0} %", main[count / 2]);
    assert!(guide.contains(&said), "src/guide/simulate.md lacks: {said}");
    let said = format!("with a median error of {:.1} % over {count} setups", main[count / 2]);
    let readme = include_str!("../../../README.md").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(readme.contains(&said), "README.md lacks: {said}");
    let mut wrong: Vec<f64> =
        table().iter().filter(|row| !of_main(row)).map(ratio).filter(|ratio| *ratio > 1.25).collect();
    wrong.sort_by(f64::total_cmp);
    let (count, least, most) = (wrong.len(), wrong[0], wrong[wrong.len() - 1]);
    let said = format!("fails in {count} rows, where it predicts {least:.1} to {most:.1} times what was measured");
    assert!(guide.contains(&said), "src/guide/simulate.md lacks: {said}");
    assert!(table().iter().map(ratio).all(|ratio| ratio > 0.75), "the guide names none that is so far below");
}
