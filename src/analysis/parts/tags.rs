//! The tags of the requests of a run: the values of each name, of which the most frequent have figures of their own.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::analysis::requests::Observed;
use crate::analysis::slo::objective::Objective;
use crate::record::PartKind;

/// Most values of a tag that have figures of their own. The most frequent come first. Those that an objective names
/// have figures too.
const MOST: usize = 20;

/// Values of a tag of the requests of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TagValues {
    /// Name of the tag.
    pub key: String,
    /// Values that are parts of the run, the one with the most requests first.
    #[serde(skip)]
    pub shown: Vec<String>,
    /// Values beyond the 20 most frequent, which are no parts. Left out where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more_values: Vec<String>,
    /// Requests without this tag, which are in no part by it.
    pub untagged: u64,
}

impl TagValues {
    /// Values of each tag that requests of the workload can have, in alphabetical order. A value that an objective
    /// names is a part, however rare it is.
    pub(crate) fn all(observed: &Observed<'_>, objectives: &[Objective]) -> Vec<Self> {
        let keys = observed.log.header.workload.tag_keys().into_iter();
        keys.map(|key| Self::new(observed, objectives, key)).collect()
    }

    fn new(observed: &Observed<'_>, objectives: &[Objective], key: &str) -> Self {
        let workload = &observed.log.header.workload;
        let mut counts: BTreeMap<Option<&str>, u64> = BTreeMap::new();
        for request in &observed.requests {
            let record = request.record();
            *counts.entry(workload.tag_of(record.class, record.tags, key)).or_default() += 1;
        }
        let untagged = counts.remove(&None).unwrap_or_default();
        let mut values: Vec<_> = counts.into_iter().filter_map(|(value, n)| Some((value?, n))).collect();
        values.sort_by_key(|(value, n)| (std::cmp::Reverse(*n), *value));
        let is_asked = |value: &str| {
            let parts = objectives.iter().filter_map(|objective| objective.key.part.as_ref());
            let tags = parts.filter(|part| part.kinds().any(|kind| kind == PartKind::Tag));
            tags.filter_map(|part| part.tag()).any(|tag| tag == (key, value))
        };
        let values = values.into_iter().map(|(value, _)| value.to_owned()).enumerate();
        let (shown, more): (Vec<_>, Vec<_>) = values.partition(|(place, value)| *place < MOST || is_asked(value));
        let [shown, more_values] = [shown, more].map(|values| values.into_iter().map(|(_, value)| value).collect());
        Self { key: key.to_owned(), shown, more_values, untagged }
    }
}

#[cfg(test)]
mod tests {
    //! Requests by their tags, counted by hand, and objectives on them.

    use super::*;
    use crate::analysis::judgements::Status;
    use crate::analysis::parts::part::Part;
    use crate::analysis::summarise::summarise;
    use crate::analysis::summary::run::Summary;
    use crate::analysis::test_runs::{class, record, run};
    use crate::record::RunLog;
    use crate::workload::{Dataset, DatasetFindings, DatasetFormat, Priority, PromptSource, Slo};

    /// A dataset whose rows have a country and a tier, in these combinations.
    fn dataset(tags: &[[&str; 2]]) -> PromptSource {
        let found = DatasetFindings {
            sessions: None,
            bytes: 1,
            sha256: "0".repeat(64),
            revision: None,
            files: Vec::new(),
            rows: tags.len() as u64,
            filtered_rows: 0,
            bad_rows: 0,
            mean_input_tokens: 100.0,
            mean_output_tokens: None,
            tags: tags.iter().map(|tags| tags.map(str::to_owned).to_vec()).collect(),
        };
        let metadata = ["country", "tier"].map(|key| (key.to_owned(), key.to_owned())).into();
        PromptSource::Dataset(Dataset {
            metadata,
            found: Some(Box::new(found)),
            ..Dataset::new("rows.csv".to_owned(), DatasetFormat::Csv)
        })
    }

    /// A run whose class `chat` has rows. Class `batch` is tagged by itself, and has the team of both.
    fn tagged(rows: &[[&str; 2]], records: impl Iterator<Item = (u16, Option<u16>, u64)>) -> RunLog {
        let records = records.zip(0..).map(|((class, tags, ttft), i)| {
            let mut record = record(i).class(class, Priority::High).sent_at(0, 0, 0).paced(ttft, 10, 11).build();
            record.tags = tags;
            record
        });
        let mut log = run(1_000, records.collect());
        let none = [(Priority::High, Slo::default())];
        let mut chat = class("chat", &[(Priority::High, Slo { ttft_ms: Some(500.0), ..Slo::default() })]);
        chat.prompt = dataset(rows);
        let mut batch = class("batch", &none);
        batch.metadata = [("country".to_owned(), "de".to_owned()), ("team".to_owned(), "night".to_owned())].into();
        log.header.workload.classes = vec![chat, batch];
        log
    }

    /// Five requests of two countries, and two others. Two are of `de gold` (100 ms), three of `fr free` (900 ms), one
    /// has no country, and one is of the batch (200 ms).
    fn small() -> RunLog {
        let rows = [["de", "gold"], ["fr", "free"], ["", "free"]];
        let chat = [(0, 100), (1, 900), (0, 100), (1, 900), (1, 900), (2, 300)];
        let records = chat.map(|(tags, ttft)| (0, Some(tags), ttft)).into_iter().chain([(1, None, 200)]);
        tagged(&rows, records)
    }

