//! Skyline: an open-loop load generator for LLM servers whose numbers can be defended.
//!
//! A **workload** is drawn into a **schedule**; the **runner** flies it, open loop, against an **engine** and
//! keeps **records**; **analysis** turns records into a **summary**; a **report** writes it down.
//!
//! Rooms stand on floors; a room uses only rooms on lower floors (a test holds this):
//!
//! | floor | rooms |
//! |---|---|
//! | 0 | [`clock`], [`units`], [`random`] |
//! | 1 | [`workload`] |
//! | 2 | [`record`], [`arrivals`] |
//! | 3 | [`generator`], [`analysis`], [`simulator`] |
//! | 4 | [`engine`], [`foreign`] |
//! | 5 | [`runner`], [`mock`], [`telemetry`] |
//! | 6 | [`experiment`], [`calibration`] |
//! | 7 | [`report`], [`live`] |
//! | 8 | [`session`] |
//! | 9 | [`cli`] |

pub mod analysis;
pub mod arrivals;
pub mod calibration;
pub mod cli;
pub mod clock;
pub mod engine;
pub mod experiment;
pub mod foreign;
pub mod generator;
pub mod live;
pub mod mock;
pub mod random;
pub mod record;
pub mod report;
pub mod runner;
pub mod session;
pub mod simulator;
pub mod telemetry;
pub mod units;
pub mod workload;
