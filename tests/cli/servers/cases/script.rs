//! Scripts of answers: a step a line.
//!
//! | step | what is sent |
//! |---|---|
//! | `text JSON` | a chunk with this content |
//! | `delta JSON`, `choice JSON` | a chunk with this delta, or this choice |
//! | `finish JSON` | a chunk with this finish reason |
//! | `usage P N` | usage of P and N tokens |
//! | `json TEXT` | this text as an event |
//! | `body TEXT` | this text as it is |
//! | `raw TEXT` | the same with `\n`, `\r`, `\t` and `\xNN` |
//! | `done` | `[DONE]` |
//! | `wait MS` | nothing for so long |
//! | `reset`, `close` | nothing more: the connection ends |
//! | `good` | the tokens requested, 20 ms apart, and a good end |
//!
//! `8x20 STEP | STEP` repeats the steps, each time after 20 ms; `N`, `N/2`, `N-1`, `N-2` and `2N` are those of the tokens
//! requested. In a step `$n` is their number, `$half` half of it, `$twice` twice, `$i` and `$left` count repetitions up
//! and down, `$whole` is all of the text, `$cached` 16 for a prompt that has come before.

use std::time::Duration;

/// A step of an answer.
#[derive(Debug)]
pub(super) enum Step {
    Wait(Duration),
    Send(Vec<u8>),
    Reset,
    Close,
}

/// An ordinary answer.
pub(super) const GOOD: &str = "Nx20 text \" w\"\nfinish \"length\"\nusage 20 $n\ndone";

/// The steps of `script` for a request of `n` tokens.
pub(super) fn steps(script: &str, n: usize) -> Vec<Step> {
    let mut steps = Vec::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (times, pause_ms, rest) = repeated(line, n).unwrap_or((1, None, line));
        for i in 0..times {
            steps.extend(pause_ms.map(wait));
            for part in rest.split(" | ") {
                steps.extend(step(&filled(part.trim(), n, i, times), n));
            }
        }
    }
    steps
}

fn wait(ms: f64) -> Step {
    Step::Wait(Duration::from_secs_f64(ms / 1e3))
}

/// How often a line is done, after what pause, and what it says: `Nx20 text " w"`.
fn repeated(line: &str, n: usize) -> Option<(usize, Option<f64>, &str)> {
    let (head, rest) = line.split_once(' ')?;
    let (times, pause) = head.split_once('x')?;
    let times = match times {
        "N" => n,
        "N/2" => n / 2,
        "N-1" => n - 1,
        "N-2" => n - 2,
        "2N" => 2 * n,
        number => number.parse().ok()?,
    };
    Some((times, Some(pause.parse().ok()?), rest))
}

fn filled(step: &str, n: usize, i: usize, times: usize) -> String {
    step.replace("$whole", &" w".repeat(n))
        .replace("$half", &(n / 2).to_string())
        .replace("$twice", &(2 * n).to_string())
        .replace("$left", &(times - i).to_string())
        .replace("$n", &n.to_string())
        .replace("$i", &i.to_string())
}

fn step(text: &str, n: usize) -> Vec<Step> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let event = |json: String| vec![Step::Send(format!("data: {json}\n\n").into_bytes())];
    let choice = |choice: String| event(format!("{{\"choices\":[{choice}]}}"));
    match word {
        "text" => choice(format!("{{\"index\":0,\"delta\":{{\"content\":{rest}}},\"finish_reason\":null}}")),
        "delta" => choice(format!("{{\"index\":0,\"delta\":{rest},\"finish_reason\":null}}")),
        "choice" => choice(rest.to_owned()),
        "finish" => choice(format!("{{\"index\":0,\"delta\":{{}},\"finish_reason\":{rest}}}")),
        "usage" => {
            let (prompt, answer) = rest.split_once(' ').unwrap();
            let total = prompt.parse::<usize>().unwrap() + answer.parse::<usize>().unwrap();
            event(format!(
                "{{\"choices\":[],\"usage\":{{\"prompt_tokens\":{prompt},\"completion_tokens\":{answer},\
                 \"total_tokens\":{total}}}}}"
            ))
        }
        "json" => event(rest.to_owned()),
        "body" => vec![Step::Send(rest.as_bytes().to_vec())],
        "raw" => vec![Step::Send(unescaped(rest))],
        "done" => event("[DONE]".to_owned()),
        "wait" => vec![wait(rest.parse().unwrap())],
        "reset" => vec![Step::Reset],
        "close" => vec![Step::Close],
        "good" => steps(GOOD, n),
        _ => panic!("no step {text}"),
    }
}

/// Bytes of a text with escapes.
pub(super) fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        let (byte, after): (u8, &[u8]) = match (*first, more) {
            (b'\\', [b'x', high, low, after @ ..]) => {
                let digits = [*high, *low];
                (u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap(), after)
            }
            (b'\\', [escaped, after @ ..]) => {
                let byte = match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'\\' => b'\\',
                    other => panic!("no escape {}", char::from(*other)),
                };
                (byte, after)
            }
            (plain, after) => (plain, after),
        };
        bytes.push(byte);
        rest = after;
    }
    bytes
}
