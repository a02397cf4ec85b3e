//! Spells out the presets of `--objective` before the command line is read, so that every verb takes them, each objective
//! once.

use std::collections::HashSet;
use std::ffi::OsString;

use crate::analysis::ObjectivePreset;

const OPTION: &str = "--objective";

/// The arguments with each preset that follows `--objective` replaced by what it stands for, as if that had been typed. What
/// is no preset stays as it is, and is refused where objectives are read. What demands the same again is left out.
pub(super) fn spelled_out(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut spelled = Vec::new();
    let mut follows = false;
    for argument in arguments {
        let text = argument.to_string_lossy();
        let value = match text.split_once('=') {
            Some((OPTION, value)) => Some(value),
            _ if std::mem::take(&mut follows) => {
                // Its option goes with each of those it stands for.
                spelled.pop();
                Some(&*text)
            }
            _ => None,
        };
        match (value.map(ObjectivePreset::named), value) {
            (Some(Some(preset)), _) => {
                spelled.extend(preset.objectives().map(|objective| format!("{OPTION}={objective}").into()));
            }
            (_, Some(value)) => spelled.push(format!("{OPTION}={value}").into()),
            (_, None) => {
                follows = text == OPTION;
                spelled.push(argument);
            }
        }
    }
    let mut demanded = HashSet::new();
    let is_objective = |text: &str| text.strip_prefix(OPTION).is_some_and(|rest| rest.starts_with('='));
    spelled.retain(|argument| {
        let text = argument.to_string_lossy();
        !is_objective(&text) || demanded.insert(text.into_owned())
    });
    spelled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(typed: &[&str]) -> Vec<String> {
        let arguments = spelled_out(typed.iter().map(OsString::from));
        arguments.into_iter().map(|argument| argument.into_string().unwrap()).collect()
    }

    #[test]
    fn a_preset_is_what_it_stands_for() {
        let two = ["--objective=p99 ttft <= 500ms", "--objective=p99 tpot <= 30ms"];
        let preset = "mlperf:llama-3.1-8b:interactive";
        assert_eq!(spelled(&["skyline", "--objective", preset])[1..], two);
        assert_eq!(spelled(&["skyline", &format!("--objective={preset}"), "x"])[1..3], two);
    }

    #[test]
    fn nothing_is_demanded_twice() {
        let typed = [
            "skyline",
            "--objective",
            "p95 ttft < 1s",
            "-x",
            "-x",
            "--objective=p95 ttft < 1s",
            "--objective",
        ];
        assert_eq!(spelled(&typed), ["skyline", "--objective=p95 ttft < 1s", "-x", "-x", "--objective"]);
    }

    #[test]
    fn all_else_stays() {
        let typed = ["skyline", "bench", preset_like(), "--objective=p95 ttft < 1s", "--json"];
        assert_eq!(spelled(&typed), typed);
        assert_eq!(spelled(&["skyline", "--objective", "mlperf:x"])[1], "--objective=mlperf:x");
        assert_eq!(spelled(&["skyline", "--objective"]), ["skyline", "--objective"]);
    }

    fn preset_like() -> &'static str {
        "mlperf:llama-3.1-8b"
    }
}
