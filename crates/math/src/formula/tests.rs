#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;

fn variable(name: &str) -> Option<usize> {
    ["t", "x.y", "tip: a, b"].iter().position(|v| *v == name)
}

fn value(text: &str) -> f64 {
    let values = [3.0, 5.0, 7.0];
    let formula = Formula::parse(text, variable).unwrap_or_else(|e| panic!("{text}: {e}"));
    formula.value(|i| values[i])
}

fn error(text: &str) -> FormulaError {
    Formula::parse(text, variable).unwrap_err()
}

#[test]
fn arithmetic_has_the_usual_precedence() {
    for (text, want) in [
        ("1 + 2 * 3", 7.0),
        ("(1 + 2) * 3", 9.0),
        ("8 - 3 - 2", 3.0),
        ("8 / 4 / 2", 1.0),
        ("-2^2", -4.0),
        ("2^3^2", 512.0),
        ("2^-1", 0.5),
        ("- -+-1", -1.0),
        ("1e3 + .5 + 2.", 1002.5),
        ("2e", f64::NAN),
        ("t * 'x.y' + x.y", 20.0),
        ("'tip: a, b' / t", 7.0 / 3.0),
        ("min(3, 1, 2) + max(3, 1, 2) + min(4)", 8.0),
        ("atan2(1, 0) * 2 / pi", 1.0),
        (
            "sqrt(abs(-16)) + exp(log(2)) + sin(0) + cos(0) + tan(0)",
            7.0,
        ),
        ("max(1, 0/0)", f64::NAN),
    ] {
        if text == "2e" {
            assert!(matches!(
                error(text).kind,
                FormulaErrorKind::Expected { .. }
            ));
            continue;
        }
        let got = value(text);
        let same = got.is_nan() && want.is_nan() || (got - want).abs() < 1e-14;
        assert!(same, "{text}: {got}, not {want}");
    }
}

#[test]
fn errors_point_at_the_offending_bytes() {
    for (text, span, message) in [
        (
            "1 +",
            3..3,
            "expected a number, a name or `(`, found the end of the formula",
        ),
        (
            "1 2",
            2..3,
            "expected an operator or the end of the formula, found the number 2",
        ),
        (
            "(1 + 2",
            6..6,
            "expected `)` or an operator, found the end of the formula",
        ),
        ("2 * speed", 4..9, "there is no `speed`"),
        ("sinh(t)", 0..4, "there is no function `sinh`"),
        (
            "1 + sin(t, t)",
            4..13,
            "`sin` takes one argument, but is given 2",
        ),
        (
            "atan2(1)",
            0..8,
            "`atan2` takes two arguments, but is given 1",
        ),
        (
            "min()",
            0..5,
            "`min` takes one argument or more, but is given 0",
        ),
        (
            "1 − 2",
            2..5,
            "expected a number, a name, `(` or an operator, found `−`",
        ),
        (
            "'tip",
            0..4,
            "expected a closing quote `'`, found the end of the formula",
        ),
        ("1e999", 0..5, "the number is too large"),
        (
            "",
            0..0,
            "expected a number, a name or `(`, found the end of the formula",
        ),
    ] {
        let e = error(text);
        assert_eq!(
            (e.span.clone(), e.to_string().as_str()),
            (span, message),
            "{text}"
        );
    }
}

#[test]
fn hostile_nesting_is_refused_and_not_a_stack_overflow() {
    for open in ["(", "sin(", "2^", "-(", "1-(2*", "2^-"] {
        let text = open.repeat(MOST_BYTES / open.len());
        let e = error(&text);
        assert_eq!(e.kind, FormulaErrorKind::TooDeep, "{open}");
    }
    // Signs alone do not nest.
    assert_eq!(value(&format!("{}1", "-".repeat(5000))), 1.0);
    let long = "1+".repeat(MOST_BYTES);
    assert_eq!(error(&long).kind, FormulaErrorKind::TooLong);
    let deep = format!("{}1{}", "(".repeat(DEEPEST - 1), ")".repeat(DEEPEST - 1));
    assert_eq!(value(&deep), 1.0);
}

/// Any sequence of tokens either parses or is refused with a span inside the text that begins and
/// ends at character boundaries; a parsed formula evaluates to some number.
#[test]
fn no_text_panics() {
    let words = [
        "1", "2.5", ".", "e", "1e5", "1e", "t", "x.y", "'", "''", "'t'", "+", "-", "*", "/", "^",
        "(", ")", ",", "sin", "min(", "max", "atan2(", "pi", " ", "é", "−", "\n", "𝛼", "_",
        "\u{0}",
    ];
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |n: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % n as u64) as usize
    };
    let mut parsed = 0;
    for _ in 0..50_000 {
        let text: String = (0..random(12))
            .map(|_| words[random(words.len())])
            .collect();
        match Formula::parse(&text, variable) {
            Ok(formula) => {
                formula.value(|i| i as f64);
                parsed += 1;
            }
            Err(e) => assert!(text.get(e.span.clone()).is_some(), "{text:?}: {e:?}"),
        }
    }
    assert!(parsed > 100, "{parsed} formulas");
}

/// Random trees, printed with all parentheses, evaluate to what the tree evaluates to.
#[test]
fn printed_text_has_the_meaning_of_the_source() {
    fn tree(random: &mut impl FnMut(usize) -> usize, depth: usize) -> (String, f64) {
        if depth == 0 || random(4) == 0 {
            let x = 0.5 + random(16) as f64 / 4.0;
            return (format!("{x}"), x);
        }
        let (a, x) = tree(random, depth - 1);
        let (b, y) = tree(random, depth - 1);
        match random(7) {
            0 => (format!("({a}+{b})"), x + y),
            1 => (format!("({a} - {b})"), x - y),
            2 => (format!("({a} * {b})"), x * y),
            3 => (format!("({a} / {b})"), x / y),
            4 => (format!("abs({a})^({b})"), elementary::pow(x.abs(), y)),
            5 => (format!("max({a},{b})"), greatest(x, y)),
            _ => (format!("-cos({a})"), -elementary::cos(x)),
        }
    }
    let mut seed = 88_172_645_463_325_252_u64;
    let mut random = move |n: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((seed >> 33) % n as u64) as usize
    };
    for _ in 0..2000 {
        let (text, want) = tree(&mut random, 6);
        let got = value(&text);
        assert!(
            got == want || got.is_nan() && want.is_nan(),
            "{text}: {got}, not {want}"
        );
    }
}
