//! The host stalls of the client, and the latencies of a run without them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::analysis::latency::table::LatencyTable;
use crate::analysis::requests::observed::{Observed, measure};
use crate::clock::Timestamp;
use crate::record::{ChunkTrain, HostStall, Records, RequestRecord, Shard, TokenChunk};
use crate::units::{count, counted, percent, seconds};

/// Host stalls of the client, and how many requests they touched.
///
/// A stall makes latencies longer, and the server has no part in it. How much longer is not known, but no more than
/// it lasted: the least that a latency can have been is its length without the stalls in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HostStallImpact {
    /// Stalls from the run's zero to its end; in a merged run those of every generator, each of which touches the
    /// requests of its own share alone.
    pub count: u64,
    /// Lengths of the pauses together, seconds.
    pub total_s: f64,
    /// The longest, milliseconds; absent when there is none.
    pub longest_ms: Option<f64>,
    /// The longest time in which nothing ran at all.
    #[serde(skip)]
    pub(crate) unbroken_ms: Option<f64>,
    /// How long the machine slept besides, by a clock that counts it, seconds; absent where it did not. No
    /// latency counts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slept_s: Option<f64>,
    /// Measured requests with a stall between their scheduled moment and the last that a latency of theirs is taken
    /// from: their last chunk or, where they were cut off, their end.
    pub requests_touched: u64,
    /// Share of all measured requests that they touched; absent when there is none.
    pub share_touched: Option<f64>,
}

impl HostStallImpact {
    /// The stalls of a run, and its latencies with every stall cut out of them, where there is one in any; `None` where
    /// nobody watched for stalls.
    pub(crate) fn from_observed(observed: &Observed<'_>) -> Option<(Self, Option<LatencyTable>)> {
        let client = observed.log.footer.as_ref()?.client.as_ref()?;
        let stalls = &client.host_stalls;
        let timelines = Timelines::without(stalls);
        let requests = observed.requests.iter().enumerate();
        let mut places = Vec::new();
        let shortened = requests.filter_map(|(place, request)| {
            let shortened = timelines.shortened(&request.record())?;
            places.push(place);
            Some(shortened)
        });
        let shortened: Records = shortened.collect();
        let requests_touched = places.len() as u64;
        let all = observed.requests.len() as f64;
        let impact = Self {
            count: stalls.len() as u64,
            total_s: stalls.iter().map(|stall| stall.length_ns).sum::<u64>() as f64 / 1e9,
            longest_ms: stalls.iter().map(|stall| stall.length_ns).max().map(|ns| ns as f64 / 1e6),
            unbroken_ms: stalls.iter().map(HostStall::unbroken_ns).max().map(|ns| ns as f64 / 1e6),
            slept_s: client.slept_ns.map(|ns| ns as f64 / 1e9),
            requests_touched,
            share_touched: (all > 0.0).then(|| requests_touched as f64 / all),
        };
        Some((impact, (requests_touched > 0).then(|| table_of(observed, &places, &shortened))))
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
fn table_of(observed: &Observed<'_>, places: &[usize], shortened: &Records) -> LatencyTable {
    let mut requests = observed.requests.clone();
    for (&place, own) in places.iter().zip(0..) {
        requests[place] = measure(observed.log, &observed.delivery, shortened, own);
    }
    LatencyTable::of_run(&Observed { requests, others: Vec::new(), ..*observed }).0
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
