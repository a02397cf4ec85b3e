//! Speculative decoding: what the server counted of drafts, beside the tokens of the chunks that came.

use serde::Serialize;

use super::reported::ServerSide;
use crate::analysis::requests::{Measured, Observed};
use crate::record::Counter;

/// Drafts of speculative decoding, by the rise of the server's totals over the window.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SpeculationFigures {
    /// Drafts: one for each sequence of a step that had some.
    pub drafts: f64,
    /// Tokens proposed in them.
    pub draft_tokens: f64,
    /// Accepted among these.
    pub accepted_tokens: f64,
    /// Share of the proposed tokens that were accepted. Absent where none was proposed.
    pub acceptance_rate: Option<f64>,
    /// Tokens that a step with a draft brings: 1 + accepted tokens ÷ drafts.
    pub acceptance_length: f64,
    /// Share of the drafts whose token at each position was accepted, from the first. Empty where the server does not
    /// tell.
    pub acceptance_by_position: Vec<f64>,
    /// Tokens per chunk, class by class. Classes whose chunks the server did not count are left out.
    pub chunks: Vec<ChunkTokens>,
}

/// Tokens per chunk that one class saw.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChunkTokens {
    /// The class.
    pub class: String,
    /// Chunks after the first of each answer, which no draft brings.
    pub chunks: u64,
    /// Their tokens, on average.
    pub mean_tokens: f64,
}

impl SpeculationFigures {
    /// Computes the figures of a run. Absent where its server does not tell of drafts, or made none.
    pub(crate) fn new(observed: &Observed<'_>, server: Option<&ServerSide>) -> Option<Self> {
        let server = server?;
        let drafts = server.rise(Counter::Drafts).filter(|drafts| *drafts > 0.0)?;
        let [draft_tokens, accepted_tokens] =
            [Counter::DraftTokens, Counter::AcceptedTokens].map(|all| server.rise(all));
        let (draft_tokens, accepted_tokens) = draft_tokens.zip(accepted_tokens)?;
        Some(Self {
            drafts,
            draft_tokens,
            accepted_tokens,
            acceptance_rate: (draft_tokens > 0.0).then(|| accepted_tokens / draft_tokens),
            acceptance_length: 1.0 + accepted_tokens / drafts,
            acceptance_by_position: server.accepted_at.iter().map(|accepted| accepted / drafts).collect(),
            chunks: chunk_tokens(observed),
        })
    }
}

fn chunk_tokens(observed: &Observed<'_>) -> Vec<ChunkTokens> {
    let classes = &observed.log.header.workload.classes;
    let mut all = vec![(0_u64, 0_u64); classes.len()];
    for record in observed.requests.iter().map(Measured::record).filter(|record| record.chunks_counted) {
        let Some((chunks, tokens)) = all.get_mut(usize::from(record.class)) else { continue };
        for (chunk, _) in record.chunks.gaps().filter(|(chunk, gap)| gap.is_some() && chunk.tokens > 0) {
            *chunks += 1;
            *tokens += u64::from(chunk.tokens);
        }
    }
    let seen = classes.iter().zip(all).filter(|(_, (chunks, _))| *chunks > 0);
    let of_class = |(class, (chunks, tokens)): (&crate::workload::RequestClass, (u64, u64))| ChunkTokens {
        class: class.name.clone(),
        chunks,
        mean_tokens: tokens as f64 / chunks as f64,
    };
    seen.map(of_class).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::judgements::FindingKind;
    use crate::analysis::summarise::summarise;
    use crate::analysis::summary::run::Summary;
    use crate::analysis::test_runs::{ms, record, run};
    use crate::record::{PageKind, Reading, RunLog, TelemetrySource};
    use crate::workload::AnswerEnding;

    /// Ten requests in a second, beside a server that had drafted 100 times before. It drafts four tokens at a time.
    fn drafting(drafts: f64, accepted_at: [f64; 4]) -> RunLog {
        // A chunk of the prefill, then three tokens, one that is half of a character, and five.
        let answer = |i: u64| [(i * 100 + 100, 1), (i * 100 + 110, 3), (i * 100 + 120, 0), (i * 100 + 130, 5)];
        let records =
            (0..10).map(|i| record(i).sent_at(i * 100, i * 100, i * 100).chunks(&answer(i)).counted().build());
        let mut log = run(1_000, records.collect());
        let (url, kind) = ("http://host/metrics".to_owned(), Some(PageKind::Vllm));
        log.header.telemetry = vec![TelemetrySource { url, kind, hardware: None, driver: None }];
        let reading = |at, drafts: f64, accepted_at: Vec<f64>| Reading {
            asked: ms(at),
            answered: ms(at),
            counters: [
                (Counter::Drafts, drafts),
                (Counter::DraftTokens, 4.0 * drafts),
                (Counter::AcceptedTokens, accepted_at.iter().sum()),
            ]
            .into(),
            accepted_at,
            ..Reading::default()
        };
        let after = accepted_at.map(|accepted| 30.0 + accepted).to_vec();
        log.telemetry.readings = vec![reading(0, 100.0, vec![30.0; 4]), reading(1_000, 100.0 + drafts, after)];
        log
    }

    #[test]
    fn figures_are_of_what_came_in_the_window() {
        let found = summarise(&drafting(200.0, [160.0, 140.0, 100.0, 80.0]), &[]).speculation.unwrap();
        // 480 of 800; 1 + 480 / 200; each position of 200; (3 + 5) / 2.
        assert_eq!((found.drafts, found.draft_tokens, found.accepted_tokens), (200.0, 800.0, 480.0));
        assert_eq!((found.acceptance_rate, found.acceptance_length), (Some(0.6), 3.4));
        assert_eq!(found.acceptance_by_position, [0.8, 0.7, 0.5, 0.4]);
        assert_eq!(found.chunks, [ChunkTokens { class: "chat".to_owned(), chunks: 20, mean_tokens: 4.0 }]);
        assert_eq!(summarise(&drafting(0.0, [0.0; 4]), &[]).speculation, None);
    }

    #[test]
    fn acceptance_of_filler_says_nothing() {
        let finding = |summary: Summary| {
            let of_drafts = |kind| kind == FindingKind::MeaninglessAcceptance;
            summary.findings.into_iter().find(|finding| of_drafts(finding.kind)).map(|finding| finding.sentence)
        };
        let mut log = drafting(200.0, [160.0, 140.0, 100.0, 80.0]);
        let said = finding(summarise(&log, &[])).unwrap();
        assert!(
            said.starts_with("60 % of 800 draft tokens were accepted, and prompts are filler and answers"),
            "{said}"
        );
        log.header.workload.classes[0].length = AnswerEnding::Natural;
        let said = finding(summarise(&log, &[])).unwrap();
        assert!(said.contains("prompts are filler: how well"), "{said}");
        assert_eq!(finding(summarise(&drafting(0.0, [0.0; 4]), &[])), None);
    }
}
