//! The result of an A/B test: rounds, metrics, verdict.
use std::collections::BTreeMap;

use serde::Serialize;

use super::design::{AbDesign, AbOrder, AbSide};
use super::differences::Differences;
use super::metric::{AbMetric, AbVerdict, FAILURE_MARGIN, per_gpu_trade};
use super::overload::AbOverload;
use super::power::{LEVEL, POWER, Power, fewest_rounds};
use super::rounds::{AbRound, AbSides, CompletedRound, NotRounds, confounders, failed_share, stayed};
use crate::analysis::statistics::holm;
use crate::analysis::{FigureKey, selections};
use crate::experiment::compare::Confounders;
use crate::experiment::difference::DifferenceScale;
use crate::experiment::spoiled;
use crate::experiment::spoiled::InvalidRuns;
use crate::units::counted;

/// The result of an A/B test, as stored in `ab.json`. Unknown figures are `null`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AbTest {
    /// Version of this format: [`AbTest::SCHEMA`].
    pub schema: u32,
    /// The verdict on B.
    pub verdict: AbVerdict,
    /// The verdict in a sentence.
    pub sentence: String,
    /// Reason why there is no answer although there are figures. Rounds with INVALID runs count on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
    /// Notes on the verdict.
    pub notes: Vec<String>,
    /// Name of the workload.
    pub workload: String,
    /// Seed of the first round, from which the others' were drawn.
    pub first_seed: u64,
    /// Planned rounds.
    pub planned_rounds: u64,
    /// Rounds whose figures count.
    pub counted_rounds: u64,
    /// The fewest rounds that allow a verdict of better or worse.
    pub fewest_rounds: u64,
    /// The probability of any false better or worse among the deciding metrics.
    pub level: f64,
    /// The probability that a detectable difference is found.
    pub power: f64,
    /// The share of A's figure within which a difference does not matter.
    pub margin: f64,
    /// The difference that the planned rounds detect with that power, in spreads of their ratios.
    pub detectable_spreads: Option<f64>,
    /// The servers of both sides.
    pub sides: AbSides,
    /// Order of the two runs within rounds; absent where they alternated.
    #[serde(skip_serializing_if = "crate::workload::reading::is_usual")]
    pub order: AbOrder,
    /// Overload of either side; absent where both kept up in every round.
    #[serde(skip_serializing_if = "AbOverload::is_nowhere")]
    pub overload: AbOverload,
    /// Differences between the sides that move other figures.
    #[serde(flatten)]
    pub confounded: Confounders,
    /// The rounds that both sides completed.
    pub rounds: Vec<CompletedRound>,
    /// The metrics that decide, chosen before the first round.
    pub metrics: Vec<AbMetric>,
    /// Other metrics, exploratory: without a verdict, because among many some differ by chance.
    pub explored: Vec<AbMetric>,
    /// The metrics that decide, by class, where there are several classes.
    pub classes: Vec<AbClass>,
}

/// The metrics that decide, of one class alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AbClass {
    /// Name of the class.
    pub class: String,
    /// The verdict for the class. Holm's procedure covers the metrics of all classes together, as a family of their
    /// own.
    pub verdict: AbVerdict,
    /// Its metrics.
    pub metrics: Vec<AbMetric>,
}

impl AbTest {
    /// The format that this program writes.
    pub const SCHEMA: u32 = 2;

