//! One-to-one names of time series entries and their files.

use stiction_bodies::Model;

use crate::{CONTACTS, OBSTACLE_PREFIX};

/// Prefix of bodies whose names would be ambiguous.
const BODY_PREFIX: &str = "body.";

/// Longest file stem [bytes]: file systems limit names to 255, including the frame number and the
/// extension.
const LONGEST: usize = 120;

/// The name in the time series and the file stem of every entry.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SeriesNames {
    /// Of each body.
    pub bodies: Vec<(String, String)>,
    /// Of each obstacle.
    pub obstacles: Vec<(String, String)>,
    /// Of the contacts.
    pub contacts: (String, String),
}

impl SeriesNames {
    pub fn of(model: &Model) -> Self {
        let bodies = model.bodies.iter().map(|b| body_name(&b.name));
        let obstacles = model.obstacles.iter();
        let obstacles = obstacles.map(|o| format!("{OBSTACLE_PREFIX}{}", o.name));
        let names: Vec<String> = bodies
            .chain(obstacles)
            .chain([CONTACTS.to_owned()])
            .collect();
        let stems = file_stems(names.iter().map(String::as_str));
        let mut pairs = names.into_iter().zip(stems);
        Self {
            bodies: pairs.by_ref().take(model.bodies.len()).collect(),
            obstacles: pairs.by_ref().take(model.obstacles.len()).collect(),
            contacts: pairs.next().unwrap_or_default(),
        }
    }
}

/// The name of a body in a time series: its own, with a prefix if it collides with an obstacle or
/// with the contacts.
fn body_name(name: &str) -> String {
    let reserved = [OBSTACLE_PREFIX, CONTACTS, BODY_PREFIX];
    match reserved.iter().any(|prefix| name.starts_with(prefix)) {
        true => format!("{BODY_PREFIX}{name}"),
        false => name.to_owned(),
    }
}

/// Unique file stems for `names`, also on file systems that ignore case.
///
/// A name of letters, digits, `-` and `_` is its own stem. Other characters become `_`, and a
/// number is appended to a stem that is taken.
pub fn file_stems<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let names: Vec<&str> = names.collect();
    let mut taken = std::collections::BTreeSet::new();
    let mut stems = vec![String::new(); names.len()];
    // Unchanged names come first, so that no other name takes theirs.
    for exact in [true, false] {
        for (name, stem) in names.iter().zip(&mut stems) {
            let plain = plain(name);
            let unchanged = plain == *name;
            if !stem.is_empty() || exact && !unchanged {
                continue;
            }
            let mut unique = plain.clone();
            let mut count = 1;
            while !taken.insert(unique.to_lowercase()) {
                count += 1;
                unique = format!("{plain}-{count}");
            }
            *stem = unique;
        }
    }
    stems
}

/// A name with `_` for characters that are not portable in file names.
fn plain(name: &str) -> String {
    let fits = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let mut plain: String = name
        .chars()
        .map(|c| if fits(c) { c } else { '_' })
        .collect();
    while plain.len() > LONGEST {
        plain.pop();
    }
    if plain.is_empty() {
        plain.push('_');
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stems(names: &[&str]) -> Vec<String> {
        file_stems(names.iter().copied())
    }

    #[test]
    fn names_map_to_files_one_to_one() {
        assert_eq!(stems(&["a b", "a_b", "a/b"]), ["a_b-2", "a_b", "a_b-3"]);
        assert_eq!(stems(&["a_b-2", "a b", "a_b"]), ["a_b-2", "a_b-3", "a_b"]);
        assert_eq!(stems(&["Box", "box"]), ["Box", "box-2"]);
        assert_eq!(stems(&["", "_", "tü"]), ["_-2", "_", "tü"]);
        let long = ["x".repeat(300), "x".repeat(301)];
        let both = stems(&[&long[0], &long[1]]);
        assert!(both[0] != both[1] && both.iter().all(|s| s.len() < 130));
    }

    #[test]
    fn bodies_are_not_taken_for_obstacles_or_contacts() {
        let names = ["obstacle.floor", "contacts.", "body.x", "cloth"];
        let all: Vec<String> = names.iter().map(|n| body_name(n)).collect();
        assert_eq!(
            all,
            [
                "body.obstacle.floor",
                "body.contacts.",
                "body.body.x",
                "cloth"
            ]
        );
    }
}
