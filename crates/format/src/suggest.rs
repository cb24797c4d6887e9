//! "Did you mean …": the nearest known name by edit distance.

/// The candidate nearest to `given`, if one is near enough to be a likely slip.
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A name of any length may be given; no slip has so many letters.
    if given.chars().count() > 64 {
        return None;
    }
    let wanted = fold(given);
    let allowed = 1 + wanted.len() / 4;
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let folded = fold(candidate);
        let mut distance = edit_distance(&wanted, &folded);
        // `friction` for `friction_table`, `euler` for `backward-euler`.
        let part = wanted.len() >= 3 && contains(&folded, &wanted)
            || folded.len() >= 3 && contains(&wanted, &folded);
        if part {
            distance = distance.min(allowed);
        }
        if distance <= allowed && best.is_none_or(|b| distance < b.0) {
            best = Some((distance, candidate));
        }
    }
    best.map(|b| b.1)
}

/// A help line: the nearest name if there is one, then the known ones.
pub fn help<'a>(given: &str, what: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let list = listed(&known);
    match nearest(given, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`? Known {what}: {list}"),
        None if known.is_empty() => format!("there are no {what}"),
        None => format!("known {what}: {list}"),
    }
}

/// Names in a row, cut after many.
pub fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 30;
    let mut list = names
        .iter()
        .take(SHOWN)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > SHOWN {
        list.push_str(&format!(", … ({} in all)", names.len()));
    }
    list
}

fn fold(name: &str) -> Vec<char> {
    let same = |c: char| if matches!(c, '-' | ' ') { '_' } else { c };
    name.chars()
        .flat_map(char::to_lowercase)
        .map(same)
        .collect()
}

fn contains(whole: &[char], part: &[char]) -> bool {
    whole.windows(part.len()).any(|w| w == part)
}

/// Insertions, deletions, substitutions and swaps of neighbours that lead from `a` to `b`.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for j in 0..=b.len() {
        rows[0][j] = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            let mut d = (rows[i - 1][j] + 1)
                .min(rows[i][j - 1] + 1)
                .min(rows[i - 1][j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                d = d.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = d;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(a: &str, b: &str) -> usize {
        edit_distance(&fold(a), &fold(b))
    }

    #[test]
    fn distances_count_slips() {
        assert_eq!(distance("density", "densty"), 1);
        assert_eq!(distance("density", "desnity"), 1);
        assert_eq!(distance("young", "youngs"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("frame_every", "frame-every"), 0);
    }

    #[test]
    fn only_likely_slips_are_suggested() {
        let known = ["density", "thickness", "young", "poisson"];
        assert_eq!(nearest("thicknes", known), Some("thickness"));
        assert_eq!(nearest("Poison", known), Some("poisson"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest(&"x".repeat(100_000), known), None);
        assert_eq!(nearest("euler", ["backward-euler"]), Some("backward-euler"));
    }
}
