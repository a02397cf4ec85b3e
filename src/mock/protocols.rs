//! The protocols that the mock speaks; another one is a row, and a file where it is worded otherwise.

use super::reply::{CHAT, COMPLETIONS, GENERATE, MESSAGES, RESPONSES, Wording};

/// All of them, by how their answers are written.
pub(super) static PROTOCOLS: [&dyn Wording; 5] = [CHAT, COMPLETIONS, RESPONSES, MESSAGES, GENERATE];
