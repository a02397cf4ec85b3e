//! Tables in files, as other programs wrote them: what is read, what is asked, what is refused.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::generator::datasets::sources::{Datasets, PromptNeed};
use crate::generator::prompts::builder::PromptBuilder;
use crate::generator::request::Prompt;
use crate::generator::schedule::Schedule;
use crate::generator::tokens::tokenizer::TokenCounter;
use crate::workload::{DatasetFindings, WorkloadSpec};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/datasets/table").join(name)
}

fn opened(path: &Path, fields: &str) -> Result<(WorkloadSpec, Datasets), String> {
    let text = format!(
        "name = \"taken\"\nhorizon_s = 20\nwarmup_s = 0\ndrain_s = 1\nseed = 3\n\
         arrival = {{ kind = \"constant\", rate_per_s = 10 }}\n[[classes]]\nname = \"only\"\n\
         prompt = {{ kind = \"dataset\", path = {:?}{fields} }}\n",
        path.to_str().unwrap()
    );
    let spec = WorkloadSpec::from_toml(&text, "a test").unwrap();
    let folder = format!("{}/", path.parent().unwrap().display());
    let opened = Datasets::open(spec, &TokenCounter::Estimate);
    opened.map_err(|error| error.to_string().replace(&folder, ""))
}

/// Findings, and the prompts and lengths of the first requests.
fn read(path: &Path, fields: &str) -> (DatasetFindings, Vec<(Prompt, u32)>, Vec<PromptNeed>) {
    let (spec, datasets) = opened(path, fields).unwrap();
    let datasets = std::sync::Arc::new(datasets);
    let found = *spec.classes[0].prompt.dataset().unwrap().found.clone().unwrap();
    let prompts = PromptBuilder::with_word_list(&spec.classes, 1).with_datasets(datasets.clone());
    let schedule = Schedule::draw_from(&spec, datasets.clone());
    let rows = schedule.plan().take(found.rows as usize);
    let rows = rows.map(|request| (prompts.prompt(&request), request.output_tokens)).collect();
    (found, rows, datasets.needs().collect())
}

/// A file with this content, beside those of the test.
fn written(folder: &tempfile::TempDir, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn text(text: &str) -> Prompt {
    Prompt::Text(text.to_owned())
}

#[test]
fn columns_of_parquet_are_prompts_answers_and_tags() {
    let (found, rows, needs) = read(&sample("questions.parquet"), ", rows = 2, metadata = [\"country\"]");
    let count = |text| TokenCounter::Estimate.count(text);
    assert_eq!(
        rows,
        [
            (text("What is the tallest mountain on Earth?"), count("Mount Everest")),
            (text("Capital of France?"), count("Paris")),
        ]
    );
    assert_eq!((found.bytes, found.tags), (2_069, vec![vec!["np".to_owned()], vec!["fr".to_owned()]]));
    // sha256sum tests/data/datasets/table/questions.parquet
    assert_eq!(found.sha256, "3a75dff782cb55ab68ad53349394cf79f35e8ca77356e42d47b29c61ecbd968a");
    assert_eq!((found.revision, found.files.len(), &*needs), (None, 0, &[PromptNeed::Nothing][..]));
    let error = opened(&sample("questions.parquet"), "").unwrap_err();
    assert!(error.starts_with("questions.parquet, row 3: it does not say how long its answer is;"), "{error}");
}

#[test]
fn what_is_said_before_the_first_answer_is_the_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let (_, rows, needs) = read(&sample("chats.parquet"), "");
    let system = r#"[{"role":"system","content":"Be brief."},{"role":"user","content":"Who are you?"}]"#;
    let system = Prompt::Messages(system.to_owned());
    assert_eq!(rows, [(text("Hello there"), 1), (system.clone(), 4)]);
    assert_eq!(needs, [PromptNeed::Messages]);
    let (_, rows, _) = read(&sample("chats.parquet"), ", output_tokens_column = \"tokens\"");
    assert_eq!(rows, [(text("Hello there"), 7), (system.clone(), 9)]);
    // The same in the words of others, as a list and line by line.
    let turns = [
        r#"{"conversations": [{"from": "human", "value": "Hello there"}, {"from": "gpt", "value": "Hi"}]}"#,
        r#"{"conversations": [{"from": "system", "value": "Be brief."}, {"from": "human", "value": "Who are you?"},
            {"from": "gpt", "value": "A model of words"}]}"#,
    ];
    let list = written(&folder, "list.json", format!("[{}]", turns.join(",\n")).as_bytes());
    let lines = written(&folder, "lines.json", turns.map(|turn| turn.replace('\n', "")).join("\n").as_bytes());
    for path in [list, lines] {
        assert_eq!(read(&path, ", format = \"table\"").1, [(text("Hello there"), 1), (system.clone(), 4)]);
    }
}

