//! The language of the repository: retired terms stay out, doc comments begin with a statement, and
//! a public type name has one meaning.

use std::{collections::BTreeMap, fs, path::Path};

use regex_lite::Regex;

use super::{all, root};

/// Terms that are no longer used, as regular expressions over prose, with the terms of the field that
/// replace them. The text is in lower case and has single spaces.
const RETIRED: &[(&str, &str)] = &[
    (
        r"\bas an? part of (the|its|it|an?|what|that|those)\b",
        "as a fraction of",
    ),
    (
        r"\b(by|than|below|over|under|within|above|only|stay|takes?) this part\b",
        "this fraction",
    ),
    (
        r"\bthis part of (the|an?|its|their|half|what|that|δ)\b",
        "this fraction of",
    ),
    (
        r"\bon (its|their) ways?\b|\bon the way\b|\bby way of\b|\bgives? way\b",
        "moving, during the solve, through, yields",
    ),
    (
        r"\b(prescribed|straight|whole|relative|largest|longest) ways?\b|\b(the|its|their) ways of\b",
        "displacement, trajectory, path",
    ),
    (r"\bmiddle (lines?|surfaces?)\b", "centreline, mid-surface"),
    (
        r"\b(solids?|shapes?|obstacles?|that|are) (given )?by (a )?formulas?,? (and|which|has|have|on|with|are|is)\b|\bsolids? (given )?by (a )?formula\b|\bobstacles? given by (a )?formula\b",
        "analytic shape",
    ),
    (
        r"\bwhat (is touched|touches|it touches|bodies touch)\b|\bwho touches\b|\bwho lies next\b",
        "collider, contact pair",
    ),
    (
        r"\b(answers?|solutions?|solves?) (is|are|was|need not be|must be) finished\b|\bfinishes the (answer|solve|solution)\b|\bwith(out)? the finish\b",
        "polished",
    ),
    (
        r"\bcuts? in(to)? halves\b|\bcut in two\b|\bparts of a step\b",
        "substeps",
    ),
    (
        r"\broom (for|among|to)\b|\b(has|have|needs?|makes?|no|enough) room\b",
        "workspace, capacity, margin",
    ),
    (r"\bwhere its motion puts it\b", "kinematic obstacle"),
    (r"\bin fronts\b", "multifrontal LU"),
    (r"\bwhat is not symmetric\b", "unsymmetric matrices"),
    (r"\bimbalances?\b", "momentum residual"),
    (r"\bevidence\b", "solved contact problem"),
    (
        r"\b(its|their|the|a|each) leave\b",
        "clearance, relisting threshold",
    ),
    (r"\bstuff\b", "material model"),
    (
        r"\bhold and (do not|no longer) push\b|\bpush of (external|gravity)\b",
        "apply no penetration correction; velocity increment from external forces",
    ),
    (
        r"\bknows\b|\b(do|does|did) not know\b",
        "supports, does not support",
    ),
    (
        r"\bheeds?\b|\basks? for\b|\basked (for|about)\b|\b(is|are|was|were) told\b",
        "uses, requires, requests, is checked, is given by",
    ),
    (
        r"\blook(s|ed|ing)? (for|into)\b|\blooked at\b|\blist(s|ed)? again\b",
        "detected, re-detected, relisted, checked",
    ),
    (r"\bastray\b", "diverged"),
    (
        r"\bin the mean\b|\bas often as may be\b",
        "on average; up to the limit",
    ),
    (r"\bbeside\b", "compared with, next to, in addition to"),
    (
        r"\b(those|he|nobody|somebody|anybody) who\b|\bwhoever\b|\bnobody to\b",
        "a program part as subject",
    ),
    (r"\blest\b", "so that ... not"),
    (
        r"\blaw (itself )?as it (is|stands)\b|\bto the last digits\b",
        "exactly; polishing",
    ),
    (
        r"\bin mid-run\b|\bled (round|through)\b|\bas if nothing had happened\b",
        "during a run; moved; unchanged, bit-identical",
    ),
];

