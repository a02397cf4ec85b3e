//! One run at high load: the interval that takes its requests for independent, and the test that says they are not.

use skyline::analysis::{Metric, Quantile, summarise};
use skyline::record::RunLog;
use skyline::report::{Extent, Extras, Style, documents, render};
use skyline::simulator::{Delay, EngineModel, Fleet};
use skyline::workload::WorkloadSpec;

use super::covered::Covered;
use crate::virtual_time::{fly, header};

/// M/M/1 with a service time of 100 ms on average at 90 % load: 1,800 requests after a warm-up of 380 s, ten relaxation
/// times.
fn spec(seed: u64) -> WorkloadSpec {
    let text = format!(
        r#"
name = "queue"
horizon_s = 580
warmup_s = 380
drain_s = 3600
seed = {seed}
arrival = {{ kind = "poisson", rate_per_s = 9 }}
[[classes]]
name = "all"
input_tokens = {{ kind = "constant", value = 1 }}
output_tokens = {{ kind = "constant", value = 1 }}
"#
    );
    WorkloadSpec::from_toml(&text, "a test").unwrap()
}

/// In 40 runs of 1,800 requests, the order-statistic interval of the p99 covers the true one (−ln 0.01 · 1 s = 4.6 s)
/// hardly ever, and that of the median little more often; of nearly every run the report says that its requests depend
/// on one another.
#[test]
fn one_run_at_90_percent_load_is_surer_than_it_may_be_and_the_report_says_so() {
    let quantiles = [("p50 of one run, ms", Quantile::P50), ("p99 of one run, ms", Quantile::P99)];
    let mut covered = quantiles.map(|(what, q)| Covered::new(what, -libm::log1p(-q.fraction()) * 1e3));
    let mut said = 0;
    for seed in 0..40 {
        let spec = spec(seed);
        let ttft = Delay::Exponential(0.1);
        let fleet = Fleet::of_one(EngineModel::Plain { slots: 1, ttft, itl: Delay::Constant(0.0) }, seed);
        let flown = fly(&spec, &mut *fleet.server().unwrap());
        let log = RunLog::of_requests(header(&spec), flown.records, flown.footer);
        let summary = summarise(&log, &[]);
        let row = summary.latency.row(Metric::Ttft).unwrap();
        for ((_, quantile), covered) in quantiles.iter().zip(&mut covered) {
            let percentile = row.percentile(*quantile);
            let (low, high) = percentile.interval;
            covered.add(percentile.figure.exact().unwrap(), (low.unwrap(), high.unwrap()));
        }
        let report =
            render::text(&documents::run(&summary, Extras::default(), None), Style::PLAIN, Extent::Full)
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
        let words = report.contains("requests depend on one another");
        assert_eq!(words, row.dependent == Some(true));
        said += u32::from(words);
    }
    for covered in covered {
        let share = covered.share();
        assert!(share <= 0.4, "{share}");
    }
    assert!(said >= 38, "said of {said} runs of 40");
}
