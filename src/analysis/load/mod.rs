//! The load over the run: rates, requests in flight, steadiness.

pub(super) mod acceptable;
pub(super) mod aftermath;
pub(super) mod attempts;
mod by_request;
pub(super) mod closed_loop;
mod equal_sections;
pub(super) mod movement;
pub(super) mod rates;
pub(super) mod served;
pub(super) mod sessions;
pub(super) mod steady_state;
pub(super) mod stretches;
pub(super) mod timeline;
pub(super) mod work;
