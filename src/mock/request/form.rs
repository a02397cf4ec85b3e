//! Reads a form (RFC 7578) as the fields of a request; a file of audio as its tokens.

use serde_json::{Map, Value, json};

use super::prompt::hash_of;
use crate::mock::refusal::{Mistake, Refusal};

/// Tokens that stand for a second of audio.
pub(crate) const AUDIO_TOKENS_PER_S: u32 = 25;
/// The media type of forms.
pub(crate) const FORM: &str = "multipart/form-data";
/// Beginning of the names of fields that say what a stream carries.
const OF_STREAM: &str = "stream_";

/// The fields of a form whose head says this media type.
pub(crate) fn form(media: &str, body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    let boundary = media.split(';').find_map(|part| part.trim().strip_prefix("boundary="));
    let boundary = boundary.ok_or_else(|| Refusal::validation(&[Mistake::media_type(FORM)]))?.trim_matches('"');
    let between = format!("\r\n--{boundary}");
    // What stands before the first field has no line before it.
    let whole = [b"\r\n", body].concat();
    let (mut fields, mut rest) = (Map::new(), after(&whole, between.as_bytes()));
    while let Some(part) = rest.filter(|rest| !rest.starts_with(b"--")) {
        let end = part.windows(between.len()).position(|window| window == between.as_bytes());
        let broken = || Refusal::bad_request("There was an error parsing the body");
        let (part, next) = part.split_at(end.ok_or_else(broken)?);
        let content = after(part, b"\r\n\r\n").ok_or_else(broken)?;
        let head = String::from_utf8_lossy(&part[..part.len() - content.len()]).into_owned();
        let quoted = |name: &str| Some(head.split_once(&format!(" {name}=\""))?.1.split_once('"')?.0.to_owned());
        let name = quoted("name").ok_or_else(broken)?;
        add(&mut fields, &name, if quoted("filename").is_some() { file(content)? } else { value(&name, content)? });
        rest = next.get(between.len()..);
    }
    Ok(fields)
}

/// The rest after the first such bytes.
fn after<'a>(bytes: &'a [u8], mark: &[u8]) -> Option<&'a [u8]> {
    let at = bytes.windows(mark.len()).position(|window| window == mark)?;
    bytes.get(at + mark.len()..)
}

/// Adds a field. Those of a stream's options are members of the object that other endpoints have.
fn add(fields: &mut Map<String, Value>, name: &str, value: Value) {
    match name.strip_prefix(OF_STREAM) {
        Some(option) => fields.entry("stream_options").or_insert_with(|| json!({}))[option] = value,
        None => _ = fields.insert(name.to_owned(), value),
    }
}

/// The value of a field, whose text may be that of a switch.
fn value(name: &str, content: &[u8]) -> Result<Value, Refusal> {
    let text = String::from_utf8_lossy(content);
    match &*text {
        other if name == "response_format" && other != "json" => {
            Err(Refusal::parameter(name, other, "Currently only support response_format `json`"))
        }
        "true" | "True" => Ok(true.into()),
        "false" | "False" => Ok(false.into()),
        other => Ok(other.into()),
    }
}

/// Tokens of a WAV file, one for each 40 ms of it.
fn file(wav: &[u8]) -> Result<Value, Refusal> {
    let number = |bytes: Option<&[u8]>| Some(u32::from_le_bytes(bytes?.try_into().ok()?));
    let format = after(wav, b"fmt ").filter(|_| wav.starts_with(b"RIFF"));
    let rate = format.and_then(|format| number(format.get(12..16))).filter(|rate| *rate > 0);
    let samples = after(wav, b"data").and_then(|data| data.get(4..));
    let (Some(rate), Some(samples)) = (rate, samples.filter(|samples| !samples.is_empty())) else {
        return Err(Refusal::named("file", "Invalid or unsupported audio file."));
    };
    let each = (rate / AUDIO_TOKENS_PER_S).max(1) as usize;
    Ok(samples.chunks(each).map(|part| Value::from(hash_of(part))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{AnswerForm, TRANSCRIPTIONS};
    use crate::mock::request::{Request, ServedModels, UsageIn};

    const SERVED: ServedModels<'static> = ServedModels { model: "m", adapters: &[], max_model_len: 4096 };

    fn wav(seconds: usize) -> Vec<u8> {
        let head = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data\0\0\0\0";
        [&head[..], &vec![7; seconds * 32_000]].concat()
    }

    fn read(fields: &[(&str, &str)], file: &[u8]) -> Result<Request, String> {
        let mut body = Vec::new();
        for (name, value) in fields {
            let part = format!("--xyz\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
            body.extend_from_slice(part.as_bytes());
        }
        body.extend_from_slice(b"--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n");
        body.extend_from_slice(b"Content-Type: audio/wav\r\n\r\n");
        body.extend_from_slice(file);
        body.extend_from_slice(b"\r\n--xyz--\r\n");
        let fields = form("multipart/form-data; boundary=xyz", &body);
        fields.and_then(|fields| Request::of_fields(&TRANSCRIPTIONS, &fields, SERVED)).map_err(|no| format!("{no:?}"))
    }

    #[test]
    fn a_form_is_a_request_whose_prompt_is_audio() {
        let fields = [
            ("model", "m"),
            ("stream", "true"),
            ("stream_include_usage", "true"),
            ("seed", "7"),
            ("max_completion_tokens", "9"),
        ];
        let request = read(&fields, &wav(2)).unwrap();
        assert_eq!((request.prompts[0].tokens(), request.max_tokens), (50, 9));
        assert_eq!((request.form, request.usage_in, request.seed), (AnswerForm::Streamed, UsageIn::Last, Some(7)));
        assert_eq!(read(&[], &wav(1)).unwrap().form, AnswerForm::Whole);
    }

    #[test]
    fn what_is_no_request_is_refused_by_name() {
        for (fields, file, says) in [
            (&[][..], &b"MP3?"[..], "Invalid or unsupported audio file. (parameter=file)"),
            (&[("model", "other")], &wav(1), "does not exist"),
            (&[("stream_include_usage", "true")], &wav(1), "only be defined when `stream=True`"),
            (&[("response_format", "srt")], &wav(1), "only support response_format `json`"),
        ] {
            let refusal = read(fields, file).unwrap_err();
            assert!(refusal.contains(says), "{refusal}");
        }
        assert!(
            form("multipart/form-data", b"").is_err() && form("multipart/form-data; boundary=x", b"--x\r\n").is_err()
        );
        assert!(form("multipart/form-data; boundary=x", b"--x--\r\n").unwrap().is_empty());
    }
}