/// Identifiers that are no longer used.
const RETIRED_NAMES: &str = r"\b(ways?|\w*_room|room|room_\w*|stuff|evidence|imbalances?|middle_lines?|astray|listed_again)\b";

/// Prose of a file: comments and literals of programs, comments and strings of scenes, all of a
/// document; each with the number of its first line. Lines of one paragraph are joined, so that a
/// phrase is found across a line break.
fn prose(path: &Path, text: &str, literal: &Regex) -> Vec<(usize, String)> {
    let mut paragraphs: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    let mut add = |number: usize, words: &str, joined: bool| {
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        if words.is_empty() {
            open = false;
            return;
        }
        match paragraphs.last_mut().filter(|_| open && joined) {
            Some((_, text)) => {
                text.push(' ');
                text.push_str(&words);
            }
            None => paragraphs.push((number, words)),
        }
        open = joined;
    };
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        let trimmed = line.trim_start();
        match ending {
            "rs" => {
                if let Some(comment) = trimmed.strip_prefix("//") {
                    add(number, comment.trim_start_matches(['/', '!']), true);
                    continue;
                }
                add(number, "", false);
                for found in literal.find_iter(line) {
                    add(number, found.as_str(), false);
                }
                if let Some((_, comment)) = line.split_once(" // ") {
                    add(number, comment, false);
                }
            }
            "toml" | "py" => match trimmed.strip_prefix('#') {
                Some(comment) => add(number, comment, true),
                None => add(number, trimmed, false),
            },
            _ => add(number, trimmed, !trimmed.starts_with('|')),
        }
    }
    paragraphs
}

/// Code of a file without comments and literals, line by line.
fn code(text: &str, literal: &Regex) -> impl Iterator<Item = (usize, String)> {
    let lines = text.lines().enumerate();
    lines.map(move |(number, line)| {
        let bare = literal.replace_all(line, "\"\"");
        let bare = bare.split("//").next().unwrap_or_default().to_owned();
        (number + 1, bare)
    })
}

