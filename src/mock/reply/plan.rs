//! Decides the length and text of each answer before it is generated.

use super::answer::ReplyChoice;
use super::text::Text;
use crate::mock::engine_thread::JobRequest;
use crate::mock::faults::Fault;
use crate::mock::metrics::Finish;
use crate::mock::options::AnswerWords;
use crate::mock::request::{PromptTokens, Request};
use crate::mock::state::Mock;
use crate::random::RandomStream;
use crate::simulator::{Job, JobId, PrefixHashes};

/// Plans the jobs for the engine and the choices of the answer. Those of the first prompt come first.
pub(crate) fn plan(
    mock: &Mock,
    number: u64,
    request: &Request,
    faults: &[Fault],
) -> (Vec<JobRequest>, Vec<ReplyChoice>) {
    if request.results.is_some() {
        return results(mock, request);
    }
    let mut lengths = match request.seed {
        Some(seed) => RandomStream::named(seed, "mock stop length"),
        None => mock.stop_lengths.branch(number),
    };
    let mut planned = Vec::new();
    for prompt in &request.prompts {
        let said = said(mock, request, prompt, faults);
        let text = match (&said, mock.options.words) {
            (Some(said), _) => said.clone(),
            (None, AnswerWords::Stock) if faults.contains(&Fault::SplitUtf8) => Text::accented(),
            (None, words) => Text::new(words, prompt),
        };
        let stopped = match &said {
            Some(_) => None,
            None => text.stop_before(&request.stop, request.min_tokens, request.max_tokens),
        };
        for choice in 0..request.n {
            let drawn = mock.options.stop_length.draw(&mut lengths).max(request.min_tokens);
            let (own_length, ends) = match &said {
                Some(_) => (text.round(), text.round() <= request.max_tokens),
                None => (drawn, !request.ignore_eos && drawn < request.max_tokens),
            };
            let (length, finish) = if ends { (own_length, Finish::Stop) } else { (request.max_tokens, Finish::Length) };
            let stopped = stopped.as_ref().filter(|stopped| stopped.tokens <= length);
            let (output_tokens, finish) = stopped.map_or((length, finish), |by| (by.tokens, Finish::Stop));
            let prefix = prompt.prefix(request.adapter, text.first(output_tokens));
            let job = Job {
                id: JobId(mock.job()),
                input_tokens: prompt.tokens(),
                output_tokens,
                priority: request.priority,
                // A request does not carry its class.
                class: None,
                prefix,
            };
            // Those of one prompt share its words, strings of about so many bytes.
            let shared = if choice == 0 { text.round() as usize * 64 } else { 0 };
            let choice = ReplyChoice {
                text: stopped.map_or(&text, |stopped| &stopped.text).clone(),
                planned: output_tokens,
                finish,
                stop_reason: stopped.map(|stopped| stopped.by.clone()),
                prompt_tokens: prompt.tokens(),
                cached_tokens: None,
                first_tokens: 0,
                sent: 0,
            };
            planned.push((
                JobRequest { job, max_tokens: request.max_tokens, finish, text: shared, has_text: true },
                choice,
            ));
        }
    }
    planned.into_iter().unzip()
}

/// Plans a job for each input: its prompt is computed, and nothing is generated.
fn results(mock: &Mock, request: &Request) -> (Vec<JobRequest>, Vec<ReplyChoice>) {
    let planned = request.prompts.iter().enumerate().map(|(place, prompt)| {
        let job = Job {
            id: JobId(mock.job()),
            input_tokens: prompt.tokens(),
            // The engine ends a prompt with its first token, which nobody gets.
            output_tokens: 1,
            priority: request.priority,
            class: None,
            // A model that reads a whole input at once finds none of it in a cache.
            prefix: PrefixHashes::default(),
        };
        let text = Text::new(AnswerWords::Echo, prompt);
        let choice = ReplyChoice {
            text,
            planned: 0,
            finish: Finish::Stop,
            stop_reason: None,
            prompt_tokens: prompt.tokens(),
            cached_tokens: None,
            first_tokens: request.first_tokens.get(place).copied().unwrap_or(0),
            sent: 0,
        };
        let size = prompt.tokens() as usize * 64;
        (JobRequest { job, max_tokens: 0, finish: Finish::Stop, text: size, has_text: false }, choice)
    });
    planned.unzip()
}

/// Returns the text of an answer that is canned or has a format. It ends by itself, whatever the request asks.
fn said(mock: &Mock, request: &Request, prompt: &PromptTokens, faults: &[Fault]) -> Option<Text> {
    let given = mock.options.answers.iter().find(|answer| answer.is_to(prompt)).map(|answer| answer.say.clone());
    let said = request.shape.text(faults).or(given)?;
    let kept = if faults.contains(&Fault::BrokenAnswer) { said.chars().count() / 2 } else { usize::MAX };
    Some(Text::said(said.chars().take(kept), request.max_tokens))
}
