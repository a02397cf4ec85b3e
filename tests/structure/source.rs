//! Reads Rust source as tokens: which are production code, which paths a file names, which types it declares.

use std::collections::BTreeSet;

/// A word, `::`, another sign, or a literal (`""`), with its first and last line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) lines: (usize, usize),
    /// Inside an item behind `#[cfg(test)]`.
    pub(crate) test: bool,
}

/// A path that a file names, by `use` or in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) segments: Vec<String>,
    /// The name that a `use` gives it here; `*` for all that is in it; none outside a `use`.
    pub(crate) name: Option<String>,
    /// A `use` with a visibility: others reach it through this file.
    pub(crate) exported: bool,
    pub(crate) test: bool,
    pub(crate) line: usize,
}

/// The tokens of `text` without comments, with those of tests marked.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = lex(text);
    mark_tests(&mut tokens);
    tokens
}

fn lex(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let word =
        |at: usize| bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte > 127);
    let (mut tokens, mut at, mut line) = (Vec::new(), 0, 1);
    while at < bytes.len() {
        let begin = at;
        let token = match bytes[at] {
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                None
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at = text[at..].find('\n').map_or(bytes.len(), |end| at + end);
                None
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = text[at..].find("*/").map_or(bytes.len(), |end| at + end + 2);
                None
            }
            b'"' => {
                at = quoted(bytes, at + 1);
                Some("\"\"")
            }
            b'r' | b'b' | b'c' if raw(bytes, at).is_some() => {
                let (open, hashes) = raw(bytes, at).unwrap();
                let close = format!("\"{}", "#".repeat(hashes));
                at = text[open..].find(&close).map_or(bytes.len(), |end| open + end + close.len());
                Some("\"\"")
            }
            b'\'' if bytes.get(at + 1) == Some(&b'\\') => {
                at += 3;
                at = text[at..].find('\'').map_or(bytes.len(), |end| at + end + 1);
                Some("\"\"")
            }
            b'\'' if text[at + 1..].chars().nth(1) == Some('\'') => {
                at = at + 2 + text[at + 1..].chars().next().unwrap().len_utf8();
                Some("\"\"")
            }
            _ if word(at) => {
                while word(at) {
                    at += 1;
                }
                Some(&text[begin..at])
            }
            b':' if bytes.get(at + 1) == Some(&b':') => {
                at += 2;
                Some("::")
            }
            _ => {
                at += 1;
                Some(&text[begin..at])
            }
        };
        let last = line + text[begin..at].matches('\n').count();
        if let Some(text) = token {
            tokens.push(Token { text: text.to_owned(), lines: (line, last), test: false });
        }
        line = last;
    }
    tokens
}

/// Where the string that is open at `at` ends.
fn quoted(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// Where the text of a raw string begins, and how many `#` close it.
fn raw(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let prefix = bytes[at..].iter().take_while(|byte| b"rbc".contains(byte)).count();
    let hashes = bytes[at + prefix..].iter().take_while(|byte| **byte == b'#').count();
    let is_raw = bytes[at..at + prefix].contains(&b'r') && bytes.get(at + prefix + hashes) == Some(&b'"');
    is_raw.then_some((at + prefix + hashes + 1, hashes))
}

/// Marks the items behind `#[cfg(test)]`; all of the file behind `#![cfg(test)]`.
fn mark_tests(tokens: &mut [Token]) {
    let mut at = 0;
    while at < tokens.len() {
        let is = |offset: usize, text: &str| tokens.get(at + offset).is_some_and(|token| token.text == text);
        let (open, inner) = if is(0, "#") && is(1, "[") {
            (at + 1, false)
        } else if is(0, "#") && is(1, "!") && is(2, "[") {
            (at + 2, true)
        } else {
            at += 1;
            continue;
        };
        let close = closing(tokens, open);
        let words: Vec<&str> = tokens[open + 1..close].iter().map(|token| token.text.as_str()).collect();
        let tests =
            words.starts_with(&["cfg", "(", "test", ")"]) || words.starts_with(&["cfg", "(", "all", "(", "test", ","]);
        let end = match (tests, inner) {
            (false, _) => close,
            (true, true) => tokens.len() - 1,
            (true, false) => end_of_item(tokens, close + 1),
        };
        if tests {
            tokens[at..=end].iter_mut().for_each(|token| token.test = true);
        }
        at = end + 1;
    }
}

/// The sign that closes the bracket at `open`.
fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len() - 1
}

