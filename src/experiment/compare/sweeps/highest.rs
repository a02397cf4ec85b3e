//! The highest loads of two sweeps, compared in words.

use crate::experiment::sweep::{HighestLoad, Load};

/// Compares two answers by their intervals, otherwise by their brackets.
pub(super) fn compared_in_words(before: Option<&HighestLoad>, after: Option<&HighestLoad>) -> String {
    let (Some(before), Some(after)) = (before, after) else {
        return "one of them has no objective, so there is no highest load to compare".to_owned();
    };
    let number = |answer: &HighestLoad| {
        let load = answer.passed.or(answer.failed)?;
        Some(if load.users().is_some() { format!("a number of {}", load.kind()) } else { "a rate".to_owned() })
    };
    if let Some((one, other)) = number(before).zip(number(after)).filter(|(one, other)| one != other) {
        return format!("one is {one} and the other {other}, which cannot be compared");
    }
    let interval = |answer: &HighestLoad| answer.crossing()?.interval();
    let bracket = |answer: &HighestLoad| Some((answer.passed?.amount(), answer.failed?.amount()));
    let ends = interval(before).zip(interval(after));
    let brackets = bracket(before).zip(bracket(after));
    let value = |answer: &HighestLoad| answer.estimate.or(answer.passed.map(Load::amount));
    let change = value(before).zip(value(after)).filter(|(before, _)| *before > 0.0);
    let change = change.map(|(before, after)| {
        let change = (after / before - 1.0) * 100.0;
        format!("the highest load moves by {change:+.1} %").replace('-', "−")
    });
    let change = change.unwrap_or("the highest load is not known of both".to_owned());
    let says = match (ends, brackets) {
        (Some(((_, high), (low, _))), _) if low > high => ": surely higher, the intervals do not overlap",
        (Some(((low, _), (_, high))), _) if high < low => ": surely lower, the intervals do not overlap",
        (Some(_), _) => "; the intervals overlap, so it may be chance",
        (None, Some(((low, high), (other_low, other_high)))) if high < other_low || other_high < low => {
            "; the brackets do not overlap, but it may be chance: run both with --repeats 5, so that each has an \
             interval"
        }
        (None, Some(_)) => "; the brackets overlap, so it may be chance",
        (None, None) => "; one of them is open at an end",
    };
    format!("{change}{says}")
}
