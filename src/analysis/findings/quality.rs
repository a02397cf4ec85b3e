//! Advice on what answers say, and on the form they have.

use super::finding::{Finding, FindingKind, finding};
use crate::analysis::requests::answer_forms::ClassForms;
use crate::analysis::summary::run::Summary;
use crate::analysis::wording::{counted, percent};
use crate::units::count;

/// Share of answers cut at their longest length from which on that hides what form they have.
const CUT_BAR: f64 = 0.05;

/// A server that is asked for a form and gives another does less work than was asked of it, or other.
pub(super) fn wrong_forms(summary: &Summary) -> Option<Finding> {
    let classes = &summary.answers.as_ref()?.by_class;
    let said = |class: &ClassForms| {
        let whole = class.valid + class.invalid + class.cut_at_limit;
        let cut = class.cut_at_limit as f64 > CUT_BAR * whole as f64;
        (class.invalid > 0 || cut).then(|| {
            format!(
                "`{}`: {} of {} are not of the form {}, and {} were cut before they could be",
                class.class,
                count(class.invalid),
                counted(whole, "answer"),
                class.form,
                count(class.cut_at_limit)
            )
        })
    };
    let wrong: Vec<_> = classes.iter().filter_map(said).collect();
    if wrong.is_empty() {
        return None;
    }
    let sentence = format!(
        "answers do not have the form that was asked for; all should, and no more than {} be cut: {}",
        percent(CUT_BAR),
        wrong.join("; ")
    );
    let cure = "see whether the server decodes by the form (guided decoding, a parser of tool calls); where answers are cut, \
                raise output_tokens";
    Some(finding(FindingKind::WrongForms, sentence, cure))
}

/// Golden prompts are answered at temperature 0, so that one which passed before the run passes under load, if the server
/// does the same work there.
pub(super) fn worse_under_load(summary: &Summary) -> Option<Finding> {
    let checks = &summary.quality.as_ref()?.checks;
    let worse: Vec<_> = checks
        .iter()
        .filter(|check| check.before.passed > 0 && check.before.unmet == 0 && check.under_load.unmet > 0)
        .map(|check| {
            let under = &check.under_load;
            let answered = counted(under.passed + under.unmet, "answer");
            format!("`{}` failed in {} of {answered} under load", check.name, count(under.unmet))
        })
        .collect();
    if worse.is_empty() {
        return None;
    }
    let sentence = format!(
        "checks that passed before the run are answered worse under load, where none should be: {}",
        worse.join(", ")
    );
    let cure = "look at the answers under Checks; faster is no gain where answers become worse (batch-dependent numerics, \
                a quantised cache, speculative decoding)";
    Some(finding(FindingKind::WorseUnderLoad, sentence, cure))
}
