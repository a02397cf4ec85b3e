//! Sessions of a class as graphs of requests: steps, each of which waits for the ends of others.

use std::collections::BTreeSet;

use super::step_wait::{StepCondition, StepWait};
use crate::units::count;
use crate::workload::arrival::think_time::ThinkTime;
use crate::workload::lengths::Distribution;
use crate::workload::prompt::source::MOST_TURNS;
use crate::workload::reading::{SpecValue, spec_table};

/// Most steps of a session.
const MOST_STEPS: usize = 200;
/// Most pairs of a request and one that it waits for.
const MOST_WAITS: u64 = 100_000;
/// Most tools that run side by side.
const MOST_TOOLS: u32 = 1_000;
/// The `history` of a step that carries on none.
const NEW_HISTORY: &str = "new";

spec_table! {
    /// Continuation of a class's requests as sessions of steps. Each arrival is the first request of one. Every other
    /// request leaves a delay after the ends of those that it waits for.
    pub struct ClassSession = "a session" {
        /// The steps, each after those that it waits for; the first begins the session.
        steps: Vec<SessionStep> = required(read_steps),
        /// Most tokens of a prompt and its answer together. A request that would exceed them is not sent, nor what
        /// waits for it; absent: the server decides.
        max_context_tokens: Option<u32> = option(Distribution::tokens),
    }
    check(fields) {
        let most: u64 = steps.as_ref()?.iter().map(SessionStep::most_requests).sum();
        if most > u64::from(MOST_TURNS) {
            let sentence = format!(
                "may be {} requests; a session has at most 10,000, so give fewer `turns` or `copies`, or a `max`",
                count(most)
            );
            return fields.reject_of("steps", &sentence);
        }
        let waits = most_waits(steps.as_ref()?);
        if waits > MOST_WAITS {
            let sentence = format!(
                "may have {} waits for one another, of {} at most; put a step of one request between those with many \
                 `copies`",
                count(waits),
                count(MOST_WAITS)
            );
            return fields.reject_of("steps", &sentence);
        }
    }
}

spec_table! {
    /// A step of a session: requests in a row. One agent sends them, or several side by side.
    pub struct SessionStep = "a step of a session" {
        /// Name of the step, unique in its session.
        name: String = required(|value| value.name()),
        /// The steps that it waits for. It is the step above when absent.
        after: Option<StepWait> = option(StepWait::read),
        /// Requests in a row, each after the end of the one before. It is drawn once per copy, and 1 when absent.
        turns: Distribution = optional(Distribution::default(), Distribution::read_or_constant),
        /// Agents that do the step side by side; drawn once per session. 1 when absent.
        copies: Distribution = optional(Distribution::default(), Distribution::read_or_constant),
        /// Delay from the end that releases a request to its moment. It is the time of a tool, for example; none when
        /// absent.
        delay_s: ThinkTime = optional(ThinkTime::default(), ThinkTime::read_or_constant),
        /// Tools that run side by side: of so many delays the longest counts. 1 when absent.
        tools: Distribution = optional(Distribution::default(), Distribution::read_or_constant),
        /// Condition of its requests. With `tool_call` each is sent only if the answer that it carries on calls a tool,
        /// and its text is what the tools found; `turns` are then the most.
        when: Option<StepCondition> = option(|value| value.variant()),
        /// The step whose history the first request carries on, or `new` for none. It is the one that the step waits
        /// for when absent.
        history: Option<String> = option(|value| value.nonblank()),
        /// New prompt tokens of a request; the class's when absent.
        input_tokens: Option<Distribution> = option(Distribution::read_or_constant),
        /// Tokens of an answer; the class's when absent.
        output_tokens: Option<Distribution> = option(Distribution::read_or_constant),
    }
}

/// Most pairs of a request and one that it waits for in a session.
fn most_waits(steps: &[SessionStep]) -> u64 {
    let most = |step: &SessionStep| u64::from(step.copies.bounds().1);
    let waits = steps.iter().enumerate().map(|(place, step)| {
        let gates: u64 = step.gates(&steps[..place]).iter().filter_map(|gate| steps.get(*gate)).map(most).sum();
        gates * most(step) + step.most_requests()
    });
    waits.sum()
}