    /// Judges `rounds`, in order, by `design`.
    ///
    /// # Errors
    ///
    /// When there is no round, the runs of one executed different plans, or a side changed its server.
    pub fn new(design: &AbDesign, rounds: &[AbRound<'_>], invalid: InvalidRuns) -> Result<Self, NotRounds> {
        let first = rounds.first().ok_or(NotRounds::Nothing)?;
        if let Some(round) = rounds.iter().find(|round| round.a.run.plan_hash != round.b.run.plan_hash) {
            return Err(NotRounds::OtherPlans { round: round.number });
        }
        stayed(rounds)?;
        let trusted = rounds.iter().filter(|round| round.counts(InvalidRuns::LeftOut)).count() as u64;
        // Rounds that spare ones replace never count.
        let invalid = if trusted >= design.rounds { InvalidRuns::LeftOut } else { invalid };
        let counting: Vec<_> = rounds.iter().copied().filter(|round| round.counts(invalid)).collect();
        let finished = rounds.len() as u64 >= design.rounds;
        let spoiled = counting.iter().filter(|round| !round.counts(InvalidRuns::LeftOut)).count() as u64;
        let confounded = confounders(&counting);
        let judged = JudgedRounds { design, counting: &counting, is_spoiled: spoiled > 0, finished, confounded };
        let metrics = judged.family(&design.metrics);
        let completed: Vec<_> = rounds.iter().map(|round| round.completed(design, invalid)).collect();
        let overload = AbOverload::new(&completed, finished);
        let classes = judged.classes(&first.a.run.classes);
        let failures = failed_share(completed.iter().map(|round| &round.a))
            .zip(failed_share(completed.iter().map(|round| &round.b)))
            .filter(|(a, b)| b - a > FAILURE_MARGIN);
        let verdict = judged.overall(&metrics, overload.worse, failures.is_some());
        let mut test = Self {
            schema: Self::SCHEMA,
            verdict,
            sentence: String::new(),
            caution: (spoiled > 0).then(|| caution(spoiled, rounds.len() as u64)),
            notes: Vec::new(),
            workload: first.a.run.workload.clone(),
            first_seed: first.a.run.repeat.map_or(first.a.run.seed, |repeat| repeat.first_seed),
            planned_rounds: design.rounds,
            counted_rounds: counting.len() as u64,
            fewest_rounds: judged.fewest(),
            level: LEVEL,
            power: POWER,
            margin: design.margin,
            detectable_spreads: design.power().detectable(),
            sides: AbSides::from_round(first),
            order: design.order(),
            overload,
            confounded,
            rounds: completed,
            explored: judged.explored(),
            metrics,
            classes,
        };
        test.sentence = test.verdict_in_words();
        let lost: BTreeMap<_, _> =
            rounds.iter().filter_map(|round| Some((round.number, round.spoiled_by()?))).collect();
        let named = lost.iter().map(|(number, why)| (format!("round-{number}"), why));
        let named = spoiled::in_words("round", rounds.len() as u64, design.rounds, named);
        let is_named = |number| named.is_some() && lost.contains_key(&number);
        test.notes = test.reservations(failures, is_named);
        test.notes.splice(0..0, named);
        test.notes.extend(confounded.in_words("B"));
        let trade = per_gpu_trade(&test.metrics, &test.explored).filter(|_| finished);
        test.notes.extend(trade.map(|trade| trade.in_words("B")));
        test.notes.extend(judged.classes_unresolved(&first.a.run.classes));
        Ok(test)
    }

    /// Returns the test after a refusal to carry out more runs, for this reason. Where rounds are missing it is
    /// INVALID.
    pub(super) fn refused(mut self, why: &str) -> Self {
        if self.verdict == AbVerdict::Unfinished {
            self.verdict = AbVerdict::Invalid;
            let of = counted(self.planned_rounds, "round");
            self.sentence = format!("{} of {of} have valid figures, and no more ran", self.counted_rounds);
        }
        self.notes.insert(0, format!("no more rounds ran: {why}"));
        self
    }

    /// Returns how much the ratio of B to A varied between rounds, by metric. The variation is a share of the ratio.
    pub fn variation(&self) -> Vec<(String, f64)> {
        let ratios = self.metrics.iter().filter(|metric| metric.scale == DifferenceScale::Ratio);
        ratios.filter_map(|metric| Some((metric.metric.to_string(), metric.spread?))).collect()
    }
}

/// The rounds that count, with the design.
struct JudgedRounds<'a> {
    design: &'a AbDesign,
    counting: &'a [AbRound<'a>],
    /// Whether some of them count on request, although their measurement cannot be trusted. Such figures may warn, and
    /// show nothing good.
    is_spoiled: bool,
    /// Whether all planned rounds ran.
    finished: bool,
    confounded: Confounders,
}

