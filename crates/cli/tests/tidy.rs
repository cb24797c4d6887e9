//! The repository looks at itself: documents name what exists, crates follow the arrows, citations
//! are in the bibliography.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "tidy/licences.rs"]
mod licences;
#[path = "tidy/words.rs"]
mod words;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// All files below `dir` with one of the given endings, build directories aside.
fn files(dir: &Path, endings: &[&str], out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(
                name.as_str(),
                "target" | ".git" | "out" | "corpus" | "artifacts" | "node_modules"
            ) {
                files(&path, endings, out);
            }
        } else if endings.iter().any(|e| name.ends_with(e)) {
            out.push(path);
        }
    }
}

fn all(endings: &[&str]) -> Vec<PathBuf> {
    let mut out = Vec::new();
    files(&root(), endings, &mut out);
    out.sort();
    assert!(!out.is_empty());
    out
}

/// Everything between backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn documents_name_paths_that_exist() {
    for document in ["ARCHITECTURE.md", "README.md", "CONTRIBUTING.md"] {
        for word in quoted(&read(document)) {
            let is_path = ["crates/", "scenes/", "docs/", "fuzz/", ".ci/", "benches/"]
                .iter()
                .any(|p| word.starts_with(p));
            if is_path && !word.contains(['*', ' ']) {
                assert!(
                    root().join(word).exists(),
                    "{document} names `{word}`, which does not exist"
                );
            }
        }
    }
}

/// The text of a document without its code: fenced blocks become empty lines, spans lose their contents.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        match fence || fenced {
            true => lines.push(String::new()),
            false => lines.push(line.split('`').step_by(2).collect::<Vec<_>>().join("``")),
        }
    }
    lines.join("\n")
}

/// Anchors of the headings of a document, as mdBook and GitHub make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut fenced = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        let Some(title) = line.strip_prefix('#').filter(|_| !fenced) else {
            continue;
        };
        let title = title.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        });
        let name: String = kept.collect();
        let mut unique = name.clone();
        let mut number = 0;
        while !found.insert(unique.clone()) {
            number += 1;
            unique = format!("{name}-{number}");
        }
    }
    found
}

#[test]
fn links_between_documents_lead_somewhere() {
    let book = root().join("docs");
    let mut seen = 0;
    for document in all(&[".md"]) {
        let shown = document.display();
        let text = fs::read_to_string(&document).unwrap();
        for part in prose(&text).split("](").skip(1) {
            let link = part.split(')').next().unwrap();
            if link.contains("://") {
                continue;
            }
            seen += 1;
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let path = match target.is_empty() {
                true => document.clone(),
                false => document.parent().unwrap().join(target),
            };
            assert!(
                path.exists(),
                "{shown} links to {link}, which does not exist"
            );
            let path = path.canonicalize().unwrap();
            assert!(
                path.starts_with(&book) || !document.starts_with(&book),
                "{shown} links to {link}, which is not in the book"
            );
            if !anchor.is_empty() {
                let known = anchors(&fs::read_to_string(&path).unwrap());
                assert!(known.contains(anchor), "{shown} links to {link}: {known:?}");
            }
        }
    }
    assert!(seen > 50, "the search for links finds nothing");
}

/// The book has every document, and the README names all of them.
#[test]
fn every_document_is_in_the_book_and_in_the_readme() {
    let (summary, readme) = (read("docs/SUMMARY.md"), read("README.md"));
    let mut documents = Vec::new();
    files(&root().join("docs"), &[".md"], &mut documents);
    for path in documents {
        let path = path.strip_prefix(root().join("docs")).unwrap();
        let path = path.to_string_lossy().replace('\\', "/");
        assert!(
            path == "SUMMARY.md" || summary.contains(&format!("]({path})")),
            "docs/SUMMARY.md does not name {path}"
        );
        assert!(
            readme.contains(&format!("](docs/{path})")),
            "README.md does not link to docs/{path}"
        );
    }
}

#[test]
fn architecture_names_every_crate() {
    let text = read("ARCHITECTURE.md");
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            text.contains(&format!("`crates/{name}`")),
            "ARCHITECTURE.md does not name crates/{name}"
        );
    }
}