impl ClassSession {
    /// Bound on the requests of a session that are in flight at once. It is the copies of a step and of all that
    /// neither surely end before it nor begin after it.
    pub(super) fn most_in_flight(&self) -> u64 {
        let before: Vec<BTreeSet<usize>> = (0..self.steps.len())
            .map(|place| {
                let above = &self.steps[..place];
                self.steps
                    .get(place)
                    .map_or_else(BTreeSet::new, |step| sure(above, &step.gates(above), step.waits_for_any()))
            })
            .collect();
        let is_before = |one: usize, other: usize| before.get(other).is_some_and(|sure| sure.contains(&one));
        let beside = |one: usize| {
            let others =
                self.steps.iter().enumerate().filter(|(other, _)| !is_before(one, *other) && !is_before(*other, one));
            others.map(|(_, step)| u64::from(step.copies.bounds().1)).sum()
        };
        (0..self.steps.len()).map(beside).max().unwrap_or(1)
    }

    /// Mean number of requests of a session.
    pub(super) fn mean_requests(&self) -> f64 {
        self.steps.iter().map(|step| step.turns.mean() * step.copies.mean()).sum()
    }

    /// Whether requests depend on whether an answer calls a tool.
    pub(super) fn has_tool_results(&self) -> bool {
        self.steps.iter().any(|step| step.when.is_some())
    }

    /// The places of the steps that each step waits for; none of the first.
    pub(crate) fn gates(&self) -> Vec<Vec<usize>> {
        self.steps.iter().enumerate().map(|(place, step)| step.gates(&self.steps[..place])).collect()
    }

    /// The place of the step whose history each step carries on.
    pub(crate) fn histories(&self) -> Vec<Option<usize>> {
        self.steps.iter().enumerate().map(|(place, step)| step.carries(&self.steps[..place])).collect()
    }
}

impl SessionStep {
    fn most_requests(&self) -> u64 {
        u64::from(self.turns.bounds().1) * u64::from(self.copies.bounds().1)
    }

    /// Whether the end of one of the steps that it waits for is enough.
    pub(crate) const fn waits_for_any(&self) -> bool {
        matches!(self.after, Some(StepWait::Any { .. }))
    }

    /// The places of the steps that it waits for, among those above it.
    fn gates(&self, above: &[Self]) -> Vec<usize> {
        match &self.after {
            None => above.len().checked_sub(1).into_iter().collect(),
            Some(wait) => wait.names().iter().filter_map(|name| place_of(above, name)).collect(),
        }
    }

    /// The place of the step whose history it carries on.
    fn carries(&self, above: &[Self]) -> Option<usize> {
        match self.history.as_deref() {
            Some(NEW_HISTORY) => None,
            Some(name) => place_of(above, name),
            None => self.gates(above).first().copied(),
        }
    }

