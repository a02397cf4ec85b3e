//! Options that were not typed: from the environment, and from `skyline.toml`.
//!
//! An option counts as it was typed; else as the variable says (`SKYLINE_URL` for `--url`); else as
//! `skyline.toml` in the working directory says, then as that of the user says. What counts becomes arguments
//! before those that were typed, so that everything behind this sees one command line.

mod effect;
mod options;
mod settings;
#[cfg(test)]
mod tests;

pub(in crate::cli) use self::effect::{in_effect, in_words};
pub(in crate::cli) use self::options::in_help;
pub(in crate::cli) use self::settings::{Surroundings, results_folder};
