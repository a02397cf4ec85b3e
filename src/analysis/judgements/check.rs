//! The checks of a run, the rules that ask for them, and the verdict.

use serde::{Serialize, Serializer};

use super::status::Status;

/// One check of a run. A rule may ask for several; a run is VALID when none of them failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Check {
    /// The rule that asks for it.
    pub rule: Rule,
    /// Quantity that was measured, such as `requests running at the drain limit, as a share`.
    pub statistic: &'static str,
    /// Value of that quantity in this run. Absent where there was nothing to compute it from.
    pub value: Option<f64>,
    /// The limit that `value` is compared with.
    pub critical: Option<f64>,
    /// Whether the run passed. It is `not_tested` where there was nothing to test, or too little.
    #[serde(serialize_with = "in_check_words")]
    #[cfg_attr(test, schemars(with = "String", extend("enum" = CHECK_WORDS)))]
    pub outcome: Status,
    /// Finding in words, with the figure and the limit.
    pub sentence: String,
    /// Advice on what to do about it. Empty unless it failed.
    pub cure: String,
}

/// Words of a check's outcome. The last one is that of too little to test.
const CHECK_WORDS: [&str; 3] = ["passed", "failed", "not_tested"];

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference to the field")]
fn in_check_words<S: Serializer>(outcome: &Status, serializer: S) -> Result<S::Ok, S::Error> {
    Status::store(*outcome, CHECK_WORDS, serializer)
}

/// A statistic that a rule compares with its limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measure {
    pub(crate) rule: Rule,
    pub(crate) statistic: &'static str,
}

impl Measure {
    pub(crate) const fn new(rule: Rule, statistic: &'static str) -> Self {
        Self { rule, statistic }
    }

    /// The run passes unless it `failed`, by a value beside its limit.
    pub(crate) fn judged(self, failed: bool, of: [f64; 2], sentence: String, cure: &str) -> Check {
        let (outcome, cure) = if failed { (Status::Missed, cure) } else { (Status::Met, "") };
        let [value, critical] = of.map(Some);
        Check { value, critical, outcome, ..self.check(sentence, cure) }
    }

    /// Says that there was nothing to test, for the reason that `sentence` gives.
    pub(crate) fn not_tested(self, sentence: impl Into<String>) -> Check {
        self.check(sentence.into(), "")
    }

    fn check(self, sentence: String, cure: &str) -> Check {
        Check {
            rule: self.rule,
            statistic: self.statistic,
            value: None,
            critical: None,
            outcome: Status::Undecided,
            sentence,
            cure: cure.to_owned(),
        }
    }
}

/// Outcome of a run by all its checks. The later one is the worse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum VerdictOutcome {
    /// The figures can be trusted, and the server kept up.
    Valid,
    /// The figures can be trusted, and the server did not keep up. Its queue grew, or it refused requests or let them
    /// time out. That is an answer. Latencies then depend on how long the run lasted.
    Overloaded,
    /// The figures cannot be trusted.
    #[default]
    Invalid,
}

impl VerdictOutcome {
    /// `VALID`, `OVERLOADED` or `INVALID`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Valid => "VALID",
            Self::Overloaded => "OVERLOADED",
            Self::Invalid => "INVALID",
        }
    }

    /// The worst of these; valid where there is none.
    pub(crate) fn worst(outcomes: impl Iterator<Item = Self>) -> Self {
        outcomes.max().unwrap_or(Self::Valid)
    }
}

/// Judgement on whether a run's figures can be trusted and its server kept up. It says why, if not.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verdict {
    /// Outcome of the run.
    pub outcome: VerdictOutcome,
    /// Whether the figures can be trusted: false for an INVALID run alone.
    pub valid: bool,
    /// Why it is not VALID: what the failed tests say.
    pub reasons: Vec<Reason>,
    /// Every check of the run. Those that passed and those that could not be tested are included.
    pub checks: Vec<Check>,
}

