//! Figures as they stand in sentences.

use std::time::Duration;

use crate::analysis::load::form::LoadForm;
use crate::record::ClientLimits;
use crate::units::{count, spoken, three_digits};

/// A number of things: `1 request`, `1,200 requests`.
pub(crate) fn counted(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", count(number))
}

/// A share between 0 and 1: `12.5 %`; of a whole number without decimals.
pub(crate) fn percent(share: f64) -> String {
    let digits = three_digits(share * 100.0);
    let whole = digits.split_once('.').filter(|(_, decimals)| decimals.bytes().all(|digit| digit == b'0'));
    format!("{} %", whole.map_or(digits.as_str(), |(whole, _)| whole))
}

/// A length of time in seconds, in words.
pub(crate) fn seconds(length: f64) -> String {
    spoken(Duration::try_from_secs_f64(length.max(0.0)).unwrap_or(Duration::MAX))
}

/// Words for how less load is sent.
pub(crate) const fn less_load(load: LoadForm) -> &'static str {
    match load {
        LoadForm::Closed => "let fewer users ask",
        LoadForm::Open | LoadForm::PartlyOpen => "lower the rate",
    }
}

/// The caps on requests in flight: `64 requests`, `chat 16, batch 4`; `None` where there is none.
pub(crate) fn cap(limits: &ClientLimits) -> Option<String> {
    let total = limits.max_concurrency.map(|cap| counted(cap, "request"));
    let classes = limits.class_concurrency.iter().map(|(class, cap)| format!("{class} {}", count(*cap)));
    let caps: Vec<_> = total.into_iter().chain(classes).collect();
    (!caps.is_empty()).then(|| caps.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        assert_eq!((counted(0, "request"), counted(1, "request")), ("0 requests".into(), "1 request".into()));
        assert_eq!(counted(1_200, "answer"), "1,200 answers");
        assert_eq!((percent(0.125), seconds(125.0)), ("12.5 %".into(), "2 min 5 s".into()));
        assert_eq!([1.0, 0.0, 0.05, 0.1001].map(percent), ["100 %", "0 %", "5 %", "10 %"]);
        assert_eq!(seconds(-1.0), "0 ms");
    }
}
