//! The files of the crate as a graph: which file names what stands in which other one.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path as FilePath, PathBuf};

use crate::source::{self, Path, Token};

/// A file of `src`.
#[derive(Debug)]
pub(crate) struct File {
    /// Below `src`.
    pub(crate) path: PathBuf,
    /// Where its module stands: `["record", "log"]`.
    pub(crate) module: Vec<String>,
    pub(crate) text: String,
    pub(crate) tokens: Vec<Token>,
    pub(crate) paths: Vec<Path>,
    /// Compiled for tests alone.
    pub(crate) test: bool,
    declared: BTreeSet<String>,
}

impl File {
    pub(crate) fn room(&self) -> &str {
        self.module.first().map_or("", String::as_str)
    }
}

/// What a path leads to.
#[derive(Debug)]
pub(crate) struct Found {
    /// The file that declares it.
    pub(crate) file: usize,
    /// The files that only hand it on by a `pub use`.
    pub(crate) through: Vec<usize>,
}

/// All files of `src`.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) files: Vec<File>,
    modules: BTreeMap<Vec<String>, usize>,
}

impl Graph {
    pub(crate) fn read(src: &FilePath) -> Self {
        let mut paths = Vec::new();
        collect(src, &mut paths);
        let mut files: Vec<File> = paths.iter().map(|path| file(src, path)).collect();
        files.sort_by(|a, b| a.module.cmp(&b.module));
        let modules: BTreeMap<_, _> =
            files.iter().enumerate().map(|(number, file)| (file.module.clone(), number)).collect();
        // Parents come before their children, so that tests within tests are known as such.
        for number in 0..files.len() {
            for (name, test) in source::modules(&files[number].tokens) {
                let child = [files[number].module.as_slice(), &[name]].concat();
                if let Some(&child) = modules.get(&child) {
                    files[child].test = test || files[number].test;
                }
            }
        }
        Self { files, modules }
    }

    /// Files of production code.
    pub(crate) fn production(&self) -> impl Iterator<Item = (usize, &File)> {
        self.files.iter().enumerate().filter(|(_, file)| !file.test)
    }

    /// What `path` in the file of this number leads to; nothing where it leads out of the crate.
    pub(crate) fn resolve(&self, from: usize, path: &Path) -> Option<Found> {
        let mut found = Found { file: from, through: Vec::new() };
        found.file = self.follow(from, &path.segments, path.name.as_deref(), &mut found.through)?;
        Some(found)
    }

    fn follow(&self, from: usize, segments: &[String], name: Option<&str>, through: &mut Vec<usize>) -> Option<usize> {
        let mut module = self.files[from].module.clone();
        let mut rest = segments;
        match segments.first()?.as_str() {
            "crate" => {
                module.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|first| first == "super") {
                    module.pop();
                    rest = &rest[1..];
                }
            }
            child => {
                module.push(child.to_owned());
                let is_module = self.modules.contains_key(&module);
                module.pop();
                if !is_module {
                    return None;
                }
            }
        }
        while let Some((first, others)) = rest.split_first() {
            module.push(first.clone());
            if !self.modules.contains_key(&module) {
                module.pop();
                break;
            }
            rest = others;
        }
        let here = *self.modules.get(&module)?;
        let Some(wanted) = rest.first().map(String::as_str).or(name.filter(|name| *name == "*")) else {
            return Some(here);
        };
        // A chain of files that hand a name on is short; a longer one is a circle.
        if here == from || through.len() > 8 || self.files[here].declared.contains(wanted) {
            return Some(here);
        }
        let named = |path: &&Path| path.name.as_deref() == Some(wanted) && wanted != "*";
        let all = |path: &&Path| path.name.as_deref() == Some("*");
        let uses = || self.files[here].paths.iter().filter(|path| path.name.is_some() && !path.test);
        if let Some(path) = uses().find(named) {
            through.push(here);
            let segments = [path.segments.as_slice(), &rest[1..]].concat();
            return self.follow(here, &segments, None, through).or(Some(here));
        }
        for path in uses().filter(all) {
            let mut further = Vec::new();
            let segments = [path.segments.as_slice(), rest].concat();
            let Some(file) = self.follow(here, &segments, None, &mut further) else { continue };
            if self.files[file].declared.contains(wanted) {
                through.push(here);
                through.append(&mut further);
                return Some(file);
            }
        }
        Some(here)
    }

    /// For every file of production code the others that it imports from. A `pub use` counts where the file itself uses the
    /// name.
    pub(crate) fn edges(&self) -> Vec<BTreeSet<usize>> {
        let mut edges = vec![BTreeSet::new(); self.files.len()];
        for (number, file) in self.production() {
            for path in file.paths.iter().filter(|path| !path.test && path.name.is_some()) {
                if path.exported && !uses_itself(file, path) {
                    continue;
                }
                if let Some(found) = self.resolve(number, path)
                    && found.file != number
                    && !self.files[found.file].test
                {
                    edges[number].insert(found.file);
                }
            }
        }
        edges
    }
}

