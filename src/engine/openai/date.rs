//! Compares the server's clock with this machine's, by the `Date` of its answers.

use std::time::Duration;

use http::header::{AGE, DATE, HeaderMap};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use tokio::time::{Instant, sleep};

use super::control::Control;
use super::engine::OpenAiEngine;
use crate::record::{ClockOffset, ClockReference};

/// How long answers are compared at most. A second's tick is among them.
const LONGEST: Duration = Duration::from_millis(1_600);
/// Time between two answers.
const PAUSE: Duration = Duration::from_millis(40);
/// The resolution of a `Date`, and its greatest age. Servers that are not busy write it anew once a second (uvicorn,
/// hyper).
const SECOND: Duration = Duration::from_secs(1);

/// A `Date`, and this machine's time before the request and after the answer.
#[derive(Clone, Copy, Debug)]
struct DatedAnswer {
    before: Timestamp,
    date: Timestamp,
    after: Timestamp,
}

impl OpenAiEngine {
    /// Returns bounds of the server's time − this machine's. `None` where answers have no date, come out of a cache, or
    /// contradict each other as those of several servers may.
    pub async fn clock_offset(&self) -> Option<ClockOffset> {
        let (begun, mut answers) = (Instant::now(), Vec::new());
        while begun.elapsed() < LONGEST {
            let answer = dated(&self.control).await?;
            answers.push(answer);
            if answers.iter().any(|earlier| earlier.date < answer.date) {
                break;
            }
            sleep(PAUSE).await;
        }
        bounds(&answers)
    }
}

async fn dated(control: &Control) -> Option<DatedAnswer> {
    let before = Timestamp::now();
    let headers = control.headers_of_ready().await?;
    let after = Timestamp::now();
    Some(DatedAnswer { before, date: date(&headers)?, after })
}

/// Returns when the server wrote these. A cache, which adds their age, may have kept them.
fn date(headers: &HeaderMap) -> Option<Timestamp> {
    let date = headers.get(DATE).filter(|_| !headers.contains_key(AGE))?;
    Some(rfc2822::parse(date.to_str().ok()?).ok()?.timestamp())
}

/// Returns what all answers allow. The server wrote a date when its time was at least that, and less than two seconds
/// more.
fn bounds(answers: &[DatedAnswer]) -> Option<ClockOffset> {
    let nanos = |from: Timestamp, to: Timestamp| i64::try_from(to.duration_since(from).as_nanos()).ok();
    let latest = i64::try_from((2 * SECOND).as_nanos()).ok()?;
    let lows: Option<Vec<_>> = answers.iter().map(|answer| nanos(answer.after, answer.date)).collect();
    let highs: Option<Vec<_>> =
        answers.iter().map(|answer| nanos(answer.before, answer.date)?.checked_add(latest)).collect();
    let (low_ns, high_ns) = (lows?.into_iter().max()?, highs?.into_iter().min()?);
    (low_ns <= high_ns).then_some(ClockOffset { to: ClockReference::Target, low_ns, high_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millisecond(millis).unwrap()
    }

    #[test]
    fn a_tick_bounds_the_offset_from_below() {
        // The server is 5.3 s ahead: its second ends when it is 0.7 s here. Requests take 10 ms.
        let answer = |here: i64| {
            let date = (here + 5_305) / 1_000 * 1_000;
            DatedAnswer { before: at(here), date: at(date), after: at(here + 10) }
        };
        let answers: Vec<_> = [600, 650, 690, 740].map(answer).to_vec();
        let found = bounds(&answers).unwrap();
        assert_eq!((found.low_ns, found.high_ns), (5_250_000_000, 6_310_000_000));
        assert_eq!(bounds(&answers[..1]).unwrap().low_ns, 4_390_000_000);
        assert_eq!(found.least(), Duration::from_millis(5_250));
        assert_eq!(bounds(&[]), None);
    }

    #[test]
    fn an_answer_out_of_a_cache_has_no_date() {
        let mut headers = HeaderMap::from_iter([(DATE, "Sat, 21 Nov 2026 08:00:00 GMT".parse().unwrap())]);
        assert_eq!(date(&headers), Some("2026-11-21T08:00:00Z".parse().unwrap()));
        headers.insert(AGE, "0".parse().unwrap());
        assert_eq!(date(&headers), None);
    }

    #[test]
    fn servers_that_contradict_each_other_bound_nothing() {
        let answer = |date| DatedAnswer { before: at(0), date: at(date), after: at(10) };
        assert_eq!(bounds(&[answer(0), answer(9_000)]), None);
    }
}
