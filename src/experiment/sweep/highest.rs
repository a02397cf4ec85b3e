//! Finds the highest load that meets the objectives, from the trials.

use super::answer::HighestLoad;
use super::plan::{Load, LoadAxis};
use super::search::{BAND, LoadTally, Search, SearchDemand, Tightest, Unsure, tightest};
use super::trial::LoadClass;
use crate::analysis::wording::{counted, percent};
use crate::units::three_digits;

/// The loads of a search with their classes, and the answer where there are objectives.
pub(super) struct FoundLoads<'a> {
    pub(super) loads: Vec<(LoadTally<'a>, LoadClass)>,
    pub(super) answer: Option<HighestLoad>,
}

impl<'a> FoundLoads<'a> {
    pub(super) fn of(search: &'a Search) -> Self {
        let demands = search.demands();
        // The last is that the server keeps up.
        let demanded = demands.len() - 1;
        let decides = tightest(search.trials(), demands);
        let crossing = decides.crossing();
        let interval = crossing.and_then(|crossing| crossing.interval.ok());
        let loads: Vec<_> = search
            .tallies()
            .into_iter()
            .map(|tally| {
                let class = tally.class(demanded, interval);
                (tally, class)
            })
            .collect();
        let answer = (demanded > 0 && !loads.is_empty()).then(|| {
            let failed = loads.iter().position(|(_, class)| class.fails());
            // If the lowest load already misses a demand, loads that pass above it do so by chance.
            let end = if matches!(decides, Tightest::Missed(_)) { 0 } else { failed.unwrap_or(loads.len()) };
            let (below, above) = loads.split_at(end);
            let passed = below.iter().rev().find(|(_, class)| *class == LoadClass::Passed);
            let answer = HighestLoad {
                passed: passed.map(|(tally, _)| tally.load),
                failed: failed.map(|place| loads[place].0.load),
                estimate: crossing.map(|crossing| crossing.estimate),
                interval_low: interval.map(|(low, _)| low),
                interval_high: interval.map(|(_, high)| high),
                tightest: match decides {
                    Tightest::Crosses(place, _) | Tightest::Missed(place) => {
                        demands.get(place).map(|demand| demand.text().to_owned())
                    }
                    Tightest::Open => loads.last().and_then(|(tally, _)| closest(tally, demands)),
                },
                monotone: !above.iter().any(|(_, class)| *class == LoadClass::Passed),
                sentence: String::new(),
            };
            let unsure = crossing.and_then(|crossing| crossing.interval.err());
            HighestLoad { sentence: sentence(&answer, &loads, search, unsure), ..answer }
        });
        Self { loads, answer }
    }
}

impl LoadClass {
    /// Whether it is an upper bound of the highest load.
    pub const fn fails(self) -> bool {
        matches!(self, Self::Failed | Self::Saturated)
    }
}

/// The demand that `tally` misses, or comes closest to missing.
pub(super) fn closest(tally: &LoadTally<'_>, demands: &[SearchDemand]) -> Option<String> {
    let known =
        demands.iter().zip(&tally.ratios).map(|(demand, ratio)| (demand, ratio.unwrap_or(f64::INFINITY)));
    let worst = known.max_by(|a, b| a.1.total_cmp(&b.1));
    worst.map(|(demand, _)| demand.text().to_owned())
}

fn sentence(
    answer: &HighestLoad,
    loads: &[(LoadTally<'_>, LoadClass)],
    search: &Search,
    unsure: Option<Unsure>,
) -> String {
    let like = loads.first().map_or(Load::Rate(0.0), |(tally, _)| tally.load);
    let show = |amount: f64| like.of_amount(amount).to_string();
    let runs = counted(search.trials().len() as u64, "run");
    let ends = match (answer.passed, answer.failed) {
        (Some(passed), Some(failed)) => format!("{passed} passed and {failed} failed"),
        (Some(passed), None) => format!("{passed} passed, and no higher load surely failed"),
        (None, Some(failed)) => format!("{failed} failed, and no lower load surely passed"),
        (None, None) => "no load surely passed, and none surely failed".to_owned(),
    };
    let decides = answer.tightest.as_ref().map_or(String::new(), |text| format!("; `{text}` decides"));
    let mut sentence = match (answer.estimate, answer.interval_low.zip(answer.interval_high)) {
        (Some(estimate), Some((low, high))) => format!(
            "the highest load that meets the objectives is {}, 95 % interval {} to {} over {runs}: {ends}{decides}",
            show(estimate),
            show(low),
            show(high)
        ),
        (Some(estimate), None) => {
            let unsure = unsure.map(|why| why.in_words(&runs, like, estimate, &search.plan().axis));
            format!(
                "the highest load that meets the objectives is near {}{}: {ends}{decides}",
                show(estimate),
                unsure.map_or(String::new(), |why| format!(", and {why}"))
            )
        }
        (None, _) if answer.passed.is_some() => {
            let open = "the highest load that meets the objectives lies above the measured loads, by an unknown amount";
            format!("{ends}: {open}")
        }
        (None, _) if loads.iter().all(|(_, class)| *class == LoadClass::Unknown) => {
            let why = match &answer.tightest {
                Some(text) if loads.iter().any(|(tally, _)| tally.trusted > 0) => {
                    format!("no run has a figure for `{text}`")
                }
                _ => "no run can be trusted".to_owned(),
            };
            format!("whether any load meets the objectives is unknown: {why}")
        }
        (None, _) if loads.iter().any(|(_, class)| *class == LoadClass::Passed) => {
            format!("the lowest load misses the objectives already: {ends}{decides}")
        }
        (None, _) if loads.iter().any(|(_, class)| *class == LoadClass::Undecided) => {
            format!("whether a measured load meets the objectives is undecided: {ends}{decides}")
        }
        (None, _) => format!("no measured load meets the objectives: {ends}{decides}"),
    };
    if !answer.monotone {
        sentence.push_str(
            "; a load above the smallest failed one passed, and is ignored: chance, or a server that changes",
        );
    }
    sentence
}

impl Unsure {
    /// Why `estimate`, a load like `like`, has no interval, and what would give it one.
    fn in_words(self, runs: &str, like: Load, estimate: f64, axis: &LoadAxis) -> String {
        match (self, axis) {
            (Self::FewRuns, _) => format!("{runs} are too few for a confidence interval"),
            (Self::FarApart, LoadAxis::List { .. } | LoadAxis::Geometric { .. }) => {
                let near = [0.9, 1.0, 1.1].map(|times| three_digits(times * estimate)).join(", ");
                format!(
                    "loads are too far apart for a confidence interval, which needs three within {} of it (add rates such as \
                     {near})",
                    percent(BAND - 1.0)
                )
            }
            (Self::FarApart, LoadAxis::Users { .. } | LoadAxis::Automatic { .. }) => {
                format!(
                    "too few loads were measured within {} of {} for a confidence interval",
                    percent(BAND - 1.0),
                    like.of_amount(estimate)
                )
            }
            (Self::Flat, _) => {
                "the runs near it do not show how the figure rises there, so there is no confidence interval"
                    .to_owned()
            }
        }
    }
}
