//! The forms that answers were asked to have.

use std::collections::BTreeMap;

use serde::Serialize;

use super::share;
use crate::analysis::requests::observed::{Measured, Observed};
use crate::analysis::statistics::share_interval;
use crate::record::Validity;
use crate::workload::ShapeFault;

/// The forms of answers over the window.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AnswerForms {
    /// Share of valid answers of all classes with a form. It is valid ÷ valid and invalid, between 0 and 1. Absent
    /// where there are neither.
    pub valid_share: Option<f64>,
    /// Each class that asks for a form, in the order of the workload.
    pub by_class: Vec<ClassForms>,
}

/// The answers of one class that asks for a form.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClassForms {
    /// The class.
    pub class: String,
    /// The form, as it is written in the workload.
    pub form: &'static str,
    /// Whether an answer of another form misses its SLO.
    pub in_slo: bool,
    /// Whether it has tools whose schemas the server was not asked to hold to.
    #[serde(skip)]
    pub(crate) lax_tools: bool,
    /// Answers of the form.
    pub valid: u64,
    /// Complete answers without that form.
    pub invalid: u64,
    /// Faults of the invalid answers, most frequent first.
    pub faults: Vec<FormFault>,
    /// Answers that were cut at their longest length and so are not of the form. They are not judged.
    pub cut_at_limit: u64,
    /// Answers that did not come whole: not judged.
    pub not_completed: u64,
    /// Valid ÷ valid and invalid, between 0 and 1; absent where there are neither.
    pub valid_share: Option<f64>,
    /// Lower end of its 95 % interval (Wilson).
    pub interval_low: Option<f64>,
    /// Upper end of the interval.
    pub interval_high: Option<f64>,
}

/// One kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FormFault {
    /// The fault.
    pub fault: ShapeFault,
    /// Number of answers.
    pub count: u64,
}

impl AnswerForms {
    /// Counts the forms of answers. Absent where no answer of the window had a form to be checked.
    pub(crate) fn from_observed(observed: &Observed<'_>) -> Option<Self> {
        let judged = |place: usize| {
            let records = observed.requests.iter().map(Measured::record);
            records.filter(move |record| usize::from(record.class) == place).filter_map(|record| record.validity)
        };
        let classes = observed.log.header.workload.classes.iter().enumerate();
        let by_class: Vec<_> = classes
            .filter_map(|(place, class)| {
                judged(place).next()?;
                let form = class.answer.as_ref()?;
                let own = ClassForms {
                    class: class.name.clone(),
                    form: form.kind(),
                    in_slo: form.is_in_slo(),
                    lax_tools: form.has_lax_tools(),
                    ..ClassForms::counted(judged(place))
                };
                Some(own)
            })
            .collect();
        let [valid, invalid] = [|class: &ClassForms| class.valid, |class: &ClassForms| class.invalid]
            .map(|count| by_class.iter().map(count).sum::<u64>());
        (!by_class.is_empty()).then(|| Self { valid_share: share(valid, valid + invalid), by_class })
    }
}

impl ClassForms {
    fn counted(answers: impl Iterator<Item = Validity>) -> Self {
        let (mut valid, mut cut_at_limit, mut not_completed) = (0, 0, 0);
        let mut faults: BTreeMap<ShapeFault, u64> = BTreeMap::new();
        for validity in answers {
            match validity {
                Validity::Valid => valid += 1,
                Validity::Invalid { fault } => *faults.entry(fault).or_default() += 1,
                Validity::CutAtLimit => cut_at_limit += 1,
                Validity::NotCompleted => not_completed += 1,
            }
        }
        let invalid = faults.values().sum();
        let (interval_low, interval_high) = share_interval(valid, valid + invalid).unzip();
        let mut faults: Vec<_> = faults.into_iter().map(|(fault, count)| FormFault { fault, count }).collect();
        faults.sort_by_key(|fault| std::cmp::Reverse(fault.count));
        Self {
            valid,
            invalid,
            faults,
            cut_at_limit,
            not_completed,
            valid_share: share(valid, valid + invalid),
            interval_low,
            interval_high,
            ..Self::default()
        }
    }
}
