//! The host stalls of the client, and the latencies of a run without them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::analysis::latency::table::LatencyTable;
use crate::analysis::requests::{Observed, measure};
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
    /// Stalls from the run's zero to its end. In a merged run they are those of every generator, each of which touches
    /// the requests of its own share alone.
    pub count: u64,
    /// Lengths of the pauses together, seconds.
    pub total_s: f64,
    /// The longest, milliseconds; absent when there is none.
    pub longest_ms: Option<f64>,
    /// The longest time in which nothing ran at all.
    #[serde(skip)]
    pub(crate) unbroken_ms: Option<f64>,
    /// Time for which the machine slept besides, seconds. A clock that counts sleep tells it. Absent where the machine
    /// did not sleep. No latency counts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slept_s: Option<f64>,
    /// Measured requests with a stall in the time that their latencies cover. That time begins at their scheduled
    /// moment. It ends at the last that a latency of theirs is taken from, their last chunk or, where they were cut
    /// off, their end.
    pub requests_touched: u64,
    /// Share of all measured requests that they touched; absent when there is none.
    pub share_touched: Option<f64>,
}

impl HostStallImpact {
    /// Returns the stalls of a run, and its latencies with every stall cut out. The latencies are there where a stall
    /// is in any of them. `None` where nobody watched for stalls.
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

/// Computes the latencies of the run with the shortened records. Each record stands in the place of the request's own.
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

    /// Returns the record without the stalls of the generator that ran it. `None` where there is none in it.
    fn shortened(&self, record: &RequestRecord) -> Option<RequestRecord> {
        let session = record.turn.as_ref().map_or(record.index, |turn| turn.session);
        let is_own = |shard: Option<Shard>| shard.is_none_or(|shard| shard.has(session));
        let (_, timeline) = self.0.iter().find(|(shard, _)| is_own(*shard))?;
        timeline.touches(record).then(|| timeline.shorten(record))
    }
}

/// The time of one generator from which its stalls are cut out.
struct Timeline {
    /// Beginning and end of each stall, and the time lost before it, nanoseconds. The time lost is that of earlier
    /// stalls. Stalls are in order, and none overlaps.
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

    /// Returns whether a stall lies in the time that the record's latencies cover. That time begins at the scheduled
    /// moment. It ends at the last that a latency is taken from, which is its end for an answer that was cut off.
    fn touches(&self, record: &RequestRecord) -> bool {
        let arrived = record.chunks.last_at().max(record.whole_answer);
        let last = arrived.filter(|_| !record.outcome.is_cut_off()).unwrap_or(record.ended);
        self.lost_before(last) > self.lost_before(record.scheduled)
    }

    /// Moves every moment of the record to its place. Every latency is then shorter by the stalls in it.
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
mod tests {
    //! Runs whose machine stood still at known moments.

    use super::*;
    use crate::analysis::client::effects::ClientEffect;
    use crate::analysis::figures::{Metric, Quantile};
    use crate::analysis::judgements::{Check, Rule, Status};
    use crate::analysis::summarise::summarise;
    use crate::analysis::summary::run::Summary;
    use crate::analysis::test_runs::{ms, record, run};
    use crate::record::{ClientFacts, RunLog};

    fn stall(from: u64, length: u64) -> HostStall {
        HostStall { from: ms(from), length_ns: length * 1_000_000, longest_step_ns: None, shard: None }
    }

    fn watched(mut log: RunLog, stalls: &[HostStall]) -> Summary {
        let client = ClientFacts { host_stalls: stalls.to_vec(), ..ClientFacts::default() };
        log.footer.as_mut().unwrap().client = Some(client);
        summarise(&log, &[])
    }

