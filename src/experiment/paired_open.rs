//! Coordinated omission made visible: a closed loop beside the same work in open arrivals.

use serde::{Deserialize, Serialize};

use super::virtual_time::Latency;
use crate::analysis::wording::seconds;
use crate::analysis::{Figure, Metric, Quantile, Rule, SampleWarning, Summary};
use crate::record::RunEnding;
use crate::units::three_digits;
use crate::workload::{ArrivalPattern, ThinkTime, WorkloadSpec};

/// Latencies that differ by less than this share of one another are called about the same.
pub(crate) const ALIKE: f64 = 0.1;

/// A closed run and its pair: the same classes, whose requests (or conversations) begin by a Poisson process at the
/// rate that the users reached. Both bring as much work to the server; only in the closed run does a slow answer hold
/// back the requests that would have queued behind it.
///
/// For one queue the gap has closed forms. Of N users with a mean service time S and a mean think time Z the response
/// time is that of mean-value analysis, R(N) = S (1 + Q(N − 1)), X = N ÷ (R + Z), Q = X R (Reiser and Lavenberg, *J.
/// ACM* 27, 1980); of an open M/M/1 queue at the rate X it is S ÷ (1 − X S).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PairedOpen {
    /// What is counted in `rate_per_s`.
    pub begun: ArrivalUnit,
    /// How many began per second of the closed run's window: the rate of the open run.
    pub rate_per_s: f64,
    /// Time to first token; absent where either run has none.
    pub ttft: Option<PairedLatency>,
    /// End-to-end latency; absent where either run has none.
    pub e2e: Option<PairedLatency>,
    /// Whether the open run settled. Where it did not, its latencies depend on how long it lasted.
    pub open_settled: bool,
    /// Whether both runs are valid; the open one but for having settled.
    pub both_valid: bool,
    /// The result in a sentence.
    pub sentence: String,
}

/// What an open run's arrivals are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ArrivalUnit {
    /// Single requests.
    Requests,
    /// Conversations, whose later turns wait for the answer before them.
    Sessions,
}

impl ArrivalUnit {
    /// What the rates of a workload count.
    pub fn of(workload: &WorkloadSpec) -> Self {
        if workload.mean_turns() > 1.0 { Self::Sessions } else { Self::Requests }
    }

    /// Its name, of several.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Sessions => "sessions",
        }
    }
}

/// One latency in both runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PairedLatency {
    /// Half of the requests are at most this.
    pub p50: PairedFigure,
    /// 99 in 100 are.
    pub p99: PairedFigure,
}

/// One percentile in both runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PairedFigure {
    /// As the users of the closed run had it.
    pub closed: Latency,
    /// As independent users at the same throughput have it.
    pub open: Latency,
    /// Open ÷ closed; absent where either is not known exactly, or the closed one is 0.
    pub ratio: Option<f64>,
    /// A reservation, where one of the runs has few samples.
    pub mark: Option<SampleWarning>,
}

impl PairedOpen {
    /// The workload of the open run that goes with `closed`, a run of `workload`; `None` where that is no closed loop,
    /// or nothing began.
    pub fn workload(workload: &WorkloadSpec, closed: &Summary) -> Option<WorkloadSpec> {
        let (_, rate_per_s) = begun(closed)?;
        Some(WorkloadSpec { arrival: ArrivalPattern::Poisson { rate_per_s }, ..workload.clone() })
    }

    /// Compares a closed run with its pair; `None` where it is no closed loop, nothing began, or the open run was
    /// interrupted.
    pub fn of(closed: &Summary, open: &Summary) -> Option<Self> {
        open.window.ending.filter(|ending| !matches!(ending, RunEnding::Interrupted | RunEnding::Aborted))?;
        let (begun, rate_per_s) = begun(closed)?;
        let latency = |metric| PairedLatency::of(closed, open, metric);
        let mut pair = Self {
            begun,
            rate_per_s,
            ttft: latency(Metric::Ttft),
            e2e: latency(Metric::E2e),
            open_settled: !open.verdict.breaks(Rule::SteadyState),
            both_valid: closed.verdict.valid
                && open.verdict.reasons.iter().all(|reason| reason.rule == Rule::SteadyState),
            sentence: String::new(),
        };
        pair.sentence = pair.in_words(&closed.run.arrival);
        Some(pair)
    }

