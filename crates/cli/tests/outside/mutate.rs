//! Other texts and bytes, made from good ones.

use std::collections::BTreeMap;

use crate::common::Draw;

/// Values that a key does not expect.
pub const ODD: [&str; 32] = [
    "0",
    "-1",
    "1",
    "3",
    "1e300",
    "-1e300",
    "1e-300",
    "5e-324",
    "nan",
    "inf",
    "-inf",
    "9223372036854775807",
    "-9223372036854775808",
    "99999999999999999999",
    "4294967295",
    "4294967296",
    "[]",
    "{}",
    "\"\"",
    "[0, 0, 0]",
    "[nan, 0, 0]",
    "[4294967295, 4294967295, 4294967295]",
    "[[]]",
    "true",
    "\"../../x\"",
    "\"/dev/zero\"",
    "1e9",
    "\"\\u0000\"",
    "\"a/b c\"",
    "0.1",
    "1979-05-27",
    "\"1/0\"",
];

/// Another text: numbers and values replaced, lines removed, repeated and exchanged.
pub fn text(draw: &mut Draw, text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=draw.below(3) {
        if lines.is_empty() {
            break;
        }
        let at = draw.below(lines.len());
        match draw.below(8) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => {
                let other = draw.below(lines.len());
                lines.swap(at, other);
            }
            3 => {
                let line: Vec<char> = lines[at].chars().collect();
                let end = draw.below(line.len() + 1);
                lines[at] = line[..end].iter().collect();
            }
            _ => {
                // A value after `=`, or one of the numbers of the line.
                let line = lines[at].clone();
                let odd = *draw.pick(&ODD);
                let starts: Vec<usize> = line
                    .char_indices()
                    .filter(|(i, c)| {
                        let before = line[..*i].chars().last();
                        c.is_ascii_digit()
                            && !before.is_some_and(|b| b.is_alphanumeric() || b == '.')
                    })
                    .map(|(i, _)| i)
                    .collect();
                if let (true, Some((key, _))) = (draw.below(3) == 0, line.split_once('=')) {
                    lines[at] = format!("{key}= {odd}");
                } else if !starts.is_empty() {
                    let start = *draw.pick(&starts);
                    let number = |c: char| c.is_ascii_alphanumeric() || ".+-".contains(c);
                    let length = line[start..].find(|c| !number(c));
                    let end = length.map_or(line.len(), |l| start + l);
                    lines[at] = format!("{}{odd}{}", &line[..start], &line[end..]);
                }
            }
        }
    }
    lines.join("\n")
}

/// Other bytes: some changed, some removed, some repeated.
pub fn bytes(draw: &mut Draw, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=draw.below(3) {
        if bytes.is_empty() {
            break;
        }
        let at = draw.below(bytes.len());
        match draw.below(6) {
            0 => bytes.truncate(at),
            1 => bytes[at] = draw.next() as u8,
            2 => bytes[at] ^= 1 << draw.below(8),
            3 => {
                let end = (at + 8).min(bytes.len());
                let odd = [
                    0u64,
                    u64::MAX,
                    1 << 32,
                    f64::NAN.to_bits(),
                    f64::INFINITY.to_bits(),
                ];
                let odd = draw.pick(&odd).to_le_bytes();
                bytes[at..end].copy_from_slice(&odd[..end - at]);
            }
            4 => drop(bytes.drain(at..(at + draw.below(64)).min(bytes.len()))),
            _ => {
                let end = (at + draw.below(64)).min(bytes.len());
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
        }
    }
    bytes
}

/// Other contents of a file, text or not.
pub fn file(draw: &mut Draw, contents: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(contents) {
        Ok(good) if draw.below(4) > 0 => text(draw, good).into_bytes(),
        _ => bytes(draw, contents),
    }
}

/// A text that is nested deeper than a parser that calls itself can follow: lists, tables, keys,
/// headings, parentheses.
pub fn deep(draw: &mut Draw) -> String {
    let depth = *draw.pick(&[90, 1_000, 100_000]);
    let keys = vec!["a"; depth].join(".");
    match draw.below(7) {
        0 => format!("gravity = {}0{}\n", "[".repeat(depth), "]".repeat(depth)),
        1 => format!("gravity = {}", "[".repeat(depth)),
        2 => format!(
            "gravity = {}1{}\n",
            "{ a = ".repeat(depth),
            " }".repeat(depth)
        ),
        3 => format!("{keys} = 1\n"),
        4 => format!("[{keys}]\nb = 1\n"),
        5 => format!("[[{keys}]]\nb = 1\n"),
        _ => {
            let formula = format!("{}t{}", "(".repeat(depth), ")".repeat(depth));
            format!(
                "[[check]]\nof = \"{formula}\"\nat = 0\nbelow = \"{}1\"\n",
                "-".repeat(depth)
            )
        }
    }
}

/// A table of a scene: the prefix of its keys for `--set`, and its name in the JSON Schema.
pub type Table = (&'static str, &'static str);

/// The path of a key and a value, for `--set`: a key of the table or, as often, of any other.
pub fn setting(draw: &mut Draw, tables: &[Table], keys: &BTreeMap<String, Vec<String>>) -> String {
    let (place, table) = *draw.pick(tables);
    let any: Vec<&String> = keys.keys().collect();
    let table = match draw.below(2) {
        0 => table,
        _ => draw.pick(&any).as_str(),
    };
    let own = &keys[table];
    let key = match own.is_empty() {
        true => String::new(),
        false => draw.pick(own).clone(),
    };
    let value = *draw.pick(&ODD);
    match draw.below(20) {
        0 => format!("{place}{key}"),
        1 => format!("={value}"),
        2 => format!("{place}\"{key}={value}"),
        3 => format!("{}b={value}", "a.".repeat(20_000)),
        4 => format!("{place}{key}.{key}.{key}={value}"),
        5 => format!("{place}{key}={}", "[".repeat(10_000)),
        6 => format!("{place}''={value}"),
        _ => format!("{place}{key}={value}"),
    }
}

/// Names that files, terminals, tables and other programs may take for something else.
pub fn name(draw: &mut Draw) -> String {
    let names = [
        "",
        " ",
        ".",
        "..",
        "../../x",
        "/etc/passwd",
        "a/b",
        "a\nb",
        "a,b",
        "a\"b",
        "a'b",
        "<&>",
        "\u{1b}[31m",
        "\u{202e}abc",
        "\u{0}",
        "%s%n",
        "-rf",
        "--out",
        "con",
        "frames",
        "contacts_",
        "contacts",
        "obstacle.floor",
        "body.cloth",
        "obstacle_floor",
        "box",
        "BOX",
        "summary.json",
        "a.b:c,d",
        "0",
        "ä€𝄞",
    ];
    match draw.below(12) {
        0 => "x".repeat(*draw.pick(&[99, 100, 101, 300, 100_000])),
        1 => "ä".repeat(*draw.pick(&[60, 100, 101])),
        _ => (*draw.pick(&names)).to_owned(),
    }
}

/// A text as a basic string of TOML.
pub fn quoted(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04X}", c as u32),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}