    /// Makes a run of `count` requests, one each 100 ms. The first token comes after 100 ms, and ten more 10 ms apart.
    /// While the machine stands still nothing leaves and nothing is read. The first token of what was held up comes 100
    /// ms after that.
    fn sample_run(count: u64, still: Option<HostStall>) -> RunLog {
        let records = (0..count).map(|i| {
            let scheduled = ms(i * 100);
            let held = still.filter(|still| still.from <= scheduled && scheduled < still.until());
            let sent = held.map_or(i * 100, |still| still.until().as_nanos() / 1_000_000);
            record(i).sent_at(i * 100, sent, sent).paced(sent + 100, 10, 11).build()
        });
        run(count * 100, records.collect())
    }

    fn check(summary: &Summary) -> Check {
        summary.verdict.checks.iter().find(|check| check.rule == Rule::HostStalls).unwrap().clone()
    }

    fn touched(summary: &Summary) -> Vec<(Metric, Quantile)> {
        let effects = summary.client_effects.iter().filter(|effect| effect.rule == Rule::HostStalls);
        effects.map(|effect| (effect.metric, effect.quantile)).collect()
    }

    /// Returns the effect that stalls could have had on this percentile.
    fn effect(summary: &Summary, metric: Metric, quantile: Quantile) -> ClientEffect {
        let of_stalls = |effect: &&ClientEffect| effect.rule == Rule::HostStalls;
        let mut effects = summary.client_effects.iter().filter(of_stalls);
        *effects.find(|effect| (effect.metric, effect.quantile) == (metric, quantile)).unwrap()
    }

    #[test]
    fn a_run_that_nobody_watched_is_not_tested() {
        let summary = summarise(&sample_run(200, None), &[]);
        assert_eq!(summary.host_stalls, None);
        assert_eq!(check(&summary).outcome, Status::Undecided);
    }

    #[test]
    fn a_machine_that_never_stood_still_touches_nothing() {
        let summary = watched(sample_run(200, None), &[]);
        assert_eq!(
            summary.host_stalls,
            Some(HostStallImpact { share_touched: Some(0.0), ..HostStallImpact::default() })
        );
        let check = check(&summary);
        assert_eq!((check.outcome, check.value), (Status::Met, Some(0.0)));
        assert_eq!(check.sentence, "the client never stalled; no percentile moves by over 1 %");
    }

    #[test]
    fn a_short_pause_moves_no_percentile() {
        // In flight at 10,050 ms: the requests of 9,900 ms (until 10,100) and of 10,000 ms.
        let summary = watched(sample_run(200, None), &[stall(10_050, 5)]);
        let impact = summary.host_stalls.as_ref().unwrap();
        assert_eq!((impact.count, impact.longest_ms), (1, Some(5.0)));
        assert_eq!((impact.requests_touched, impact.share_touched), (2, Some(0.01)));
        assert_eq!(touched(&summary), []);
        let check = check(&summary);
        assert_eq!(check.outcome, Status::Met);
        let said = "the client stalled once (5.00 ms); 2 requests (1 %) affected; no percentile moves by over 1 %";
        assert_eq!(check.sentence, said);
    }

    #[test]
    fn a_pause_after_the_last_token_touches_only_what_was_cut_off_later() {
        let stalls = [stall(300, 50)];
        let answer = || record(0).sent_at(0, 0, 0).paced(100, 10, 11);
        for (record, touched) in
            [(answer().build(), 0), (answer().censored(290).build(), 0), (answer().censored(900).build(), 1)]
        {
            let summary = watched(run(1_000, vec![record]), &stalls);
            assert_eq!(summary.host_stalls.unwrap().requests_touched, touched);
        }
    }

