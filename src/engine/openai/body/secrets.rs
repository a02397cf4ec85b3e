//! Finds the secrets in what requests carry.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{HeaderName, HeaderValue, PROXY_AUTHORIZATION};
use serde_json::Value;

use crate::engine::address::BaseUrl;
use crate::engine::proxy::Proxy;
use crate::engine::secrets::{LONG, Secrets, names_a_credential};
use crate::engine::target::Target;

impl Secrets {
    /// The secrets of a target.
    pub(crate) fn from_target(target: &Target) -> Self {
        let mut all: Vec<String> = target.api_key.iter().map(|key| key.expose().to_owned()).collect();
        for header in &target.headers {
            all.extend(in_header(&header.name, &header.value));
        }
        let template = target.endpoint.template.into_iter().flat_map(|template| &template.fields);
        target.extra_body.0.iter().chain(template).for_each(|(name, value)| in_field(name, value, &mut all));
        all.extend(in_query(&target.url));
        let login = target.proxy.as_ref().and_then(Proxy::authorization).cloned();
        all.extend(login.iter().flat_map(|login| in_header(&PROXY_AUTHORIZATION, login)));
        Self::typed(all)
    }
}

fn in_header(name: &HeaderName, value: &HeaderValue) -> Vec<String> {
    let Ok(value) = value.to_str() else { return Vec::new() };
    if !names_a_credential(name.as_str()) {
        return vec![value.to_owned()];
    }
    // `Bearer abc` is echoed as `abc`, and a cookie `name=abc; …` too.
    let word = value.split_once(' ').map(|(_, word)| word);
    let cookies = value.split(';').filter_map(|part| Some(part.split_once('=')?.1));
    let login = word.and_then(|word| String::from_utf8(STANDARD.decode(word.trim()).ok()?).ok());
    let password = login.as_ref().and_then(|login| Some(login.split_once(':')?.1.to_owned()));
    let written = [value].into_iter().chain(word).chain(cookies).map(|text| text.trim().to_owned());
    // Of a Basic login what it says, and the password in it.
    written.chain(login.filter(|_| password.is_some())).chain(password).collect()
}

/// Values in an address, as they are written there and as they are meant.
fn in_query(url: &BaseUrl) -> Vec<String> {
    let written = url.whole().query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    let written = written.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let meant = url.whole().query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned()));
    let secret = |(name, value): (String, String)| (names_a_credential(&name) || value.len() >= LONG).then_some(value);
    written.chain(meant).filter_map(secret).collect()
}

/// Every text in and below a field whose name suggests a credential.
fn in_field(name: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) if names_a_credential(name) => found.push(text.clone()),
        Value::Array(several) => several.iter().for_each(|value| in_field(name, value, found)),
        Value::Object(fields) => {
            for (inner, value) in fields {
                let name = if names_a_credential(name) { name } else { inner };
                in_field(name, value, found);
            }
        }
        _ => {}
    }
}
