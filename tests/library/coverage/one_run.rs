//! One run at high load: its window is too short for what its server remembers, and the report says so.

use skyline::analysis::{Metric, Quantile, Unresolvable, summarise};
use skyline::record::RunLog;
use skyline::report::{Extent, Style, documents, render};
use skyline::simulator::{Delay, EngineModel, Fleet};
use skyline::workload::WorkloadSpec;

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

/// The window is five relaxation times long. An interval that takes its requests as independent holds the true p99 in one
/// run of 40; of nearly every run the report says that nothing can be told.
#[test]
fn one_run_at_90_percent_load_is_too_short_and_the_report_says_so() {
    let mut said = 0;
    for seed in 0..40 {
        let spec = spec(seed);
        let ttft = Delay::Exponential(0.1);
        let fleet = Fleet::of_one(EngineModel::Plain { slots: 1, ttft, itl: Delay::Constant(0.0) }, seed);
        let flown = fly(&spec, &mut *fleet.server().unwrap());
        let log = RunLog::of_requests(header(&spec), flown.records, flown.footer);
        let summary = summarise(&log, &[]);
        let row = summary.latency.row(Metric::Ttft).unwrap();
        let report = render::text(&documents::run(&summary, None, None), Style::PLAIN, Extent::Full)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let too_short = row.percentile(Quantile::P50).unresolvable == Some(Unresolvable::WindowTooShort);
        assert_eq!(report.contains("the window is too short for what the server remembers"), too_short);
        assert_eq!(report.contains("requests depend on one another"), row.dependent == Some(true));
        said += u32::from(too_short);
    }
    assert!(said >= 34, "said of {said} runs of 40");
}
