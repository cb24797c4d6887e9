//! Recursive-descent parser with bounded depth, from tokens to the postfix program.

use std::ops::Range;

use super::{
    Apply, DEEPEST, FUNCTIONS, FormulaError, FormulaErrorKind, Function, Op,
    lexer::{Lexer, Token, expected},
};

const OPERAND: &str = "a number, a name or `(`";

pub(super) fn parse(
    text: &str,
    variable: impl FnMut(&str) -> Option<usize>,
) -> Result<Vec<Op>, FormulaError> {
    let mut lexer = Lexer::new(text);
    let (token, span) = lexer.next()?;
    let mut parser = Parser {
        lexer,
        token,
        span,
        variable,
        program: Vec::new(),
        depth: 0,
    };
    parser.sum()?;
    match parser.token {
        Token::End => Ok(parser.program),
        _ => Err(parser.unexpected("an operator or the end of the formula")),
    }
}

struct Parser<'a, V> {
    lexer: Lexer<'a>,
    /// The next token.
    token: Token,
    span: Range<usize>,
    variable: V,
    program: Vec<Op>,
    depth: usize,
}

impl<V: FnMut(&str) -> Option<usize>> Parser<'_, V> {
    fn unexpected(&self, wanted: &'static str) -> FormulaError {
        expected(wanted, self.token.describe(), self.span.clone())
    }

    fn advance(&mut self) -> Result<(Token, Range<usize>), FormulaError> {
        let (token, span) = self.lexer.next()?;
        let token = std::mem::replace(&mut self.token, token);
        Ok((token, std::mem::replace(&mut self.span, span)))
    }

    /// Consumes the next token if it is one of `marks`.
    fn mark(&mut self, marks: &[char]) -> Result<Option<char>, FormulaError> {
        match self.token {
            Token::Mark(c) if marks.contains(&c) => self.advance().map(|_| Some(c)),
            _ => Ok(None),
        }
    }

    /// Enters one nesting level; every recursion passes through here.
    fn deeper(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<(), FormulaError>,
    ) -> Result<(), FormulaError> {
        if self.depth == DEEPEST {
            return Err(FormulaError {
                span: self.span.clone(),
                kind: FormulaErrorKind::TooDeep,
            });
        }
        self.depth += 1;
        f(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn sum(&mut self) -> Result<(), FormulaError> {
        self.deeper(|p| {
            p.product()?;
            while let Some(c) = p.mark(&['+', '-'])? {
                p.product()?;
                p.program
                    .push(if c == '+' { Op::Add } else { Op::Subtract });
            }
            Ok(())
        })
    }

    fn product(&mut self) -> Result<(), FormulaError> {
        self.sign()?;
        while let Some(c) = self.mark(&['*', '/'])? {
            self.sign()?;
            self.program
                .push(if c == '*' { Op::Multiply } else { Op::Divide });
        }
        Ok(())
    }

    fn sign(&mut self) -> Result<(), FormulaError> {
        let mut negative = false;
        while let Some(c) = self.mark(&['+', '-'])? {
            negative ^= c == '-';
        }
        self.power()?;
        if negative {
            self.program.push(Op::Negate);
        }
        Ok(())
    }

    fn power(&mut self) -> Result<(), FormulaError> {
        self.atom()?;
        if self.mark(&['^'])?.is_some() {
            self.deeper(Self::sign)?;
            self.program.push(Op::Power);
        }
        Ok(())
    }

    fn atom(&mut self) -> Result<(), FormulaError> {
        match &self.token {
            Token::Number(x) => {
                self.program.push(Op::Number(*x));
                self.advance().map(|_| ())
            }
            Token::Name { .. } => {
                let (word, span) = self.advance()?;
                let Token::Name { name, quoted } = word else {
                    return Err(self.unexpected(OPERAND));
                };
                match !quoted && self.token == Token::Mark('(') {
                    true => self.call(&name, span),
                    false => self.name(&name, quoted, span),
                }
            }
            Token::Mark('(') => {
                self.advance()?;
                self.sum()?;
                self.close("`)` or an operator")
            }
            _ => Err(self.unexpected(OPERAND)),
        }
    }

    fn close(&mut self, wanted: &'static str) -> Result<(), FormulaError> {
        match self.mark(&[')'])? {
            Some(_) => Ok(()),
            None => Err(self.unexpected(wanted)),
        }
    }

    fn name(&mut self, name: &str, quoted: bool, span: Range<usize>) -> Result<(), FormulaError> {
        let op = match (self.variable)(name) {
            Some(i) => Op::Variable(i),
            None if name == "pi" && !quoted => Op::Number(std::f64::consts::PI),
            None => {
                let kind = FormulaErrorKind::UnknownName(name.to_owned());
                return Err(FormulaError { span, kind });
            }
        };
        self.program.push(op);
        Ok(())
    }

    /// A function, whose opening parenthesis is next.
    fn call(&mut self, name: &str, span: Range<usize>) -> Result<(), FormulaError> {
        let Some(function) = FUNCTIONS.iter().find(|f| f.name == name) else {
            let kind = FormulaErrorKind::UnknownFunction(name.to_owned());
            return Err(FormulaError { span, kind });
        };
        self.advance()?;
        let mut given = 0;
        if self.token != Token::Mark(')') {
            loop {
                self.sum()?;
                given += 1;
                if given > 1 && matches!(function.apply, Apply::Fold(_)) {
                    self.program.push(Op::Call(*function));
                }
                if self.mark(&[','])?.is_none() {
                    break;
                }
            }
        }
        let end = self.span.end;
        self.close("`,`, `)` or an operator")?;
        self.check(function, given, span.start..end)?;
        if !matches!(function.apply, Apply::Fold(_)) {
            self.program.push(Op::Call(*function));
        }
        Ok(())
    }

    fn check(
        &self,
        function: &Function,
        given: usize,
        span: Range<usize>,
    ) -> Result<(), FormulaError> {
        let (fits, expected) = match function.apply {
            Apply::One(_) => (given == 1, "one argument"),
            Apply::Two(_) => (given == 2, "two arguments"),
            Apply::Fold(_) => (given >= 1, "one argument or more"),
        };
        if fits {
            return Ok(());
        }
        let name = function.name;
        let kind = FormulaErrorKind::Arguments {
            name,
            expected,
            given,
        };
        Err(FormulaError { span, kind })
    }
}
