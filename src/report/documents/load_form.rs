//! The form of a load in words: open arrivals, sessions, or a closed loop.

use crate::analysis::LoadForm;

/// The form in a few words; `None` for open arrivals, which need none.
pub(crate) const fn in_words(form: LoadForm) -> Option<&'static str> {
    match form {
        LoadForm::Open => None,
        LoadForm::PartlyOpen => Some("partly open"),
        LoadForm::Closed => Some("closed loop"),
    }
}

/// What the form means, behind its name.
pub(crate) const fn explained(form: LoadForm) -> Option<&'static str> {
    match form {
        LoadForm::Open => None,
        LoadForm::PartlyOpen => Some(
            "partly open: sessions begin whatever the server does, a later turn waits for the answer before it",
        ),
        LoadForm::Closed => Some(
            "closed: each user waits for the answer, thinks and asks again; a slow server gets less load",
        ),
    }
}
