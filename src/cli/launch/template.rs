//! Templates: texts with places that are filled in.

/// Returns the template with a value for each `@name@` in it. A value of several lines is indented as its place is, and
/// a line that becomes empty is left out.
pub(super) fn filled(template: &str, values: &[(&str, String)]) -> String {
    let value = |name: &str| values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value.as_str());
    let mut text = String::new();
    for line in template.lines() {
        let (indent, rest) = line.split_at(line.len() - line.trim_start().len());
        let parts = rest.split('@').enumerate();
        let rest: String = parts.map(|(place, part)| if place % 2 == 0 { part } else { value(part) }).collect();
        for line in rest.lines() {
            text.extend([indent, line, "\n"]);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_their_names_stood() {
        let values = [("list", "- a@b@\n- c".to_owned()), ("word", "x".to_owned()), ("none", String::new())];
        assert_eq!(
            filled("a: @word@.@word@\n  b:\n    @list@\n  @none@\nc\n", &values),
            "a: x.x\n  b:\n    - a@b@\n    - c\nc\n"
        );
    }
}
