//! Fill-reducing order by geometric nested dissection [george1973].
//!
//! A set of nodes is cut by a plane across one axis; the nodes of one side that are adjacent to the
//! other form the separator. Both halves are ordered first, recursively, and the separator last, so
//! that eliminating one half never fills the other. All cuts of an axis are evaluated in one pass:
//! a node of rank r whose furthest neighbour has rank m belongs to the separator of the cuts in (r,
//! m].

use crate::{BlockPattern, Vec3};

/// Sets of at most this many nodes are ordered by `order_leaf`.
const LEAF: usize = 64;
/// A cut leaves at least this fraction of the nodes on either side.
const BALANCE: f64 = 0.35;

/// An elimination order (new → old) of the nodes of `pattern` at `positions`.
///
/// `order_leaf` orders a small set, given as the upper triangle of its induced graph in
/// compressed columns, and returns local indices (new → old).
pub(crate) fn nested_dissection<E>(
    pattern: &BlockPattern,
    positions: &[Vec3],
    order_leaf: impl FnMut(&[usize], &[usize]) -> Result<Vec<usize>, E>,
) -> Result<Vec<usize>, E> {
    let n = pattern.n();
    let mut dissection = Dissection {
        pattern,
        positions,
        label: vec![0; n],
        labels: 0,
        rank: vec![0; n],
        order: Vec::with_capacity(n),
        order_leaf,
    };
    dissection.dissect((0..n as u32).collect())?;
    Ok(dissection.order)
}

struct Dissection<'a, F> {
    pattern: &'a BlockPattern,
    positions: &'a [Vec3],
    /// The set each node is in now; neighbours outside the current set do not count.
    label: Vec<u32>,
    labels: u32,
    /// The rank of a node within its current set.
    rank: Vec<usize>,
    order: Vec<usize>,
    order_leaf: F,
}

/// The set cut before rank `at`; the separator is the boundary of the lower or the upper part.
#[derive(Clone, Copy)]
struct Cut {
    axis: usize,
    at: usize,
    lower: bool,
    separator: usize,
    cost: f64,
}

impl<E, F: FnMut(&[usize], &[usize]) -> Result<Vec<usize>, E>> Dissection<'_, F> {
    fn dissect(&mut self, mut set: Vec<u32>) -> Result<(), E> {
        self.labels += 1;
        for &v in &set {
            self.label[v as usize] = self.labels;
        }
        if set.len() <= LEAF {
            return self.leaf(&set);
        }
        let mut best: Option<Cut> = None;
        for axis in 0..3 {
            self.sort(&mut set, axis);
            let cut = self.best_cut(&set, axis);
            if best.is_none_or(|b| cut.cost < b.cost) {
                best = Some(cut);
            }
        }
        // A nearly complete graph has no small separator; minimum degree does better there.
        let Some(cut) = best.filter(|cut| 5 * cut.separator < 2 * set.len()) else {
            return self.leaf(&set);
        };
        self.sort(&mut set, cut.axis);
        let (mut low, mut high, mut separator) = (Vec::new(), Vec::new(), Vec::new());
        for (r, &v) in set.iter().enumerate() {
            let (min, max) = self.neighbour_span(v);
            let on_low = r < cut.at;
            let touches = if on_low { max >= cut.at } else { min < cut.at };
            if touches && on_low == cut.lower {
                separator.push(v as usize);
            } else if on_low {
                low.push(v);
            } else {
                high.push(v);
            }
        }
        drop(set);
        self.dissect(low)?;
        self.dissect(high)?;
        self.order.extend(separator);
        Ok(())
    }

    fn sort(&mut self, set: &mut [u32], axis: usize) {
        let x = |v: u32| self.positions[v as usize][axis];
        set.sort_unstable_by(|&a, &b| x(a).total_cmp(&x(b)).then(a.cmp(&b)));
        for (r, &v) in set.iter().enumerate() {
            self.rank[v as usize] = r;
        }
    }

    /// Lowest and highest rank among `v` and its neighbours in the current set.
    fn neighbour_span(&self, v: u32) -> (usize, usize) {
        let own = self.rank[v as usize];
        let label = self.label[v as usize];
        let neighbours = self.pattern.row(v as usize).iter();
        neighbours
            .filter(|&&w| self.label[w as usize] == label)
            .map(|&w| self.rank[w as usize])
            .fold((own, own), |(min, max), r| (min.min(r), max.max(r)))
    }

    fn best_cut(&self, set: &[u32], axis: usize) -> Cut {
        let m = set.len();
        let mut lower_change = vec![0isize; m + 2];
        let mut upper_change = vec![0isize; m + 2];
        for (r, &v) in set.iter().enumerate() {
            let (min, max) = self.neighbour_span(v);
            lower_change[r + 1] += 1;
            lower_change[max + 1] -= 1;
            upper_change[min + 1] += 1;
            upper_change[r + 1] -= 1;
        }
        let margin = (BALANCE * m as f64) as usize;
        let (mut lower, mut upper) = (0, 0);
        let mut best = Cut {
            axis,
            at: m / 2,
            lower: true,
            separator: m,
            cost: f64::INFINITY,
        };
        for at in 1..=m - margin {
            lower += lower_change[at];
            upper += upper_change[at];
            if at < margin {
                continue;
            }
            let separator = lower.min(upper) as usize;
            let off_centre = at as f64 / m as f64 - 0.5;
            // A lopsided cut must pay for itself with a smaller separator.
            let cost = separator as f64 * (1.0 + 4.0 * off_centre * off_centre);
            if cost < best.cost {
                best = Cut {
                    axis,
                    at,
                    lower: lower <= upper,
                    separator,
                    cost,
                };
            }
        }
        best
    }

    fn leaf(&mut self, set: &[u32]) -> Result<(), E> {
        for (r, &v) in set.iter().enumerate() {
            self.rank[v as usize] = r;
        }
        let mut col_start = vec![0];
        let mut rows = Vec::new();
        for (r, &v) in set.iter().enumerate() {
            let begin = rows.len();
            for &w in self.pattern.row(v as usize) {
                if self.label[w as usize] == self.labels && self.rank[w as usize] <= r {
                    rows.push(self.rank[w as usize]);
                }
            }
            rows[begin..].sort_unstable();
            col_start.push(rows.len());
        }
        let local = (self.order_leaf)(&col_start, &rows)?;
        self.order
            .extend(local.into_iter().map(|r| set[r] as usize));
        Ok(())
    }
}
