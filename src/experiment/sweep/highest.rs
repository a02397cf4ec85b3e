//! Finds the highest load that meets the objectives, from the trials.

use std::fmt::Write as _;

use super::answer::{HighestLoad, ObjectiveLimit};
use super::load::Load;
use super::plan::LoadAxis;
use super::point::LoadClass;
use super::search::{
    BAND, Bracket, Crossing, LimitCrossing, LoadTally, Search, SearchDemand, SearchTier, Tightest, Unsure,
    limit_crossings, tightest,
};
use super::trial::Trial;
use crate::analysis::Status;
use crate::units::{counted, listed, percent, three_digits};

/// The loads of a search with their classes, and the answer where there are objectives.
pub(super) struct FoundLoads<'a> {
    pub(super) loads: Vec<(LoadTally<'a>, LoadClass)>,
    pub(super) answer: Option<HighestLoad>,
}

impl<'a> FoundLoads<'a> {
    /// Finds what the trials of `search` say of `demands`. They are those of the whole sweep, or of a tier.
    pub(super) fn new(search: &'a Search, demands: &[SearchDemand]) -> Self {
        // The last is that the server keeps up.
        let demanded = demands.len() - 1;
        let decides = tightest(search.trials(), demands);
        let crossing = decides.crossing();
        let interval = crossing.and_then(|crossing| crossing.interval.ok());
        let loads: Vec<_> = search
            .tallies(demands)
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
            let passed = passed.map(|(tally, _)| tally.load);
            let failed = failed.map(|place| loads[place].0.load);
            // Where loads contradict one another, the curve through all of them may cross its limit elsewhere.
            let crossing = crossing.filter(|crossing| is_between(passed, crossing.estimate, failed));
            let crossing = crossing.map(|crossing| crossing.in_loads(loads[0].0.load));
            let (interval_low, interval_high) = crossing.and_then(|crossing| crossing.interval.ok()).unzip();
            let answer = HighestLoad {
                passed,
                failed,
                estimate: crossing.map(|crossing| crossing.estimate),
                interval_low,
                interval_high,
                tightest: match decides {
                    Tightest::Crosses(place, _) | Tightest::Missed(place) => {
                        demands.get(place).map(|demand| demand.text().to_owned())
                    }
                    Tightest::Open => loads
                        .iter()
                        .find_map(|load| undecided(load, demands))
                        .or_else(|| closest(&loads.last()?.0, demands)),
                },
                limits: if demanded > 1 { limits(search, demands) } else { Vec::new() },
                agents_per_gpu: None,
                agents_per_kw: None,
                monotone: !above.iter().any(|(_, class)| *class == LoadClass::Passed),
                sentence: String::new(),
            };
            let unsure = crossing.and_then(|crossing| crossing.interval.err());
            HighestLoad { sentence: sentence(&answer, &loads, search, unsure), ..answer }
        });
        Self { loads, answer }
    }
}

/// Returns what each objective allows by itself. It leaves out those of which no run has a figure.
fn limits(search: &Search, demands: &[SearchDemand]) -> Vec<ObjectiveLimit> {
    let like = search.trials().first().map(|trial| trial.load);
    let known = |place: usize| search.trials().iter().any(|trial| demands[place].has_figure(trial));
    let limit = |(place, crossing): (usize, LimitCrossing)| {
        let objective = demands[place].objective()?.clone();
        let (estimate, interval) = match crossing {
            LimitCrossing::Crosses(crossing) => {
                let crossing = like.map_or(crossing, |like| crossing.in_loads(like));
                (Some(crossing.estimate), crossing.interval.ok())
            }
            LimitCrossing::Kept | LimitCrossing::Missed(_) => (None, None),
        };
        let (interval_low, interval_high) = interval.unzip();
        let allows_more = matches!(crossing, LimitCrossing::Kept);
        Some(ObjectiveLimit { objective, estimate, interval_low, interval_high, allows_more })
    };
    let crossings = limit_crossings(search.trials(), demands).into_iter().enumerate();
    crossings.filter(|(place, _)| known(*place)).filter_map(limit).collect()
}

impl Search {
    /// The highest load, as far as the trials show it.
    pub fn answer(&self) -> Option<HighestLoad> {
        FoundLoads::new(self, self.demands()).answer
    }

    /// Returns the interval of the highest load, such as `between 26.6 and 34.2/s`. It is that of each tier.
    /// Before it has one, it is the loads that its runs so far meet and miss. It is `None` without objectives.
    pub fn so_far(&self) -> Option<String> {
        let named = |tier: &SearchTier| {
            let known = self.known_of(tier)?;
            Some(tier.name.as_ref().map_or(known.clone(), |name| format!("{name} {known}")))
        };
        listed(self.tiers().iter().filter_map(named), ", ")
    }

