//! Replaces the paths of schema files by the content of the files, before a spec is read.

use std::path::Path;

use crate::workload::reading::mistakes::Mistakes;
use crate::workload::reading::node::{Node, NodeValue};
use crate::workload::reading::text::parse_json;

/// Replaces every path of a schema in a workload by the schema itself: in checks, in answer formats and in the
/// parameters of tools. A relative path begins at `folder`. A file that cannot be read is a mistake on the path's
/// line.
pub(crate) fn inline(workload: &mut Node, folder: &Path, mistakes: &Mistakes) {
    for (i, check) in workload.items_mut("checks").iter_mut().enumerate() {
        if let Some(expect) = check.field_mut("expect") {
            replace(expect, "json_schema", &format!("checks[{i}].expect"), folder, mistakes);
        }
    }
    for (i, class) in workload.items_mut("classes").iter_mut().enumerate() {
        let Some(answer) = class.field_mut("answer") else { continue };
        let path = format!("classes[{i}].answer");
        replace(answer, "schema", &path, folder, mistakes);
        for (j, tool) in answer.items_mut("tools").iter_mut().enumerate() {
            replace(tool, "parameters", &format!("{path}.tools[{j}]"), folder, mistakes);
        }
    }
}

fn replace(table: &mut Node, field: &str, path: &str, folder: &Path, mistakes: &Mistakes) {
    let Some(node) = table.field_mut(field) else { return };
    let NodeValue::Text(text) = &node.value else { return };
    if text.trim_start().starts_with('{') {
        return;
    }
    let file = folder.join(text);
    let complain =
        |cause: String| mistakes.add(node.line, format!("`{path}.{field}` is {text:?}, and {cause}"));
    let read = match std::fs::read_to_string(&file) {
        Ok(read) => read,
        Err(error) => {
            return complain(format!("the file {} cannot be read: {error}", file.display()));
        }
    };
    match parse_json(read.trim_start_matches('\u{feff}')) {
        // The schema's own lines belong to another file: mistakes in it are reported on the line of its path.
        Ok(schema) => *node = schema.on_line(node.line),
        Err(error) => complain(error.into_error(&file.display().to_string()).to_string()),
    }
}
