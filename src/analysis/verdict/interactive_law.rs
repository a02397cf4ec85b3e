//! The rule that the requests of a closed loop and its think times account for its users.

use super::check::{Check, Measure, Rule};
use crate::analysis::load::closed_loop::ClosedLoop;
use crate::analysis::summary::run::Summary;
use crate::analysis::wording::percent;
use crate::units::three_digits;

/// The two sides may lie this far apart, as a share of N …
const BAR: f64 = 0.01;
/// … or by so many standard errors of the think times that were drawn.
const ERRORS: f64 = 3.0;
/// … or by this much a request, seconds: what lies between an answer's last byte and the run taking note of it.
const NOTICE_S: f64 = 0.001;

/// N against X (R + Z), see [`ClosedLoop`]; `None` where the load is not closed.
///
/// N and Z are what the workload declares, X and R what the records say. A user who was forgotten, a record that was lost
/// or doubled, a think time that was not kept all set them apart.
pub(super) fn check(summary: &Summary) -> Option<Check> {
    let closed = summary.closed_loop.as_ref()?;
    let measure = Measure { rule: Rule::InteractiveLaw, statistic: "|N − X (R + Z)| / N" };
    if summary.window.cut_short {
        return Some(measure.not_tested("the run ended before its window did"));
    }
    let ClosedLoop {
        users_begun,
        think_time_s: Some(think),
        throughput_per_s: Some(throughput),
        response_s: Some(response),
        accounted_users: Some(accounted),
        accounted_error: Some(error),
        ..
    } = *closed
    else {
        return Some(measure.not_tested("no request ended in the window"));
    };
    let apart = (users_begun - accounted).abs() / users_begun;
    let bar = BAR.max((ERRORS * error + throughput * NOTICE_S) / users_begun);
    let sentence = format!(
        "interactive response time law: {} users, and {} requests a second that took {} s and were followed by {} s of \
         thought, corrected for those that straddle the window's ends, account for {}: {} apart; the bar is {}",
        three_digits(users_begun),
        three_digits(throughput),
        three_digits(response),
        three_digits(think),
        three_digits(accounted),
        percent(apart),
        percent(bar)
    );
    let cure = "do not use these figures: records are missing or doubled, or users did not ask when they should have; \
                keep the log whole and run again";
    Some(measure.at_most(apart, bar, sentence, cure))
}
