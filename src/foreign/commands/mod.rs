//! Command lines of other tools, said with the options of this program.
//!
//! A table for each tool and version in `tables` has its flags: the option that means the same, a sentence
//! where there is none, and rules for flags that mean something only together. One interpreter reads them.

mod flags;
mod table;
#[cfg(test)]
mod tests;
mod translation;

pub(crate) use translation::{Translation, TranslationGap, flag_here, translate};