    fn parts<'s>(summary: &'s Summary, tag: &TagValues) -> Vec<&'s Part> {
        let mut parts = summary.parts_of(PartKind::Tag);
        parts.retain(|part| part.name.starts_with(&format!("{}=", tag.key)));
        parts
    }

    fn counts<'s>(summary: &'s Summary, tag: &TagValues) -> Vec<(&'s str, u64)> {
        let value = |part: &'s Part| part.name.split_once('=').unwrap().1;
        parts(summary, tag).into_iter().map(|part| (value(part), part.requests)).collect()
    }

    #[test]
    fn requests_are_grouped_by_the_tags_of_their_rows_and_classes() {
        let summary = summarise(&small(), &[]);
        let [country, team, tier] = summary.tags.as_slice() else { panic!("{:?}", summary.tags) };
        let counts = |tag| counts(&summary, tag);
        assert_eq!([&country.key, &team.key, &tier.key], ["country", "team", "tier"]);
        assert_eq!((counts(country), country.untagged), (vec![("de", 3), ("fr", 3)], 1));
        assert_eq!((counts(team), team.untagged), (vec![("night", 1)], 6));
        assert_eq!((counts(tier), tier.untagged), (vec![("free", 4), ("gold", 2)], 1));
        // Of three from Germany two have an SLO, and both meet it; no request from France does.
        let slo = |at: usize| (parts(&summary, country)[at].slo.with_slo, parts(&summary, country)[at].slo.met);
        assert_eq!((slo(0), slo(1)), ((2, Some(2)), (3, Some(0))));
        assert!(country.more_values.is_empty());
        let plain = serde_json::to_value(summarise(&run(1_000, Vec::new()), &[])).unwrap();
        assert!(plain.get("tags").is_none());
    }

    #[test]
    fn an_objective_can_be_about_a_tag() {
        let log = small();
        for (text, status, value) in [
            ("max ttft of tag country=de < 500ms", Status::Met, 200.0),
            ("max ttft of country=fr < 500ms", Status::Missed, 900.0),
            ("mean ttft of tag team=night <= 200ms", Status::Met, 200.0),
            ("slo_attainment of tag tier=free > 50%", Status::Missed, 0.25),
            ("p50 ttft of tag country=fr < 500ms", Status::Undecided, 900.0),
        ] {
            let objective: Objective = text.parse().unwrap();
            objective.check(&log.header.workload).unwrap();
            let judged = summarise(&log, &[objective]).objectives.remove(0);
            assert_eq!((judged.status, judged.value), (status, Some(value)), "{text}");
        }
        let refusal =
            |text: &str| text.parse::<Objective>().unwrap().check(&log.header.workload).unwrap_err().to_string();
        let unknown = refusal("p95 ttft of tag country=dee < 1s");
        assert!(
            unknown.contains(
                "no request belongs to `tag country=dee`; known: tag country=de, tag country=fr, tag team=night, \
                 tag tier=free, tag tier=gold; did you mean `country=de`?"
            ),
            "{unknown}"
        );
        let no_slo = refusal("slo_attainment of tag team=night > 50%");
        assert!(no_slo.contains("no request of `tag team=night` has an SLO"), "{no_slo}");
        let bare = "p95 ttft of tag country < 1s".parse::<Objective>().unwrap_err().to_string();
        assert!(bare.contains("`tag country` has no value; write it like `of tag country=de`"), "{bare}");
    }

    #[test]
    fn the_value_of_a_tag_may_have_several_words() {
        let log = tagged(&[["South Korea", "gold"]], [(0, Some(0), 100)].into_iter());
        let objective: Objective = "max ttft of tag country=South Korea < 1s".parse().unwrap();
        assert_eq!(objective.key.to_string(), "max ttft of tag country=South Korea");
        assert_eq!(objective.key.to_string().parse(), Ok(objective.key.clone()));
        assert_eq!(summarise(&log, &[objective]).objectives[0].status, Status::Met);
    }

    /// Thirty countries, number i with i + 1 requests.
    #[test]
    fn the_most_frequent_values_have_figures_and_the_rest_is_named() {
        let names: Vec<_> = (0..30).map(|i| format!("c{i:02}")).collect();
        let rows: Vec<_> = names.iter().map(|name| [name.as_str(), "free"]).collect();
        let requests = || (0..30).flat_map(|i| (0..=i).map(move |_| (0, Some(i), 100)));
        let log = tagged(&rows, requests());
        let summary = summarise(&log, &[]);
        let country = &summary.tags[0];
        let found = counts(&summary, country);
        assert_eq!(found.len(), MOST);
        assert_eq!((found[0], found[19]), (("c29", 30), ("c10", 11)));
        assert_eq!(country.more_values.len(), 10);
        assert_eq!((country.more_values[0].as_str(), country.more_values[9].as_str()), ("c09", "c00"));

        let rare: Objective = "max ttft of tag country=c03 < 500ms".parse().unwrap();
        let summary = summarise(&log, &[rare]);
        let country = &summary.tags[0];
        assert_eq!(counts(&summary, country)[20], ("c03", 4));
        assert!(!country.more_values.contains(&"c03".to_owned()));
        assert_eq!(summary.objectives[0].status, Status::Met);
    }
}
