//! What a sweep's answer is beside its load: what each objective allows by itself, and the tokens that are made there.

use crate::analysis::Metric;
use crate::experiment::{HighestLoad, Load, ObjectiveLimit, Sweep};
use crate::units::{listed, span, three_digits};

/// Says which load each objective allows. An example is `p95 TTFT allows 73.8/s (71.0 to 76.2), p95 TPOT 68.6/s`.
/// `None` where there is one objective.
pub(super) fn by_objective(sweep: &Sweep, answer: &HighestLoad) -> Option<String> {
    let like = sweep.points.first()?.load;
    let highest = sweep.points.last()?.load;
    let said = answer.limits.iter().enumerate().map(|(place, limit)| {
        let allows = if place == 0 { " allows" } else { "" };
        format!("{}{allows} {}", name(limit), amount(limit, like, highest))
    });
    listed(said, ", ")
}

/// Names the figure, and whose it is: `p95 TTFT of chat`.
fn name(limit: &ObjectiveLimit) -> String {
    let key = &limit.objective.key;
    key.part.as_ref().map_or_else(|| key.title(), |part| format!("{} of {part}", key.title()))
}

fn amount(limit: &ObjectiveLimit, like: Load, highest: Load) -> String {
    let interval = span((limit.interval_low, limit.interval_high), " to ", three_digits);
    let interval = interval.map_or(String::new(), |ends| format!(" ({ends})"));
    match limit.estimate {
        Some(estimate) => format!("{}{interval}", like.of_amount(estimate)),
        None if limit.allows_more => format!("more than {highest}"),
        None => "no measured load".to_owned(),
    }
}

/// Agents at the answer: `14.5 per GPU, 21.3 per kW`. `None` where neither is known.
pub(super) fn shares(answer: &HighestLoad) -> Option<String> {
    let said = [(answer.agents_per_gpu, "per GPU"), (answer.agents_per_kw, "per kW")];
    let said = said.into_iter().filter_map(|(agents, of)| Some(format!("{} {of}", three_digits(agents?))));
    listed(said, ", ")
}

/// `8,703 output tokens/s, 2,176/s per GPU at 68.0/s`: of the highest load that passed.
pub(super) fn tokens(sweep: &Sweep, answer: &HighestLoad) -> Option<String> {
    let passed = answer.passed?;
    let point = sweep.points.iter().find(|point| point.load == passed)?;
    let mean = |metric| point.figures.metric(metric).and_then(|figure| figure.mean);
    let all = three_digits(mean(Metric::OutputTokens)?);
    let each = mean(Metric::OutputTokensPerGpu).map(|each| format!(", {}/s per GPU", three_digits(each)));
    Some(format!("{all} output tokens/s{} at {passed}", each.unwrap_or_default()))
}
