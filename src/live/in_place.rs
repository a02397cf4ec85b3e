//! A line that is redrawn in place, above which messages can be printed.

use std::ops::Deref;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::alt_screen as stage;

/// The line, on standard error; dropping it removes it. There is one at a time.
#[derive(Debug)]
pub(super) struct InPlace(ProgressBar);

impl InPlace {
    /// A line of this template for progress up to `length`.
    pub(super) fn of(template: &str, length: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        *stage::standing() = Some(bar.clone());
        Self(bar)
    }
}

impl Deref for InPlace {
    type Target = ProgressBar;

    fn deref(&self) -> &ProgressBar {
        &self.0
    }
}

impl Drop for InPlace {
    fn drop(&mut self) {
        *stage::standing() = None;
        self.0.finish_and_clear();
    }
}