    fn known_of(&self, tier: &SearchTier) -> Option<String> {
        let known = self.counted(&tier.demands);
        let first = known.first().filter(|_| tier.demands.len() > 1)?;
        let Bracket { met, missed } = Bracket::from_tallies(&known);
        let interval = self.interval_of(tier).ok();
        let (low, high) = interval.map_or((met, missed), |(low, high)| (Some(low), Some(high)));
        let show = |amount: f64| first.load.of_amount(amount).to_string();
        let place = match (low, high) {
            (Some(low), Some(high)) => format!("between {} and {}", three_digits(low), show(high)),
            (Some(low), None) => format!("above {}", show(low)),
            (None, high) => format!("below {}", show(high?)),
        };
        Some(if interval.is_some() { place } else { format!("probably {place}") })
    }

    /// Returns where all trials together cross the limit of the tightest objective.
    pub fn crossing(&self) -> Option<f64> {
        tightest(self.trials(), self.demands()).crossing().map(|crossing| crossing.estimate)
    }

    /// The 95 % interval of that load, where each tier has one.
    ///
    /// # Errors
    ///
    /// Why there is none, in words.
    pub fn interval(&self) -> Result<(f64, f64), String> {
        let all = self.tiers().iter().map(|tier| self.interval_of(tier)).collect::<Result<Vec<_>, _>>()?;
        let lowest = all.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        lowest.ok_or_else(|| "there is nothing to search".to_owned())
    }

    /// The 95 % interval of the highest load of `tier`, or why there is none.
    pub(super) fn interval_of(&self, tier: &SearchTier) -> Result<(f64, f64), String> {
        match (tightest(self.trials(), &tier.demands), self.trials().first()) {
            (Tightest::Crosses(_, crossing), Some(Trial { load, .. })) => {
                let Crossing { estimate, interval } = crossing.in_loads(*load);
                let runs = counted(self.trials().len() as u64, "run");
                interval.map_err(|unsure| unsure.in_words(&runs, *load, estimate, &self.plan().axis))
            }
            (Tightest::Missed(_), _) => Err("its longest runs missed an objective at every load".to_owned()),
            (_, None) => Err("the runs are missing that narrow it down".to_owned()),
            (Tightest::Open, _) => Err("its longest runs met all objectives at every load".to_owned()),
        }
    }
}

impl LoadClass {
    /// Whether it is an upper bound of the highest load.
    pub const fn fails(self) -> bool {
        matches!(self, Self::Failed | Self::Saturated)
    }
}

/// Whether `estimate` lies within the bracket, as far as that has ends.
fn is_between(passed: Option<Load>, estimate: f64, failed: Option<Load>) -> bool {
    const ROUNDED: f64 = 1.0 + 1e-9;
    passed.is_none_or(|passed| passed.amount() <= estimate * ROUNDED)
        && failed.is_none_or(|failed| estimate <= failed.amount() * ROUNDED)
}

