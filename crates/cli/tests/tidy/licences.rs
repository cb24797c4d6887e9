//! Licences and sources of all dependencies, against `deny.toml`: what `cargo deny check licenses sources` tests, where
//! it is not installed.

use std::process::Command;

use serde_json::Value;

use super::{read, root};

/// A licence expression of SPDX, of which `allows` says which licences are accepted; `None` if it cannot be read.
/// `/` means `OR`, as in old manifests.
fn satisfied(expression: &str, allows: &dyn Fn(&str) -> bool) -> Option<bool> {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &tokens[..];
    let value = either(&mut rest, allows)?;
    rest.is_empty().then_some(value)
}

fn either(rest: &mut &[&str], allows: &dyn Fn(&str) -> bool) -> Option<bool> {
    let mut value = both(rest, allows)?;
    while let Some(("OR", after)) = rest.split_first().map(|(t, a)| (*t, a)) {
        *rest = after;
        value |= both(rest, allows)?;
    }
    Some(value)
}

fn both(rest: &mut &[&str], allows: &dyn Fn(&str) -> bool) -> Option<bool> {
    let mut value = one(rest, allows)?;
    while let Some(("AND", after)) = rest.split_first().map(|(t, a)| (*t, a)) {
        *rest = after;
        value &= one(rest, allows)?;
    }
    Some(value)
}

fn one(rest: &mut &[&str], allows: &dyn Fn(&str) -> bool) -> Option<bool> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    match *first {
        "(" => {
            let value = either(rest, allows)?;
            let (close, after) = rest.split_first()?;
            *rest = after;
            (*close == ")").then_some(value)
        }
        ")" | "AND" | "OR" | "WITH" => None,
        licence => match rest {
            ["WITH", exception, after @ ..] => {
                *rest = after;
                Some(allows(&format!("{licence} WITH {exception}")))
            }
            _ => Some(allows(licence)),
        },
    }
}

/// All texts in double quotes.
fn quoted(text: &str) -> Vec<String> {
    let parts = text.split('"').skip(1).step_by(2);
    parts.map(str::to_owned).collect()
}

/// The lines of `deny.toml` between a line and the next closing bracket.
fn list<'a>(deny: &'a str, begin: &str) -> &'a str {
    let from = deny.find(begin).unwrap_or_else(|| panic!("no `{begin}`"));
    let list = &deny[from..];
    &list[..list.find("\n]").unwrap()]
}

/// The licence of every package that is not of this repository, by name.
fn packages() -> Vec<(String, String)> {
    let metadata = |more: &[&str]| {
        let args = ["metadata", "--locked", "--format-version", "1"];
        let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
        let output = Command::new(cargo)
            .args(args)
            .args(more)
            .current_dir(root())
            .output();
        output.unwrap()
    };
    // Sources that are there need no network; those of other platforms may be missing.
    let mut output = metadata(&["--offline"]);
    if !output.status.success() {
        output = metadata(&[]);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "run `cargo fetch --locked` first: {said}"
    );
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = all["packages"].as_array().unwrap().iter();
    let foreign = all.filter(|p| !p["source"].is_null());
    let licence = |p: &Value| p["license"].as_str().unwrap_or("").to_owned();
    foreign
        .map(|p| (p["name"].as_str().unwrap().to_owned(), licence(p)))
        .collect()
}

#[test]
fn dependencies_have_licences_that_are_allowed() {
    let deny = read(root().join("deny.toml"));
    let allowed = quoted(list(&deny, "\nallow = ["));
    let exceptions: Vec<Vec<String>> = list(&deny, "\nexceptions = [")
        .lines()
        .map(quoted)
        .filter(|e| !e.is_empty())
        .collect();
    assert!(allowed.len() > 3 && !exceptions.is_empty());
    let packages = packages();
    assert!(packages.len() > 100, "{}", packages.len());
    for (name, licence) in &packages {
        let own = exceptions.iter().filter(|e| e[0] == *name);
        let own: Vec<&String> = own.flat_map(|e| &e[1..]).collect();
        let allows = |l: &str| allowed.iter().chain(own.iter().copied()).any(|a| a == l);
        let verdict = satisfied(licence, &allows);
        assert_eq!(
            verdict,
            Some(true),
            "{name} has the licence `{licence}`, which deny.toml does not allow"
        );
    }
    // An exception for a package that is gone is dropped.
    for e in &exceptions {
        assert!(packages.iter().any(|p| p.0 == e[0]), "{} is not used", e[0]);
    }
}

#[test]
fn dependencies_come_from_the_registry() {
    let lock = read(root().join("Cargo.lock"));
    let mut sources = lock.lines().filter_map(|l| l.strip_prefix("source = "));
    let registry = "\"registry+https://github.com/rust-lang/crates.io-index\"";
    assert_eq!(sources.find(|s| *s != registry), None);
}

#[test]
fn licence_expressions_are_read() {
    let allows = |l: &str| ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"].contains(&l);
    for (expression, verdict) in [
        ("MIT", Some(true)),
        ("GPL-3.0", Some(false)),
        ("GPL-3.0 OR MIT", Some(true)),
        ("GPL-3.0/MIT", Some(true)),
        ("GPL-3.0 AND MIT", Some(false)),
        ("MIT OR GPL-3.0 AND ISC", Some(true)),
        ("(MIT OR ISC) AND ISC", Some(false)),
        ("(MIT OR ISC) AND Apache-2.0", Some(true)),
        ("Apache-2.0 WITH LLVM-exception", Some(true)),
        ("MIT WITH LLVM-exception", Some(false)),
        ("", None),
        ("MIT OR", None),
        ("(MIT", None),
        ("MIT ISC", None),
    ] {
        assert_eq!(satisfied(expression, &allows), verdict, "{expression}");
    }
}
