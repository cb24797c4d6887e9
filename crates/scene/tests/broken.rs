//! Every file under `scenes/broken` is refused with the message that its first line expects, at a
//! line of the file.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;

use stiction_scene::{LoadOptions, SceneSource, load};

#[test]
fn every_broken_scene_is_refused_with_its_message_and_line() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenes/broken");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .collect();
    files.sort();
    assert!(files.len() >= 25, "only {} broken scenes", files.len());
    let mut failures = Vec::new();
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).unwrap();
        let mut lines = text.lines();
        let expect = lines
            .next()
            .and_then(|l| l.strip_prefix("# expect: "))
            .expect(&name);
        assert_eq!(lines.next(), Some("# exit: 2"), "{name}");
        let error = match load(&SceneSource::File(file.clone()), &LoadOptions::default()) {
            Ok(_) => {
                failures.push(format!("{name}: loads"));
                continue;
            }
            Err(error) => error,
        };
        let plain = error.plain();
        let Some(found) = error
            .problems()
            .iter()
            .find(|p| p.message().contains(expect))
        else {
            failures.push(format!("{name}: expected `{expect}`, got\n    {plain}"));
            continue;
        };
        let Some((at, line, _)) = found.location() else {
            failures.push(format!("{name}: no location: {plain}"));
            continue;
        };
        if at != file.display().to_string() || line < 1 || line > text.lines().count() {
            failures.push(format!("{name}: located at {at}:{line}"));
        }
        // The fancy report draws without complaint and names the file.
        let report = format!("{:?}", miette::Report::new(error));
        if !report.contains(&name) {
            failures.push(format!(
                "{name}: the report does not name the file:\n{report}"
            ));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}
