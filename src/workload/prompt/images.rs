//! Pictures that go along with the prompts of a class.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::workload::lengths::distribution::{Distribution, TOKEN_LIMIT};
use crate::workload::reading::value::SpecValue;

/// Most images of one request.
const MOST_IMAGES: u32 = 64;

/// Images from a folder, sent inside chat messages as data URLs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Images {
    /// The folder: PNG, JPEG, GIF and WebP files, recognised by their content. In a workload file a relative path
    /// begins at the folder of that file.
    pub folder: String,
    /// Images per request; 1 when the file does not say, at most 64.
    pub per_request: Distribution,
    /// What the folder was found to hold; absent until it is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<ImageFindings>,
}

/// What a folder of images was found to hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageFindings {
    /// Number of images.
    pub images: u64,
    /// Their total size, bytes.
    pub bytes: u64,
    /// SHA-256 of all of them, concatenated in the order of their names, hexadecimal.
    pub sha256: String,
}

impl Images {
    pub(crate) fn read(value: SpecValue<'_>) -> Option<Self> {
        value.table("the images of a class", |fields| {
            let folder = fields.need("folder", |value| value.nonblank());
            let one = Distribution::Constant { value: 1 };
            let per_request = fields.optional("per_request", one, Distribution::read);
            let found = fields.maybe("found", |value| {
                value.stored(|found: &ImageFindings| !found.sha256.trim().is_empty())
            });
            let per_request = per_request?;
            let most = per_request.most();
            if most > MOST_IMAGES {
                let given =
                    if most == TOKEN_LIMIT { "has no bound".into() } else { format!("may be {most}") };
                fields.complain_of(
                    "per_request",
                    &format!(
                        "{given}; a request has at most {MOST_IMAGES} images, so give a `max` up to that"
                    ),
                );
                return None;
            }
            Some(Self { folder, per_request, found })
        })
    }

    /// Makes a relative path begin at `folder`.
    pub(crate) fn anchor(&mut self, folder: &Path) {
        self.folder = folder.join(&self.folder).display().to_string();
    }
}
