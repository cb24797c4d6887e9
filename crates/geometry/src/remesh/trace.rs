//! Ancestry of vertices and triangles while a sheet changes.

use stiction_math::{Mat3, Vec3};

use super::{
    Remeshed, TriangleOverlap,
    edit::area_vector,
    sheet::{NONE, Sheet, Successor},
};
use crate::WeightRows;

/// Overlaps of less than this fraction of an edge are none: triangles that touch.
const TOUCH: f64 = 1e-7;

/// New vertices as weighted old ones, and the old triangles that each triangle overlaps.
pub(super) struct Trace<'a> {
    rest: &'a [Vec3],
    triangles: &'a [[u32; 3]],
    /// Of each vertex, sorted by number.
    rows: Vec<Vec<(u32, f64)>>,
    /// Of each triangle, ascending.
    sources: Vec<Vec<u32>>,
}

impl<'a> Trace<'a> {
    pub fn new(rest: &'a [Vec3], triangles: &'a [[u32; 3]]) -> Self {
        Self {
            rows: (0..rest.len() as u32).map(|v| vec![(v, 1.0)]).collect(),
            sources: (0..triangles.len() as u32).map(|t| vec![t]).collect(),
            rest,
            triangles,
        }
    }

    /// A new vertex halfway between two.
    pub fn halved(&mut self, a: u32, b: u32) {
        let ends = [a, b].map(|v| &self.rows[v as usize]);
        let mut row: Vec<(u32, f64)> = Vec::with_capacity(ends[0].len() + ends[1].len());
        row.extend(ends.into_iter().flatten().map(|&(v, w)| (v, 0.5 * w)));
        row.sort_by_key(|e| e.0);
        row.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        self.rows.push(row);
    }

    /// Replaces triangles in the sheet and follows.
    pub fn replace(&mut self, sheet: &mut Sheet, old: &[u32], new: &[Successor]) {
        let mut all: Vec<u32> = Vec::new();
        for &t in old {
            all.append(&mut self.sources[t as usize]);
        }
        all.sort_unstable();
        all.dedup();
        for (slot, n) in sheet.replace(old, new).into_iter().zip(new) {
            let corners = n.corners.map(|v| sheet.rest[v as usize]);
            let meets = |s: &&u32| overlap(&corners, &self.old(**s));
            let own: Vec<u32> = all.iter().filter(meets).copied().collect();
            if self.sources.len() <= slot as usize {
                self.sources.resize(slot as usize + 1, Vec::new());
            }
            self.sources[slot as usize] = own;
        }
    }

    fn old(&self, t: u32) -> [Vec3; 3] {
        self.triangles[t as usize].map(|v| self.rest[v as usize])
    }

    /// The sheet in consecutive numbers: vertices that are left in their old order, then new ones.
    /// None if a triangle has lost its ancestry, which rounding alone could cause.
    pub fn finish(self, sheet: &Sheet) -> Option<Remeshed> {
        let mut number = vec![NONE; sheet.rest.len()];
        let mut nodes = WeightRows::default();
        for (v, (number, row)) in number.iter_mut().zip(&self.rows).enumerate() {
            if sheet.has(v as u32) {
                *number = nodes.len() as u32;
                nodes.push(row.iter().copied());
            }
        }
        let mut triangles = Vec::new();
        let mut overlaps = Vec::new();
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); self.triangles.len()];
        for t in sheet.triangles() {
            let corners = sheet.corners[t as usize];
            let child = triangles.len() as u32;
            triangles.push(corners.map(|v| number[v as usize]));
            if self.sources[t as usize].is_empty() {
                return None;
            }
            for &s in &self.sources[t as usize] {
                let old = self.old(s);
                let weights = |v: u32| self.weights(v, s, &old, sheet);
                overlaps.push(TriangleOverlap {
                    child,
                    triangle: s,
                    corners: [
                        weights(corners[0])?,
                        weights(corners[1])?,
                        weights(corners[2])?,
                    ],
                });
                children[s as usize].push(t);
            }
        }
        let mut around: Vec<Vec<u32>> = vec![Vec::new(); self.rest.len()];
        for (t, corners) in self.triangles.iter().enumerate() {
            for v in corners {
                around[*v as usize].push(t as u32);
            }
        }
        let mut old_nodes = WeightRows::default();
        for (v, x) in self.rest.iter().enumerate() {
            if sheet.has(v as u32) {
                old_nodes.push([(number[v], 1.0)]);
                continue;
            }
            // A removed vertex lies in one of the triangles that cover those around it.
            let mut best: Option<(f64, u32, Vec3)> = None;
            for &t in around[v].iter().flat_map(|s| &children[*s as usize]) {
                let corners = sheet.corners[t as usize].map(|v| sheet.rest[v as usize]);
                let w = Vec3::from(barycentric(&corners, x)?);
                if best.is_none_or(|(least, ..)| w.min() > least) {
                    best = Some((w.min(), t, w));
                }
            }
            let (_, t, w) = best?;
            let w = w.map(|w| if w < TOUCH { 0.0 } else { w });
            let sum = w.sum();
            let corners = sheet.corners[t as usize].iter().zip(w.iter());
            let corners = corners.filter(|c| *c.1 > 0.0);
            old_nodes.push(corners.map(|(c, w)| (number[*c as usize], w / sum)));
        }
        Some(Remeshed {
            triangles,
            nodes,
            old_nodes,
            overlaps,
        })
    }

    /// Barycentric coordinates of vertex `v` in old triangle `s`: exact for old corners and for
    /// points on its edges.
    fn weights(&self, v: u32, s: u32, old: &[Vec3; 3], sheet: &Sheet) -> Option<[f64; 3]> {
        let corners = self.triangles[s as usize];
        let row = &self.rows[v as usize];
        if row.iter().all(|e| corners.contains(&e.0)) {
            return Some(corners.map(|c| row.iter().find(|e| e.0 == c).map_or(0.0, |e| e.1)));
        }
        barycentric(old, &sheet.rest[v as usize])
    }
}

/// Barycentric coordinates of a point in the plane of a triangle.
pub(super) fn barycentric(corners: &[Vec3; 3], x: &Vec3) -> Option<[f64; 3]> {
    let [a, b, c] = corners;
    let normal = (b - a).cross(&(c - a)).try_normalize(0.0)?;
    let columns = Mat3::from_columns(&[b - a, c - a, normal]);
    let w = columns.try_inverse()? * (x - a);
    Some([1.0 - w.x - w.y, w.x, w.y])
}

/// Whether two triangles lie in one plane and share more than their outlines.
fn overlap(a: &[Vec3; 3], b: &[Vec3; 3]) -> bool {
    let (m, n) = (area_vector(a), area_vector(b));
    let scale = m.norm().max(n.norm()).sqrt();
    let off = m.dot(&(b[0] - a[0])).abs() / m.norm();
    if m.dot(&n) <= 0.0 || m.cross(&n).norm() > 1e-4 * m.norm() * n.norm() || off > 1e-4 * scale {
        return false;
    }
    // Separating lines along the edges of either, in the plane of the first.
    let apart = |p: &[Vec3; 3], q: &[Vec3; 3]| {
        (0..3).any(|k| {
            let (from, along) = (p[k], p[(k + 1) % 3] - p[k]);
            let inward = m.cross(&along).normalize();
            let depth = |x: &Vec3| inward.dot(&(x - from));
            let height = depth(&p[(k + 2) % 3]);
            q.iter().map(depth).fold(f64::NEG_INFINITY, f64::max) <= TOUCH * height
        })
    };
    !apart(a, b) && !apart(b, a)
}
