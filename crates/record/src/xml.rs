//! The subset of XML for VTU and PVD files: writing of attributes, reading of tags and attributes.

/// Escapes text for a double-quoted attribute. Control characters, which XML 1.0 forbids even as
/// references, become spaces.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            c if c.is_control() || c == '\u{fffe}' || c == '\u{ffff}' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

fn unescape(text: &str) -> String {
    // `&amp;` last, so that an escaped ampersand cannot form a new reference.
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&amp;", "&")
}

/// One `<name key="value" …>` and the text up to the next tag.
pub(crate) struct Tag<'a> {
    /// Name with its leading slash if it closes an element.
    pub name: &'a str,
    attributes: &'a str,
    /// The text between this tag and the next one; only tests read it.
    #[cfg(test)]
    pub text: &'a str,
}

impl Tag<'_> {
    /// The value of an attribute, unescaped.
    pub fn get(&self, key: &str) -> Option<String> {
        let mut rest = self.attributes;
        loop {
            let (name, after) = rest.split_once('=')?;
            let after = after.trim_start();
            let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            let (value, tail) = after[1..].split_once(quote)?;
            if name.trim() == key {
                return Some(unescape(value));
            }
            rest = tail;
        }
    }

    /// The parsed value of an attribute.
    pub fn parse<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.get(key)?.trim().parse().ok()
    }
}

/// All tags of `text` in order; declarations and comments are skipped. Values must not contain a
/// bare `>`, which [`escape`] guarantees for the files written here.
pub(crate) fn tags(text: &str) -> impl Iterator<Item = Tag<'_>> {
    text.split('<').skip(1).filter_map(|piece| {
        let (inside, _text) = piece.split_once('>')?;
        if inside.starts_with(['?', '!']) {
            return None;
        }
        let inside = inside.strip_suffix('/').unwrap_or(inside);
        let end = inside.find(char::is_whitespace).unwrap_or(inside.len());
        Some(Tag {
            name: &inside[..end],
            attributes: &inside[end..],
            #[cfg(test)]
            text: _text,
        })
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn attributes_survive_a_round_trip() {
        let nasty = "a<b>&\"c' = /é &lt;";
        let text = format!(
            "<?xml version=\"1.0\"?>\n<T one=\"1\" two=\"{}\"/>",
            escape(nasty)
        );
        let tag = tags(&text).next().unwrap();
        assert_eq!(tag.name, "T");
        assert_eq!(tag.get("two").unwrap(), nasty);
        assert_eq!(tag.parse::<i32>("one"), Some(1));
        assert_eq!(tag.get("three"), None);
        assert_eq!(escape("a\u{0}b\nc"), "a b c");
    }
}
