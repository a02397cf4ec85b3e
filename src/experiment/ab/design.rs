//! The design of an A/B test: rounds, metrics and margin, fixed before the first round.

use std::f64::consts::SQRT_2;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::power::{Power, fewest_rounds};
use crate::analysis::statistics::CONFIDENCE;
use crate::analysis::{FigureKey, Metric, Summary};
use crate::random::{RandomStream, normal_quantile};
use crate::units::{count, counted, percent, spoken};

/// Default number of rounds. With the default metrics one round can be lost, and differences of 1.4 spreads are found.
pub const DEFAULT_ROUNDS: u64 = 10;

/// A side of an A/B test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, strum::Display)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AbSide {
    /// The baseline.
    A,
    /// The side that is compared with the baseline.
    B,
}

impl AbSide {
    /// Both sides, in order.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// Returns the order of round number `round`, counted from 1, where rounds alternate. The orders are A B, B A, A B,
    /// …
    const fn alternating(round: u64) -> [Self; 2] {
        if round % 2 == 1 { [Self::A, Self::B] } else { [Self::B, Self::A] }
    }

    /// The side's name in folders and options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
        }
    }
}

/// The order of the two runs within rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AbOrder {
    /// Alternating order of A B, B A, A B and so on. One machine that serves both sides in turn is switched once a
    /// round.
    #[default]
    Alternating,
    /// Drawn from the seed. Of every two rounds one goes A B and the other B A.
    Drawn,
}

impl AbOrder {
    /// The order in words.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Alternating => "in the order A B, B A, A B, …",
            Self::Drawn => "in an order drawn from the seed, of every two rounds one A B and one B A",
        }
    }
}

/// The stream that draws the order of runs.
const ORDERS: &str = "order of A and B";

/// The design of an A/B test, fixed before the first round.
#[derive(Clone, Debug, PartialEq)]
pub struct AbDesign {
    /// Pairs of runs.
    pub rounds: u64,
    /// The seed that the order of runs is drawn from; absent where rounds alternate.
    order_seed: Option<u64>,
    /// The share of the baseline's figure within which a difference does not matter.
    pub margin: f64,
    /// The metrics that decide, in order.
    pub metrics: Vec<FigureKey>,
}

/// Too few rounds to distinguish the sides.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{rounds} rounds cannot show a difference in {tests} metrics: the smallest p-value that they can give is 2^(1 − \
     {rounds}), and Holm's procedure multiplies it by {tests}\nhint: run at least {} rounds (--rounds), or compare \
     fewer metrics (--metric)", fewest_rounds(*.tests)
)]
pub struct TooFewRounds {
    rounds: u64,
    tests: u64,
}

impl AbDesign {
    /// A design of `rounds` rounds that compare `metrics`. Differences within `margin`, a share of the baseline's
    /// figure above 0, do not matter. Failures are always compared, because the latencies of the other requests hide
    /// them.
    ///
    /// # Errors
    ///
    /// When so few rounds can never distinguish two sides.
    pub fn new(rounds: u64, metrics: Vec<FigureKey>, margin: f64) -> Result<Self, TooFewRounds> {
        let mut family = Vec::new();
        for metric in metrics.into_iter().chain([FigureKey::from_metric(Metric::ErrorRate)]) {
            if !family.contains(&metric) {
                family.push(metric);
            }
        }
        let tests = family.len() as u64;
        if rounds < fewest_rounds(tests) {
            return Err(TooFewRounds { rounds, tests });
        }
        Ok(Self { rounds, order_seed: None, margin, metrics: family })
    }

    /// Returns the design with this order of the two runs within rounds. It is drawn from `seed` where it is drawn.
    #[must_use]
    pub fn ordered(self, order: AbOrder, seed: u64) -> Self {
        Self { order_seed: (order == AbOrder::Drawn).then_some(seed), ..self }
    }

    /// Returns how the order of the two runs within rounds is found.
    pub const fn order(&self) -> AbOrder {
        if self.order_seed.is_some() { AbOrder::Drawn } else { AbOrder::Alternating }
    }

    /// The order in which round number `round`, counted from 1, runs the two.
    pub fn order_of(&self, round: u64) -> [AbSide; 2] {
        let Some(seed) = self.order_seed else { return AbSide::alternating(round) };
        let pair = round.saturating_sub(1) / 2;
        let first = RandomStream::named(seed, ORDERS).branch(pair).below(2);
        AbSide::alternating(round + first)
    }

    /// The metrics that a class has, for `class` alone.
    pub(super) fn of_class(&self, class: &str) -> Vec<FigureKey> {
        self.metrics.iter().filter_map(|measure| measure.of_class(class)).collect()
    }

    /// Number of tests of all `classes` together; 0 for a single class.
    pub(super) fn tests_of(&self, classes: &[String]) -> u64 {
        let several = classes.iter().filter(|_| classes.len() > 1);
        several.map(|class| self.of_class(class).len() as u64).sum()
    }

