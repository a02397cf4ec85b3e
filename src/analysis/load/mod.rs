//! The load over the run: rates, requests in flight, steadiness.

pub(super) mod aftermath;
pub(super) mod attempts;
pub(super) mod closed_loop;
pub(super) mod costs;
mod equal_sections;
pub(super) mod form;
pub(super) mod movement;
pub(super) mod rates;
pub(super) mod served;
pub(super) mod steady_state;
pub(super) mod stretches;
pub(super) mod timeline;
pub(super) mod work;
