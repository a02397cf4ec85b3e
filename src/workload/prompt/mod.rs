//! What requests say: templates, datasets, images, shared prefixes, conversations.

pub(super) mod audio;
pub(super) mod cache;
pub(super) mod dataset;
pub(super) mod image_size;
pub(super) mod session_file;
pub(super) mod source;

pub use audio::Audio;
pub use cache::CacheState;
pub use dataset::{Dataset, DatasetFindings, DatasetFormat, RowFilter, RowOrder};
pub use image_size::ImageSize;
pub use session_file::{HistorySource, SaltScope, SessionFindings, SessionRules};
pub(crate) use source::MOST_TURNS;
pub use source::{Conversation, ImageFindings, Images, PromptSource, SharedPrefixes};
