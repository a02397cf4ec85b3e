//! Holds the prefix cache's hit rate that a plan makes against the one that was measured.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::record::{RequestRecord, RunLog, Turn, Usage};
use crate::workload::SharedPrefixes;

/// What the requests of a whole run share, warm-up and cool-down included, and how much of it a cache gave back.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PrefixCache {
    /// Tokens of a block: a cache finds whole ones only.
    pub block_tokens: u32,
    /// Different prefixes among the requests that were sent, each counted once a model: models share none.
    pub prefixes: u64,
    /// Tokens of all of them: with less room a cache forgets some, and the expected rate is not reached.
    pub prefix_tokens: u64,
    /// Share of all prompt tokens that an endless cache finds, by the plan: of each prefix the whole blocks, from the
    /// second request on that has it, or from the first where it was sent before the run; of a later turn of a
    /// conversation the whole blocks of what was said before it, but for the last token, whose keys and values nobody
    /// needed so far. Between 0 and 1.
    pub expected_least: f64,
    /// The same if all that a chat template adds stood before the prompt, or between the turns, and was shared too. Where
    /// it stands nobody tells, so the truth lies between the two.
    pub expected_most: f64,
    /// Share of prompt tokens that was found; absent where the server does not tell.
    pub measured: Option<MeasuredHits>,
}

/// A hit rate as the server tells it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeasuredHits {
    /// Tokens found ÷ tokens looked up, between 0 and 1.
    pub rate: f64,
    /// Who told.
    pub source: HitSource,
}

/// Where a measured hit rate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HitSource {
    /// The rise of the server's counters over the run.
    Counters,
    /// `cached_tokens` in the `usage` of answers.
    Usage,
}

impl PrefixCache {
    /// Absent where no two requests of the workload begin alike, or nobody knows how long a block is.
    pub(crate) fn of(log: &RunLog) -> Option<Self> {
        let classes = &log.header.workload.classes;
        let block = u64::from(log.header.engine.cache_block_tokens.filter(|&tokens| tokens > 0)?);
        classes.iter().find(|class| class.shared_prefix.is_some() || class.conversation.is_some())?;
        let mut sent: Vec<_> = log.records.iter().filter(|record| record.sent.is_some()).collect();
        sent.sort_unstable_by_key(|record| (record.scheduled, record.index));
        let template = template_tokens(&sent);
        let warmed = log.header.cache.is_some_and(|cache| cache.warmed_prefixes > 0);
        let warm = |class: u16, number: u32| {
            let of_class = classes.get(usize::from(class)).and_then(|class| class.shared_prefix.as_ref());
            warmed && number < of_class.map_or(0, SharedPrefixes::warmed)
        };
        let said: HashMap<u64, Usage> =
            sent.iter().filter_map(|record| Some((record.index, record.usage?))).collect();
        let (mut seen, mut seen_models) = (HashSet::new(), HashSet::new());
        let (mut looked_up, mut least, mut most, mut prefix_tokens) = (0, 0, 0, 0);
        for record in sent {
            looked_up += prompt_tokens(record, template);
            // Of every model the template is computed once.
            let known_template = !seen_models.insert(record.model) || warmed;
            if let Some(turn) = record.turn.filter(|turn| turn.history_tokens > 0) {
                let before = said.get(&Turn::index_of(turn.session, turn.number - 1));
                let history = u64::from(turn.history_tokens);
                let told = before.map(|usage| usage.prompt_tokens + usage.completion_tokens);
                least += whole(history - 1, block);
                most += whole(told.unwrap_or(template + history).max(history) - 1, block);
                continue;
            }
            let Some(prefix) = record.prefix else {
                most += if known_template { whole(template, block) } else { 0 };
                continue;
            };
            let first = seen.insert((record.model, record.class, prefix.number));
            prefix_tokens += if first { u64::from(prefix.tokens) } else { 0 };
            if !first || warm(record.class, prefix.number) {
                least += whole(u64::from(prefix.tokens), block);
                most += whole(template + u64::from(prefix.tokens), block);
            } else if known_template {
                most += whole(template, block);
            }
        }
        if looked_up == 0 {
            return None;
        }
        let share = |tokens: u64| tokens as f64 / looked_up as f64;
        Some(Self {
            block_tokens: block as u32,
            prefixes: seen.len() as u64,
            prefix_tokens,
            expected_least: share(least),
            expected_most: share(most),
            measured: measured(log),
        })
    }

    /// How far the measured rate lies outside of what is expected: above 0 too many hits, below 0 too few.
    pub(crate) fn off(&self) -> Option<f64> {
        let rate = self.measured?.rate;
        Some((rate - self.expected_most).max(0.0) + (rate - self.expected_least).min(0.0))
    }
}

/// Tokens in whole blocks.
fn whole(tokens: u64, block: u64) -> u64 {
    tokens - tokens % block
}

/// Tokens that the server counted of this prompt, or else is likely to.
fn prompt_tokens(record: &RequestRecord, template: u64) -> u64 {
    let asked = u64::from(record.input_tokens_asked) + template;
    record.usage.map_or(asked, |usage| usage.prompt_tokens)
}

/// Tokens that a server adds to a prompt: the least that any told of.
fn template_tokens(records: &[&RequestRecord]) -> u64 {
    let added = |record: &&RequestRecord| {
        let counted = record.usage?.prompt_tokens;
        Some(counted.saturating_sub(u64::from(record.input_tokens_asked)))
    };
    records.iter().filter_map(added).min().unwrap_or(0)
}