    /// The mistake beside the steps above it, as a sentence after its path.
    fn misfit(&self, above: &[Self]) -> Option<String> {
        if self.name == NEW_HISTORY {
            return Some(format!("is named \"{NEW_HISTORY}\", which means no history; choose another name"));
        }
        let names = self.after.iter().flat_map(StepWait::names).chain(self.history.iter());
        let unknown = names.filter(|name| *name != NEW_HISTORY).find(|name| place_of(above, name).is_none());
        if let Some(unknown) = unknown {
            let known = above.iter().map(|step| step.name.as_str()).collect::<Vec<_>>().join(", ");
            let known = if above.is_empty() { "it is the first".to_owned() } else { format!("above it: {known}") };
            return Some(format!("names \"{unknown}\", and no step above it has that name ({known})"));
        }
        if above.is_empty() && self.copies != Distribution::default() {
            return Some("has `copies`, and a session begins with one request; give them to a later step".to_owned());
        }
        let waits = !above.is_empty() || self.turns.bounds().1 > 1;
        if !waits && (self.delay_s != ThinkTime::default() || self.tools != Distribution::default()) {
            return Some("has a delay, and a session begins when it arrives; give it to a later step".to_owned());
        }
        if self.tools.bounds().1 > MOST_TOOLS {
            return Some(format!(
                "may have {} tools side by side, of 1,000 at most",
                count(self.tools.bounds().1.into())
            ));
        }
        if self.tools != Distribution::default() && self.delay_s == ThinkTime::default() {
            return Some("has `tools` that take no time; say how long one takes with `delay_s`".to_owned());
        }
        let gates = self.gates(above);
        if gates.len() > 1 && self.history.is_none() {
            let first = above.get(*gates.first()?)?;
            return Some(format!(
                "waits for several steps; say whose `history` it carries on, such as \"{}\", or \"{NEW_HISTORY}\" for \
                 none",
                first.name
            ));
        }
        let carried = self.carries(above)?;
        let name = &above.get(carried)?.name;
        if self.when.is_some() && gates != [carried] {
            return Some(format!(
                "has a condition on the answer of \"{name}\", and waits for another step too; let it wait for that one \
                 alone"
            ));
        }
        if above.get(carried)?.copies.bounds() != (1, 1) {
            return Some(format!(
                "carries on the history of \"{name}\", which several agents do; choose another `history`, or \
                 \"{NEW_HISTORY}\" for none"
            ));
        }
        (!sure(above, &gates, self.waits_for_any()).contains(&carried)).then(|| {
            format!("carries on the history of \"{name}\", which need not have ended by then; wait for it with `after`")
        })
    }
}

fn place_of(steps: &[SessionStep], name: &str) -> Option<usize> {
    steps.iter().position(|step| step.name == name)
}

/// The places of the steps that have surely ended once `gates` have, all or any.
fn sure(above: &[SessionStep], gates: &[usize], any: bool) -> BTreeSet<usize> {
    let mut ended: Vec<BTreeSet<usize>> = Vec::new();
    let joined = |ended: &[BTreeSet<usize>], gates: &[usize], any: bool| {
        let each = gates.iter().map(|gate| {
            let before = ended.get(*gate).into_iter().flatten().copied();
            before.chain([*gate]).collect::<BTreeSet<usize>>()
        });
        each.reduce(|one, other| if any { &one & &other } else { &one | &other }).unwrap_or_default()
    };
    for (place, step) in above.iter().enumerate() {
        ended.push(joined(&ended, &step.gates(&above[..place]), step.waits_for_any()));
    }
    joined(&ended, gates, any)
}

