//! Standard output and standard error, which may be closed or full.
//!
//! The macros of the standard library panic there. These go on: a command does its work and returns its
//! own exit code when nobody reads on, and one whose output was lost for another reason fails at its end.

use std::{
    fmt,
    io::{self, Write},
    sync::Mutex,
};

use miette::{Report, miette};

/// Writes to standard output.
macro_rules! print {
    ($($text:tt)*) => { $crate::commands::output::out(format_args!($($text)*)) };
}

/// Writes a line to standard output.
macro_rules! println {
    ($($text:tt)*) => {
        $crate::commands::output::out(format_args!("{}\n", format_args!($($text)*)))
    };
}

/// Writes a line to standard error.
macro_rules! eprintln {
    ($($text:tt)*) => {
        $crate::commands::output::err(format_args!("{}\n", format_args!($($text)*)))
    };
}

/// Error that ended standard output, if any.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

/// Writes to standard output until that fails.
pub fn out(text: fmt::Arguments<'_>) {
    keep(|out| out.write_fmt(text));
}

/// Writes to standard error. There is nowhere to report a failure.
pub fn err(text: fmt::Arguments<'_>) {
    let _ = io::stderr().lock().write_fmt(text);
}

/// Flushes standard output. An error unless all of it was written or the reader closed it.
pub fn finish() -> io::Result<()> {
    keep(|out| out.flush());
    let lost = LOST.lock().map_or(None, |mut lost| lost.take());
    match lost {
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Sets the colours of messages.
pub fn colour(when: super::ColourChoice) {
    let on = match when {
        super::ColourChoice::Auto => return,
        super::ColourChoice::Always => true,
        super::ColourChoice::Never => false,
    };
    // Only the first hook counts, and this is the only one.
    let _ = miette::set_hook(Box::new(move |_| {
        Box::new(miette::MietteHandlerOpts::new().color(on).build())
    }));
}

/// Longest line of a message [characters]: a source of one long line is not printed whole.
const LINE: usize = 400;

/// Most lines of a message.
const LINES: usize = 200;

/// Longest text of a message that shows no source [characters].
const TEXT: usize = 600;

/// A message as it is printed. Input that it quotes is cut to a line.
pub fn told(report: &Report) -> String {
    let plain = report.to_string();
    let shown = report.source_code().is_none() && report.related().is_none();
    let text = match shown && plain.chars().count() > TEXT {
        false => format!("{report:?}"),
        true => {
            let help = report.help().map(|h| shorten(&h.to_string()));
            let help = help.unwrap_or_else(|| "the message was shortened".to_owned());
            format!("{:?}", miette!(help = help, "{}", shorten(&plain)))
        }
    };
    cut(&text).unwrap_or(text)
}

/// A number of things that have a plural in s.
pub fn counted(n: usize, thing: &str) -> String {
    match n {
        1 => format!("1 {thing}"),
        n => format!("{n} {thing}s"),
    }
}

/// The text with its middle left out where it is too long.
fn shorten(text: &str) -> String {
    let count = text.chars().count();
    if count <= TEXT {
        return text.to_owned();
    }
    let first: String = text.chars().take(TEXT / 2).collect();
    let last: String = text.chars().skip(count - TEXT / 4).collect();
    format!("{first} … {last}")
}

/// The text with its long lines and its many lines cut, if it has any.
pub fn cut(text: &str) -> Option<String> {
    let long = |line: &str| line.len() > LINE && line.chars().count() > LINE;
    let lines = text.lines().count();
    if lines <= LINES && !text.lines().any(long) {
        return None;
    }
    let mut cut = String::new();
    for line in text.lines().take(LINES) {
        match long(line) {
            true => cut.extend(line.chars().take(LINE).chain(['…'])),
            false => cut.push_str(line),
        }
        cut.push('\n');
    }
    if lines > LINES {
        cut.push_str(&format!("… {} more lines", lines - LINES));
    }
    Some(cut)
}

fn keep(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
    if let Ok(mut lost) = LOST.lock()
        && lost.is_none()
    {
        *lost = write(&mut io::stdout().lock()).err();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_do_not_repeat_long_input() {
        let long = "x".repeat(1 << 20);
        let report = miette!(help = format!("say {long}"), "no such {long}");
        let said = told(&report);
        assert!(said.len() < 4000 && said.contains("no such"), "{said}");
        assert_eq!(cut("short\nlines"), None);
        let lines = cut(&"line\n".repeat(1000)).unwrap_or_default();
        assert!(lines.ends_with("… 800 more lines") && lines.len() < 2000);
        assert!(cut(&long).is_some_and(|c| c.chars().count() <= LINE + 2));
    }
}
