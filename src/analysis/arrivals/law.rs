//! The declared law of arrivals, how it is tested, and what a test leaves behind.

use crate::analysis::judgements::{Check, Measure, Rule, Status};
use crate::workload::{ArrivalPattern, GapForm};

/// How the gaps of a process are tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GapLaw {
    /// Exponential on the clock of the declared rate. The mean is estimated: whether it is 1 is the count's own test,
    /// and the rest then says something about shape alone.
    Exponential,
    /// Every parameter as declared: a wrong mean looks like a wrong shape.
    Specified,
    /// No chance in them.
    Metronome,
    /// Gaps of a trace, which declares no process.
    Replayed,
    /// No test at all: each class has a law of its own.
    ByClass,
}

impl GapLaw {
    pub(super) fn from_pattern(pattern: &ArrivalPattern) -> Self {
        match pattern {
            ArrivalPattern::Constant { .. } => Self::Metronome,
            // The moments of the users' first requests are given too, and no others are planned.
            ArrivalPattern::Trace(_) | ArrivalPattern::Users { .. } => Self::Replayed,
            ArrivalPattern::ByClass { .. } => Self::ByClass,
            pattern if pattern.gaps().is_some() || pattern.clients().is_some() => Self::Specified,
            // The others are Poisson processes whose rate changes.
            _ => Self::Exponential,
        }
    }
}

/// Returns the standard deviation of the number of arrivals where `count` are expected. It is √count for Poisson, and
/// for independent gaps √count times their coefficient of variation (Cox, *Renewal Theory*, 1962). Of clients whose
/// gaps are long beside the run the counts vary as Poisson ones, so of the two the smaller is taken for each.
pub(super) fn deviation_of(pattern: &ArrivalPattern, count: f64) -> f64 {
    if let Some((_, form)) = pattern.gaps() {
        return libm::sqrt(count) * form.cv();
    }
    let spread = |clients: &[(f64, GapForm)]| {
        let rate: f64 = clients.iter().map(|client| client.0).sum();
        let least = |form: GapForm| form.cv().min(1.0);
        clients.iter().map(|&(rate, form)| rate * least(form) * least(form)).sum::<f64>() / rate
    };
    libm::sqrt(count * pattern.clients().map_or(1.0, |clients| spread(&clients)))
}

/// Name of a process in findings.
pub(super) fn process_name(pattern: &ArrivalPattern) -> String {
    match pattern {
        ArrivalPattern::Constant { .. } => "constant rate".to_owned(),
        ArrivalPattern::Bursts { .. } | ArrivalPattern::Stages { .. } | ArrivalPattern::Spikes { .. } => {
            format!("process of {}", pattern.kind())
        }
        ArrivalPattern::Trace(_) => "trace".to_owned(),
        ArrivalPattern::Users { .. } => "closed loop".to_owned(),
        ArrivalPattern::Markov { .. } => "markov-modulated process".to_owned(),
        ArrivalPattern::Clients { .. } | ArrivalPattern::Population { .. } => "process of clients".to_owned(),
        ArrivalPattern::ByClass { .. } => "processes of the classes".to_owned(),
        pattern => format!("{} process", pattern.kind()),
    }
}

/// Names the arrivals that a rule is about.
pub(super) fn adjective(rule: Rule) -> &'static str {
    if rule == Rule::PlannedArrivals { "planned" } else { "delivered" }
}

/// The check of a test that `failed` or not, by a value beside its limit.
pub(super) fn judged(measure: Measure, failed: bool, of: [f64; 2], sentence: String) -> Check {
    let cure = match measure.rule {
        Rule::PlannedArrivals => "use another --seed: the plan of this one is very unlikely under the declared process",
        _ => "requests were not dispatched as planned: free up CPU on this machine, or lower the rate",
    };
    measure.judged(failed, of, sentence, cure)
}

/// Checks that a figure does not exceed its bar to either side of 0.
pub(super) fn within(measure: Measure, value: f64, critical: f64, sentence: String) -> Check {
    judged(measure, value.abs() > critical, [value, critical], sentence)
}

/// Arrivals that a rule has nothing to say about, or too few.
pub(super) fn not_tested(rule: Rule, arrivals: Option<u64>, sentence: String) -> Check {
    let value = arrivals.map(|arrivals| arrivals as f64);
    Check { value, ..Measure::new(rule, "arrivals").not_tested(sentence) }
}

/// Arrivals that no test can be put to, through the fault of the log.
pub(super) fn broken(sentence: String) -> Check {
    Check {
        outcome: Status::Missed,
        cure: "keep the log complete (is the disk full?), merge no log into itself, and run again".to_owned(),
        ..not_tested(Rule::DeliveredArrivals, None, sentence)
    }
}