#[test]
fn architecture_is_one_page() {
    let lines = read("ARCHITECTURE.md").lines().count();
    assert!(
        lines <= 120,
        "ARCHITECTURE.md has {lines} lines; it is meant to be read in one go"
    );
}

/// Crates that each crate may use, directly or through another.
fn allowed() -> BTreeMap<&'static str, &'static [&'static str]> {
    BTreeMap::from([
        ("math", &[] as &[_]),
        ("geometry", &["math"]),
        ("meshio", &["math", "geometry"]),
        ("format", &["math"]),
        ("bodies", &["math", "geometry"]),
        ("contact", &["math", "geometry"]),
        ("solvers", &["math", "contact"]),
        ("sim", &["math", "geometry", "bodies", "contact", "solvers"]),
        (
            "scene",
            &[
                "math", "geometry", "meshio", "format", "bodies", "contact", "solvers", "sim",
            ],
        ),
        (
            "record",
            &["math", "geometry", "bodies", "contact", "solvers", "sim"],
        ),
        (
            "stiction",
            &[
                "math", "geometry", "bodies", "contact", "solvers", "sim", "scene", "record",
            ],
        ),
        (
            "cli",
            &[
                "math", "geometry", "bodies", "contact", "solvers", "sim", "scene", "record",
            ],
        ),
        ("viewer", &["cli"]),
    ])
}

#[test]
fn crates_follow_the_arrows() {
    let allowed = allowed();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let may = allowed
            .get(name.as_str())
            .unwrap_or_else(|| panic!("crates/{name} has no place in the arrows"));
        let manifest = read(format!("crates/{name}/Cargo.toml"));
        let normal = manifest.split("[dev-dependencies]").next().unwrap();
        for line in normal.lines().filter(|l| l.starts_with("stiction-")) {
            let used = line
                .trim_start_matches("stiction-")
                .split(['.', ' ', '='])
                .next()
                .unwrap();
            assert!(
                may.contains(&used),
                "crates/{name} uses {used}, against the arrows of ARCHITECTURE.md"
            );
        }
    }
}

#[test]
fn only_math_names_the_sparse_library() {
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let uses = read(format!("crates/{name}/Cargo.toml"))
            .lines()
            .any(|l| l.starts_with("faer"));
        assert_eq!(uses, name == "math", "crates/{name}");
    }
}

/// The core never touches the file system and never prints.
#[test]
fn the_core_does_no_input_or_output() {
    for name in ["math", "geometry", "bodies", "contact", "solvers", "sim"] {
        let mut sources = Vec::new();
        files(
            &root().join("crates").join(name).join("src"),
            &[".rs"],
            &mut sources,
        );
        for path in sources {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            for word in [
                "std::fs",
                "std::io",
                "std::net",
                "println!",
                "eprintln!",
                "dbg!(",
            ] {
                assert!(!code.contains(word), "{} has `{word}`", path.display());
            }
        }
    }
}

/// Functions of the system's library, and those of nalgebra that call them, whose last bits depend on the processor.
const OF_THE_SYSTEM: [&str; 40] = [
    ".sin()",
    ".cos()",
    ".tan()",
    ".sin_cos()",
    ".asin()",
    ".acos()",
    ".atan()",
    ".atan2(",
    ".sinh()",
    ".cosh()",
    ".tanh()",
    ".exp()",
    ".exp2()",
    ".exp_m1()",
    ".ln()",
    ".ln_1p()",
    ".log(",
    ".log2()",
    ".log10()",
    ".powf(",
    ".cbrt()",
    ".hypot(",
    "f64::sin",
    "f64::cos",
    "f64::tan",
    "f64::exp",
    "f64::ln",
    "f64::atan",
    "f64::pow",
    "f64::hypot",
    "from_scaled_axis(",
    "from_axis_angle(",
    "from_euler_angles(",
    "Quat::rotation_between(",
    ".scaled_axis()",
    ".angle_to(",
    ".slerp(",
    "Rotation3::new(",
    ".euler_angles(",
    ".rotation_to(",
];

