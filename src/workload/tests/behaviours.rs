//! Behaviours of clients, drawn for tests.

use proptest::prelude::*;

use crate::workload::clients::behaviour::{ClientBehaviour, Jitter};
use crate::workload::clients::retry_cause::RetryCause;

/// Any behaviour that a spec may have, or none.
pub(super) fn behaviour() -> impl Strategy<Value = Option<ClientBehaviour>> {
    let limit = || prop::option::of(0.001..1e4);
    let cause = prop_oneof![
        (400_u16..600).prop_map(RetryCause::Status),
        Just(RetryCause::Timeout),
        Just(RetryCause::Connect),
        Just(RetryCause::Reset)
    ];
    let jitter = prop_oneof![Just(Jitter::Full), Just(Jitter::Equal), Just(Jitter::None)];
    let retries = (0_u32..=1_000, prop::collection::vec(cause, 1..4), jitter);
    let waits = (0.0..10.0, 1.0..10.0, 10.0..100.0);
    prop::option::of(((limit(), limit(), limit()), retries, waits).prop_map(|(limits, retries, waits)| {
        ClientBehaviour {
            timeout_s: limits.0,
            first_token_timeout_s: limits.1,
            retries: retries.0,
            retry_on: retries.1,
            backoff_s: waits.0,
            backoff_factor: waits.1,
            backoff_max_s: waits.2,
            jitter: retries.2,
            hedge_after_s: limits.2,
        }
    }))
}