/// The last token of the item that begins at `at`, whose other attributes are part of it.
fn end_of_item(tokens: &[Token], mut at: usize) -> usize {
    let mut is_use = false;
    while at < tokens.len() {
        match tokens[at].text.as_str() {
            "use" => is_use = true,
            ";" => return at,
            "{" if !is_use => return closing(tokens, at),
            "(" | "[" | "{" => at = closing(tokens, at),
            _ => {}
        }
        at += 1;
    }
    tokens.len() - 1
}

/// The paths in `tokens`: those of every `use`, and those of expressions and types that have a `::`.
pub(crate) fn paths(tokens: &[Token]) -> Vec<Path> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at];
        if token.text == "use" && tokens.get(at + 1).is_some_and(|next| next.text != "<") {
            let exported = at > 0 && matches!(tokens[at - 1].text.as_str(), "pub" | ")");
            at = tree(tokens, at + 1, &[], exported, &mut found);
        } else if is_word(token) && tokens.get(at + 1).is_some_and(|next| next.text == "::") {
            let mut segments = vec![token.text.clone()];
            while tokens.get(at + 1).is_some_and(|next| next.text == "::") && tokens.get(at + 2).is_some_and(is_word) {
                segments.push(tokens[at + 2].text.clone());
                at += 2;
            }
            let inside = at >= 2 * segments.len() && tokens[at + 1 - 2 * segments.len()].text == "::";
            if !inside && segments.len() > 1 {
                let line = token.lines.0;
                found.push(Path { segments, name: None, exported: false, test: token.test, line });
            }
        }
        at += 1;
    }
    found
}

fn is_word(token: &Token) -> bool {
    token.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Adds the paths of the tree of a `use` that begins at `at`; gives where it ends.
fn tree(tokens: &[Token], mut at: usize, prefix: &[String], exported: bool, found: &mut Vec<Path>) -> usize {
    let mut segments = prefix.to_vec();
    let mut name = None;
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            "{" => {
                while tokens[at].text != "}" {
                    at = tree(tokens, at + 1, &segments, exported, found);
                }
                return at + 1;
            }
            "," | "}" | ";" => break,
            "as" => {
                at += 1;
                name = Some(tokens[at].text.clone());
            }
            "*" => name = Some("*".to_owned()),
            "::" => {}
            word => segments.push(word.to_owned()),
        }
        at += 1;
    }
    if segments.len() > prefix.len() || name.is_some() {
        if segments.last().is_some_and(|last| last == "self") {
            segments.pop();
        }
        let name = name.or_else(|| segments.last().cloned());
        let (line, test) = (tokens[at - 1].lines.0, tokens[at - 1].test);
        found.push(Path { segments, name, exported, test, line });
    }
    at
}

/// The modules that `tokens` declare in files of their own, and whether only tests have them.
pub(crate) fn modules(tokens: &[Token]) -> Vec<(String, bool)> {
    let declared = tokens.windows(3).filter(|three| three[0].text == "mod" && three[2].text == ";");
    declared.map(|three| (three[1].text.clone(), three[0].test)).collect()
}

/// The names that production code declares, of types and of all else.
pub(crate) fn declared(tokens: &[Token]) -> BTreeSet<String> {
    let kinds = ["struct", "enum", "trait", "type", "union", "fn", "const", "static", "macro_rules"];
    let declared = tokens.windows(2).filter(|two| !two[0].test && kinds.contains(&two[0].text.as_str()));
    declared.map(|two| two[1].text.clone()).collect()
}

/// The types that are `pub`, and those that are `pub(…)`.
pub(crate) fn public_types(tokens: &[Token]) -> (Vec<String>, Vec<String>) {
    let (mut public, mut restricted) = (Vec::new(), Vec::new());
    for (at, _) in tokens.iter().enumerate().filter(|(_, token)| !token.test && token.text == "pub") {
        let open = tokens.get(at + 1).is_some_and(|next| next.text == "(");
        let kind = if open { closing(tokens, at + 1) + 1 } else { at + 1 };
        let [Some(kind), Some(name)] = [tokens.get(kind), tokens.get(kind + 1)] else { continue };
        if ["struct", "enum", "trait", "type", "union"].contains(&kind.text.as_str()) {
            if open { restricted.push(name.text.clone()) } else { public.push(name.text.clone()) }
        }
    }
    (public, restricted)
}

/// Where the last line of production code ends.
pub(crate) fn last_production_line(tokens: &[Token]) -> usize {
    tokens.iter().filter(|token| !token.test).map(|token| token.lines.1).max().unwrap_or(0)
}

/// How many lines hold production code: no blanks, no comments, no tests.
pub(crate) fn production_lines(text: &str, tokens: &[Token]) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let held = tokens.iter().filter(|token| !token.test).flat_map(|token| token.lines.0..=token.lines.1);
    held.filter(|line| !lines[line - 1].trim().is_empty()).collect::<BTreeSet<_>>().len()
}
