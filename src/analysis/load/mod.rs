//! The load over the run: rates, requests in flight, steadiness.

pub(super) mod aftermath;
pub(super) mod attempts;
pub(super) mod closed_loop;
mod equal_sections;
pub(super) mod form;
pub(super) mod movement;
pub(super) mod rates;
pub(super) mod steady_state;
pub(super) mod timeline;
