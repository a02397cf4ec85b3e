//! The rule on how late requests were dispatched.

use super::check::{Check, Measure, Rule};
use crate::analysis::figures::catalogue::Metric;
use crate::analysis::figures::quantile::Quantile;
use crate::analysis::latency::row::Percentile;
use crate::analysis::summary::run::Summary;
use crate::units::{count, three_digits};

/// A shorter lag never fails a run, milliseconds.
const LEAST_BAR_MS: f64 = 1.0;
/// Of the median latency, the lag may be this share.
const SHARE_OF_LATENCY: f64 = 0.01;
/// One request in a thousand may be later than one in a hundred by this factor.
const FAR_TAIL: f64 = 5.0;
const CURE: &str = "give this machine less other work, or fly the load from several machines";

/// p99 against 1 ms or 1 % of the median TTFT (of answers that are not streamed: e2e), whichever is more, and p99.9
/// against five times that.
///
/// Of fewer samples than a percentile needs it is an accident which request comes out on top: the lower end of its
/// interval is compared with the limit there, so that one hiccup among few requests does not decide, and several do.
pub(super) fn checks(summary: &Summary) -> Vec<Check> {
    let [near, far] = ["p99 of the schedule lag, ms", "p99.9 of the schedule lag, ms"]
        .map(|statistic| Measure { rule: Rule::ScheduleLag, statistic });
    let latency = summary.latency.row(Metric::Ttft).or_else(|| summary.latency.row(Metric::E2e));
    let (Some(lag), Some(latency)) = (summary.latency.row(Metric::ScheduleLag), latency) else {
        return vec![near.not_tested("no request has a latency that its lag could be held against")];
    };
    let median = latency.percentile(Quantile::P50).figure.at_least();
    let bar = lag_bar_ms(median);
    let check = |measure, quantile, bar, why| hold(measure, lag.percentile(quantile), lag.n, bar, why);
    vec![
        check(near, Quantile::P99, bar, "1 ms, or 1 % of the median latency"),
        check(far, Quantile::P999, bar * FAR_TAIL, "five times that of p99"),
    ]
}

/// The limit of p99 of the schedule lag, milliseconds, where the median latency is `median_ms`: 1 ms, or 1 % of it.
pub(crate) fn lag_bar_ms(median_ms: f64) -> f64 {
    (median_ms * SHARE_OF_LATENCY).max(LEAST_BAR_MS)
}

fn hold(measure: Measure, lag: &Percentile, n: u64, bar: f64, why: &str) -> Check {
    let quantile = lag.quantile;
    let bar_said = format!("the bar is {} ms ({why})", three_digits(bar));
    if n >= quantile.floor() {
        let value = lag.figure.at_least();
        let sentence =
            format!("requests left late: {quantile} schedule lag is {} ms; {bar_said}", three_digits(value));
        return judged(measure, value, bar, sentence, quantile);
    }
    let Some(value) = lag.interval.0 else {
        return measure.not_tested(format!("{} requests are too few for {quantile}", count(n)));
    };
    let sentence = format!(
        "requests left late: {quantile} schedule lag is at least {} ms, the lower end of its 95 % interval over {} \
         requests; {bar_said}",
        three_digits(value),
        count(n)
    );
    judged(measure, value, bar, sentence, quantile)
}

fn judged(measure: Measure, value: f64, bar: f64, late: String, quantile: Quantile) -> Check {
    let in_time = format!(
        "requests left in time: {quantile} schedule lag is {} ms, the bar {} ms",
        three_digits(value),
        three_digits(bar)
    );
    measure.at_most(value, bar, if value <= bar { in_time } else { late }, CURE)
}
