//! What a test of arrivals leaves behind.

use crate::analysis::verdict::check::{Check, CheckOutcome, Rule};

/// Which arrivals a rule is about.
pub(super) fn adjective(rule: Rule) -> &'static str {
    if rule == Rule::PlannedArrivals { "planned" } else { "delivered" }
}

/// What a test measured.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reading {
    pub(super) value: f64,
    pub(super) critical: f64,
    pub(super) failed: bool,
    pub(super) sentence: String,
}

impl Reading {
    /// A figure that may not exceed its bar, to either side of 0.
    pub(super) fn at_most(value: f64, critical: f64, sentence: String) -> Self {
        Self { value, critical, failed: value.abs() > critical, sentence }
    }

    pub(super) fn check(self, rule: Rule, statistic: &'static str) -> Check {
        let cure = match rule {
            _ if !self.failed => "",
            Rule::PlannedArrivals => {
                "take another --seed: this one draws a plan that hardly ever comes of the declared process"
            }
            _ => {
                "requests did not leave as they were planned: let nothing else run on this machine, or lower the rate"
            }
        };
        Check {
            rule,
            statistic,
            value: Some(self.value),
            critical: Some(self.critical),
            outcome: if self.failed { CheckOutcome::Failed } else { CheckOutcome::Passed },
            sentence: self.sentence,
            cure: cure.to_owned(),
        }
    }
}

/// Arrivals that a rule has nothing to say about, or too few.
pub(super) fn not_tested(rule: Rule, arrivals: Option<u64>, sentence: String) -> Check {
    Check {
        rule,
        statistic: "arrivals",
        value: arrivals.map(|arrivals| arrivals as f64),
        critical: None,
        outcome: CheckOutcome::NotTested,
        sentence,
        cure: String::new(),
    }
}

/// Arrivals that no test can be put to, through the fault of the log.
pub(super) fn broken(sentence: String) -> Check {
    Check {
        outcome: CheckOutcome::Failed,
        cure: "keep the log whole (is the disk full?), merge no log into itself, and run again".to_owned(),
        ..not_tested(Rule::DeliveredArrivals, None, sentence)
    }
}
