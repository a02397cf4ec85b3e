//! Costs of the answers of a run: on a screen one line where a price is given, and a table with the energy.

use crate::analysis::{Costs, EnergySource, Metric, Summary, UnitCosts};
use crate::experiment::matrix::in_currency;
use crate::report::document::{Level, Section, Table};
use crate::report::documents::parts::cells::prices;
use crate::units::{counted, joined, three_digits};

/// Says the cost of a million tokens, an answer and an acceptable answer. It is one line, and nothing without a price.
pub(super) fn in_brief(summary: &Summary) -> Section {
    let facts = &summary.run.deployment;
    let cost = facts.is_priced().then(|| {
        let costs = summary.costs.as_ref();
        let money = costs.and_then(|costs| costs.money);
        let power = costs.and_then(power).filter(|_| facts.kwh_price.is_some());
        let why = || summary.why_absent(Metric::CostPerAnswer).unwrap_or("there is no window");
        let cost = money.map(|money| of_answers(money, facts.currency.as_deref(), power));
        cost.unwrap_or_else(|| format!("not known: {}", why()))
    });
    Section::continued(Level::Summary).facts("cost", cost)
}

/// Says the power that the energy is of, and whether it was measured.
fn power(costs: &Costs) -> Option<String> {
    let source = if costs.power_source? == EnergySource::Claimed { "claimed" } else { "measured" };
    Some(format!("{source} {} W", three_digits(costs.power_w?)))
}

fn of_answers(money: UnitCosts, currency: Option<&str>, power: Option<String>) -> String {
    let acceptable = match (money.per_acceptable_answer, money.per_acceptable_answer_at_least) {
        (Some(one), _) => Some(format!("{} an acceptable answer", in_currency(one, currency))),
        (None, Some(all)) => Some(format!("no acceptable answer for {}", in_currency(all, currency))),
        (None, None) => None,
    };
    let any = money.per_answer.map(|one| format!("{} an answer", three_digits(one)));
    let tokens = money.per_million_output_tokens.map(|many| format!("{} for 1M output tokens", three_digits(many)));
    joined([acceptable, any, power, tokens].into_iter().flatten(), "; ")
}

/// Function that reads one of the costs.
type Read = fn(UnitCosts) -> Option<String>;

/// Money and energy side by side.
pub(super) fn section(summary: &Summary) -> Option<Section> {
    let costs = summary.costs.as_ref()?;
    let rows: [(&str, Read); 3] = [
        ("1M output tokens", |units| units.per_million_output_tokens.map(three_digits)),
        ("an answer", |units| units.per_answer.map(three_digits)),
        ("an acceptable answer", |units| {
            let at_least = || units.per_acceptable_answer_at_least.map(|least| format!("> {}", three_digits(least)));
            units.per_acceptable_answer.map(three_digits).or_else(at_least)
        }),
    ];
    let money = costs.currency.clone().unwrap_or_else(|| "money".to_owned());
    let table = Table::over("Cost of what was answered", rows)
        .column("", |(name, _)| name)
        .column_if(costs.money.is_some(), money.as_str(), |(_, of)| costs.money.and_then(of))
        .column_if(costs.joules.is_some(), "joules", |(_, of)| costs.joules.and_then(of));
    let facts = &summary.run.deployment;
    let price = facts.is_priced().then(|| {
        let gpus = facts.gpus.map(|gpus| counted(u64::from(gpus), "GPU"));
        joined(gpus.into_iter().chain(prices(facts)), ", ")
    });
    let barred = costs.barred.as_ref().map_or(String::new(), |why| format!(": {why}"));
    let acceptable = costs.acceptable_answers_per_s;
    let section = Section::detail("Cost of what was answered")
        .table(table)
        .facts("price", price)
        .facts("power", power(costs))
        .facts("acceptable answers", acceptable.map(|rate| format!("{}/s{barred}", three_digits(rate))))
        .more(["objectives"]);
    Some(section)
}
