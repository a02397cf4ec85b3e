//! The record of one request: its moments, its tokens, its place in a session, how it ended.

pub(super) mod amendment;
pub(super) mod attempt;
mod attempts;
pub(super) mod check;
pub(super) mod chunks;
pub(super) mod kinds;
pub(super) mod oddity;
pub(super) mod outcome;
pub(super) mod packed;
pub(super) mod record;
pub(super) mod release;
pub(super) mod score;
pub(super) mod turn;
pub(super) mod usage;
pub(super) mod usage_bounds;

pub use amendment::{Amendment, CountedAnswer, ScoredAnswer};
pub use attempt::{Attempt, AttemptEnd, AttemptKind};
pub use check::{CheckRecord, CheckResult};
pub use chunks::{ChunkTrain, LateStamps, TokenChunk};
pub use kinds::{FinishReason, LostConnection, SharedPrefix, TokenSource, WorkKind};
pub use oddity::{Oddities, Oddity, OddityKind};
pub use outcome::{Failure, FailureKind, Outcome, Validity};
pub use record::{RequestRecord, UnendedRequest};
pub use release::{Predecessor, Release};
pub use score::Score;
pub use turn::{GraphPlace, Phase, SessionCounts, Turn};
pub use usage::Usage;
pub use usage_bounds::{ShownText, UsageBounds};
