//! Tokens of a formula.

use std::ops::Range;

use super::{FormulaError, FormulaErrorKind};

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Number(f64),
    /// A name; quoted names are never functions or constants.
    Name {
        name: String,
        quoted: bool,
    },
    /// One of `+ - * / ^ ( ) ,`.
    Mark(char),
    End,
}

impl Token {
    /// Description for error messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Number(x) => format!("the number {x}"),
            Self::Name { name, .. } => format!("the name `{name}`"),
            Self::Mark(c) => format!("`{c}`"),
            Self::End => "the end of the formula".to_owned(),
        }
    }
}

/// Splits a text into tokens.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The next token and its byte range.
    pub fn next(&mut self) -> Result<(Token, Range<usize>), FormulaError> {
        let rest = &self.text[self.at..];
        let space = rest.len() - rest.trim_start().len();
        let start = self.at + space;
        let rest = &self.text[start..];
        let Some(first) = rest.chars().next() else {
            self.at = start;
            return Ok((Token::End, start..start));
        };
        let (token, length) = match first {
            '+' | '-' | '*' | '/' | '^' | '(' | ')' | ',' => (Token::Mark(first), 1),
            '0'..='9' | '.' => number(rest, start)?,
            '\'' => quoted(rest, start)?,
            c if c.is_alphabetic() || c == '_' => {
                let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
                let end = rest.find(|c| !inside(c)).unwrap_or(rest.len());
                let name = rest[..end].to_owned();
                let quoted = false;
                (Token::Name { name, quoted }, end)
            }
            other => {
                let span = start..start + other.len_utf8();
                return Err(expected(
                    "a number, a name, `(` or an operator",
                    format!("`{other}`"),
                    span,
                ));
            }
        };
        self.at = start + length;
        Ok((token, start..start + length))
    }
}

pub(super) fn expected(expected: &'static str, found: String, span: Range<usize>) -> FormulaError {
    let kind = FormulaErrorKind::Expected { expected, found };
    FormulaError { span, kind }
}

/// Digits with at most one point, then an exponent if digits follow it.
fn number(rest: &str, start: usize) -> Result<(Token, usize), FormulaError> {
    let bytes = rest.as_bytes();
    let digits = |from: usize| {
        let run = bytes[from..].iter().take_while(|b| b.is_ascii_digit());
        from + run.count()
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let after = digits(end + 1 + sign);
        if after > end + 1 + sign {
            end = after;
        }
    }
    match rest[..end].parse::<f64>() {
        Ok(x) if x.is_finite() => Ok((Token::Number(x), end)),
        Ok(_) => Err(FormulaError {
            span: start..start + end,
            kind: FormulaErrorKind::Overflow,
        }),
        Err(_) => {
            let found = format!("`{}`", &rest[..end]);
            Err(expected("a number", found, start..start + end))
        }
    }
}

/// A name in single quotes; a quote in it is written twice.
fn quoted(rest: &str, start: usize) -> Result<(Token, usize), FormulaError> {
    let mut name = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((i, c)) = chars.next() {
        match c {
            '\'' if chars.peek().is_some_and(|n| n.1 == '\'') => {
                chars.next();
                name.push('\'');
            }
            '\'' => {
                let quoted = true;
                return Ok((Token::Name { name, quoted }, i + 1));
            }
            c => name.push(c),
        }
    }
    let found = "the end of the formula".to_owned();
    Err(expected(
        "a closing quote `'`",
        found,
        start..start + rest.len(),
    ))
}
