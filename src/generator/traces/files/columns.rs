//! CSV traces of Azure and `BurstGPT`, whose columns are found by name.

use crate::generator::rows::{excerpt, nanoseconds, parse_moment, tokens};
use crate::generator::traces::requests::{BadLine, TracedRequest};
use crate::random::RandomStream;

/// The columns that are read.
#[derive(Clone, Debug)]
pub(crate) struct CsvTraceColumns {
    moment: Column,
    clock: Clock,
    input: Column,
    output: Column,
    kind: Option<Column>,
    session: Option<Column>,
}

/// Tokens of the blocks that stand for a session's text.
const SESSION_BLOCK: u32 = 16;

/// A column of a file; its place counts from 0.
#[derive(Clone, Debug)]
pub(in crate::generator::traces) struct Column {
    pub(in crate::generator::traces) place: usize,
    pub(in crate::generator::traces) name: &'static str,
}

/// Form in which moments are written.
#[derive(Clone, Copy, Debug)]
enum Clock {
    Date,
    Seconds,
}

impl CsvTraceColumns {
    /// Reads the columns of one of Azure's traces from its first line. It is `None` if one is missing.
    pub(crate) fn azure(heading: &str) -> Option<Self> {
        Some(Self {
            moment: find(heading, "TIMESTAMP")?,
            clock: Clock::Date,
            input: find(heading, "ContextTokens")?,
            output: find(heading, "GeneratedTokens")?,
            kind: None,
            session: None,
        })
    }

    /// Reads the columns of one of `BurstGPT`'s files from its first line. It is `None` if one is missing.
    pub(crate) fn burst_gpt(heading: &str) -> Option<Self> {
        Some(Self {
            moment: find(heading, "Timestamp")?,
            clock: Clock::Seconds,
            input: find(heading, "Request tokens")?,
            output: find(heading, "Response tokens")?,
            kind: find(heading, "Log Type"),
            session: find(heading, "Session ID"),
        })
    }

    /// Tokens per block; `None` without a session column.
    pub(crate) fn block_tokens(&self) -> Option<u32> {
        self.session.as_ref().map(|_| SESSION_BLOCK)
    }

    /// Reads a line.
    pub(crate) fn request(&self, line: &[u8]) -> Result<TracedRequest, BadLine> {
        let line = std::str::from_utf8(line).map_err(|error| BadLine {
            place: format!("column {}", error.valid_up_to() + 1),
            cause: "not UTF-8".to_owned(),
        })?;
        let count = |column: &Column| {
            let text = column.of(line)?;
            // Some exports write whole numbers with a fraction of zero.
            let digits = text.strip_suffix(".0").unwrap_or(text);
            let count: u64 =
                digits.parse().map_err(|_| column.bad(format!("{:?} is not a whole number", excerpt(text))))?;
            tokens(count).map_err(|cause| column.bad(cause))
        };
        let moment = self.moment.of(line)?;
        let (at_ns, wanted) = match self.clock {
            Clock::Date => (parse_moment(moment), "a date such as 2023-11-16 18:15:46.6805900"),
            Clock::Seconds => (moment.parse().ok().and_then(|value| nanoseconds(value, 1e9)), "a number of seconds"),
        };
        let input_tokens = count(&self.input)?;
        let session = self.session.as_ref().map(|column| column.of(line)).transpose()?;
        let blocks = session.filter(|session| !session.is_empty());
        Ok(TracedRequest {
            blocks: blocks.map(|session| blocks_of(session, input_tokens)).unwrap_or_default(),
            at_ns: at_ns.ok_or_else(|| self.moment.bad(format!("{:?} is not {wanted}", excerpt(moment))))?,
            input_tokens,
            output_tokens: count(&self.output)?,
            kind: self.kind.as_ref().map(|column| column.of(line)).transpose()?.map(Into::into),
            ..TracedRequest::default()
        })
    }
}

/// The whole blocks of a session's prompt. All prompts of a session are beginnings of one growing text, as in a
/// conversation that is sent again each time: the k-th block is the same in each, and differs from every other
/// session's.
fn blocks_of(session: &str, input_tokens: u32) -> Box<[u64]> {
    let text = RandomStream::named(0, &format!("session {session}"));
    (0..u64::from(input_tokens / SESSION_BLOCK)).map(|place| text.branch(place).bits()).collect()
}

impl Column {
    pub(in crate::generator::traces) fn of<'l>(&self, line: &'l str) -> Result<&'l str, BadLine> {
        cells(line).nth(self.place).ok_or_else(|| {
            let columns = cells(line).count();
            self.bad(format!("the line has only {columns} columns"))
        })
    }

    pub(in crate::generator::traces) fn bad(&self, cause: String) -> BadLine {
        BadLine { place: format!("column {} (`{}`)", self.place + 1, self.name), cause }
    }
}

fn find(heading: &str, name: &'static str) -> Option<Column> {
    let place = cells(heading).position(|column| column == name)?;
    Some(Column { place, name })
}

/// The cells of a line without their quotes. Cells that are read contain no quotes or line ends; ignored ones may
/// contain commas.
fn cells(line: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let ends = move |c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    };
    line.split(ends).map(|cell| cell.trim().trim_matches('"').trim())
}