#[test]
fn what_cannot_be_guessed_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let cure = "\nhint: name columns with --dataset-columns";
    for (row, fields, said) in [
        (r#"{"prompt": "a", "messages": []}"#, "", "each of `prompt`, `messages` may be the prompt"),
        (r#"{"a": 1, "b": 2}"#, "", "no column has a usual name of the prompt; its columns are `a`, `b`"),
        (
            r#"{"a": 1, "quest": 2}"#,
            ", prompt_column = \"qest\"",
            "there is no column `qest`; did you mean `quest`?; its columns are `a`, `quest`",
        ),
        (
            r#"{"prompt": "a", "answer": "b"}"#,
            ", output_tokens_column = \"tokens\"",
            "there is no column `tokens`; its columns are `prompt`, `answer`",
        ),
    ] {
        let path = written(&folder, "a.jsonl", row.as_bytes());
        let error = opened(&path, &format!(", format = \"table\", skip_bad = true{fields}")).unwrap_err();
        assert!(error.starts_with(&format!("a.jsonl: {said}{cure}")), "{error}");
    }
    let path = written(&folder, "a.jsonl", br#"{"prompt": "a", "answer": "b", "response": "c"}"#);
    let error = opened(&path, ", format = \"table\"").unwrap_err();
    let said = "it does not say how long its answer is (each of `answer`, `response` may be the output: name it with \
                --dataset-columns output=NAME); give the class";
    assert!(error.contains(said), "{error}");
    let (_, rows, _) = read(&path, ", format = \"table\", output_tokens_column = \"response\"");
    assert_eq!(rows, [(text("a"), 1)]);
}

#[test]
fn files_that_are_no_tables_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(sample("questions.parquet")).unwrap();
    let cut = &whole[..whole.len() - 700];
    let mut holed = whole.clone();
    holed[4..200].fill(0xff);
    for (content, said) in [
        (cut, "a.parquet: it is cut short or damaged, and cannot be read as Parquet: "),
        (&whole[..6], "a.parquet: it is cut short or damaged, and cannot be read as Parquet: "),
        (&holed, "a.parquet: it is cut short or damaged, and cannot be read as Parquet: "),
        (b"", "a.parquet: it is neither Parquet nor JSON: it begins with \"\""),
        (b"version https://git-lfs.github.com/spec/v1\n", "it begins with \"version https://git-lfs"),
        (b"[{\"prompt\": \"a\"", "a.parquet: line 1: the file ends inside the item that begins here"),
        (
            b"{\"prompt\": \"a\", \"output_tokens\": 1}\n{\"prompt\"",
            "a.parquet, row 2, line 2, column 9: EOF while parsing an object",
        ),
        (b"{\"prompt\": 7}", "a.parquet, row 1, line 1: `prompt` is 7, neither a text nor a list of messages"),
        (b"{\"prompt\": \"\"}", "a.parquet, row 1, line 1: the prompt is empty"),
        (b"{\"messages\": [{\"content\": 3}]}", "in `messages`: {\"content\":3} has neither `role` nor `from`"),
        (b"{\"prompt\": \"a\", \"output\": [3]}", "`output` is [3], neither a text nor a number"),
        (b"{\"prompt\": \"a\", \"output\": 0.5}", "`output` is 0.5; it must be a whole number"),
        (b"{\"prompt\": \"a\"}\n{\"x\": 1}", "a.parquet, row 1, line 1: it does not say how long"),
    ] {
        let error = opened(&written(&folder, "a.parquet", content), "").unwrap_err();
        assert!(error.contains(said) && error.contains("\nhint: "), "{error}");
    }
}

#[test]
fn compressed_files_are_read_like_others() {
    let folder = tempfile::tempdir().unwrap();
    let line = br#"{"prompt": "a", "output_tokens": 1}"#;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(line).unwrap();
    let packed = [("a.jsonl.gz", gzip.finish().unwrap()), ("a.jsonl.zst", zstd::encode_all(&line[..], 1).unwrap())];
    for (name, content) in packed {
        let (found, rows, _) = read(&written(&folder, name, &content), "");
        assert_eq!((rows, found.bytes), (vec![(text("a"), 1)], content.len() as u64), "{name}");
        let cut = &content[..content.len() - 9];
        let error = opened(&written(&folder, name, cut), "").unwrap_err();
        assert!(error.contains(name) && error.contains("cannot be unpacked with"), "{error}");
        let error = opened(&written(&folder, name, &content), ", format = \"jsonl\"").unwrap_err();
        assert!(error.contains("it is compressed with") && error.contains("the format table"), "{error}");
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"PAR1").unwrap();
    let error = opened(&written(&folder, "a.parquet.gz", &gzip.finish().unwrap()), "").unwrap_err();
    assert!(error.starts_with("a.parquet.gz: it is Parquet inside gzip\nhint: unpack"), "{error}");
    let [plain, zstd] = ["questions.parquet", "zstd.parquet"].map(|name| read(&sample(name), ", rows = 2").1);
    assert_eq!(plain, zstd, "as pyarrow writes it");
    for codec in [Compression::GZIP(GzipLevel::default()), Compression::ZSTD(ZstdLevel::default())] {
        let schema = parse_message_type("message m { required binary prompt (UTF8); required int32 output_tokens; }");
        let properties = WriterProperties::builder().set_compression(codec).build();
        let mut bytes = Vec::new();
        let mut file = SerializedFileWriter::new(&mut bytes, schema.unwrap().into(), properties.into()).unwrap();
        let mut group = file.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&[ByteArray::from("a")], None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int32Type>().write_batch(&[1], None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        file.close().unwrap();
        let (_, rows, _) = read(&written(&folder, "a.parquet", &bytes), "");
        assert_eq!(rows, [(text("a"), 1)], "{codec}");
    }
}