    /// Returns a note where the rounds are too few for a verdict on a class. The class is one of `classes`: the metrics
    /// of all classes are tested together, separately from those of the whole run.
    pub fn too_few_for_classes(&self, classes: &[String]) -> Option<String> {
        let tests = self.tests_of(classes);
        let fewest = fewest_rounds(tests);
        (tests > 0 && self.rounds < fewest).then(|| {
            format!(
                "note: {} rounds cannot show a difference for single classes: {tests} tests of {} classes take \
                 {fewest} (--rounds), or fewer metrics (--metric)",
                count(self.rounds),
                classes.len()
            )
        })
    }

    /// The statistical power of the rounds.
    pub fn power(&self) -> Power {
        Power::new(self.rounds, self.metrics.len() as u64)
    }

    /// Returns how much the ratio of B to A may vary between rounds, by metric. The variation is a share of the ratio:
    /// the 95 % interval of a figure of `run` is about ±z standard deviations of a run, and a ratio of two runs varies
    /// √2 times as much. It is empty where the run does not tell it of every percentile.
    pub fn variation_within(&self, run: &Summary) -> Vec<(String, f64)> {
        let z = normal_quantile(f64::midpoint(1.0, CONFIDENCE));
        let of = |metric: &FigureKey| Some(SQRT_2 * metric.relative_half_width(run)? / z);
        let percentiles = self.metrics.iter().filter(|metric| metric.quantile().is_some());
        percentiles.map(|metric| Some((metric.to_string(), of(metric)?))).collect::<Option<_>>().unwrap_or_default()
    }

    /// Returns in words which changes the rounds can find at this `variation`. By so much the ratio of B to A varies
    /// from round to round. The second text says how many rounds find a change as large as the margin in every metric,
    /// where these do not. `None` where nothing varies.
    pub fn can_find(&self, variation: &[(String, f64)]) -> Option<(String, Option<String>)> {
        let power = self.power();
        let detectable = power.detectable()?;
        let varying: Vec<_> = variation.iter().filter(|(_, share)| *share > 0.0).collect();
        let change =
            |(metric, share): &&(String, f64)| format!("{} in {metric}", up_or_down(detectable * libm::log1p(*share)));
        let found: Vec<_> = varying.iter().map(change).collect();
        let (worst, share) = varying.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let wanted = format!("{} in {worst}", up_or_down(libm::log1p(self.margin)));
        let more = match power.rounds_for(libm::log1p(self.margin) / libm::log1p(*share)) {
            Some(rounds) if rounds <= self.rounds => None,
            Some(rounds) => Some(format!("about {} find {wanted}", counted(rounds, "round"))),
            None => Some(format!("no number of such rounds finds {wanted}: take longer ones")),
        };
        Some((format!("80 % of the time, a change of about {}", found.join(", ")), more))
    }

    /// Returns what the rounds [can find](Self::can_find) as a sentence, of rounds of this length. Their variation is
    /// known `by` something.
    pub fn can_find_in_words(&self, length: Duration, variation: &[(String, f64)], by: &str) -> Option<String> {
        let (change, more) = self.can_find(variation)?;
        let more = more.map(|more| format!("; {more}")).unwrap_or_default();
        Some(format!("{} find, {change}, by {by}{more}", self.load(length)))
    }

    /// Returns a sentence on what rounds of this length can find. Their variation is unknown.
    pub fn can_find_by_variation(&self, length: Duration) -> Option<String> {
        let detectable = self.power().detectable()?;
        let found = |share: f64| up_or_down(detectable * libm::log1p(share));
        Some(format!(
            "what {} can find is not known yet: {} if the ratio of B to A varies by 3 % from round to round, {} if by \
             10 % (80 % of the time)",
            self.load(length),
            found(0.03),
            found(0.1)
        ))
    }

    fn load(&self, length: Duration) -> String {
        format!("{} of {}", counted(self.rounds, "round"), spoken(length))
    }
}

