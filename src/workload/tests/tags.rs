//! Tags of requests: how they are read, kept and refused.

use crate::workload::spec::WorkloadSpec;
use crate::workload::tests::{LEAST, said_of};

const TAGGED: &str = r#"
name = "tagged"
arrival = { kind = "poisson", rate_per_s = 2 }

[[classes]]
name = "search"
input_tokens = { kind = "constant", value = 10 }
output_tokens = { kind = "constant", value = 50 }
[classes.metadata]
team = "search"
country = " South   Korea"

[[classes]]
name = "rows"
prompt = { kind = "dataset", path = "a.csv", metadata = ["country", "tier"] }

[[classes]]
name = "named"
prompt = { kind = "dataset", path = "a.csv", metadata = { plan = "Customer plan" } }
metadata = { team = "sales" }
"#;

#[test]
fn tags_of_classes_and_columns_read_back_equal() {
    let spec = WorkloadSpec::from_toml(TAGGED, "tagged").unwrap();
    let json = serde_json::to_string(&spec).unwrap();
    assert_eq!(serde_json::from_str::<WorkloadSpec>(&json).unwrap(), spec);
    assert_eq!(WorkloadSpec::from_toml(&toml::to_string(&spec).unwrap(), "toml").unwrap(), spec);
    assert_eq!(spec.tag_keys(), ["country", "plan", "team", "tier"]);
    assert_eq!(spec.tag_of(0, None, "country"), Some("South Korea"));
    assert_eq!((spec.tag_of(1, Some(0), "country"), spec.tag_of(2, None, "team")), (None, Some("sales")));
    assert_eq!(spec.tag_values("team"), ["sales", "search"]);
    let columns = &spec.classes[2].prompt.dataset().unwrap().metadata;
    assert_eq!(columns.get("plan").map(String::as_str), Some("Customer plan"));
    // A workload without them is stored as before.
    let least = serde_json::to_string(&crate::workload::tests::least()).unwrap();
    assert!(!least.contains("metadata"), "{least}");
}

#[test]
fn tags_and_slices_are_no_part_of_what_is_sent() {
    let checked =
        format!("{TAGGED}[[checks]]\nname = \"a\"\nslice = \"s\"\nprompt = \"?\"\nexpect = {{ exact = \"b\" }}\n");
    let spec = WorkloadSpec::from_toml(&checked, "tagged").unwrap();
    let plain = serde_json::to_string(&spec.without_groups()).unwrap();
    assert!(["metadata", "slice", "South Korea"].iter().all(|word| !plain.contains(word)), "{plain}");
}

#[test]
fn what_is_no_tag_is_refused_with_its_line() {
    let said = |class: &str| said_of(&format!("{LEAST}{class}\n"));
    for (class, says) in [
        (
            "metadata = [\"a\"]",
            "line 8: `classes[0].metadata` is a list; it must be a table of tags, such as { team = ",
        ),
        ("metadata = { team = 3 }", "line 8: `classes[0].metadata.team` is 3; it must be a text"),
        ("metadata = { team = \" \" }", "`classes[0].metadata.team` is \" \"; it must be a text that is not blank"),
        ("metadata = { team = \"a\\nb\" }", "`classes[0].metadata.team` has a line break or another control character"),
        (
            "metadata = { team = \"a<b\" }",
            "`classes[0].metadata.team` has `<` or `>`, which compare in an objective; leave it out",
        ),
        (
            "metadata = { \"a b\" = \"c\" }",
            "`classes[0].metadata.a b` is \"a b\"; it must be 1 to 64 letters a–z, digits, `_` and `-`",
        ),
    ] {
        let error = said(class);
        assert!(error.contains(says), "{error}");
    }
    let long = said(&format!("metadata = {{ team = \"{}\" }}", "x".repeat(101)));
    assert!(long.contains("`classes[0].metadata.team` has 101 characters; a tag has at most 100"), "{long}");
    let rows = |fields: &str| {
        said_of(&format!(
            "name = \"w\"\narrival = {{ kind = \"poisson\", rate_per_s = 2 }}\n[[classes]]\nname = \"rows\"\n{fields}\n"
        ))
    };
    for (fields, says) in [
        (
            "prompt = { kind = \"dataset\", path = \"a.csv\", metadata = [\"a\", \"a\"] }",
            "`classes[0].prompt.metadata[1]` names \"a\" a second time; leave one of them out",
        ),
        (
            "prompt = { kind = \"dataset\", path = \"a.csv\", metadata = \"a\" }",
            "it must be a list of columns, or a table of tags with their columns",
        ),
        (
            "prompt = { kind = \"dataset\", path = \"a.csv\", metadata = [\"a\"] }\nmetadata = { a = \"b\" }",
            "`classes[0].metadata` has the tag \"a\", and so has its dataset; leave one of them out",
        ),
    ] {
        let error = rows(fields);
        assert!(error.contains(says), "{error}");
    }
}
