//! Advice on what answers say.

use super::{Finding, FindingKind, finding};
use crate::analysis::Summary;
use crate::analysis::wording::counted;
use crate::units::count;

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