/// Returns a change of the logarithm, up or down, as changes of the figure. It is as much upwards as downwards: a rise
/// of 233 % is a fall of 70 %.
fn up_or_down(log: f64) -> String {
    let [up, down] = [libm::expm1(log), -libm::expm1(-log)];
    // Of less the two are about the same.
    if up < 0.1 { format!("±{}", percent(up)) } else { format!("+{} or −{}", percent(up), percent(down)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measures(texts: &[&str]) -> Vec<FigureKey> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn rounds_alternate() {
        let [a, b] = AbSide::BOTH;
        let design = AbDesign::new(10, measures(&["p50 ttft"]), 0.05).unwrap();
        assert_eq!([1, 2, 3].map(|round| design.order_of(round)), [[a, b], [b, a], [a, b]]);
    }

    #[test]
    fn a_drawn_order_has_both_orders_in_every_two_rounds() {
        let [a, b] = AbSide::BOTH;
        let design = AbDesign::new(10, measures(&["p50 ttft"]), 0.05).unwrap();
        let mut a_begins = 0;
        for seed in 0..200 {
            let design = design.clone().ordered(AbOrder::Drawn, seed);
            let orders: Vec<_> = (1..=10).map(|round| design.order_of(round)).collect();
            assert!(orders.chunks(2).all(|pair| pair.contains(&[a, b]) && pair.contains(&[b, a])), "{orders:?}");
            a_begins += orders.iter().step_by(2).filter(|order| order[0] == a).count();
        }
        // 1,000 fair coins: four standard deviations are 63.
        assert!((437..=563).contains(&a_begins), "{a_begins}");
    }

    #[test]
    fn failures_are_always_compared_and_nothing_twice() {
        let metrics = measures(&["p95 ttft", "P95 TTFT", "goodput"]);
        let design = AbDesign::new(10, metrics, 0.05).unwrap();
        let names: Vec<_> = design.metrics.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["p95 ttft", "goodput", "error_rate"]);
    }

    #[test]
    fn classes_alone_are_more_tests_and_take_more_rounds() {
        let design = AbDesign::new(8, measures(&["p50 ttft", "p95 ttft", "p50 tpot"]), 0.05).unwrap();
        let classes = ["chat", "batch"].map(str::to_owned);
        let note = design.too_few_for_classes(&classes).unwrap();
        assert!(
            note.contains(
                "8 rounds cannot show a difference for single classes: 8 tests of 2 classes take 9 (--rounds)"
            ),
            "{note}"
        );
        assert_eq!(design.too_few_for_classes(&classes[..1]), None);
        let design = AbDesign::new(9, measures(&["p50 ttft", "p95 ttft", "p50 tpot"]), 0.05).unwrap();
        assert_eq!(design.too_few_for_classes(&classes), None);
    }

    #[test]
    fn large_changes_are_larger_upwards_than_downwards() {
        assert_eq!(up_or_down(libm::log1p(0.05)), "±5 %");
        assert_eq!(up_or_down(libm::log1p(2.333)), "+233 % or −70 %");
        let design = AbDesign::new(10, measures(&["p95 ttft"]), 0.05).unwrap();
        let (found, _) = design.can_find(&[("p95 ttft".to_owned(), 1.0)]).unwrap();
        let (up, down) = found.rsplit_once(" a change of about +").unwrap().1.split_once(" % or −").unwrap();
        let (up, down): (f64, f64) = (up.parse().unwrap(), down.split(' ').next().unwrap().parse().unwrap());
        assert!(((1.0 + up / 100.0) * (1.0 - down / 100.0) - 1.0).abs() < 0.05, "{found}");
    }

    #[test]
    fn rounds_that_can_tell_nothing_are_refused() {
        let metrics = measures(&["p50 ttft", "p95 ttft", "p50 tpot", "p95 e2e"]);
        let refusal = AbDesign::new(7, metrics.clone(), 0.05).unwrap_err().to_string();
        assert!(refusal.contains("7 rounds cannot") && refusal.contains("at least 8 rounds"), "{refusal}");
        assert!(AbDesign::new(8, metrics, 0.05).is_ok());
    }

    #[test]
    fn what_the_rounds_can_find_is_said_in_changes_and_rounds() {
        let design = AbDesign::new(10, measures(&["p50 ttft", "p95 ttft"]), 0.05).unwrap();
        let minute = Duration::from_secs(60);
        let words = |shares: [f64; 2]| {
            let names = ["p50 ttft", "p95 ttft"].map(str::to_owned);
            design.can_find_in_words(minute, &names.into_iter().zip(shares).collect::<Vec<_>>(), "them")
        };
        let fine = words([0.01, 0.02]).unwrap();
        assert!(fine.starts_with("10 rounds of 1 min find, 80 % of the time, a change of about ±1."), "{fine}");
        assert!(fine.ends_with(" in p95 ttft, by them"), "{fine}");
        let coarse = words([0.01, 0.1]).unwrap();
        let (_, rounds) = coarse.split_once(", by them; about ").unwrap();
        let rounds: u64 = rounds.split_once(" rounds find ±5 % in p95 ttft").unwrap().0.parse().unwrap();
        // Four times the rounds find half of it: about ±12 % by 10 rounds, ±5 % by six times as many.
        assert!((45..80).contains(&rounds), "{coarse}");
        assert_eq!((words([0.0, 0.0]), design.can_find(&[])), (None, None));
        let unknown = design.can_find_by_variation(minute).unwrap();
        assert!(unknown.contains("is not known yet: ±3.") && unknown.contains("if by 10 %"));
    }
}
