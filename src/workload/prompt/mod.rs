//! What requests say: templates, datasets, images, shared prefixes, conversations.

pub(super) mod conversation;
pub(super) mod dataset;
pub(super) mod images;
pub(super) mod shared_prefix;
pub(super) mod source;

pub use conversation::Conversation;
pub use dataset::{Dataset, DatasetFindings, DatasetFormat, RowFilter, RowOrder};
pub use images::{ImageFindings, Images};
pub use shared_prefix::SharedPrefixes;
pub use source::PromptSource;