/// Returns the first demand that the runs of a load do not decide. It is `None` unless the load is undecided.
fn undecided((tally, class): &(LoadTally<'_>, LoadClass), demands: &[SearchDemand]) -> Option<String> {
    let is_open = |own: &Status| *own == Status::Undecided;
    let place = tally.statuses.iter().position(is_open).filter(|_| *class == LoadClass::Undecided)?;
    Some(demands[place].text().to_owned())
}

/// The demand that `tally` misses, or comes closest to missing.
pub(super) fn closest(tally: &LoadTally<'_>, demands: &[SearchDemand]) -> Option<String> {
    let known = demands.iter().zip(&tally.ratios).map(|(demand, ratio)| (demand, ratio.unwrap_or(f64::INFINITY)));
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
    let tail = format!(": {ends}{decides}");
    let any = |class| loads.iter().any(|(_, of)| *of == class);
    let highest = "the highest load that meets the objectives";
    let mut sentence = match answer.crossing().map(|found| (found.value, found.interval())) {
        Some((estimate, Some((low, high)))) => {
            let [estimate, low, high] = [estimate, low, high].map(show);
            format!("{highest} is {estimate}, 95 % interval {low} to {high} over {runs}{tail}")
        }
        Some((estimate, None)) => {
            let unsure = unsure.map(|why| why.in_words(&runs, like, estimate, &search.plan().axis));
            let unsure = unsure.map_or(String::new(), |why| format!(", and {why}"));
            format!("{highest} is near {}{unsure}{tail}", show(estimate))
        }
        None if answer.passed.is_some() && answer.failed.is_some() => {
            format!("{highest} lies between two loads, the runs do not tell where{tail}")
        }
        None if answer.passed.is_some() => {
            format!("{ends}: {highest} lies above the measured loads, by an unknown amount")
        }
        None if loads.iter().all(|(_, class)| *class == LoadClass::Unknown) => {
            let has_runs = loads.iter().any(|(tally, _)| tally.counted > 0);
            let why = answer.tightest.as_ref().filter(|_| has_runs);
            let why = why.map(|text| format!("no run has a figure for `{text}`"));
            let why = why.unwrap_or("no run can be trusted".to_owned());
            format!("whether any load meets the objectives is unknown: {why}")
        }
        None if any(LoadClass::Passed) => format!("the lowest load misses the objectives already{tail}"),
        None if any(LoadClass::Undecided) => {
            format!("whether a measured load meets the objectives is undecided{tail}")
        }
        None => format!("no measured load meets the objectives{tail}"),
    };
    let untrusted = loads.iter().filter(|(tally, _)| tally.rests_on_invalid()).map(|(tally, _)| tally.load);
    for load in untrusted.filter(|load| answer.rests_on(*load)) {
        let _ = write!(sentence, "; no run of {load} can be trusted, and it counts because of --force");
    }
    if !answer.monotone {
        sentence.push_str(
            "; a load above the smallest failed one passed, and is ignored: chance, or a server that changes",
        );
    }
    sentence
}

impl Unsure {
    /// Says why `estimate`, a load like `like`, has no interval. It also says what would give it one.
    fn in_words(self, runs: &str, like: Load, estimate: f64, axis: &LoadAxis) -> String {
        match (self, axis) {
            (Self::FewRuns, _) => format!("{runs} are too few for a confidence interval"),
            (Self::FarApart, LoadAxis::List { .. } | LoadAxis::Geometric { .. }) => {
                let near = [0.9, 1.0, 1.1].map(|times| three_digits(times * estimate)).join(", ");
                format!(
                    "loads are too far apart for a confidence interval, which needs three within {} of it (add rates \
                     such as {near})",
                    percent(BAND - 1.0)
                )
            }
            (Self::FarApart, LoadAxis::Users { .. } | LoadAxis::Automatic { .. } | LoadAxis::Agents { .. }) => {
                format!(
                    "too few loads were measured within {} of {} for a confidence interval",
                    percent(BAND - 1.0),
                    like.of_amount(estimate)
                )
            }
            (Self::Flat, _) => {
                "the runs near it do not show how the figure rises there, so there is no confidence interval".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summarise;
    use crate::analysis::test_runs::{self, record};
    use crate::experiment::sweep::plan::SweepPlan;
    use crate::experiment::sweep::search::SearchStep;

    /// 240 requests, alike: enough for a median, too few for a p99.
    #[test]
    fn the_demand_is_named_that_no_run_decides() {
        let plan = SweepPlan {
            axis: LoadAxis::List { rates_per_s: vec![4.0] },
            objectives: ["p50 ttft < 5s", "p99 ttft < 5s"].map(|text| text.parse().unwrap()).into(),
            tiers: Vec::new(),
            repeats: 1,
            samples: 130,
            first_samples: None,
            requests_per_arrival: None,
            shortest_s: None,
            longest_s: 60.0,
            fewest_users_per_s: None,
            precision: 0.05,
            within_s: None,
            sized_for_s: None,
            between_s: 0.0,
            most_trials: 9,
            saturated_in_a_row: 2,
            first_seed: 1,
        };
        let records = (0..240).map(|i| record(i).sent_at(i * 250, i * 250, i * 250).paced(i * 250 + 100, 20, 9));
        let log = test_runs::run(60_000, records.map(|record| record.asked(9).usage(9, 9).build()).collect());
        let objectives = plan.objectives.clone();
        let mut search = Search::new(plan).unwrap();
        let SearchStep::Measure(wanted) = search.next() else { panic!("nothing is measured") };
        search.record(Trial::new(&wanted, &summarise(&log, &objectives)));
        let found = FoundLoads::new(&search, search.demands());
        assert_eq!(found.loads[0].1, LoadClass::Undecided);
        let sentence = found.answer.unwrap().sentence;
        assert!(
            sentence.ends_with("undecided: no load surely passed, and none surely failed; `p99 ttft < 5s` decides"),
            "{sentence}"
        );
    }
}