fn measured(log: &RunLog) -> Option<MeasuredHits> {
    let of =
        |hits: u64, of: u64, source| (of > 0).then(|| MeasuredHits { rate: hits as f64 / of as f64, source });
    let counters = log.footer.as_ref().and_then(|footer| footer.server);
    if let Some((hits, queries)) =
        counters.and_then(|counters| Some((counters.cache_hits?, counters.cache_queries?)))
    {
        return of(hits, queries, HitSource::Counters);
    }
    let told = log.records.iter().filter_map(|record| {
        let usage = record.usage?;
        Some((usage.cached_tokens?, usage.prompt_tokens))
    });
    let (hits, queries) = told.fold((0, 0), |(hits, all), (cached, tokens)| (hits + cached, all + tokens));
    of(hits, queries, HitSource::Usage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{record, run};
    use crate::record::{CachePreparation, ServerCounters, SharedPrefix, Usage};
    use crate::workload::{Distribution, SharedPrefixes};

    /// Requests at 0, 1, 2 … ms with these models and prefixes, of 100 tokens and as many in the template as given.
    fn log(requests: &[(u16, Option<u32>)], template: u64) -> RunLog {
        let records = (0..).zip(requests).map(|(i, &(model, number))| {
            let mut record =
                record(i).sent_at(i, i, i).paced(100 + i, 10, 2).usage(100 + template, 2).build();
            record.prefix = number.map(|number| SharedPrefix { number, tokens: 40 });
            record.model = Some(model);
            record
        });
        let mut log = run(1_000, records.collect());
        log.header.workload.classes[0].shared_prefix = Some(SharedPrefixes {
            count: 4,
            tokens: Distribution::Constant { value: 40 },
            zipf: 0.0,
            warm: 0.5,
        });
        log
    }

    fn close(actual: f64, expected: f64) {
        assert!((actual - expected).abs() < 1e-12, "{actual} is not {expected}");
    }

    #[test]
    fn the_second_request_of_a_prefix_hits_whole_blocks() {
        let cache = PrefixCache::of(&log(&[(0, Some(1)), (0, Some(1)), (1, Some(1)), (0, None)], 0)).unwrap();
        // One hit of 2 blocks of 16: another model computes its own.
        close(cache.expected_least, 32.0 / 400.0);
        close(cache.expected_most, 32.0 / 400.0);
        assert_eq!((cache.prefixes, cache.prefix_tokens, cache.measured), (2, 80, None));
        assert!(PrefixCache::of(&run(1_000, vec![record(0).sent_at(0, 0, 0).build()])).is_none());
    }

    #[test]
    fn a_later_turn_hits_what_was_said_before() {
        // 100 tokens and 30 of the template, 2 of an answer; then 102 of history and 50 more, with 40 of the template.
        let mut log = log(&[(0, None), (0, None)], 30);
        log.header.workload.classes[0].shared_prefix = None;
        assert_eq!(PrefixCache::of(&log), None);
        log.header.workload.classes[0].conversation = Some(crate::workload::Conversation {
            turns: Distribution::Constant { value: 2 },
            think_time_s: crate::workload::ThinkTime::default(),
            first_input_tokens: None,
            max_context_tokens: None,
        });
        for (number, record) in (0..).zip(&mut log.records) {
            record.index = Turn::index_of(5, number);
            record.turn =
                Some(Turn { session: 5, number, of: Some(2), begun: 0, history_tokens: 102 * number });
        }
        log.records[1].usage = Some(Usage { prompt_tokens: 192, ..log.records[1].usage.unwrap() });
        let cache = PrefixCache::of(&log).unwrap();
        // Of 322 tokens, 101 are 6 whole blocks, and with the template's the server counted 131: 8 of them.
        close(cache.expected_least, 96.0 / 322.0);
        close(cache.expected_most, 128.0 / 322.0);
        assert_eq!((cache.prefixes, cache.prefix_tokens), (0, 0));
    }

    #[test]
    fn what_was_sent_before_the_run_hits_at_once() {
        let mut log = log(&[(0, Some(1)), (0, Some(1)), (0, Some(2))], 0);
        log.header.cache = Some(CachePreparation { emptied: true, warmed_prefixes: 2 });
        // Number 2 is the third of four, and only the first two are warm.
        close(PrefixCache::of(&log).unwrap().expected_least, 64.0 / 300.0);
    }

    #[test]
    fn a_template_may_add_a_block_and_is_shared_itself() {
        // 30 tokens more: 70 tokens are 4 blocks, and 30 alone are one.
        let cache =
            PrefixCache::of(&log(&[(0, Some(1)), (0, Some(1)), (0, Some(2)), (0, None)], 30)).unwrap();
        close(cache.expected_least, 32.0 / 520.0);
        close(cache.expected_most, (64.0 + 16.0 + 16.0) / 520.0);
    }

    #[test]
    fn counters_are_believed_before_usage() {
        let mut log = log(&[(0, Some(1)), (0, Some(1))], 0);
        log.records[1].usage = Some(Usage { cached_tokens: Some(32), ..log.records[1].usage.unwrap() });
        let rate = |log: &RunLog| PrefixCache::of(log).unwrap().measured.map(|hits| (hits.rate, hits.source));
        assert_eq!(rate(&log), Some((0.32, HitSource::Usage)));
        log.footer.as_mut().unwrap().server = Some(ServerCounters {
            cache_queries: Some(200),
            cache_hits: Some(60),
            ..ServerCounters::default()
        });
        assert_eq!(rate(&log), Some((0.3, HitSource::Counters)));
        close(PrefixCache::of(&log).unwrap().off().unwrap(), 0.3 - 0.16);
        log.footer.as_mut().unwrap().server.as_mut().unwrap().cache_hits = Some(10);
        close(PrefixCache::of(&log).unwrap().off().unwrap(), 0.05 - 0.16);
    }
}
