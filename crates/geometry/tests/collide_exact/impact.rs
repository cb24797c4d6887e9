//! The exact first time in [0, 1] at which two features that move linearly touch.
//!
//! The times of contact form a closed set described by signs of polynomials in t, so that its
//! least element is 0 or a root of one of them. If the four vertices are not coplanar all the
//! time, it is a root of the coplanarity cubic.

use num_bigint::BigInt;
use stiction_math::Vec3;

use super::integers;
use super::polynomial::{Poly, Root};

/// A point that moves linearly.
pub type Path = [Poly; 3];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    VertexFace,
    EdgeEdge,
    VertexEdge,
    VertexVertex,
}

/// The first contact of `[p, a, b, c]`, `[a₀, a₁, b₀, b₁]`, `[p, a, b]` or `[p, q]`.
pub fn first_contact(kind: Kind, start: &[Vec3], end: &[Vec3]) -> Option<Root> {
    let count = start.len();
    let both: Vec<Vec3> = start.iter().chain(end).copied().collect();
    let (x, _) = integers(&both);
    let paths: Vec<Path> = (0..count)
        .map(|i| {
            let line = |k: usize| {
                let slope: BigInt = &x[count + i][k] - &x[i][k];
                Poly::new(vec![x[i][k].clone(), slope])
            };
            [line(0), line(1), line(2)]
        })
        .collect();
    match kind {
        Kind::VertexFace => {
            let face = Face::new(&paths);
            first(&[&face.volume], &face.all(), |t| face.holds(t))
        }
        Kind::EdgeEdge => {
            let pair = Edges::new(&paths);
            first(&[&pair.volume], &pair.all(), |t| pair.holds(t))
        }
        Kind::VertexEdge => {
            let e = OnEdge::new(&paths[0], &paths[1], &paths[2]);
            let necessary: Vec<&Poly> = e.collinear.iter().collect();
            first(&necessary, &e.all(), |t| e.holds(t))
        }
        Kind::VertexVertex => {
            let d = sub(&paths[0], &paths[1]);
            let necessary: Vec<&Poly> = d.iter().collect();
            first(&necessary, &[], |t| zero(t, &d))
        }
    }
}

/// The first time at which `holds`, given polynomials that vanish at every such time and, in
/// case they vanish always, all polynomials whose signs decide.
fn first(necessary: &[&Poly], all: &[&Poly], holds: impl Fn(&mut Root) -> bool) -> Option<Root> {
    let candidates = match necessary.iter().find(|p| !p.is_zero()) {
        Some(p) => p.roots(),
        None => {
            let proper = all.iter().filter(|p| !p.is_zero());
            let mut roots: Vec<Root> = proper.flat_map(|p| p.roots()).collect();
            roots.push(Root::zero());
            roots
        }
    };
    let found = candidates
        .into_iter()
        .filter_map(|mut t| holds(&mut t).then_some(t));
    found.min_by(|a, b| a.clone().value().total_cmp(&b.clone().value()))
}

/// The condition that p lies on the edge ab.
struct OnEdge {
    collinear: Path,
    after_a: Poly,
    before_b: Poly,
    edge: Path,
    from_a: Path,
}

impl OnEdge {
    fn new(p: &Path, a: &Path, b: &Path) -> Self {
        let (edge, from_a, from_b) = (sub(b, a), sub(p, a), sub(p, b));
        OnEdge {
            collinear: cross(&from_a, &edge),
            after_a: dot(&from_a, &edge),
            before_b: Poly(Vec::new()).sub(&dot(&from_b, &edge)),
            edge,
            from_a,
        }
    }

    fn all(&self) -> Vec<&Poly> {
        let vectors = [&self.collinear, &self.edge, &self.from_a];
        let scalars = [&self.after_a, &self.before_b];
        vectors.into_iter().flatten().chain(scalars).collect()
    }

    fn holds(&self, t: &mut Root) -> bool {
        zero(t, &self.collinear)
            && t.sign_of(&self.after_a) >= 0
            && t.sign_of(&self.before_b) >= 0
            && (!zero(t, &self.edge) || zero(t, &self.from_a))
    }
}

struct Face {
    volume: Poly,
    normal: Path,
    sides: [Poly; 3],
    edges: [OnEdge; 3],
}

impl Face {
    fn new(x: &[Path]) -> Self {
        let normal = cross(&sub(&x[2], &x[1]), &sub(&x[3], &x[1]));
        let side = |k: usize| {
            let (a, b) = (&x[k], &x[k % 3 + 1]);
            dot(&cross(&sub(b, a), &sub(&x[0], a)), &normal)
        };
        let edge = |k: usize| OnEdge::new(&x[0], &x[k], &x[k % 3 + 1]);
        Face {
            volume: dot(&sub(&x[0], &x[1]), &normal),
            sides: [side(1), side(2), side(3)],
            edges: [edge(1), edge(2), edge(3)],
            normal,
        }
    }

    fn all(&self) -> Vec<&Poly> {
        let own = self.normal.iter().chain(&self.sides);
        own.chain(self.edges.iter().flat_map(|e| e.all())).collect()
    }

    fn holds(&self, t: &mut Root) -> bool {
        if t.sign_of(&self.volume) != 0 {
            return false;
        }
        if zero(t, &self.normal) {
            return self.edges.iter().any(|e| e.holds(t));
        }
        self.sides.iter().all(|s| t.sign_of(s) >= 0)
    }
}

struct Edges {
    volume: Poly,
    normal: Path,
    within: [Poly; 4],
    ends: [OnEdge; 4],
}

impl Edges {
    fn new(x: &[Path]) -> Self {
        let (a, b, r) = (sub(&x[1], &x[0]), sub(&x[3], &x[2]), sub(&x[2], &x[0]));
        let normal = cross(&a, &b);
        let n2 = dot(&normal, &normal);
        let s = dot(&cross(&r, &b), &normal);
        let t = dot(&cross(&r, &a), &normal);
        let end = |p: usize, i: usize, j: usize| OnEdge::new(&x[p], &x[i], &x[j]);
        Edges {
            volume: dot(&r, &normal),
            within: [n2.sub(&s), n2.sub(&t), s, t],
            ends: [end(0, 2, 3), end(1, 2, 3), end(2, 0, 1), end(3, 0, 1)],
            normal,
        }
    }

    fn all(&self) -> Vec<&Poly> {
        let own = self.normal.iter().chain(&self.within);
        own.chain(self.ends.iter().flat_map(|e| e.all())).collect()
    }

    fn holds(&self, t: &mut Root) -> bool {
        if t.sign_of(&self.volume) != 0 {
            return false;
        }
        if zero(t, &self.normal) {
            return self.ends.iter().any(|e| e.holds(t));
        }
        self.within.iter().all(|s| t.sign_of(s) >= 0)
    }
}

fn zero(t: &mut Root, v: &Path) -> bool {
    v.iter().all(|p| t.sign_of(p) == 0)
}

fn sub(a: &Path, b: &Path) -> Path {
    [a[0].sub(&b[0]), a[1].sub(&b[1]), a[2].sub(&b[2])]
}

fn dot(a: &Path, b: &Path) -> Poly {
    let [x, y, z] = [0, 1, 2].map(|k| a[k].mul(&b[k]));
    x.add(&y).add(&z)
}

fn cross(a: &Path, b: &Path) -> Path {
    let minor = |i: usize, j: usize| a[i].mul(&b[j]).sub(&a[j].mul(&b[i]));
    [minor(1, 2), minor(2, 0), minor(0, 1)]
}
