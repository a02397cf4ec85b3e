//! Help beyond `--help`: the options of a first week, and what to type in place of an option that is none.

mod elsewhere;
mod short;

pub(super) use self::elsewhere::advice;
pub(super) use self::short::shortened;
