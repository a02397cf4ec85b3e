//! The load over the run: rates, requests in flight, steadiness.

pub(super) mod closed_loop;
pub(super) mod form;
pub(super) mod movement;
pub(super) mod rates;
pub(super) mod steady_state;
mod stretch;
pub(super) mod timeline;