    fn in_words(&self, arrival: &ArrivalPattern) -> String {
        let rate = format!("{} {}/s", three_digits(self.rate_per_s), self.begun.name());
        let (name, p99) = match (&self.ttft, &self.e2e) {
            (Some(ttft), _) => ("TTFT", ttft.p99),
            (None, Some(e2e)) => ("e2e", e2e.p99),
            (None, None) => return format!("neither run has a latency to compare at {rate}"),
        };
        let sentence = match (p99.closed.value_ms, p99.open.value_ms, p99.ratio) {
            (Some(closed), Some(open), Some(ratio)) => {
                let (closed, open) = (seconds(closed / 1e3), seconds(open / 1e3));
                let both = format!(
                    "p99 {name} is {closed} in the closed loop, and {open} with open arrivals at the same {rate}"
                );
                if ratio > 1.0 + ALIKE {
                    format!("{both}: {} times as long", three_digits(ratio))
                } else if ratio < 1.0 - ALIKE {
                    let bunches = if think_alike(arrival) {
                        ", or they return in bunches because all think equally long"
                    } else {
                        ""
                    };
                    format!(
                        "{both}; the closed loop hides nothing here: it has more users than the server has slots, so they \
                         queue behind one another{bunches}"
                    )
                } else {
                    format!("{both}: about the same; at this rate there is little queueing to hide")
                }
            }
            _ => format!("p99 {name} is not known for both runs at {rate}"),
        };
        let unsettled = "; and the open run did not settle: the users saturate the server, so open arrivals at that rate \
                         queue for as long as the run lasts, and these latencies depend on the length of the run";
        if self.open_settled { sentence } else { sentence + unsettled }
    }
}

/// Whether all users pause equally long, so that those who were answered together ask again together.
fn think_alike(arrival: &ArrivalPattern) -> bool {
    matches!(arrival, ArrivalPattern::Users { think_time_s: ThinkTime::Constant { value }, .. } if *value > 0.0)
}

/// What began in the window of a closed loop, and how many a second.
fn begun(closed: &Summary) -> Option<(ArrivalUnit, f64)> {
    let rate = closed.closed_loop?.begun_per_s.filter(|&rate| rate > 0.0)?;
    Some((if closed.sessions.is_some() { ArrivalUnit::Sessions } else { ArrivalUnit::Requests }, rate))
}

impl PairedLatency {
    fn of(closed: &Summary, open: &Summary, metric: Metric) -> Option<Self> {
        let (closed, open) = (closed.latency.row(metric)?, open.latency.row(metric)?);
        let figure = |quantile: Quantile| {
            let [ours, theirs] = [closed, open].map(|row| row.percentile(quantile));
            PairedFigure {
                closed: ours.figure.into(),
                open: theirs.figure.into(),
                ratio: ratio(ours.figure, theirs.figure),
                mark: quantile.mark(closed.n.min(open.n)),
            }
        };
        Some(Self { p50: figure(Quantile::P50), p99: figure(Quantile::P99) })
    }
}

