//! Whether the server keeps the planned lengths: of answers, and of prompts in its context.

use crate::engine::{LengthTest, SmokeReport};
use crate::generator::Schedule;
use crate::record::PlanFacts;
use crate::session::console::{Printer, Stop};
use crate::session::planned;
use crate::units::count;

/// Above this share of requests that do not fit, nothing is sent.
const MOST: f64 = 0.5;
/// Requests of users by which the others are judged.
const SAMPLE: usize = 1_000;

/// Says what the test request showed of the length of answers. It does so where that is not as requested.
pub(super) fn report_length(smoke: &SmokeReport, printer: Printer) {
    if let Some(changed) = &smoke.changed {
        printer.words(changed);
    }
    if matches!(smoke.length, LengthTest::Ignored | LengthTest::EndsEarly) {
        printer.words(&format!("warning: {}", smoke.length_in_words()));
    }
}

/// The context that requests have to fit in.
pub(super) struct Context {
    /// The server's, of prompt and answer together.
    pub(super) tokens: Option<u64>,
    /// Tokens that the server adds to each prompt.
    pub(super) template: u64,
    /// The option for a longer one.
    pub(super) option: Option<&'static str>,
}

impl Context {
    /// Refuses a plan of which most requests are longer than the context. Returns a warning where some are. `requests`
    /// is how many are sent, where a number is set. How many users send is only known afterwards, so theirs are a
    /// sample.
    pub(super) fn check(
        &self,
        schedule: &Schedule,
        plan: &PlanFacts,
        requests: Option<u64>,
    ) -> Result<Option<String>, Stop> {
        let Some(context) = self.tokens else { return Ok(None) };
        let (mut all, mut prompts_over, mut over) = (0_u64, 0_u64, 0_u64);
        let mut longest = (0, 0);
        let sampled = requests.map_or(SAMPLE, |all| SAMPLE.min(all as usize));
        for request in planned::sample(schedule, plan, sampled) {
            let input = u64::from(request.input_tokens) + self.template;
            let output = u64::from(request.output_tokens);
            all += 1;
            prompts_over += u64::from(input >= context);
            over += u64::from(input + output > context);
            if input + output > longest.0 + longest.1 {
                longest = (input, output);
            }
        }
        if over == 0 {
            return Ok(None);
        }
        let what = if prompts_over == over { "prompts" } else { "prompts, with the answers requested," };
        let (input, output) = longest;
        let share = over as f64 / all as f64;
        let how_many = if schedule.of_users().is_some() {
            format!("about {:.0}% of the {what}", (share * 100.0).max(1.0))
        } else {
            format!("{} of {} {what}", count(over), count(all))
        };
        let found = format!(
            "{how_many} exceed {} tokens, the longest context of the server: up to {} tokens and an answer of {}",
            count(context),
            count(input),
            count(output)
        );
        let option = self.option.map_or_else(String::new, |option| format!(" ({option})"));
        let cure = format!("shorten them (--input-tokens, --output-tokens), or serve a longer context{option}");
        if share > MOST {
            return Err(Stop::usage(format!("{found}; no load was sent\nhint: {cure}")));
        }
        Ok(Some(format!("warning: {found}; the server may refuse these or cut their answers\nhint: {cure}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::WorkloadSpec;

    /// Returns what is said of a loop. A quarter of its prompts is too long for 512 tokens.
    fn said(seed: u64, users: u64, long: u32) -> Result<Option<String>, Stop> {
        let class = |name, weight, tokens| {
            format!(
                "[[classes]]\nname = \"{name}\"\nweight = {weight}\ninput_tokens = \
                 {{ kind = \"constant\", value = {tokens} }}\noutput_tokens = {{ kind = \"constant\", value = 4 }}\n"
            )
        };
        let toml = format!(
            "name = \"loop\"\nseed = {seed}\nhorizon_s = 10\nwarmup_s = 0\n\
             arrival = {{ kind = \"users\", users = {users} }}\n{}{}",
            class("short", 4 - long, 20),
            class("long", long, 600)
        );
        let schedule = Schedule::draw(&WorkloadSpec::from_toml(&toml, "a test").unwrap());
        let context = Context { tokens: Some(512), template: 0, option: Some("--ctx-size") };
        context.check(&schedule, &schedule.facts(), None)
    }

    #[test]
    fn a_loop_is_judged_by_more_than_its_first_requests() {
        for (seed, users) in [(1, 1), (2, 1), (3, 1), (4, 2), (5, 40), (6, 2_000)] {
            let warning = said(seed, users, 1).unwrap().unwrap();
            let share: u32 = warning["warning: about ".len()..].split('%').next().unwrap().parse().unwrap();
            assert!((19..=31).contains(&share), "{seed}: {warning}");
            assert!(warning.ends_with("a longer context (--ctx-size)"), "{warning}");
            assert_eq!(said(seed, users, 0).unwrap(), None);
            let refused = said(seed, users, 3).unwrap_err();
            assert!(refused.message().contains("no load was sent"), "{}", refused.message());
        }
    }
}