/// Core crates have the same bits on every processor: `crates/math/src/elementary.rs`.
#[test]
fn the_core_calls_its_own_elementary_functions() {
    for name in [
        "math", "geometry", "bodies", "contact", "solvers", "sim", "scene",
    ] {
        let mut sources = Vec::new();
        files(
            &root().join("crates").join(name).join("src"),
            &[".rs"],
            &mut sources,
        );
        for path in sources {
            let shown = path.to_string_lossy().replace('\\', "/");
            // Checkers of derivatives, which run in tests only.
            let tests = ["/tests.rs", "/testing.rs", "bodies/src/check.rs"];
            if tests.iter().any(|t| shown.ends_with(t)) {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            let code = code.split("#[cfg(all(test").next().unwrap();
            let code = code.split("#[cfg(all(test").next().unwrap();
            for (number, line) in code.lines().enumerate() {
                let line = line.split("//").next().unwrap();
                // Of generic scalars, whose own `ln` it is.
                let line = match shown.ends_with("contact/src/smooth/law.rs") {
                    true => line.replace("(x * (1.0 / delta)).ln()", ""),
                    false => line.to_owned(),
                };
                for call in OF_THE_SYSTEM {
                    let number = number + 1;
                    assert!(!line.contains(call), "{shown}:{number} has `{call}`");
                }
            }
        }
    }
}

#[test]
fn unsafe_stays_in_its_corner() {
    for path in all(&[".rs"]) {
        let shown = path
            .strip_prefix(root())
            .unwrap()
            .to_string_lossy()
            .replace('\\', "/");
        let text = fs::read_to_string(&path).unwrap();
        let code: String = text
            .lines()
            .filter(|l| !l.trim_start().starts_with("//"))
            .collect::<Vec<_>>()
            .join("\n");
        if code.contains(concat!("unsafe", " {")) || code.contains(concat!("unsafe", " impl")) {
            let known = shown == "crates/math/src/parallel.rs"
                || shown == "crates/math/src/scatter.rs"
                || shown == "crates/math/src/prefetch.rs"
                // One call of the allocator's, before there is a second thread.
                || shown == "crates/cli/src/main.rs"
                || shown.starts_with("crates/solvers/src/projection/")
                || shown.contains("/tests/");
            assert!(known, "{shown} has unsafe code");
        }
    }
}

#[test]
fn solvers_do_not_import_one_another() {
    let src = root().join("crates/solvers/src");
    let folders: Vec<String> = fs::read_dir(&src)
        .unwrap()
        .map(|e| e.unwrap())
        .filter(|e| e.path().is_dir())
        .map(|e| e.file_name().into_string().unwrap())
        .collect();
    for folder in &folders {
        let mut sources = Vec::new();
        files(&src.join(folder), &[".rs"], &mut sources);
        for path in sources {
            let text = fs::read_to_string(&path).unwrap();
            // No solvers: the sweep and the equations that several of them share.
            let shared = |name: &str| ["projection", "kkt"].contains(&name);
            for other in folders.iter().filter(|o| *o != folder && !shared(o)) {
                assert!(
                    !text.contains(&format!("crate::{other}")),
                    "{} imports solver {other}",
                    path.display()
                );
            }
        }
    }
}

/// Files outside the methods' folders in which a method's name is a literal, with its other meaning.
const NAMESAKES: [(&str, &str, &str); 19] = [
    (
        "crates/cli/src/commands/bench/cr.rs",
        "cr",
        "the method whose paper is compared with",
    ),
    ("crates/solvers/src/cr/mod.rs", "cr", "a contact solver"),
    ("crates/solvers/src/registry.rs", "cr", "a contact solver"),
    (
        "crates/solvers/src/admm/outer.rs",
        "admm",
        "a contact solver",
    ),
    (
        "crates/solvers/src/newton/mod.rs",
        "newton",
        "a contact solver",
    ),
    (
        "crates/solvers/src/nodal/mod.rs",
        "nodal",
        "a contact solver",
    ),
    ("crates/solvers/src/registry.rs", "admm", "a contact solver"),
    (
        "crates/solvers/src/registry.rs",
        "nodal",
        "a contact solver",
    ),
    (
        "crates/solvers/src/registry.rs",
        "newton",
        "a contact solver",
    ),
    (
        "crates/cli/src/commands/bench/nodal.rs",
        "admm",
        "a solver of the table that it measures",
    ),
    (
        "crates/cli/src/commands/bench/nodal.rs",
        "nodal",
        "a solver of the table that it measures",
    ),
    (
        "crates/cli/src/commands/bench/admm.rs",
        "admm",
        "a contact solver",
    ),
    (
        "crates/cli/src/commands/bench/cr/curves.rs",
        "cr",
        "a contact solver",
    ),
    (
        "crates/scene/src/read/motion.rs",
        "smooth",
        "an interpolation",
    ),
    (
        "crates/scene/src/read/mod.rs",
        "attachment",
        "a spring between bodies",
    ),
    (
        "crates/scene/src/read/pin.rs",
        "attachment",
        "a spring between bodies",
    ),
    (
        "crates/scene/src/read/names.rs",
        "attachment",
        "a spring between bodies",
    ),
    (
        "crates/scene/src/read/probe.rs",
        "attachment",
        "a spring between bodies",
    ),
    (
        "crates/cli/src/commands/doctor.rs",
        "attachment",
        "a spring between bodies",
    ),
];

/// Code that depends on a method's name escapes its entry in the registry: a new method would have to
/// be added there, too.
#[test]
fn methods_are_named_in_their_own_folders_only() {
    let names = stiction_sim::Registry::default().names();
    assert!(names.len() >= 3, "{names:?}");
    let mut found = BTreeSet::new();
    for path in all(&[".rs"]) {
        let shown = path
            .strip_prefix(root())
            .unwrap()
            .to_string_lossy()
            .replace('\\', "/");
        let own = shown.starts_with("crates/sim/src/methods/");
        let test = shown.contains("/tests/") || shown.ends_with("/tests.rs");
        if own || test || !shown.contains("/src/") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for line in code.lines().filter(|l| !l.trim_start().starts_with("//")) {
            for name in &names {
                // A literal, a word in quotes inside a literal, or a word in a message.
                let written = [
                    format!("\"{name}\""),
                    format!("\\\"{name}\\\""),
                    format!("`{name}`"),
                ];
                if written.iter().any(|w| line.contains(w)) {
                    found.insert((shown.clone(), *name));
                }
            }
        }
    }
    let namesakes: BTreeSet<_> = NAMESAKES
        .iter()
        .map(|(file, name, _)| ((*file).to_owned(), *name))
        .collect();
    assert_eq!(
        found, namesakes,
        "ask the registry instead of naming a method"
    );
}

/// Every method has a folder of its own, which is all of them.
#[test]
fn every_method_has_its_folder() {
    let folder = root().join("crates/sim/src/methods");
    let folders: BTreeSet<String> = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.is_dir())
        .map(|p| p.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    let names = stiction_sim::Registry::default().names();
    let names: BTreeSet<String> = names.into_iter().map(str::to_owned).collect();
    assert_eq!(folders, names);
}

/// Keys cited as `[key]` or `[key, Sect. 1]`, told from other brackets by a year or a known name.
fn cited(text: &str) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for part in text.split('[').skip(1) {
        let inside = part.split(']').next().unwrap();
        let key = inside.split(',').next().unwrap().trim();
        let word = key
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        let digits = key.trim_start_matches(|c: char| c.is_ascii_lowercase());
        let year = digits.len() == 4
            && digits.len() < key.len()
            && (digits.starts_with("19") || digits.starts_with("20"));
        if word && (year || key == "larionov" || key == "ding") {
            keys.insert(key.to_owned());
        }
    }
    keys
}