fn read_steps(value: SpecValue<'_>) -> Option<Vec<SessionStep>> {
    // What is wrong with a step is no mistake of those below it.
    let mut above = Some(Vec::new());
    let steps = value.named_list("step", |value| {
        let step = SessionStep::read(value);
        let misfit = step.as_ref().zip(above.as_ref()).and_then(|(step, above)| step.misfit(above));
        let step = step.filter(|_| misfit.is_none());
        if let Some(sentence) = misfit {
            value.complain(&sentence);
        }
        match (&step, &mut above) {
            (Some(step), Some(above)) => above.push(step.clone()),
            _ => above = None,
        }
        step
    })?;
    if steps.len() > MOST_STEPS {
        return value.reject(&format!("has {} steps; a session has at most {MOST_STEPS}", steps.len()));
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::WorkloadSpec;

    /// A workload whose sessions have these steps.
    fn workload(steps: &str) -> String {
        format!(
            "name = \"w\"\ndescription = \"d\"\nseed = 1\nwarmup_s = 0\nhorizon_s = 10\n\
             [arrival]\nkind = \"poisson\"\nrate_per_s = 1\n[[classes]]\nname = \"c\"\ninput_tokens = 10\n\
             output_tokens = 5\n[classes.session]\nsteps = [{steps}]\n"
        )
    }

    fn session(steps: &str) -> ClassSession {
        let mut spec = WorkloadSpec::from_toml(&workload(steps), "w.toml").unwrap();
        spec.classes.remove(0).session.unwrap()
    }

    #[test]
    fn a_condition_on_tools_is_about_the_one_answer_that_a_step_waits_for() {
        let tools = "answer = { kind = \"tools\", tools = [{ name = \"search\" }] }\n[classes.session]";
        let of = |steps: &str| workload(steps).replace("[classes.session]", tools);
        let task = "{ name = \"task\" }, { name = \"other\", history = \"new\" }";
        let fine = of(&format!("{task}, {{ name = \"loop\", when = \"tool_call\", turns = 4 }}"));
        assert!(WorkloadSpec::from_toml(&fine, "w.toml").is_ok(), "{fine}");
        let two = "{ name = \"loop\", after = [\"task\", \"other\"], history = \"task\", when = \"tool_call\" }";
        let error = WorkloadSpec::from_toml(&of(&format!("{task}, {two}")), "w.toml").unwrap_err().to_string();
        assert!(error.contains("has a condition on the answer of \"task\", and waits for another step too"), "{error}");
    }

    #[test]
    fn a_step_waits_for_the_one_above_or_for_those_it_names() {
        let session = session(
            "{ name = \"ask\" }, { name = \"quick\", turns = 2 }, { name = \"deep\", after = \"ask\", copies = 3 }, \
             { name = \"end\", after = { any = [\"quick\", \"deep\"] }, history = \"ask\" }, \
             { name = \"sum\", after = [\"end\", \"quick\"], history = \"new\" }",
        );
        assert_eq!(session.gates(), [vec![], vec![0], vec![0], vec![1, 2], vec![3, 1]]);
        assert_eq!(session.histories(), [None, Some(0), Some(0), Some(0), None]);
        assert!((session.mean_requests() - 8.0).abs() < 1e-12);
        // Beside the three deep ones: quick, and what waits for any of these and goes on while they run.
        assert_eq!(session.most_in_flight(), 6);
        let stored = serde_json::to_string(&session.steps[3].after).unwrap();
        assert_eq!(stored, r#"{"any":["quick","deep"]}"#);
    }

    #[test]
    fn steps_that_cannot_be_are_refused_with_the_cure() {
        for (steps, said) in [
            ("{ name = \"a\", after = \"b\" }, { name = \"b\" }", "names \"b\", and no step above it has that name"),
            ("{ name = \"a\" }, { name = \"a\" }", "has the name \"a\" of a step before it"),
            ("{ name = \"new\" }", "choose another name"),
            ("{ name = \"a\", copies = 2 }", "a session begins with one request"),
            (
                "{ name = \"a\" }, { name = \"b\" }, { name = \"c\", after = [\"a\", \"b\"] }",
                "say whose `history` it carries on, such as \"a\"",
            ),
            ("{ name = \"a\" }, { name = \"b\", copies = 2 }, { name = \"c\" }", "which several agents do"),
            (
                "{ name = \"a\" }, { name = \"b\" }, { name = \"c\", after = \"a\" }, \
                 { name = \"d\", after = { any = [\"b\", \"c\"] }, history = \"b\" }",
                "which need not have ended by then",
            ),
            ("{ name = \"a\", turns = { kind = \"log_normal\", median = 9, sigma = 1 } }", "or a `max`"),
            ("{ name = \"a\", after = 3 }", "must be a text in quotes"),
            ("{ name = \"a\" }, { name = \"b\", after = [\"a\", \"a\"] }", "names \"a\" twice"),
            ("{ name = \"a\", delay_s = 3 }", "a session begins when it arrives"),
            ("{ name = \"a\" }, { name = \"b\", tools = 2 }", "say how long one takes with `delay_s`"),
            (
                "{ name = \"a\" }, { name = \"b\", copies = 4000 }, { name = \"c\", copies = 4000, history = \"new\" }",
                "put a step of one request between",
            ),
        ] {
            let refused = WorkloadSpec::from_toml(&workload(steps), "w.toml").unwrap_err().to_string();
            assert!(refused.contains(said), "{steps}: {refused}");
            assert_eq!(refused.matches("line ").count(), 1, "{refused}");
        }
    }
}
