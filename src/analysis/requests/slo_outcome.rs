//! Whether a request met the bounds of its SLO.

use super::answers::is_to_be_scored;
use super::latency::RequestLatency;
use crate::analysis::figures::Figure;
use crate::record::{RequestRecord, Score, Validity};
use crate::workload::{AnswerShape, RequestClass, Slo, WorkloadSpec};

/// Whether a request met its SLO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SloOutcome {
    /// Whether there was a bound to meet.
    pub(in crate::analysis) declared: bool,
    /// Whether its bounds are on figures that the answer can have.
    pub(in crate::analysis) measurable: bool,
    /// The bounds that it broke; `None` when it did not complete.
    pub(in crate::analysis) broken: Option<Broken>,
    /// Fault of its answer that misses the SLO, whatever the latency.
    pub(in crate::analysis) fault: Option<AnswerFault>,
}

/// Fault of an answer that an SLO does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analysis) enum AnswerFault {
    /// The answer is not of the form asked for.
    Form,
    /// The answer is wrong, and has to be right.
    Wrong,
}

/// The bounds that a completed request broke.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::analysis) struct Broken {
    pub(in crate::analysis) ttft: bool,
    pub(in crate::analysis) tpot: bool,
    pub(in crate::analysis) e2e: bool,
}

impl SloOutcome {
    /// Judges a request; `latency` is given when it completed.
    ///
    /// A bound on a figure that the request does not have is broken, since nothing unknown passes; except TPOT,
    /// which an answer of one token meets because nothing comes after the first.
    pub(crate) fn new(slo: Slo, latency: Option<&RequestLatency>) -> Self {
        let over = |bound: Option<f64>, figure: Option<Figure>| {
            bound.is_some_and(|bound| figure.and_then(Figure::exact).is_none_or(|value| value > bound))
        };
        let broken = latency.map(|latency| Broken {
            ttft: over(slo.ttft_ms, latency.ttft),
            tpot: over(slo.tpot_ms, latency.tpot) && !(latency.tpot.is_none() && latency.ttft.is_some()),
            e2e: over(slo.e2e_ms, latency.e2e),
        });
        Self { declared: !slo.is_empty(), measurable: true, broken, fault: None }
    }

    /// Judges a request whose answer was not streamed. Bounds on TTFT and TPOT cannot be measured.
    pub(crate) fn of_whole_answer(slo: Slo, latency: Option<&RequestLatency>) -> Self {
        Self::of_part(slo, Slo { ttft_ms: None, tpot_ms: None, ..slo }, latency)
    }

    /// Judges a request of whose bounds only this part can be measured.
    pub(in crate::analysis) fn of_part(slo: Slo, measured: Slo, latency: Option<&RequestLatency>) -> Self {
        Self { declared: !slo.is_empty(), measurable: slo == measured, ..Self::new(measured, latency) }
    }

    /// Returns the outcome with what its SLO demands of the answer.
    pub(in crate::analysis) fn with_answer(self, workload: &WorkloadSpec, record: &RequestRecord) -> Self {
        let class = workload.classes.get(usize::from(record.class));
        let in_slo = class.and_then(|class| class.answer.as_ref()).is_some_and(AnswerShape::is_in_slo);
        let formed = match record.validity {
            Some(validity) if in_slo => self.with_form(validity),
            _ => self,
        };
        let has_to_be_right = class.and_then(RequestClass::scoring).is_some_and(|scoring| scoring.in_slo);
        let is_scored = has_to_be_right && is_to_be_scored(workload, record);
        if is_scored { formed.with_score(record.score) } else { formed }
    }

    /// Returns the outcome of a request whose SLO demands an answer of a form.
    pub(crate) fn with_form(self, validity: Validity) -> Self {
        let of_another_form = matches!(validity, Validity::Invalid { .. } | Validity::CutAtLimit);
        Self { declared: true, fault: of_another_form.then_some(AnswerFault::Form), ..self }
    }

    /// Returns the outcome of a request whose SLO demands a right answer.
    pub(crate) fn with_score(self, score: Option<Score>) -> Self {
        let wrong = score.filter(|score| !score.right).map(|_| AnswerFault::Wrong);
        Self { declared: true, fault: self.fault.or(wrong), ..self }
    }

    /// Whether there was a bound to meet.
    pub(crate) fn has_slo(self) -> bool {
        self.declared
    }

    /// Whether it met its SLO; `None` where it has none, or that cannot be measured.
    pub(crate) fn is_met(self) -> Option<bool> {
        (self.declared && self.measurable).then(|| self.met())
    }

    pub(in crate::analysis) fn met(self) -> bool {
        self.broken == Some(Broken::default()) && self.fault.is_none()
    }
}