impl JudgedRounds<'_> {
    fn fewest(&self) -> u64 {
        fewest_rounds(self.design.metrics.len() as u64)
    }

    /// The metrics of one family, with verdicts once all rounds ran.
    fn family(&self, measures: &[FigureKey]) -> Vec<AbMetric> {
        let mut metrics = self.compared(measures, measures.len() as u64);
        if self.finished {
            judge(&mut metrics);
        }
        // Nor do figures that follow from what differs.
        for metric in metrics.iter_mut().filter(|metric| self.confounded.is_moved(metric.metric.metric)) {
            metric.verdict = metric.verdict.map(|_| AbVerdict::Inconclusive);
        }
        for metric in metrics.iter_mut().filter(|_| self.is_spoiled) {
            let is_worse = metric.verdict == Some(AbVerdict::Worse);
            metric.verdict = metric.verdict.map(|_| if is_worse { AbVerdict::Worse } else { AbVerdict::Inconclusive });
        }
        metrics
    }

    /// Returns these metrics without verdicts. The detectable difference depends on how many `tests` there are.
    fn compared(&self, measures: &[FigureKey], tests: u64) -> Vec<AbMetric> {
        // The power of so many rounds is simulated once.
        let mut powers: BTreeMap<u64, Power> = BTreeMap::new();
        let compared = measures.iter().map(|measure| {
            let differences = Differences::new(measure, self.counting);
            let pairs = differences.pairs.len() as u64;
            let power = powers.entry(pairs).or_insert_with(|| Power::new(pairs, tests));
            AbMetric::new(measure, &differences, self.design.margin, power)
        });
        compared.collect()
    }

    /// Exploratory metrics that some round has.
    fn explored(&self) -> Vec<AbMetric> {
        let metrics = &self.design.metrics;
        let measures: Vec<_> = selections::explored().filter(|measure| !metrics.contains(measure)).collect();
        let mut explored = self.compared(&measures, 1);
        explored.retain(|metric| metric.rounds > 0);
        explored
    }

    fn classes(&self, classes: &[String]) -> Vec<AbClass> {
        if classes.len() < 2 {
            return Vec::new();
        }
        let measures: Vec<_> = classes.iter().map(|class| self.design.of_class(class)).collect();
        // Judged together, or more classes would mean more false positives.
        let mut metrics = self.family(&measures.concat()).into_iter();
        let judged = classes.iter().zip(&measures).map(|(class, measures)| {
            let metrics: Vec<_> = metrics.by_ref().take(measures.len()).collect();
            AbClass { class: class.clone(), verdict: self.overall(&metrics, None, false), metrics }
        });
        judged.filter(|class| class.metrics.iter().any(|metric| metric.rounds > 0)).collect()
    }

    /// A note where the rounds are too few for a verdict on a single class.
    fn classes_unresolved(&self, classes: &[String]) -> Option<String> {
        let tests = self.design.tests_of(classes);
        let (fewest, counted) = (fewest_rounds(tests), self.counting.len() as u64);
        (tests > 0 && self.finished && counted < fewest).then(|| {
            format!(
                "no class alone could come out better or worse: {tests} tests of classes take {fewest} rounds, and \
                 {counted} count"
            )
        })
    }

    /// The overall verdict of a family. A side that alone does not keep up is worse, whatever the latencies say: they
    /// then depend on how long a run lasted. Where B failed more requests than A by more than the margin, good
    /// latencies of the other requests prove nothing.
    fn overall(&self, metrics: &[AbMetric], overloaded: Option<AbSide>, fails_more: bool) -> AbVerdict {
        if !self.finished {
            return AbVerdict::Unfinished;
        }
        let verdicts: Vec<_> = metrics.iter().filter_map(|metric| metric.verdict).collect();
        let is_worse = fails_more || verdicts.contains(&AbVerdict::Worse);
        match AbVerdict::joined(&verdicts) {
            _ if overloaded == Some(AbSide::B) => AbVerdict::Worse,
            _ if overloaded == Some(AbSide::A) && self.is_spoiled => AbVerdict::Inconclusive,
            _ if overloaded == Some(AbSide::A) && is_worse => AbVerdict::Mixed,
            _ if overloaded == Some(AbSide::A) => AbVerdict::Better,
            overall @ (AbVerdict::Worse | AbVerdict::Mixed) => overall,
            _ if (self.counting.len() as u64) < self.fewest() => AbVerdict::Invalid,
            AbVerdict::Better | AbVerdict::Equivalent if fails_more => AbVerdict::Inconclusive,
            overall => overall,
        }
    }
}

/// Returns the sentence that `spoiled` of `rounds` rounds count although they cannot be trusted.
fn caution(spoiled: u64, rounds: u64) -> String {
    let of = counted(rounds, "round");
    format!("the runs of {spoiled} of {of} are INVALID and count because of --allow-invalid")
}

/// Judges `metrics` together by Holm's procedure. A metric that no round has counts as one without a difference, since
/// the number of tests was fixed before.
fn judge(metrics: &mut [AbMetric]) {
    let p_values: Vec<f64> = metrics.iter().map(|metric| metric.p.unwrap_or(1.0)).collect();
    for (metric, adjusted) in metrics.iter_mut().zip(holm(&p_values)) {
        metric.adjusted_p = metric.p.map(|_| adjusted);
        metric.verdict = Some(metric.judged());
    }
}