#[test]
fn citations_are_in_the_bibliography() {
    let bibliography = read("docs/refs.bib");
    let known: BTreeSet<&str> = bibliography
        .lines()
        .filter(|l| l.starts_with('@'))
        .filter_map(|l| l.split('{').nth(1))
        .map(|l| l.trim_end_matches(','))
        .collect();
    let mut used = BTreeSet::new();
    for path in all(&[".rs", ".md", ".toml"]) {
        for key in cited(&fs::read_to_string(&path).unwrap()) {
            assert!(
                known.contains(key.as_str()),
                "{} cites [{key}], which is not in docs/refs.bib",
                path.display()
            );
            used.insert(key);
        }
    }
    assert!(
        used.contains("daviet2020"),
        "the search for citations finds nothing"
    );
}

#[test]
fn files_hold_one_idea() {
    for path in all(&[".rs"]) {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(
            lines <= 900,
            "{} has {lines} lines: probably two ideas",
            path.display()
        );
    }
}

/// Words that show work left undone.
#[test]
fn nothing_is_left_for_later_in_the_code() {
    for path in all(&[".rs"]) {
        if path.ends_with("tidy.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for word in [
            "TODO",
            "FIXME",
            "XXX",
            "todo!(",
            "unimplemented!(",
            "#[ignore",
        ] {
            assert!(!text.contains(word), "{} has `{word}`", path.display());
        }
    }
}

