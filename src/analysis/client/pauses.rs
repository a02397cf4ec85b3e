//! How much host stalls of the client could have moved the figures of a run.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::analysis::figures::catalogue::Metric;
use crate::analysis::figures::quantile::Quantile;
use crate::analysis::latency::table::LatencyTable;
use crate::analysis::requests::observed::{Observed, measure};
use crate::analysis::wording::{counted, percent, seconds};
use crate::clock::Timestamp;
use crate::record::{ChunkTrain, HostStall, RequestRecord, Shard, TokenChunk};
use crate::units::count;

/// An effect of the client is worth a word when it is over this share of a percentile …
pub(crate) const NOTED: f64 = 0.01;
/// … and over this, milliseconds: timers and schedulers of a healthy machine are as coarse as that.
pub(crate) const LEAST_MS: f64 = 1.0;
/// A p99 of the read loop's delay from which on the client has no time to spare, milliseconds.
pub(crate) const DELAY_FLOOR_MS: f64 = 20.0;

/// How much host stalls of the client could have moved a run's figures.
///
/// A stall makes latencies longer, and the server has no part in it. How much longer is not known, but no more than
/// it lasted: the least that a latency can have been is its length without the stalls in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HostStallImpact {
    /// Stalls from the run's zero to its end; in a merged run those of every generator, each of which touches the
    /// requests of its own share alone.
    pub count: u64,
    /// Their lengths together, seconds.
    pub total_s: f64,
    /// The longest, milliseconds; absent when there is none.
    pub longest_ms: Option<f64>,
    /// Measured requests with a stall between their scheduled moment and the last that a latency of theirs is taken
    /// from: their last chunk or, where they were cut off, their end.
    pub requests_touched: u64,
    /// Their share of all measured requests; absent when there is none.
    pub share_touched: Option<f64>,
    /// Percentiles that stalls could have moved by over 1 % of the figure and over 1 ms, in the order of the report.
    pub(crate) touched: Vec<TouchedPercentile>,
}

/// A percentile that stalls could have moved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TouchedPercentile {
    /// The latency.
    #[serde(serialize_with = "by_name")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub(crate) metric: Metric,
    /// The percentile of it.
    #[serde(serialize_with = "by_name")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub(crate) quantile: Quantile,
    /// What is reported (where requests were cut off: the least that it can be), milliseconds.
    pub(crate) reported_ms: f64,
    /// The same with every stall cut out of every latency, milliseconds: the true figure lies between the two.
    pub(crate) without_stalls_ms: f64,
}

pub(super) fn by_name<T: ToString, S: serde::Serializer>(name: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&name.to_string())
}

impl HostStallImpact {
    /// What the stalls of a run did to the figures of `reported`; `None` where nobody watched for them.
    pub(crate) fn of(observed: &Observed<'_>, reported: &LatencyTable) -> Option<Self> {
        let stalls = &observed.log.footer.as_ref()?.client.as_ref()?.host_stalls;
        let timelines = Timelines::without(stalls);
        let requests = observed.requests.iter().enumerate();
        let shortened: Vec<_> = requests
            .filter_map(|(place, request)| Some((place, timelines.shortened(request.record)?)))
            .collect();
        let requests_touched = shortened.len() as u64;
        let all = observed.requests.len() as f64;
        Some(Self {
            count: stalls.len() as u64,
            total_s: stalls.iter().map(|stall| stall.length_ns).sum::<u64>() as f64 / 1e9,
            longest_ms: stalls.iter().map(|stall| stall.length_ns).max().map(|ns| ns as f64 / 1e6),
            requests_touched,
            share_touched: (all > 0.0).then(|| requests_touched as f64 / all),
            touched: if requests_touched == 0 {
                Vec::new()
            } else {
                moved(reported, &table_of(observed, &shortened))
            },
        })
    }

    /// The stalls and the requests that they touched.
    pub(crate) fn in_words(&self) -> String {
        let Some(longest) = self.longest_ms else {
            return "the client never stalled".to_owned();
        };
        let how_long = match self.count {
            1 => format!("once ({})", seconds(self.total_s)),
            times => format!(
                "{} times ({} in total, longest {})",
                count(times),
                seconds(self.total_s),
                seconds(longest / 1e3)
            ),
        };
        let requests = counted(self.requests_touched, "request");
        let share = self.share_touched.map(|share| format!(" ({})", percent(share))).unwrap_or_default();
        format!("the client stalled {how_long}; {requests}{share} affected")
    }
}

