//! Keys that may change between a run and its continuation.

use stiction_format::{
    differences::{self, Difference},
    error::Reporter,
    fingerprint::Fingerprint,
    source::{SourceOrigin, Sources},
    tree::{self, TreeNode, TreeTable},
};

use crate::SceneError;

/// Whether a key may change between a run and its continuation: how long the run goes on, what it
/// writes, and what the scene is called.
fn may_change(path: &[impl AsRef<str>]) -> bool {
    match path {
        [top] => matches!(top.as_ref(), "name" | "description" | "output"),
        [top, key] if top.as_ref() == "time" => matches!(
            key.as_ref(),
            "duration" | "frames_per_second" | "frame_every"
        ),
        _ => false,
    }
}

/// The fingerprint of a document without what may change between a run and its continuation.
pub(crate) fn document(root: &TreeTable) -> Fingerprint {
    let mut f = Fingerprint::new();
    f.table(root, &|key| key == "time" || may_change(&[key]));
    if let Some(time) = root.get("time").and_then(TreeNode::table) {
        f.table(time, &|key| may_change(&["time", key]));
    }
    f
}

/// Differences between two texts of scenes. Keys that may change between a run and its continuation do
/// not count: the name, the description, the duration, the frames and the output.
pub fn differences(then: &str, now: &str) -> Result<Vec<Difference>, SceneError> {
    let parse = |name: &str, text: &str| {
        let mut sources = Sources::default();
        let source = sources.add(SourceOrigin::Document, name, text);
        let reporter = Reporter::new(sources);
        reporter.given(tree::parse(text, source, &reporter))
    };
    let (then, now) = (parse("scene of the run", then)?, parse("scene", now)?);
    let skip = |path: &[String]| may_change(path);
    Ok(differences::differences(&then, &now, &skip))
}