    #[test]
    fn a_pause_that_holds_up_one_request_in_ten_moves_p95() {
        let still = stall(5_000, 2_000);
        let summary = watched(sample_run(200, Some(still)), &[still]);
        // Those of 5,000 to 6,900 ms, and the last before, whose last tokens were due when the machine had stopped.
        assert_eq!(summary.host_stalls.as_ref().unwrap().requests_touched, 21);
        let moved = touched(&summary);
        for metric in [Metric::Ttft, Metric::E2e] {
            assert!(moved.contains(&(metric, Quantile::P95)) && !moved.contains(&(metric, Quantile::P50)));
        }
        // Without the stall every request had its first token after 100 ms; with it, 20 of 200 after 200 to 2,100 ms.
        let p95 = effect(&summary, Metric::Ttft, Quantile::P95);
        assert_eq!(p95.without_ms, 100.0);
        assert!((p95.reported_ms - 1_105.0).abs() < 1.0, "{p95:?}");
        let check = check(&summary);
        assert_eq!(check.outcome, Status::Missed);
        assert!(check.sentence.contains("p95 ttft from 100 ms to 1,105 ms"), "{check:?}");
        assert!(!check.cure.is_empty());
    }

    #[test]
    fn p99_is_named_and_the_run_stays_valid() {
        let still = stall(50_000, 1_500);
        let summary = watched(sample_run(1_000, Some(still)), &[still]);
        let moved = touched(&summary);
        assert!(moved.contains(&(Metric::Ttft, Quantile::P99)) && !moved.contains(&(Metric::Ttft, Quantile::P95)));
        let check = check(&summary);
        assert_eq!(check.outcome, Status::Met);
        assert!(check.sentence.contains("may have raised p99 ttft"), "{}", check.sentence);
    }

    #[test]
    fn a_percentile_of_too_few_samples_is_named_only() {
        // 40 requests: p95 wants 130.
        let still = stall(1_000, 400);
        let summary = watched(sample_run(40, Some(still)), &[still]);
        assert!(touched(&summary).contains(&(Metric::Ttft, Quantile::P95)));
        assert_eq!(check(&summary).outcome, Status::Met);
    }

    #[test]
    fn a_pause_in_the_middle_of_all_answers_moves_their_tpot() {
        // All in flight from 3 s on; eleven tokens 200 ms apart, but for one gap of 1,200 ms.
        let still = stall(5_050, 1_000);
        let chunks = |i: u64| {
            let token = move |token: u64| {
                let at = 3_000 + i * 10 + token * 200;
                (if at > 5_050 { at + 1_000 } else { at }, 1)
            };
            (0..11).map(token).collect::<Vec<_>>()
        };
        let records = (0..200).map(|i| record(i).sent_at(i * 10, i * 10, i * 10).chunks(&chunks(i)).build());
        let summary = watched(run(2_000, records.collect()), &[still]);
        let tpot = effect(&summary, Metric::Tpot, Quantile::P50);
        assert_eq!((tpot.reported_ms, tpot.without_ms), (300.0, 200.0));
        assert!(!touched(&summary).iter().any(|(metric, _)| *metric == Metric::Ttft));
        assert_eq!(check(&summary).outcome, Status::Missed);
    }

    #[test]
    fn a_pause_of_one_generator_touches_its_own_requests_alone() {
        // Three generators flew in turn, and the second stood still under requests 98 to 102: 100 alone is its own.
        let mut still = stall(10_050, 200);
        let by = |shard| {
            still.shard = shard;
            watched(sample_run(200, None), &[still]).host_stalls.unwrap().requests_touched
        };
        assert_eq!([None, Some(Shard { number: 2, of: 3 })].map(by), [4, 1]);
    }

    #[test]
    fn what_is_cut_out_between_two_moments_is_what_overlaps_them() {
        let stalls = [stall(10, 5), stall(15, 1), stall(40, 20), stall(50, 15)];
        // As milliseconds that are lost: 10..16 and 40..65.
        let lost = |moment: u64| (0..moment).filter(|at| (10..16).contains(at) || (40..65).contains(at)).count() as u64;
        let timeline = Timeline::without(&stalls);
        for moment in 0..100 {
            assert_eq!(timeline.lost_before(ms(moment)), lost(moment) * 1_000_000, "{moment} ms");
        }
        assert_eq!(timeline.place(ms(45)), ms(45 - 6 - 5));
        assert_eq!(Timeline::without(&[]).place(ms(45)), ms(45));
    }
}