/// Why a run is not VALID.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reason {
    /// The rule that was broken.
    pub rule: Rule,
    /// Outcome that this makes of the run. It is OVERLOADED where the server is to blame, and INVALID otherwise.
    pub outcome: VerdictOutcome,
    /// Numbers of the runs that broke the rule. The list is empty where all together did. Absent unless runs repeat one
    /// another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<Vec<u64>>,
    /// Finding in words, with the figures of the first of several runs, and the limit.
    pub sentence: String,
    /// Advice on what to do about it.
    pub cure: String,
}

/// A rule of validity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// There is something to measure.
    MeasuredRequests,
    /// The run was not stopped before its window ended.
    WholeWindow,
    /// The log is as it was written.
    WholeLog,
    /// planned = completed + failed + censored, exactly.
    Conservation,
    /// The records are those of the plan, drawn again from the header.
    Plan,
    /// At least one request completed.
    SomethingCompleted,
    /// The server answered to the end of the run.
    ServerStayed,
    /// Failures are rare.
    ErrorRate,
    /// Few requests were sent twice because their connection closed as they came.
    SentTwice,
    /// The planned arrivals follow the process that the workload declares.
    PlannedArrivals,
    /// The moments of dispatch follow the process that the workload declares.
    DeliveredArrivals,
    /// Requests were sent on time.
    ScheduleLag,
    /// No stamp of a request lies before its cause.
    Stamps,
    /// The first token of an answer does not wait for the last.
    StreamsWhole,
    /// L = λW holds between what was in flight and how long it stayed.
    LittlesLaw,
    /// X = N ÷ (R + Z) holds in a closed loop. It binds its users, their requests and their think times.
    InteractiveLaw,
    /// The tokens of the chunks are those of the server's `usage`.
    TokenIdentity,
    /// The tokens that the client counted are those that the server counted.
    CounterIdentity,
    /// A prefix cache found no more than the plan lets it find.
    CacheHits,
    /// The measuring machine and process had time to spare.
    ClientStarved,
    /// No host stall of the client could have moved a reported percentile.
    HostStalls,
    /// The system was no longer drifting or filling up.
    SteadyState,
}

impl Rule {
    /// The rules on what the client's lateness does to the figures.
    pub(crate) const OF_CLIENT: [Self; 3] = [Self::ScheduleLag, Self::ClientStarved, Self::HostStalls];
}

impl Check {
    /// The reason that it is, where it failed.
    pub(crate) fn reason(&self, outcome: VerdictOutcome) -> Reason {
        let Self { rule, sentence, cure, .. } = self.clone();
        Reason { rule, outcome, runs: None, sentence, cure }
    }
}

impl Reason {
    /// The sentence, with the runs that broke the rule where several repeat one another.
    pub fn in_words(&self) -> String {
        let sentence = &self.sentence;
        match self.runs.as_deref() {
            None => sentence.clone(),
            Some([]) => format!("all runs: {sentence}"),
            Some([run]) => format!("run {run}: {sentence}"),
            Some(runs @ [first, ..]) => {
                let runs: Vec<_> = runs.iter().map(u64::to_string).collect();
                format!("runs {}: {sentence} (the figures of run {first})", runs.join(", "))
            }
        }
    }
}

impl Verdict {
    /// Makes the verdict on a run from these reasons.
    pub fn new(reasons: Vec<Reason>, checks: Vec<Check>) -> Self {
        let outcome = VerdictOutcome::worst(reasons.iter().map(|reason| reason.outcome));
        Self { outcome, valid: outcome != VerdictOutcome::Invalid, reasons, checks }
    }

    /// Whether the server did not keep up, whatever else is against the run.
    pub fn is_overloaded(&self) -> bool {
        self.reasons.iter().any(|reason| reason.outcome == VerdictOutcome::Overloaded)
    }

    /// The first reason for its outcome; absent where it is VALID.
    pub fn gravest(&self) -> Option<&Reason> {
        self.reasons.iter().find(|reason| reason.outcome == self.outcome)
    }

    /// Whether a test of `rule` failed.
    pub fn breaks(&self, rule: Rule) -> bool {
        self.reasons.iter().any(|reason| reason.rule == rule)
    }
}
