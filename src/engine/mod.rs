//! Who answers: an [`Engine`] takes a request and gives a stream of stamped token events.

mod answer;

pub use answer::{Answer, AnswerEnd, AnswerEvent, ChunkText, Engine, PreparedRequest};
