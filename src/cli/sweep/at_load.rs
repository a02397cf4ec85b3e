//! The workload of one run: the sweep's under the run's load, length and seed.

use crate::experiment::{Load, TrialRequest};
use crate::session::Stop;
use crate::session::with_seed;
use crate::workload::{ArrivalPattern, Trace, WorkloadSpec};

/// `spec` as the run that is wanted flies it. Of a trace, whose slice lasts as long as it does, more or fewer requests are
/// replayed until their mean rate is that of the load.
pub(in crate::cli) fn at_load(spec: &WorkloadSpec, wanted: &TrialRequest) -> Result<WorkloadSpec, Stop> {
    let (ArrivalPattern::Trace(trace), Load::Rate(per_s)) = (&spec.arrival, wanted.load) else {
        return wanted.workload(spec).map_err(Stop::usage);
    };
    let rate_scale = trace.rate_scale * per_s / spec.arrival.mean_rate_per_s();
    let arrival = ArrivalPattern::Trace(Box::new(Trace { rate_scale, ..Trace::clone(trace) }));
    with_seed(WorkloadSpec { arrival, ..spec.clone() }, wanted.seed)
}