#[test]
fn readme_has_the_two_commands() {
    let text = read("README.md");
    assert!(text.contains("cargo run --release -- run") && text.contains("cargo test"));
    assert!(read(".ci/run").contains("cargo test"));
}

#[test]
fn subcommands_in_the_readme_exist() {
    let text = read("README.md");
    let help = std::process::Command::new(env!("CARGO_BIN_EXE_stiction"))
        .arg("--help")
        .output()
        .unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for line in text.lines().filter(|l| l.starts_with("stiction ")) {
        let command = line.split_whitespace().nth(1).unwrap();
        assert!(
            help.contains(&format!("\n  {command}")),
            "README.md shows `stiction {command}`"
        );
    }
}

/// A table of numbers without the command that makes them cannot be checked by anybody.
#[test]
fn tables_of_results_name_their_commands() {
    for file in ["docs/results.md", "docs/validation.md"] {
        let text = read(file);
        let has_command = |s: &str| s.contains("`stiction ") || s.contains("`cargo ");
        let mut tables = 0;
        let mut above = "";
        for section in text.split("\n#").skip(1) {
            if section.lines().any(|l| l.starts_with("| ---")) {
                tables += 1;
                let same = section.to_lowercase().contains("the same command");
                assert!(
                    has_command(section) || same && has_command(above),
                    "{file}: no command with the table of `{}`",
                    section.lines().next().unwrap()
                );
            }
            above = section;
        }
        assert!(tables > 3, "{file}: {tables} tables");
    }
}

/// Advisories that are accepted name a package of the lock file and a reason; unmaintained packages are
/// refused otherwise, and so are unknown licences and sources.
#[test]
fn accepted_advisories_have_a_package_and_a_reason() {
    let (deny, lock) = (
        read(root().join("deny.toml")),
        read(root().join("Cargo.lock")),
    );
    let accepted: Vec<&str> = deny.lines().filter(|l| l.contains("RUSTSEC-")).collect();
    assert!(!accepted.is_empty());
    for line in accepted {
        let reason = line.split_once("reason = \"").map(|(_, r)| r);
        let Some((package, why)) = reason.and_then(|r| r.split_once(": ")) else {
            panic!("deny.toml: `{line}` has no reason of the form \"package: why\"");
        };
        assert!(why.len() > 10, "{line}");
        let locked = format!("name = \"{package}\"\n");
        assert!(lock.contains(&locked), "{package} is not in Cargo.lock");
    }
    for kept in [
        "unmaintained = \"all\"",
        "yanked = \"deny\"",
        "unknown-registry = \"deny\"",
        "unknown-git = \"deny\"",
    ] {
        assert!(deny.contains(kept), "deny.toml has no `{kept}`");
    }
    // Packages without a maintainer are there with a reason, or not at all.
    for package in ["paste", "ttf-parser"] {
        let used = lock.contains(&format!("name = \"{package}\"\n"));
        assert_eq!(deny.contains(&format!("\"{package}: ")), used, "{package}");
    }
    let contributing = read(root().join("CONTRIBUTING.md"));
    assert!(contributing.contains("cargo deny check"));
}
