//! What a server says, as it is stored and shown: without secrets, and no longer than its kind may be.
//!
//! Every text of a server comes in here, or is the message of a [`Failure`], which is no longer than that type allows.

use super::secrets::Secrets;
use crate::record::Failure;
use crate::units::{count, shortened};

/// The texts of servers that are stored or shown, by their kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerText {
    /// Its version.
    Version,
    /// A model that it lists. One that is cut is not served under that name: the test request shows it.
    Model,
    /// Why a model stopped, where that is none of the known reasons.
    FinishReason,
    /// Its own words in an error.
    Message,
    /// The name of a setting that it was started with.
    SettingName,
    /// The value of one.
    Setting,
    /// Text about devices on a page of metrics. It is the name of one, or says what devices and drivers there are.
    Device,
}

/// Names of models that a sentence lists.
const LISTED: usize = 20;

impl ServerText {
    /// Most characters that are kept of it.
    const fn most(self) -> usize {
        match self {
            Self::FinishReason => 64,
            Self::Version => 100,
            Self::SettingName | Self::Setting | Self::Device => 200,
            Self::Model => 256,
            // A failure adds its own words, and room for how much is cut.
            Self::Message => Failure::MESSAGE_LIMIT - 40,
        }
    }

    /// Returns the part of `text` that is kept. Where it is cut, the end says by how much.
    pub(crate) fn kept(self, text: &str) -> String {
        shortened(text, self.most())
    }

    /// Returns the part of `text` that is kept, without secrets. These are hidden first: half of one is not found.
    pub(crate) fn without(self, secrets: &Secrets, text: &str) -> String {
        self.kept(&secrets.hide(text.to_owned()))
    }
}

/// Names in a sentence, not more than a reader wants.
pub(crate) fn listing(names: &[String]) -> String {
    let shown = names[..names.len().min(LISTED)].join(", ");
    match names.len().saturating_sub(LISTED) {
        0 => shown,
        more => format!("{shown} and {} more", count(more as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_text_has_its_limit_and_shows_the_cut() {
        let long = "é".repeat(2_500_000);
        for kind in [
            ServerText::Version,
            ServerText::Model,
            ServerText::FinishReason,
            ServerText::Message,
            ServerText::SettingName,
            ServerText::Setting,
            ServerText::Device,
        ] {
            let kept = kind.kept(&long);
            let left = count(2 * (2_500_000 - kind.most() as u64));
            assert!(kept.ends_with(&format!("é… ({left} bytes more)")), "{kind:?}: {kept}");
            assert!(kept.chars().count() <= Failure::MESSAGE_LIMIT && kept.capacity() < 2_000, "{kind:?}");
            assert_eq!(kind.kept("0.11.0"), "0.11.0");
        }
    }

    #[test]
    fn a_long_list_is_counted() {
        let names: Vec<String> = (0..1_022).map(|number| format!("m{number}")).collect();
        assert_eq!(listing(&names[..2]), "m0, m1");
        assert!(listing(&names).ends_with("m18, m19 and 1,002 more"), "{}", listing(&names));
    }
}
