//! Advice on answers: what they say, their form, and the SLOs that they are judged by.

use super::row::{FindingRow, when};
use crate::analysis::judgements::FindingKind as Kind;
use crate::analysis::requests::{ClassForms, FormFault};
use crate::analysis::rules::Suppressor::{Advice, Smoke};
use crate::analysis::rules::{RuleFact, facts, filled};
use crate::analysis::summary::run::Summary;
use crate::units::{count, counted};
use crate::workload::ShapeFault;

/// Least share of answers cut at their longest length that hides their form.
const CUT_BAR: f64 = 0.05;

pub(super) const RULES: &[FindingRow] = &[
    // Golden prompts are answered at temperature 0, so that one which passed before the run passes under load,
    // if the server does the same work there.
    when(Kind::WorseUnderLoad, "prompts", &[], |run| {
        let checks = run.quality.as_ref()?.checks.iter();
        let worse =
            checks.filter(|check| check.before.passed > 0 && check.before.unmet == 0 && check.under_load.unmet > 0);
        let worse = worse.map(|check| {
            let under = &check.under_load;
            let failed = facts![check.name.as_str(), under.unmet, under.passed + under.unmet];
            filled("`{}` failed in {#} of {answer} under load", failed)
        });
        let worse: Vec<_> = worse.collect();
        (!worse.is_empty()).then(|| facts![worse.join(", ")])
    })
    .says("checks that passed before the run fail more often under load (limit: none): {}")
    .cure(
        "look at the answers under Checks; speed is no gain if answers get worse (batch-dependent numerics, a \
         quantised cache, speculative decoding)",
    ),
    // Servers that refuse an empty message fail the next turn, and the cause is the answer before.
    when(Kind::EmptyTurns, "conversations", &[], |run| Some(facts![run.sessions.as_ref()?.empty_answers?]))
        .says(
            "{answer} of conversations had no text, only reasoning or nothing, so that the next turn repeated an empty \
             message of the assistant, which some servers refuse; limit: none",
        )
        .cure("raise output_tokens, so that the model comes to its answer, or limit its reasoning"),
    // A server that is asked for a form and gives another does less work than was asked of it, or other.
    when(Kind::WrongForms, "prompts", &[], wrong_forms).says("{} {%} cut off): {}"),
    when(Kind::UnmeasurableSlo, "objectives", &[], |run| {
        (run.slo.met.is_none() && run.delivery.tpot_withheld).then(Vec::new)
    })
    .says("the SLO bounds TPOT, which is withheld: attainment and goodput are unknown")
    .cure("let events pass as they come, or bound TTFT and e2e only"),
    when(Kind::UnmeasurableSlo, "objectives", &[Advice(Kind::UnmeasurableSlo)], |run| {
        run.slo.met.is_none().then(Vec::new)
    })
    .says("the SLO bounds TTFT or TPOT, which unstreamed answers do not have: attainment and goodput are unknown")
    .cure("stream the answers, or bound e2e only"),
    when(Kind::NoSlo, "workloads", &[Smoke], |run| {
        let cure = if run.run.inputs.is_none() {
            "give it one: --slo ttft=500ms, or slo = { ttft_ms = 500 } in its classes"
        } else {
            "give it one: --slo e2e=500ms, or slo = { e2e_ms = 500 } in its classes"
        };
        (!run.slo.declared && run.slo.scheduled > 0).then(|| facts![cure])
    })
    .says("the workload has no SLO: there is no attainment, and goodput counts every completed request"),
];

fn wrong_forms(run: &Summary) -> Option<Vec<RuleFact>> {
    let classes = &run.answers.as_ref()?.by_class;
    let said = |class: &ClassForms| {
        let whole = class.valid + class.invalid + class.cut_at_limit;
        let cut = class.cut_at_limit as f64 > CUT_BAR * whole as f64;
        (class.invalid > 0 || cut).then(|| {
            let (name, form) = (&class.class, class.form);
            let [has, has_not, cut] = [class.valid, class.invalid, class.cut_at_limit].map(count);
            let of = counted(whole, "answer");
            match class.invalid {
                0 => format!("`{name}`: {cut} of {of}; the other {has} have the form {form}"),
                _ => format!(
                    "`{name}`: {has_not} of {of} do not have the form {form}, and {cut} were cut off before they could \
                     have it"
                ),
            }
        })
    };
    let wrong: Vec<_> = classes.iter().filter_map(said).collect();
    let is_of_arguments =
        |fault: &FormFault| matches!(fault.fault, ShapeFault::ArgumentsNotOfSchema | ShapeFault::ArgumentsNotJson);
    let off_schema = classes.iter().any(|class| class.lax_tools && class.faults.iter().any(is_of_arguments));
    let (what, cure) = match (classes.iter().any(|class| class.invalid > 0), off_schema) {
        (false, _) => ("answers were cut off before they could have the requested form (limit:", "raise output_tokens"),
        (true, true) => (
            INVALID,
            "set strict = true in the tools: vLLM and OpenAI hold the arguments of a call to its schema only then; if \
             answers are cut off, raise output_tokens",
        ),
        (true, false) => (
            INVALID,
            "check that the server enforces the form (guided decoding, a parser of tool calls); if answers are cut \
             off, raise output_tokens",
        ),
    };
    (!wrong.is_empty()).then(|| facts![what, CUT_BAR, wrong.join("; "), cure])
}

const INVALID: &str = "answers do not have the requested form (limits: none invalid,";
