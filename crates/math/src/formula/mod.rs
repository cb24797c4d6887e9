//! Formulas: arithmetic in named variables, written as text.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = sign { ("*" | "/") sign }
//! sign    = { "+" | "-" } power
//! power   = atom [ "^" sign ]                      right-associative: 2^3^2 = 2^9, −2^2 = −4
//! atom    = number | name | name "(" sum { "," sum } ")" | "(" sum ")"
//! name    = letter or _, then letters, digits, _ and . ; or any text in single quotes
//! ```
//!
//! Angles are in radians, `log` is the natural logarithm. A formula is kept as a postfix program, so
//! that evaluation neither recurses nor looks up names. Texts longer than [`MOST_BYTES`] and nesting
//! deeper than [`DEEPEST`] are refused, so that no text can exhaust the stack.

mod lexer;
mod parser;

use crate::elementary;
use std::ops::Range;

/// Longest text of a formula [bytes].
pub const MOST_BYTES: usize = 10_000;
/// Deepest nesting of parentheses, signs and powers.
pub const DEEPEST: usize = 100;

/// A parsed formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    text: String,
    /// Postfix: operands come before their operator.
    program: Vec<Op>,
}

/// One instruction of the postfix program.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Op {
    Number(f64),
    Variable(usize),
    Negate,
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Call(Function),
}

/// A function by its name, number of arguments and definition.
#[derive(Clone, Copy, Debug)]
struct Function {
    name: &'static str,
    apply: Apply,
}

#[derive(Clone, Copy, Debug)]
enum Apply {
    One(fn(f64) -> f64),
    Two(fn(f64, f64) -> f64),
    /// One or more arguments, folded pairwise.
    Fold(fn(f64, f64) -> f64),
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

const fn one(name: &'static str, f: fn(f64) -> f64) -> Function {
    let apply = Apply::One(f);
    Function { name, apply }
}

/// All supported functions.
const FUNCTIONS: [Function; 10] = [
    one("sqrt", f64::sqrt),
    one("abs", f64::abs),
    one("exp", elementary::exp),
    one("log", elementary::ln),
    one("sin", elementary::sin),
    one("cos", elementary::cos),
    one("tan", elementary::tan),
    Function {
        name: "atan2",
        apply: Apply::Two(elementary::atan2),
    },
    Function {
        name: "min",
        apply: Apply::Fold(least),
    },
    Function {
        name: "max",
        apply: Apply::Fold(greatest),
    },
];

/// The lesser of two numbers; NaN if either is NaN, so that errors are not hidden.
fn least(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    a.min(b)
}

/// The greater of two numbers; NaN if either is NaN, so that errors are not hidden.
fn greatest(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    a.max(b)
}

/// A parse error and its position.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind}")]
pub struct FormulaError {
    /// Byte range of the error in the text.
    pub span: Range<usize>,
    /// Kind of the error.
    pub kind: FormulaErrorKind,
}

/// Kinds of parse errors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormulaErrorKind {
    /// An unexpected token.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// Tokens that are allowed here.
        expected: &'static str,
        /// The token that was found.
        found: String,
    },
    /// A name that is neither a variable nor the constant `pi`.
    #[error("there is no `{0}`")]
    UnknownName(String),
    /// A call of an unknown function.
    #[error("there is no function `{0}`")]
    UnknownFunction(String),
    /// A function with the wrong number of arguments.
    #[error("`{name}` takes {expected}, but is given {given}")]
    Arguments {
        /// The function.
        name: &'static str,
        /// The number of arguments that it takes, in words.
        expected: &'static str,
        /// The number of arguments given.
        given: usize,
    },
    /// A number too large to be represented.
    #[error("the number is too large")]
    Overflow,
    /// Nesting deeper than [`DEEPEST`].
    #[error("parentheses, signs and powers are nested more than {DEEPEST} deep")]
    TooDeep,
    /// A text longer than [`MOST_BYTES`].
    #[error("the formula is longer than {MOST_BYTES} bytes")]
    TooLong,
}

impl Formula {
    /// Parses `text`; `variable` gives the number of the variable with a name, if there is one.
    pub fn parse(
        text: &str,
        variable: impl FnMut(&str) -> Option<usize>,
    ) -> Result<Self, FormulaError> {
        if text.len() > MOST_BYTES {
            let span = 0..text.len();
            let kind = FormulaErrorKind::TooLong;
            return Err(FormulaError { span, kind });
        }
        let program = parser::parse(text, variable)?;
        let text = text.to_owned();
        Ok(Self { text, program })
    }

    /// The names of all functions.
    pub fn functions() -> impl Iterator<Item = &'static str> {
        FUNCTIONS.iter().map(|f| f.name)
    }

    /// The source text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The indices of its variables, with repetitions.
    pub fn variables(&self) -> impl Iterator<Item = usize> + '_ {
        self.program.iter().filter_map(|op| match op {
            Op::Variable(i) => Some(*i),
            _ => None,
        })
    }

    /// Its value, if it has no variables.
    pub fn constant(&self) -> Option<f64> {
        match self.variables().next() {
            Some(_) => None,
            None => Some(self.value(|_| f64::NAN)),
        }
    }

    /// Its value at variable values `variable(i)`. Division by zero and arguments outside a
    /// function's domain give infinities and NaN.
    pub fn value(&self, variable: impl Fn(usize) -> f64) -> f64 {
        let mut stack: Vec<f64> = Vec::with_capacity(16);
        for op in &self.program {
            // The parser emits operands before operators; NaN stands in for the impossible.
            let mut pop = || stack.pop().unwrap_or(f64::NAN);
            let value = match *op {
                Op::Number(x) => x,
                Op::Variable(i) => variable(i),
                Op::Negate => -pop(),
                Op::Call(f) => match f.apply {
                    Apply::One(f) => f(pop()),
                    Apply::Two(f) | Apply::Fold(f) => {
                        let b = pop();
                        f(pop(), b)
                    }
                },
                Op::Add | Op::Subtract | Op::Multiply | Op::Divide | Op::Power => {
                    let b = pop();
                    let a = pop();
                    match op {
                        Op::Add => a + b,
                        Op::Subtract => a - b,
                        Op::Multiply => a * b,
                        Op::Divide => a / b,
                        _ => elementary::pow(a, b),
                    }
                }
            };
            stack.push(value);
        }
        stack.pop().unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests;
