//! What a sweep's answer is beside its load: what each objective allows by itself, and the tokens that are made there.

use crate::analysis::{FigureKey, Metric, Quantile};
use crate::experiment::{HighestLoad, Load, ObjectiveLimit, Sweep, TierAnswer};
use crate::report::document::{ALWAYS, FigureColumn, Section, Table, TableCell, shortened};
use crate::units::{joined, listed, span, three_digits};

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

/// The highest load of each tier, with what a user sees there. The objectives stand below it.
pub(super) fn tiers(sweep: &Sweep) -> Section {
    let section = Section::summary("Tiers: the highest load of each; TTFT in ms and tokens/s of a user at what passed");
    let ends = |answer: &HighestLoad| answer.crossing().and_then(|found| span(found.ends(), " to ", three_digits));
    let amount = |load: Option<Load>| load.map(|load| three_digits(load.amount()));
    let figure = |tier: &TierAnswer, key: &FigureKey| sweep.figures_at(&tier.answer)?.get(key).cloned();
    let columns = [
        FigureColumn::percentile(Metric::Ttft, Quantile::P50, 3),
        FigureColumn::percentile(Metric::Ttft, Quantile::P95, ALWAYS).named("TTFT p95"),
        FigureColumn::titled("tok/s/user", Metric::TokensPerUser, ALWAYS),
    ];
    let table = Table::over("Tiers", &sweep.tiers)
        .column("tier", |tier| shortened(&tier.name))
        .column("highest load", |tier| highest(sweep, &tier.answer))
        .column_where_known("95 % interval", |tier| ends(&tier.answer))
        .column_where_known(("passed", 5), |tier| amount(tier.answer.passed))
        .column_where_known(("failed", 4), |tier| amount(tier.answer.failed))
        .column_where_known("per GPU", |tier| tier.answer.agents_per_gpu)
        .column_where_known("per kW", |tier| tier.answer.agents_per_kw)
        .figures(&columns, |tier, key| TableCell::from(figure(tier, key).as_ref()));
    let objectives = |tier: &TierAnswer| format!("{}: {}", tier.name, joined(&tier.objectives, "; "));
    section.table(table).remark(sweep.tiers.iter().map(objectives))
}

/// Sentences on how sure the answer of each tier is.
pub(super) fn answers(sweep: &Sweep) -> Section {
    let sentence = |tier: &TierAnswer| format!("{}: {}", tier.name, tier.answer.sentence);
    Section::detail("Each tier").text(sweep.tiers.iter().map(sentence))
}

/// The highest load in words, such as `12 agents`, `≥ 12 agents` or `none`.
pub(super) fn highest(sweep: &Sweep, answer: &HighestLoad) -> String {
    let like = sweep.points.first().map(|point| point.load);
    let found = like.zip(answer.estimate).map(|(like, estimate)| like.of_amount(estimate)).or(answer.passed);
    match (found, answer.failed) {
        (Some(found), None) if answer.passed.is_some() => format!("≥ {found}"),
        (Some(found), _) => found.to_string(),
        (None, Some(_)) => "none".to_owned(),
        (None, None) => "unknown".to_owned(),
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
    let (passed, figures) = (answer.passed?, sweep.figures_at(answer)?);
    let mean = |metric| figures.metric(metric).and_then(|figure| figure.mean);
    let all = three_digits(mean(Metric::OutputTokens)?);
    let each = mean(Metric::OutputTokensPerGpu).map(|each| format!(", {}/s per GPU", three_digits(each)));
    Some(format!("{all} output tokens/s{} at {passed}", each.unwrap_or_default()))
}

/// The tokens with their latency, such as `…, at an ITL of 12.1 ms (p50)`.
pub(super) fn throughput(sweep: &Sweep, answer: &HighestLoad) -> Option<String> {
    let tokens = tokens(sweep, answer)?;
    let itl = |quantile| {
        let figure = sweep.figures_at(answer)?.percentile(quantile, Metric::Itl)?.mean?;
        Some(format!("{} ms ({quantile})", three_digits(figure)))
    };
    let known = [Quantile::P50, Quantile::P99].into_iter().filter_map(itl);
    Some(match listed(known, " and ") {
        Some(itl) => format!("{tokens}, at an ITL of {itl}"),
        None => tokens,
    })
}
