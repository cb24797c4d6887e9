//! Reports as one self-contained HTML file with tables and curves.

use std::fmt::Write as _;
use std::path::Path;

use crate::{RecordError, atomic, plot::Plot, xml::escape};

/// A page under construction.
#[derive(Clone, Debug, Default)]
pub struct ReportPage {
    title: String,
    body: String,
}

/// Highlighting of a table row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowMark {
    /// None.
    #[default]
    None,
    /// Shown in green.
    Good,
    /// Shown in red.
    Bad,
}

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;max-width:76em;margin:2em auto;padding:0 1em;color:#222}\
table{border-collapse:collapse;margin:.8em 0;width:100%}\
th,td{border-bottom:1px solid #ddd;padding:.25em .6em;text-align:left;vertical-align:top}\
th{background:#f4f4f4}code,pre{font:13px ui-monospace,monospace;white-space:pre-wrap;word-break:break-word}\
tr.good td:first-child{border-left:4px solid #2a8a4a}tr.bad td:first-child{border-left:4px solid #c22}\
tr.bad{background:#fff0f0}svg{max-width:100%;height:auto}figure{display:inline-block;margin:.5em}";

impl ReportPage {
    /// An empty page.
    pub fn new(title: &str) -> Self {
        let mut page = Self {
            title: title.to_owned(),
            body: String::new(),
        };
        page.heading(1, title, None);
        page
    }

    /// Appends a heading of level 1 to 6, with an optional anchor.
    pub fn heading(&mut self, level: u8, text: &str, anchor: Option<&str>) {
        let level = level.clamp(1, 6);
        let id = anchor.map_or_else(String::new, |a| format!(" id=\"{}\"", escape(a)));
        // Writing to a `String` cannot fail.
        let _ = writeln!(self.body, "<h{level}{id}>{}</h{level}>", escape(text));
    }

    /// Appends a paragraph; text in backticks is set as code.
    pub fn text(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p>{}</p>", inline(text));
    }

    /// Appends preformatted text.
    pub fn preformatted(&mut self, text: &str) {
        let _ = writeln!(self.body, "<pre>{}</pre>", escape(text));
    }

    /// Appends a table; text in backticks is set as code.
    pub fn table(&mut self, header: &[&str], rows: &[(RowMark, Vec<String>)]) {
        self.body.push_str("<table><tr>");
        for cell in header {
            let _ = write!(self.body, "<th>{}</th>", inline(cell));
        }
        self.body.push_str("</tr>\n");
        for (mark, cells) in rows {
            let class = match mark {
                RowMark::None => "",
                RowMark::Good => " class=\"good\"",
                RowMark::Bad => " class=\"bad\"",
            };
            let _ = write!(self.body, "<tr{class}>");
            for cell in cells {
                let _ = write!(self.body, "<td>{}</td>", inline(cell));
            }
            self.body.push_str("</tr>\n");
        }
        self.body.push_str("</table>\n");
    }

    /// Appends a plot.
    pub fn plot(&mut self, plot: &Plot) -> Result<(), String> {
        let svg = plot.svg()?;
        // A page has one document; the declaration of another inside it would be an error.
        let from = svg.find("<svg").unwrap_or(0);
        let _ = writeln!(self.body, "<figure>{}</figure>", &svg[from..]);
        Ok(())
    }

    /// The complete file.
    pub fn html(&self) -> String {
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\">\
             <title>{}</title><style>{STYLE}</style></head><body>\n{}</body></html>\n",
            escape(&self.title),
            self.body
        )
    }

    /// Writes the file, atomically.
    pub fn write(&self, path: &Path) -> Result<(), RecordError> {
        atomic::write(path, self.html().as_bytes())
    }
}

fn inline(text: &str) -> String {
    let mut out = String::new();
    for (i, part) in text.split('`').enumerate() {
        match i % 2 {
            0 => out.push_str(&escape(part)),
            _ => {
                let _ = write!(out, "<code>{}</code>", escape(part));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_page_is_self_contained_and_shows_its_contents() {
        let mut page = ReportPage::new("Holds & slides");
        page.heading(2, "a < b", Some("first"));
        page.text("run `stiction run --set a=\"<b>\"` again");
        let cells = vec!["x".to_owned(), "1 > 0".to_owned()];
        page.table(&["what", "how"], &[(RowMark::Bad, cells)]);
        page.plot(&Plot::default()).unwrap();
        let html = page.html();
        for part in [
            "<title>Holds &amp; slides</title>",
            "<h2 id=\"first\">a &lt; b</h2>",
            "<code>stiction run --set a=&quot;&lt;b&gt;&quot;</code>",
            "<tr class=\"bad\"><td>x</td><td>1 &gt; 0</td></tr>",
            "<svg",
        ] {
            assert!(html.contains(part), "{part}\n{html}");
        }
        assert!(!html.contains("<?xml"));
        // Nothing is fetched: the only address is the name of the vector format.
        for (at, _) in html.match_indices("http") {
            assert!(html[at..].starts_with("http://www.w3.org/2000/svg"));
        }
        for word in ["src=", "href=", "url(", "@import", "<script"] {
            assert!(!html.contains(word), "{word}");
        }
    }
}