fn uses_itself(file: &File, path: &Path) -> bool {
    let name = path.name.as_deref().unwrap_or("");
    file.tokens.iter().filter(|token| !token.test && token.text == name).count() > 1
}

fn collect(folder: &FilePath, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

fn file(src: &FilePath, path: &FilePath) -> File {
    let text = fs::read_to_string(path).unwrap();
    let path = path.strip_prefix(src).unwrap().to_owned();
    let mut module: Vec<String> =
        path.with_extension("").iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib")) {
        module.pop();
    }
    let tokens = source::tokens(&text);
    let all_test = tokens.first().is_some_and(|token| token.test) && tokens.iter().all(|token| token.test);
    let (paths, declared) = (source::paths(&tokens), source::declared(&tokens));
    File { path, module, text, tokens, paths, test: all_test, declared }
}

/// The sets of files that reach each other, of two files or more: Tarjan's algorithm, without recursion.
pub(crate) fn circles(edges: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let count = edges.len();
    let (mut index, mut low) = (vec![UNSEEN; count], vec![0; count]);
    let (mut stack, mut on_stack, mut next) = (Vec::new(), vec![false; count], 0);
    let mut found = Vec::new();
    for root in 0..count {
        if index[root] != UNSEEN {
            continue;
        }
        let mut open = vec![(root, edges[root].iter())];
        (index[root], low[root]) = (next, next);
        next += 1;
        stack.push(root);
        on_stack[root] = true;
        while let Some((node, others)) = open.last_mut() {
            let node = *node;
            match others.next() {
                Some(&other) if index[other] == UNSEEN => {
                    (index[other], low[other]) = (next, next);
                    next += 1;
                    stack.push(other);
                    on_stack[other] = true;
                    open.push((other, edges[other].iter()));
                }
                Some(&other) if on_stack[other] => low[node] = low[node].min(index[other]),
                Some(_) => {}
                None => {
                    open.pop();
                    if let Some((parent, _)) = open.last() {
                        low[*parent] = low[*parent].min(low[node]);
                    }
                    if low[node] == index[node] {
                        let from = stack.iter().rposition(|&other| other == node).unwrap();
                        let together = stack.split_off(from);
                        for &other in &together {
                            on_stack[other] = false;
                        }
                        if together.len() > 1 {
                            found.push(together);
                        }
                    }
                }
            }
        }
    }
    found
}

/// A shortest circle through the first of `together`, which reach each other: breadth first, each file once.
pub(crate) fn shortest(edges: &[BTreeSet<usize>], together: &[usize]) -> Vec<usize> {
    let inside: BTreeSet<usize> = together.iter().copied().collect();
    let (start, mut came_from) = (together[0], BTreeMap::new());
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for &other in edges[node].iter().filter(|other| inside.contains(other)) {
            if other == start {
                let mut circle = vec![node];
                while circle[circle.len() - 1] != start {
                    circle.push(came_from[&circle[circle.len() - 1]]);
                }
                circle.reverse();
                return circle;
            }
            if let Entry::Vacant(unseen) = came_from.entry(other) {
                unseen.insert(node);
                queue.push_back(other);
            }
        }
    }
    vec![start]
}