/// The search for retired terms.
struct Search {
    terms: Vec<(Regex, &'static str)>,
    names: Regex,
    literal: Regex,
}

impl Search {
    fn new() -> Self {
        let terms = RETIRED.iter();
        Self {
            terms: terms
                .map(|(term, instead)| (Regex::new(term).unwrap(), *instead))
                .collect(),
            names: Regex::new(RETIRED_NAMES).unwrap(),
            literal: Regex::new(r#""(?:[^"\\]|\\.)*""#).unwrap(),
        }
    }

    /// Uses of retired terms in one file: line, phrase and replacement.
    fn uses(&self, path: &Path, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        for (number, words) in prose(path, text, &self.literal) {
            let words = words.to_lowercase();
            for (term, instead) in &self.terms {
                if let Some(phrase) = term.find(&words) {
                    let phrase = phrase.as_str();
                    found.push(format!("{number}: `{phrase}`; write: {instead}"));
                }
            }
        }
        if path.extension().is_some_and(|e| e == "rs") {
            for (number, line) in code(text, &self.literal) {
                if let Some(name) = self.names.find(&line) {
                    found.push(format!("{number}: the name `{}`", name.as_str()));
                }
            }
        }
        found
    }
}

/// First lines of doc comments that are questions instead of statements.
fn questions(text: &str) -> Vec<String> {
    let question = Regex::new(r"^//[/!] (What|How|Where|Who|Why|The same)\b").unwrap();
    let mut found = Vec::new();
    let mut before = "";
    for (number, line) in text.lines().map(str::trim_start).enumerate() {
        let marker = line.get(..3).filter(|m| *m == "///" || *m == "//!");
        let first = marker.is_some_and(|m| !before.starts_with(m));
        if first && question.is_match(line) {
            found.push(format!("{}: {line}", number + 1));
        }
        before = line;
    }
    found
}

fn shown(path: &Path) -> String {
    let path = path.strip_prefix(root()).unwrap();
    path.to_string_lossy().replace('\\', "/")
}

/// This file lists the terms.
fn lists_terms(path: &Path) -> bool {
    path.ends_with("tidy/words.rs")
}

#[test]
fn retired_terms_stay_out() {
    let search = Search::new();
    let mut found = Vec::new();
    for path in all(&[".rs", ".md", ".toml", ".py"]) {
        if lists_terms(&path) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let uses = search.uses(&path, &text);
        found.extend(uses.iter().map(|u| format!("{}:{u}", shown(&path))));
    }
    assert!(
        found.is_empty(),
        "{} uses:\n{}",
        found.len(),
        found.join("\n")
    );
}

/// The search finds what it is for, also across a line break, and leaves alone what is English.
#[test]
fn retired_terms_are_found() {
    let search = Search::new();
    let retired = |path: &Path, text: &str| search.uses(path, text);
    let rust = Path::new("a.rs");
    for text in [
        "/// The gap is below this part of the thickness.",
        "/// Contacts found on\n/// the way of an iterate.",
        "let message = \"method `x` does not know particles\";",
        "    let x = 1; // beside the other",
        "fn make_room() {}",
        "let way = 1;",
        "//! LU in fronts for what is not symmetric",
        "/// A step is cut in\n    /// halves.",
    ] {
        assert!(!retired(rust, text).is_empty(), "{text}");
    }
    let document = Path::new("a.md");
    assert!(!retired(document, "Solids by\nformula and meshes.").is_empty());
    assert!(!retired(Path::new("a.toml"), "# the middle lines of hairs").is_empty());
    for text in [
        "/// That part of the module, a unit of the program, in this way.",
        "/// What is known of the pattern.",
        "let away = leave();",
        "/// A mushroom, and the bodies besides.",
    ] {
        assert!(
            retired(rust, text).is_empty(),
            "{text}: {:?}",
            retired(rust, text)
        );
    }
    assert_eq!(questions("/// How far.\nx\n/// A.\n/// Why not.").len(), 1);
    assert_eq!(questions("//! What.\n\n/// The same.\n/// Thus.").len(), 2);
}

#[test]
fn doc_comments_begin_with_a_statement() {
    let mut found = Vec::new();
    for path in all(&[".rs"]) {
        if lists_terms(&path) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let lines = questions(&text);
        found.extend(lines.iter().map(|l| format!("{}:{l}", shown(&path))));
    }
    assert!(
        found.is_empty(),
        "say what the item is or does; {} lines:\n{}",
        found.len(),
        found.join("\n")
    );
}

/// Names of public types that are defined more than once, with the reason.
const NAMESAKES: &[(&str, &str)] = &[
    ("Config", "settings of the algorithm whose module it is in"),
    (
        "Row",
        "a row of the table of one command, private to its module",
    ),
    ("Body", "`stiction::Body` describes a body of the model"),
    (
        "Obstacle",
        "`stiction::Obstacle` describes an obstacle of the model",
    ),
    ("Pin", "`stiction::Pin` describes a pin of the model"),
    (
        "Probe",
        "`stiction::Probe` describes a probe of the simulation",
    ),
];

/// A public type name means one thing in the workspace.
#[test]
fn type_names_have_one_meaning() {
    let definition = Regex::new(r"^pub (?:struct|enum|trait|type|union) ([A-Z]\w*)").unwrap();
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in all(&[".rs"]) {
        let file = shown(&path);
        if !file.starts_with("crates/") || !file.contains("/src/") || file.ends_with("/tests.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate() {
            if let Some(name) = definition.captures(line) {
                let place = format!("{file}:{}", number + 1);
                places.entry(name[1].to_owned()).or_default().push(place);
            }
        }
    }
    assert!(places.len() > 300, "{} types", places.len());
    places.retain(|_, places| places.len() > 1);
    for (name, reason) in NAMESAKES {
        assert!(
            places.remove(*name).is_some(),
            "`{name}` is excused ({reason}), but has one definition"
        );
    }
    assert!(
        places.is_empty(),
        "give each of these a name of its own: {places:#?}"
    );
}
