//! A summary as bytes: text for people, JSON for programs.

mod arrivals;
mod beside;
mod calibration;
mod diagnosis;
mod engine_fit;
mod fit;
mod flow_lines;
mod grid;
mod header;
mod json;
mod latency;
mod page;
mod paired_open;
mod prediction;
mod promises;
mod quality;
mod repeats;
mod sessions;
mod taken;
mod text;
mod trace;
mod troubles;

pub use beside::Beside;
pub use calibration::{calibration_json, calibration_text};
pub use diagnosis::diagnosis_text;
pub use engine_fit::{engine_fit_text, rates_json, rates_text};
pub use fit::text as fit_text;
pub use json::{json, json_beside};
pub use page::{Colour, Style, printable};
pub use prediction::{prediction_json, prediction_text};
pub use repeats::{repeats_json, repeats_text};
pub use text::{text, text_beside};
pub use trace::{contents as trace_contents, what as trace_what};