/// The latencies of the run, where each shortened record stands in the place of the request's own.
fn table_of(observed: &Observed<'_>, shortened: &[(usize, RequestRecord)]) -> LatencyTable {
    let mut requests = observed.requests.clone();
    for (place, record) in shortened {
        requests[*place] = measure(observed.log, record);
    }
    LatencyTable::of_run(&Observed { requests, ..*observed }).0
}

fn moved(reported: &LatencyTable, without: &LatencyTable) -> Vec<TouchedPercentile> {
    let both = reported.iter().filter_map(|(metric, row)| Some((metric, row, without.row(metric)?)));
    both.flat_map(|(metric, reported, without)| {
        Quantile::ALL.map(|quantile| TouchedPercentile {
            metric,
            quantile,
            reported_ms: reported.percentile(quantile).figure.at_least(),
            without_stalls_ms: without.percentile(quantile).figure.at_least(),
        })
    })
    .filter(|figure| figure.reported_ms - figure.without_stalls_ms > LEAST_MS.max(NOTED * figure.reported_ms))
    .collect()
}

/// The times of a run's generators, each without its own stalls.
struct Timelines(Vec<(Option<Shard>, Timeline)>);

impl Timelines {
    fn without(stalls: &[HostStall]) -> Self {
        let mut own: BTreeMap<_, Vec<HostStall>> = BTreeMap::new();
        for stall in stalls {
            own.entry(stall.shard).or_default().push(*stall);
        }
        Self(own.into_iter().map(|(shard, stalls)| (shard, Timeline::without(&stalls))).collect())
    }

    /// The record without the stalls of the generator that ran it; `None` where there is none in it.
    fn shortened(&self, record: &RequestRecord) -> Option<RequestRecord> {
        let is_own = |shard: Option<Shard>| shard.is_none_or(|shard| shard.has(record.index));
        let (_, timeline) = self.0.iter().find(|(shard, _)| is_own(*shard))?;
        timeline.touches(record).then(|| timeline.shorten(record))
    }
}

/// The time of one generator from which its stalls are cut out.
struct Timeline {
    /// Beginning and end of each stall, and the time lost to those before it, nanoseconds; in order, none overlaps.
    cuts: Vec<(u64, u64, u64)>,
}

impl Timeline {
    fn without(stalls: &[HostStall]) -> Self {
        let (mut cuts, mut lost, mut free_from) = (Vec::with_capacity(stalls.len()), 0, 0);
        for stall in stalls {
            let (from, until) = (stall.from.as_nanos().max(free_from), stall.until().as_nanos());
            if until > from {
                cuts.push((from, until, lost));
                lost += until - from;
                free_from = until;
            }
        }
        Self { cuts }
    }

    /// Time lost to stalls before `moment`, nanoseconds.
    fn lost_before(&self, moment: Timestamp) -> u64 {
        let moment = moment.as_nanos();
        let begun = self.cuts.partition_point(|&(from, ..)| from <= moment);
        let last = begun.checked_sub(1).map(|index| self.cuts[index]);
        last.map_or(0, |(from, until, lost)| lost + (moment.min(until) - from))
    }

    /// Where `moment` lies when the stalls before it are taken out.
    fn place(&self, moment: Timestamp) -> Timestamp {
        Timestamp::from_nanos(moment.as_nanos() - self.lost_before(moment))
    }

    /// Whether there is a stall between the scheduled moment and the last that a latency is taken from: of an answer
    /// that was cut off, its end.
    fn touches(&self, record: &RequestRecord) -> bool {
        let arrived = record.chunks.last_at().max(record.whole_answer);
        let last = arrived.filter(|_| !record.outcome.is_cut_off()).unwrap_or(record.ended);
        self.lost_before(last) > self.lost_before(record.scheduled)
    }

    /// The record with every moment at its place, so that every latency is shorter by the stalls in it.
    fn shorten(&self, record: &RequestRecord) -> RequestRecord {
        let place = |moment: Option<Timestamp>| moment.map(|moment| self.place(moment));
        let chunks = record.chunks.iter().map(|chunk| TokenChunk { at: self.place(chunk.at), ..chunk });
        RequestRecord {
            scheduled: self.place(record.scheduled),
            dispatched: self.place(record.dispatched),
            admitted: place(record.admitted),
            sent: place(record.sent),
            headers: place(record.headers),
            chunks: chunks.collect::<ChunkTrain>(),
            first_answer: place(record.first_answer),
            whole_answer: place(record.whole_answer),
            ended: self.place(record.ended),
            ..record.clone()
        }
    }
}

#[cfg(test)]
mod tests;
