//! A tier of service: objectives under a name, which a load meets together.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::objective::Objective;

/// Tier of service, as `--tier fast='p95 ttft < 1s,tokens_per_s_per_user > 40'` states it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Tier {
    /// Name of the tier.
    pub name: String,
    /// Objectives that its loads meet, as typed.
    pub objectives: Vec<Objective>,
}

impl Tier {
    /// Returns `tiers`, each with the objectives in `common` before its own.
    pub fn all_with(tiers: &[Self], common: &[Objective]) -> Vec<Self> {
        let with = |tier: &Self| {
            let objectives = once(common.iter().chain(&tier.objectives));
            Self { name: tier.name.clone(), objectives }
        };
        tiers.iter().map(with).collect()
    }

    /// Returns the objectives in `common` and those of `tiers`, each once.
    pub fn objectives_of(tiers: &[Self], common: &[Objective]) -> Vec<Objective> {
        once(common.iter().chain(tiers.iter().flat_map(|tier| &tier.objectives)))
    }
}

/// Returns each of `objectives` once.
fn once<'a>(objectives: impl Iterator<Item = &'a Objective>) -> Vec<Objective> {
    let mut all: Vec<Objective> = Vec::new();
    for objective in objectives {
        if !all.contains(objective) {
            all.push(objective.clone());
        }
    }
    all
}

impl FromStr for Tier {
    type Err = String;

    /// Reads a tier; what is wrong with it is said without the text itself.
    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write it like fast='p95 ttft < 1s,tokens_per_s_per_user > 40'";
        let (name, stated) = text.split_once('=').ok_or_else(|| format!("it has no name; {FORM}"))?;
        let name = name.trim();
        if name.is_empty() || name.contains(['<', '>', ',']) {
            return Err(format!("it has no name before its objectives; {FORM}"));
        }
        let each =
            stated.split(',').map(|one| Objective::all_of(one).map_err(|error| format!("`{one}`: {}", error.cure())));
        let objectives = each.collect::<Result<Vec<_>, _>>()?.concat();
        Ok(Self { name: name.to_owned(), objectives: once(objectives.iter()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tier(text: &str) -> Tier {
        text.parse().unwrap()
    }

    fn words(objectives: &[Objective]) -> Vec<String> {
        objectives.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_tier_is_a_name_and_its_objectives() {
        let fast = tier("fast=p95 ttft <= 1s, tokens_per_s_per_user >= 40,p95 ttft <= 1s");
        assert_eq!(
            (&*fast.name, words(&fast.objectives)),
            ("fast", vec!["p95 ttft <= 1s".to_owned(), "tokens_per_s_per_user >= 40".to_owned()])
        );
        let preset = tier("chat = mlperf:llama-3.1-8b:interactive");
        assert_eq!(
            (&*preset.name, words(&preset.objectives)),
            ("chat", vec!["p99 ttft <= 500ms".to_owned(), "p99 tpot <= 30ms".to_owned()])
        );
    }

    #[test]
    fn a_text_that_is_no_tier_is_refused_with_its_cure() {
        for (text, problem) in [
            ("fast", "it has no name; write it like fast='p95"),
            ("p95 ttft <= 1s", "it has no name before its objectives"),
            ("=p95 ttft < 1s", "it has no name before its objectives"),
            ("fast=", "``: it has no comparison"),
            ("fast=p95 ttft < 1s,p95 tpot", "`p95 tpot`: it has no comparison"),
        ] {
            let refused = text.parse::<Tier>().unwrap_err();
            assert!(refused.contains(problem), "{text}: {refused}");
        }
    }

    #[test]
    fn what_all_tiers_have_in_common_is_part_of_each() {
        let tiers = [tier("fast=p95 ttft < 1s"), tier("slow=p95 ttft < 9s,error_rate < 1%")];
        let common = ["error_rate < 1%".parse().unwrap()];
        let all = Tier::all_with(&tiers, &common);
        assert_eq!(words(&all[0].objectives), ["error_rate < 1%", "p95 ttft < 1s"]);
        assert_eq!(words(&all[1].objectives), ["error_rate < 1%", "p95 ttft < 9s"]);
        assert_eq!(words(&Tier::objectives_of(&tiers, &common)), ["error_rate < 1%", "p95 ttft < 1s", "p95 ttft < 9s"]);
    }
}
