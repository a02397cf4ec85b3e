//! Results as documents, and the wording that they share.

pub(crate) mod arrivals;
mod calibration;
mod datasets;
mod diagnosis;
mod glossary;
mod latencies;
mod load_form;
mod repeats;
mod run;
mod trace;

pub use calibration::{calibration_json, calibration_text};

pub use glossary::glossary;
pub(crate) use latencies::bounds;
pub use repeats::{repeats_json, repeats_text};
pub(crate) use run::paired_open;
pub use run::{run_markdown, run_page, run_text};
pub use trace::{contents as trace_contents, what as trace_what};
