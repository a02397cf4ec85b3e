//! The files that a bench needs on the machines that run it.

use std::path::{Path, PathBuf};

use crate::cli::bench::{BenchArgs, BenchPlan};
use crate::session::Stop;
use crate::workload::reading::{Entry, Node, NodeValue, read_file};

/// Returns the files and folders that this bench reads. They are its workload, which may name others, datasets, images,
/// a trace, a tokenizer, certificates and a template.
pub(super) fn named(bench: &BenchArgs, plan: &BenchPlan) -> Result<Vec<PathBuf>, Stop> {
    let (spec, settings) = (&plan.checked.spec, &plan.checked.settings);
    // An embedded workload has a name without an ending.
    let workload = bench.workload.what.named().0.map(Path::new).filter(|path| path.extension().is_some());
    let mut paths: Vec<PathBuf> = workload.map(beside).transpose()?.unwrap_or_default();
    for class in &spec.classes {
        let dataset = class.prompt.dataset().filter(|dataset| dataset.on_hub().is_none());
        paths.extend(dataset.map(|dataset| (&dataset.path).into()));
        paths.extend(class.images.as_ref().and_then(|images| images.folder.as_ref()).map(Into::into));
    }
    paths.extend(spec.arrival.trace().map(|trace| (&trace.path).into()));
    // Else it is an id of the hub.
    paths.extend(settings.requests.tokenizer.as_ref().map(PathBuf::from).filter(|path| path.exists()));
    paths.extend(settings.server.common.tls.ca_cert.clone());
    paths.extend(settings.server.common.endpoint.template_file().map(|file| file.path.clone()));
    let mut paths: Vec<PathBuf> = paths.into_iter().map(|path| path.components().collect()).collect();
    paths.sort_unstable();
    paths.dedup();
    Ok(paths)
}

/// The file of a workload, and the files whose names stand in it.
fn beside(workload: &Path) -> Result<Vec<PathBuf>, Stop> {
    let read = read_file(workload, "skyline workloads show short_chat").map_err(Stop::usage)?;
    let mut texts = Vec::new();
    if let Ok(node) = &read {
        collect(node, &mut texts);
    }
    let folder = workload.parent().unwrap_or(Path::new(""));
    let files = texts.into_iter().map(|text| folder.join(text)).filter(|path| path.is_file());
    Ok(std::iter::once(workload.to_owned()).chain(files).collect())
}

/// Collects every text in and below a node.
fn collect<'n>(node: &'n Node, texts: &mut Vec<&'n str>) {
    match &node.value {
        NodeValue::Text(text) => texts.push(text),
        NodeValue::List(items) => items.iter().for_each(|item| collect(item, texts)),
        NodeValue::Table(entries) => entries.iter().for_each(|Entry { node, .. }| collect(node, texts)),
        _ => {}
    }
}

/// Why a file cannot be taken along.
pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> Stop {
    Stop::usage(format!("cannot read {}, which the workers need: {error}", path.display()))
}
