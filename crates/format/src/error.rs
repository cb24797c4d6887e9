//! Problems of documents, their location and remedy.

use std::{cell::RefCell, fmt, sync::Arc};

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};

use crate::{
    source::{At, SourceSpan, Sources, line_column},
    suggest,
};

/// A refused document: one problem or several.
///
/// It displays as the first problem. As a [`miette::Diagnostic`] it underlines the offending text
/// of every problem; [`DocumentError::plain`] gives one line of plain text for each.
#[derive(Debug)]
pub struct DocumentError {
    problems: Vec<Problem>,
}

/// One problem.
#[derive(Clone, Debug)]
pub struct Problem {
    kind: ProblemKind,
    message: String,
    help: Option<String>,
    spot: Option<Spot>,
}

/// The text of a problem and the range of bytes in it.
#[derive(Clone, Debug)]
struct Spot {
    source: Arc<NamedSource<String>>,
    start: usize,
    end: usize,
}

/// Advice on a correction, if there is any.
pub struct Help(Option<String>);

impl From<Option<String>> for Help {
    fn from(help: Option<String>) -> Self {
        Self(help)
    }
}

impl From<String> for Help {
    fn from(help: String) -> Self {
        Self(Some(help))
    }
}

impl From<&str> for Help {
    fn from(help: &str) -> Self {
        Self((!help.is_empty()).then(|| help.to_owned()))
    }
}

/// Declares the kinds of problems with their codes.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $code:literal;)*) => {
        /// Kind of a problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum ProblemKind {
            $($(#[$doc])* $kind),*
        }

        impl ProblemKind {
            fn code(self) -> &'static str {
                match self {
                    $(Self::$kind => concat!("scene::", $code)),*
                }
            }
        }
    };
}
kinds! {
    /// The scene or a file it names cannot be read.
    Read "read";
    /// The text is not TOML.
    Syntax "syntax";
    /// A key that does not exist.
    UnknownKey "unknown_key";
    /// A key that is needed.
    MissingKey "missing_key";
    /// A value of the wrong type.
    Type "type";
    /// A value that cannot be: out of range, not finite, contradictory.
    Value "value";
    /// A name that refers to nothing.
    UnknownName "unknown_name";
    /// A name given twice.
    Duplicate "duplicate";
    /// A selection that holds nothing.
    EmptySelection "empty_selection";
    /// More nodes than the limit allows.
    TooLarge "too_large";
    /// A mesh file that leads out of the scene's folder.
    Path "path";
    /// A mesh file that cannot be used.
    Mesh "mesh";
    /// An override that cannot be applied.
    Override "override";
    /// The model cannot be built.
    Build "build";
    /// Things overlap at the start.
    Overlap "overlap";
    /// The method cannot run the scene.
    Unsupported "unsupported";
}

/// Longest message [characters]: names and values of the input are quoted in it.
const LONGEST: usize = 1000;

/// A message with its middle left out where it quotes more than a line of input.
fn shorten(text: String) -> String {
    let count = text.chars().count();
    if count <= LONGEST {
        return text;
    }
    let first: String = text.chars().take(LONGEST / 2).collect();
    let last: String = text.chars().skip(count - LONGEST / 4).collect();
    format!("{first} … {last}")
}

impl Problem {
    /// A problem without a place.
    fn new(kind: ProblemKind, message: impl Into<String>, help: impl Into<Help>) -> Self {
        Self {
            kind,
            message: shorten(message.into()),
            help: help.into().0.map(shorten),
            spot: None,
        }
    }

    /// Kind of the problem.
    pub fn kind(&self) -> ProblemKind {
        self.kind
    }

    /// Description of the problem.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Advice on a correction.
    pub fn help_text(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The name of the text at fault, with line and column in it from 1.
    pub fn location(&self) -> Option<(&str, usize, usize)> {
        let spot = self.spot.as_ref()?;
        let (line, column) = line_column(spot.source.inner(), spot.start);
        Some((spot.source.name(), line, column))
    }

    /// The text at fault.
    pub fn offending_text(&self) -> Option<&str> {
        let spot = self.spot.as_ref()?;
        spot.source.inner().get(spot.start..spot.end)
    }

    /// `scene.toml:3:1: message; help`, on one line.
    pub fn plain(&self) -> String {
        let mut line = match self.location() {
            Some((name, line, column)) => format!("{name}:{line}:{column}: {}", self.message),
            None => self.message.clone(),
        };
        if let Some(help) = &self.help {
            line.push_str("; ");
            line.push_str(help);
        }
        line
    }
}

impl DocumentError {
    /// An error of one problem without a place.
    pub fn new(kind: ProblemKind, message: impl Into<String>, help: impl Into<Help>) -> Self {
        Self {
            problems: vec![Problem::new(kind, message, help)],
        }
    }

    /// The problems, at least one, in the order of the text.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The kind of the first problem.
    pub fn kind(&self) -> ProblemKind {
        self.problems
            .first()
            .map_or(ProblemKind::Value, Problem::kind)
    }

