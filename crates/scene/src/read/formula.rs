//! Formulas in the text of a scene.

use stiction_math::formula::{Formula, FormulaError, FormulaErrorKind};

use crate::{
    format::{At, Fields, ProblemKind, Read, Reporter, TreeNode, suggest},
    read::Context,
};

/// A formula in the time `t` [s] alone, or a number; finite at the start.
pub(crate) struct OfTime(pub Formula);

impl Read<Context> for OfTime {
    fn read(f: &Fields<'_>, key: &str, node: &TreeNode) -> Option<Self> {
        let (reporter, what) = (f.reporter(), f.label(key));
        let text = match node.number() {
            Some(number) => number.to_string(),
            None => node.text()?.to_owned(),
        };
        let text = At::new(text.as_str(), node.place);
        let time = |name: &str| (name == "t").then_some(0);
        let formula = match Formula::parse(text.value, time) {
            Ok(formula) => formula,
            Err(error) => {
                let help = match &error.kind {
                    FormulaErrorKind::UnknownName(name) => {
                        Some(suggest::help(name, "names", ["t", "pi"]))
                    }
                    _ => None,
                };
                return refuse(reporter, &text, &what, &error, error.to_string(), help);
            }
        };
        let start = formula.value(|_| 0.0);
        if !start.is_finite() {
            let message = format!("{what} is {start} at t = 0, but must be finite");
            let help = "avoid division by zero, roots of negative numbers and overflow";
            return reporter.refuse(text.place, message, help);
        }
        Some(Self(formula))
    }
}

/// Reports an error in the formula `text` at its place in the file.
pub(crate) fn refuse<T>(
    reporter: &Reporter,
    text: &At<&str>,
    what: &str,
    error: &FormulaError,
    message: String,
    help: Option<String>,
) -> Option<T> {
    let (kind, own) = match &error.kind {
        FormulaErrorKind::UnknownName(_) => (ProblemKind::UnknownName, None),
        FormulaErrorKind::UnknownFunction(name) => {
            let known = suggest::help(name, "functions", Formula::functions());
            (ProblemKind::UnknownName, Some(known))
        }
        _ => (ProblemKind::Value, None),
    };
    let place = reporter.sources.within(text, &error.span);
    let column = text.value[..error.span.start].chars().count() + 1;
    let message = format!("{what}, character {column}: {message}");
    reporter.fail(kind, place, message, help.or(own))
}

/// Advice on an unknown name that is the beginning of a known one: `a-b` reads as a difference.
pub(crate) fn unquoted(
    text: &At<&str>,
    error: &FormulaError,
    name: &str,
    known: &[&str],
) -> Option<String> {
    let rest = &text.value[error.span.start..];
    let longer = |k: &&&str| k.len() > name.len() && rest.starts_with(**k);
    let whole = known.iter().find(longer)?;
    Some(format!(
        "write '{whole}' in single quotes: other characters than letters, digits, `_` and `.` need them"
    ))
}
