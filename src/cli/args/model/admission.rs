//! Admission control: what a simulated server refuses, and what it does when its client has gone.

use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};
use strum::VariantNames as _;

use super::values::facts_of;
use crate::cli::args::values::{some_time, whole};
use crate::session::Stop;
use crate::simulator::{AbandonedWork, Admission, AdmissionGroup};
use crate::units::listed;
use crate::workload::{Priority, RequestClass};

/// What the deployment admits, all its servers together.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Admission")]
pub(super) struct AdmissionArgs {
    /// Refuse with 429 what would be one too many in the server, waiting and running, all replicas together: N for all
    /// requests, NAME=N for those of a priority (high, medium, low) or, in simulations alone, of a class of
    /// the workload, as HTTP does not carry it; separated by commas, such as 64 or 200,batch=20 [default: no
    /// limit]
    #[arg(long, value_name = "LIMITS", value_delimiter = ',', group = "admission", value_parser = limit)]
    admit: Vec<NamedLimit>,

    /// Refuse with 429 while so many requests wait; every one that arrives waits, if only for the next step (SGLang's
    /// option of this name) [default: no limit]
    #[arg(long, value_name = "N", group = "admission", value_parser = whole::<u32>(1..=u64::from(u32::MAX)))]
    max_queued_requests: Option<u32>,

    /// Time after which a refused client may come again, in the header Retry-After, which has whole seconds
    /// [default: the refusal does not say]
    #[arg(long, value_name = "TIME", requires = "admission", value_parser = whole_seconds, allow_hyphen_values = true)]
    retry_after: Option<Duration>,

    /// Go on with requests whose clients have gone, as a server does that sees no disconnect: it computes answers that
    /// nobody reads
    #[arg(long)]
    ignore_disconnects: bool,
}

/// A limit as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NamedLimit {
    /// A priority or a class; absent: all requests.
    name: Option<String>,
    most: u32,
}

/// `64` or `batch=20`.
fn limit(text: &str) -> Result<NamedLimit, String> {
    let (name, most) = match text.split_once('=') {
        Some((name, most)) => (Some(name.trim().to_owned()), most),
        None => (None, text),
    };
    let most = most.trim().parse().ok().filter(|most| *most > 0 && name.as_deref() != Some(""));
    let most = most
        .ok_or_else(|| format!("`{text}` is not a number of requests from 1 on, nor NAME=N; write 64 or batch=20"))?;
    Ok(NamedLimit { name, most })
}

/// A time of whole seconds, which is all that the header can say.
fn whole_seconds(text: &str) -> Result<Duration, String> {
    let time = some_time(text)?;
    if time.subsec_nanos() == 0 { Ok(time) } else { Err(format!("`{text}` is not a time of whole seconds")) }
}

impl AdmissionArgs {
    /// Returns what is admitted of requests of these classes. There are none where requests do not carry their class.
    pub(super) fn admission(&self, classes: &[RequestClass]) -> Result<Admission, Stop> {
        let limits = self.admit.iter().map(|limit| {
            let group = match &limit.name {
                None => AdmissionGroup::All,
                Some(name) => group(name, classes)?,
            };
            Ok((group, limit.most))
        });
        Ok(Admission {
            limits: limits.collect::<Result<_, Stop>>()?,
            max_queued: self.max_queued_requests,
            retry_after: self.retry_after,
            abandoned: if self.ignore_disconnects { AbandonedWork::Completed } else { AbandonedWork::Cancelled },
        })
    }

    /// Returns what was typed, under the names of the options.
    pub(super) fn facts(&self) -> Map<String, Value> {
        let limits = self.admit.iter().map(|NamedLimit { name, most }| match name {
            Some(name) => format!("{name}={most}"),
            None => most.to_string(),
        });
        facts_of([
            ("admit", json!(listed(limits, ","))),
            ("max_queued_requests", json!(self.max_queued_requests)),
            ("retry_after_s", json!(self.retry_after.map(|wait| wait.as_secs()))),
            ("ignore_disconnects", json!(self.ignore_disconnects.then_some(true))),
        ])
    }
}

/// The requests of a priority or of a class.
fn group(name: &str, classes: &[RequestClass]) -> Result<AdmissionGroup, Stop> {
    if let Some(class) = classes.iter().zip(0..).find(|(class, _)| class.name == name) {
        return Ok(AdmissionGroup::Class(class.1));
    }
    if let Ok(priority) = name.parse::<Priority>() {
        return Ok(AdmissionGroup::Priority(priority));
    }
    let priorities = Priority::VARIANTS.join(", ");
    Err(Stop::usage(if classes.is_empty() {
        format!(
            "--admit {name}: a request does not carry its class over HTTP\nhint: limit a priority ({priorities}), or \
             the class in `skyline simulate`"
        )
    } else {
        let names: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
        format!(
            "--admit {name}: the workload has no class of this name\nhint: it can be {}, or a priority: {priorities}",
            names.join(", ")
        )
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::WorkloadSpec;

    #[test]
    fn limits_are_of_all_of_a_class_or_of_a_priority() {
        let limits = |text: &str, classes: &[RequestClass]| {
            let admit = text.split(',').map(|text| limit(text).unwrap()).collect();
            let (max_queued_requests, retry_after) = (Some(5), Some(Duration::from_secs(2)));
            AdmissionArgs { admit, max_queued_requests, retry_after, ignore_disconnects: true }
                .admission(classes)
                .map(|admission| admission.limits)
                .map_err(|stop| stop.message().to_owned())
        };
        let classes = WorkloadSpec::load("bursty_mix").unwrap().classes;
        let second = classes[1].name.clone();
        assert_eq!(
            limits(&format!("200,{second}=20,low=7"), &classes).unwrap(),
            [(AdmissionGroup::All, 200), (AdmissionGroup::Class(1), 20), (AdmissionGroup::Priority(Priority::Low), 7)]
        );
        assert!(limits("bacth=20", &classes).unwrap_err().contains(&second));
        assert!(limits("batch=20", &[]).unwrap_err().contains("over HTTP"));
        for text in ["", "0", "batch", "=4", "batch=0"] {
            assert!(limit(text).unwrap_err().contains("batch=20"), "{text}");
        }
        assert!(whole_seconds("1500ms").is_err() && whole_seconds("2s").is_ok());
    }
}