    /// One line of plain text for each problem.
    pub fn plain(&self) -> String {
        self.problems
            .iter()
            .map(Problem::plain)
            .collect::<Vec<_>>()
            .join("\n")
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.kind.code()))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|h| Box::new(h) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.spot.as_ref().map(|s| &*s.source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let spot = self.spot.as_ref()?;
        let span = LabeledSpan::new_with_span(Some("here".to_owned()), spot.start..spot.end);
        Some(Box::new(std::iter::once(span)))
    }
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.first() {
            Some(first) => first.fmt(f),
            None => f.write_str("the document cannot be used"),
        }
    }
}

impl std::error::Error for DocumentError {}

impl Diagnostic for DocumentError {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.problems.first().and_then(Diagnostic::code)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.problems.first().and_then(Diagnostic::help)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.problems.first().and_then(Diagnostic::source_code)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.problems.first().and_then(Diagnostic::labels)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        let rest = self.problems.get(1..).filter(|rest| !rest.is_empty())?;
        Some(Box::new(rest.iter().map(|p| p as &dyn Diagnostic)))
    }
}

/// Collects problems while a document is read, so that several are reported at once.
pub struct Reporter {
    /// The texts that problems are found in.
    pub sources: Sources,
    found: RefCell<Vec<(Option<SourceSpan>, Problem)>>,
}

/// More problems than this help nobody.
const MOST: usize = 20;

impl Reporter {
    /// A reporter without problems.
    pub fn new(sources: Sources) -> Self {
        Self {
            sources,
            found: RefCell::new(Vec::new()),
        }
    }

    /// Notes a problem. The answer is always `None`, for readers that return an option.
    pub fn fail<T>(
        &self,
        kind: ProblemKind,
        place: SourceSpan,
        message: impl Into<String>,
        help: impl Into<Help>,
    ) -> Option<T> {
        let mut found = self.found.borrow_mut();
        let mut problem = Problem::new(kind, message, help);
        // A material is read once for each body made of it.
        let known = |(p, q): &(Option<SourceSpan>, Problem)| {
            *p == Some(place) && q.message == problem.message
        };
        if found.len() < MOST && !found.iter().any(known) {
            problem.spot = self.sources.get(place).map(|s| Spot {
                source: s.named.clone(),
                start: place.start as usize,
                end: place.end as usize,
            });
            found.push((Some(place), problem));
        }
        None
    }

    /// Notes a value that cannot be.
    pub fn refuse<T>(
        &self,
        place: SourceSpan,
        message: impl Into<String>,
        help: impl Into<Help>,
    ) -> Option<T> {
        self.fail(ProblemKind::Value, place, message, help)
    }

    /// Notes a name that refers to nothing, with the nearest of the `known` names and a list of them, called
    /// `kinds` there.
    pub fn unknown<'k, T>(
        &self,
        place: SourceSpan,
        message: impl Into<String>,
        name: &str,
        kinds: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> Option<T> {
        let help = suggest::help(name, kinds, known);
        self.fail(ProblemKind::UnknownName, place, message, help)
    }

    /// Notes a name that several of `kinds` have.
    pub fn taken<T>(&self, place: SourceSpan, name: &str, kinds: &str) -> Option<T> {
        let message = format!("two {kinds} are called `{name}`");
        self.fail(
            ProblemKind::Duplicate,
            place,
            message,
            "give each its own name",
        )
    }

    /// The value, or `None` and a problem.
    pub fn ok<T>(
        &self,
        kind: ProblemKind,
        place: SourceSpan,
        result: Result<T, impl fmt::Display>,
    ) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => self.fail(kind, place, error.to_string(), None),
        }
    }

    /// Takes over the problems of another reporter, with `prefix` before their messages.
    pub fn adopt(&self, other: Self, prefix: &str) {
        let found = other.found.into_inner().into_iter();
        self.found
            .borrow_mut()
            .extend(found.map(|(place, problem)| {
                let message = format!("{prefix}{}", problem.message);
                (place, Problem { message, ..problem })
            }));
    }

    /// Whether nothing is wrong so far.
    pub fn clean(&self) -> bool {
        self.found.borrow().is_empty()
    }

    /// The value, or all problems. What gives nothing has said why.
    pub fn given<T>(&self, value: Option<T>) -> Result<T, DocumentError> {
        self.verdict()?;
        let unexplained =
            || DocumentError::new(ProblemKind::Value, "the document cannot be read", None);
        value.ok_or_else(unexplained)
    }

    /// `Err` with all problems in the order of the text if there are any.
    pub fn verdict(&self) -> Result<(), DocumentError> {
        let mut found = self.found.borrow_mut();
        if found.is_empty() {
            return Ok(());
        }
        found.sort_by_key(|f| f.0);
        Err(DocumentError {
            problems: found.drain(..).map(|f| f.1).collect(),
        })
    }
}

impl<T> At<T> {
    /// Notes a problem with this value.
    pub fn fail<U>(
        &self,
        reporter: &Reporter,
        kind: ProblemKind,
        message: impl Into<String>,
        help: impl Into<Help>,
    ) -> Option<U> {
        reporter.fail(kind, self.place, message, help)
    }
}