fn ratio(closed: Figure, open: Figure) -> Option<f64> {
    let closed = closed.exact().filter(|&closed| closed > 0.0)?;
    Some(open.exact()? / closed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{record, run};
    use crate::analysis::{Reason, VerdictOutcome, summarise};
    use crate::record::{RequestRecord, RunLog, Turn};

    /// Requests a second apart, of one user, whose first tokens take so many ms.
    fn requests(ttfts: &[u64]) -> Vec<RequestRecord> {
        let request = |(number, &ttft): (u32, &u64)| {
            let at = 1_000 * u64::from(number);
            let mut record =
                record(Turn::index_of(0, number)).sent_at(at, at, at).paced(at + ttft, 10, 3).build();
            record.turn =
                Some(Turn { session: 0, number, of: None, begun: number, history_tokens: 0 }.into());
            record
        };
        (0..).zip(ttfts).map(request).collect()
    }

    fn closed(ttfts: &[u64]) -> RunLog {
        let mut log = run(1_000 * ttfts.len() as u64, requests(ttfts));
        log.header.workload.arrival = ArrivalPattern::of_users(1, ThinkTime::Constant { value: 0.5 });
        log
    }

    #[test]
    fn both_runs_stand_side_by_side_with_their_ratio() {
        let (log, open) = (closed(&[100, 200, 300, 400]), run(4_000, requests(&[300, 400, 800, 900])));
        let (closed, open) = (summarise(&log, &[]), summarise(&open, &[]));
        let workload = PairedOpen::workload(&log.header.workload, &closed).unwrap();
        assert_eq!(workload.arrival, ArrivalPattern::Poisson { rate_per_s: 1.0 });
        let pair = PairedOpen::of(&closed, &open).unwrap();
        let ttft = pair.ttft.unwrap();
        assert_eq!((ttft.p50.closed.value_ms, ttft.p50.open.value_ms), (Some(250.0), Some(600.0)));
        assert_eq!(ttft.p50.ratio, Some(2.4));
        assert_eq!((ttft.p50.mark, ttft.p99.mark), (None, Some(SampleWarning::TooFewSamples)));
        // numpy.percentile([100, 200, 300, 400], 99), and of the other with 20 ms more
        assert_eq!(ttft.p99.closed.value_ms, Some(397.0));
        assert_eq!(pair.e2e.unwrap().p99.open.value_ms, Some(917.0));
        assert!(pair.open_settled);
        assert_eq!(
            pair.sentence,
            "p99 TTFT is 397 ms in the closed loop, and 897 ms with open arrivals at the same 1.00 requests/s: 2.26 times as \
             long"
        );
    }

    #[test]
    fn users_who_wait_for_one_another_hide_nothing() {
        let sentence = |open: &[u64]| {
            let open = summarise(&run(2_000, requests(open)), &[]);
            PairedOpen::of(&summarise(&closed(&[500, 500]), &[]), &open).unwrap().sentence
        };
        assert!(sentence(&[480, 480]).contains("about the same"), "{}", sentence(&[480, 480]));
        let fewer = sentence(&[300, 300]);
        assert!(fewer.contains("hides nothing") && fewer.contains("all think equally long"), "{fewer}");
    }

    #[test]
    fn an_open_run_that_did_not_settle_says_so() {
        let closed = summarise(&closed(&[100, 200]), &[]);
        let mut open = summarise(&run(2_000, requests(&[300, 400])), &[]);
        let reason = |rule| Reason {
            rule,
            outcome: VerdictOutcome::Overloaded,
            sentence: String::new(),
            cure: String::new(),
        };
        let others = |open: &Summary| {
            let others = closed.verdict.valid && open.verdict.reasons.is_empty();
            (PairedOpen::of(&closed, open).unwrap(), others)
        };
        let (before, valid) = others(&open);
        assert_eq!((before.open_settled, before.both_valid), (true, valid));
        open.verdict.reasons.push(reason(Rule::SteadyState));
        let unsettled = PairedOpen::of(&closed, &open).unwrap();
        assert!(!unsettled.open_settled && unsettled.both_valid == valid);
        assert!(unsettled.sentence.contains("did not settle"), "{}", unsettled.sentence);
        open.verdict.reasons.push(reason(Rule::ErrorRate));
        assert!(!PairedOpen::of(&closed, &open).unwrap().both_valid);
    }

    #[test]
    fn only_a_closed_loop_has_a_pair() {
        let log = run(2_000, requests(&[100, 200]));
        let open = summarise(&log, &[]);
        assert_eq!(PairedOpen::workload(&log.header.workload, &open), None);
        assert_eq!(PairedOpen::of(&open, &open), None);
    }
}
