//! Holds closed loops, and open arrivals at their rate, to the closed forms of one queue.

use skyline::analysis::{LoadForm, Metric, Quantile, Rule, summarise};
use skyline::experiment::{predict, run_virtually};
use skyline::generator::Schedule;
use skyline::record::RunHeader;
use skyline::simulator::{Delay, EngineModel, Fleet};
use skyline::workload::{ArrivalPattern, WorkloadSpec};

use crate::virtual_time::header;

/// Five users who think for half a second, before one place whose service takes 0.1 s, exponentially.
const USERS: u32 = 5;
const THINK_S: f64 = 0.5;
const SERVICE_S: f64 = 0.1;

fn workload(horizon_s: u32) -> WorkloadSpec {
    let text = format!(
        r#"
name = "repairman"
horizon_s = {horizon_s}
warmup_s = 10
seed = 5
arrival = {{ kind = "users", users = {USERS}, think_time_s = {THINK_S} }}
[[classes]]
name = "job"
input_tokens = {{ kind = "constant", value = 1 }}
output_tokens = {{ kind = "constant", value = 1 }}
"#
    );
    WorkloadSpec::from_toml(&text, "a test").unwrap()
}

/// Throughput and mean response time by mean-value analysis (Reiser and Lavenberg, 1980): who arrives finds the queue of
/// one user fewer.
fn mean_values() -> (f64, f64) {
    let (mut queue, mut found) = (0.0, (0.0, 0.0));
    for users in 1..=USERS {
        let response = SERVICE_S * (1.0 + queue);
        let throughput = f64::from(users) / (response + THINK_S);
        queue = throughput * response;
        found = (throughput, response);
    }
    found
}

#[test]
fn mean_value_analysis_is_the_textbooks() {
    // Computed apart, in Python, from the machine repairman's stationary distribution.
    let (throughput, response) = mean_values();
    assert!((throughput - 7.151_321_786_690_976).abs() < 1e-12, "{throughput}");
    assert!((response - 0.199_171_446_781_389_43).abs() < 1e-12, "{response}");
}

/// Percentiles, ms. Closed: whoever arrives finds j others with the stationary probability of four users, and stays for the
/// sum of j + 1 services, solved for in Python. Open, at the throughput that the users reach: M/M/1, whose response
/// is exponential with the rate 1/S − X, so that p50 is ln 2 and p99 ln 100 over it.
///
/// The bar is loose on purpose: over 14,000 requests a p99 of an exponential has a standard error of 2 %, and those of an M/M/1
/// queue at 0.7 depend on one another.
#[test]
fn what_a_closed_loop_hides_of_one_queue_is_that_of_the_closed_forms() {
    let spec = workload(2_000);
    let engine = EngineModel::Plain { slots: 1, ttft: Delay::Exponential(SERVICE_S), itl: Delay::Constant(0.0) };
    let (schedule, fleet) = (Schedule::draw(&spec), Fleet::of_one(engine, 3));
    let (log, found) = predict(header(&spec), schedule.clone(), &fleet, &[]).unwrap();
    let closed = found.summary;
    let rate_per_s = closed.closed_loop.unwrap().begun_per_s.unwrap();
    let workload = WorkloadSpec { arrival: ArrivalPattern::Poisson { rate_per_s }, ..spec.clone() };
    let schedule = schedule.of(&workload);
    let header = RunHeader { workload, plan: schedule.facts(), ..log.header };
    let open = summarise(&run_virtually(header, schedule, &fleet).unwrap(), &[]);
    let (throughput, response) = mean_values();
    assert_eq!(closed.run.load, LoadForm::Closed);
    let mean = closed.latency.row(Metric::E2e).unwrap().mean_ms.unwrap() / 1e3;
    near("throughput", rate_per_s, throughput, 0.02);
    near("mean response", mean, response, 0.03);
    for (quantile, of_closed, of_open) in [(Quantile::P50, 153.081, 243.322), (Quantile::P99, 777.183, 1_616.60)] {
        let [in_closed, in_open] =
            [&closed, &open].map(|run| run.latency.percentile(Metric::E2e, quantile).unwrap().figure.exact().unwrap());
        near(&format!("closed {quantile}"), in_closed, of_closed, 0.06);
        near(&format!("open {quantile}"), in_open, of_open, 0.2);
        near(&format!("ratio of {quantile}"), in_open / in_closed, of_open / of_closed, 0.2);
    }
    assert!(closed.verdict.valid, "{:?}", closed.verdict.reasons);
    assert!(!closed.verdict.breaks(Rule::InteractiveLaw));
    assert!(!open.verdict.breaks(Rule::SteadyState), "{:?}", open.verdict.reasons);
}

fn near(name: &str, found: f64, expected: f64, bar: f64) {
    let off = found / expected - 1.0;
    println!("{name}: {found:.4}, closed form {expected:.4}, off by {:.2} %", off * 100.0);
    assert!(off.abs() < bar, "{name}: {found}, not {expected}");
}
