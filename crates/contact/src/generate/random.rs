//! Random problems.

use std::sync::Arc;
use stiction_math::elementary::pow;

use stiction_geometry::SplitMix;
use stiction_math::{BlockPattern, LinearOperator, Mat3, PartShape, SystemMatrix, Vec3};

use crate::{Contact, ContactKey, FrictionProblem, StencilEntry};

/// Family of random problems by difficulty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RandomProblem {
    /// Few contacts on a sparse elastic body: the easy case.
    Sparse,
    /// Every node is coupled to every other.
    Dense,
    /// More contact directions than degrees of freedom: impulses are not unique.
    RankDeficient,
    /// Every contact three times.
    Redundant,
    /// μ = 10.
    HighFriction,
    /// μ = 0.
    Frictionless,
    /// Masses from 1 g to 1 t.
    MassRatio,
    /// Bundles of contacts whose normals differ by 1e-6, and wedges that almost close.
    NearDegenerate,
    /// Rigid bodies among the elastic ones, with levers.
    Rigid,
    /// Springs between bodies: blocks of A across parts.
    Coupled,
    /// Contacts that bear a pull.
    Cohesive,
    /// Compliant contacts.
    Compliant,
}

impl RandomProblem {
    /// All kinds.
    pub const ALL: [Self; 12] = [
        Self::Sparse,
        Self::Dense,
        Self::RankDeficient,
        Self::Redundant,
        Self::HighFriction,
        Self::Frictionless,
        Self::MassRatio,
        Self::NearDegenerate,
        Self::Rigid,
        Self::Coupled,
        Self::Cohesive,
        Self::Compliant,
    ];
}

/// A random problem of the given kind with about `nodes` nodes (at least 4), the same for the same
/// seed.
pub fn random(kind: RandomProblem, nodes: usize, seed: u64) -> FrictionProblem {
    let mut rng = Random(SplitMix::new(seed ^ 0x5171_c710));
    let nodes = nodes.max(4);
    let (a, mass) = matrix(kind, nodes, &mut rng);
    let n = a.len();

    // Bodies that would move at about 1 m/s without contact.
    let free: Vec<Vec3> = (0..n).map(|_| rng.vector()).collect();
    let mut f = vec![Vec3::zeros(); n];
    a.apply(&free, &mut f);
    let mut problem = FrictionProblem::new(a, f, 0.01);
    problem.mass = mass;
    problem.positions = (0..n).map(|_| rng.vector()).collect();

    let count = match kind {
        RandomProblem::RankDeficient => 2 * nodes,
        RandomProblem::Dense => nodes,
        _ => nodes.div_ceil(2),
    };
    // k is chosen such that all contacts open with these velocities.
    let calm: Vec<Vec3> = (0..n).map(|_| rng.vector() * 0.2).collect();
    let mut bundle: Option<(Vec<StencilEntry>, Vec3)> = None;
    for c in 0..count {
        let (entries, normal) = match (&bundle, kind) {
            (Some((entries, normal)), RandomProblem::NearDegenerate) if c % 4 != 0 => {
                // The last of a bundle closes a wedge of a hundredth.
                let size = if c % 4 == 3 { 1e-2 } else { 1e-6 };
                let side = if c % 4 == 3 { -1.0 } else { 1.0 };
                let normal = (normal * side + rng.vector() * size).normalize();
                (entries.clone(), normal)
            }
            _ => (stencil(kind, nodes, &mut rng), rng.direction()),
        };
        bundle = Some((entries.clone(), normal));
        let velocity = entries
            .iter()
            .fold(Vec3::zeros(), |u, e| u + e.mul(&calm[e.node as usize]));
        let opening = 0.01 + (rng.0.uniform() - 0.5).max(0.0);
        let contact = Contact {
            point: Vec3::zeros(),
            normal,
            k: normal * opening - velocity,
            mu: match kind {
                RandomProblem::HighFriction => 10.0,
                RandomProblem::Frictionless => 0.0,
                _ => 0.1 + 0.9 * rng.0.uniform(),
            },
            cohesion: match kind {
                RandomProblem::Cohesive => rng.0.uniform(),
                _ => 0.0,
            },
            compliance: match kind {
                RandomProblem::Compliant => rng.0.uniform(),
                _ => 0.0,
            },
            gap: opening * problem.h,
            correction: None,
            key: ContactKey {
                first: c as u64,
                second: seed,
            },
            pair: [0, 1],
        };
        let copies = if kind == RandomProblem::Redundant {
            3
        } else {
            1
        };
        for _ in 0..copies {
            problem
                .contacts
                .push_entries(entries.iter().copied(), contact);
        }
    }
    problem
}

/// Two elastic bodies of `nodes`/2 nodes each and, for `RandomProblem::Rigid`, four rigid bodies.
fn matrix(kind: RandomProblem, nodes: usize, rng: &mut Random) -> (SystemMatrix, Vec<f64>) {
    let sizes = [nodes / 2, nodes - nodes / 2];
    let mut edges = Vec::new();
    let mut shapes = Vec::new();
    let mut first = 0;
    for size in sizes {
        let mut local: Vec<[u32; 2]> = Vec::new();
        for i in 0..size {
            if kind == RandomProblem::Dense {
                local.extend((0..i).map(|j| [j as u32, i as u32]));
            } else if i > 0 {
                local.push([i as u32 - 1, i as u32]);
                local.push([rng.below(i) as u32, i as u32]);
            }
        }
        // Edges name nodes below `size` only, so there is no error to lose.
        let cliques = local.iter().map(|e| &e[..]);
        let pattern = BlockPattern::from_cliques(size, cliques).unwrap_or_default();
        shapes.push(PartShape::Sparse(Arc::new(pattern)));
        edges.extend(local.iter().map(|e| e.map(|i| i + first)));
        first += size as u32;
    }
    let rigid = if kind == RandomProblem::Rigid {
        RIGID
    } else {
        0
    };
    shapes.extend((0..rigid).map(|_| PartShape::Dense));
    if kind == RandomProblem::Coupled {
        let across = |rng: &mut Random| {
            [rng.below(sizes[0]), sizes[0] + rng.below(sizes[1])].map(|i| i as u32)
        };
        edges.extend((0..3).map(|_| across(rng)));
    }
    let pairs: Vec<(u32, u32)> = edges.iter().map(|e| (e[0], e[1])).collect();
    let mut a = SystemMatrix::new(shapes, &pairs);

    let mut mass = Vec::new();
    for i in 0..nodes {
        let m = match kind {
            RandomProblem::MassRatio => pow(10.0, 6.0 * rng.0.uniform() - 3.0),
            _ => 0.5 + rng.0.uniform(),
        };
        mass.push(m);
        a.add(i, i, &Mat3::from_diagonal_element(m));
    }
    for body in 0..rigid {
        let m = 0.5 + rng.0.uniform();
        let inertia = rng.definite(0.05) * m;
        let block = nodes + 2 * body;
        mass.extend([m, inertia.trace() / 3.0]);
        a.add(block, block, &Mat3::from_diagonal_element(m));
        a.add(block + 1, block + 1, &inertia);
    }
    for [i, j] in edges {
        let (i, j) = (i as usize, j as usize);
        // Springs as stiff as the lighter end is heavy, so that ratios of masses stay what they
        // are.
        let stiffness = rng.definite(0.0) * mass[i].min(mass[j]);
        for (row, column, sign) in [(i, i, 1.0), (j, j, 1.0), (i, j, -1.0), (j, i, -1.0)] {
            a.add(row, column, &(stiffness * sign));
        }
    }
    (a, mass)
}

/// Number of rigid bodies of a problem of their kind.
const RIGID: usize = 4;

/// A node or rigid point against an obstacle, or against up to three other nodes.
fn stencil(kind: RandomProblem, nodes: usize, rng: &mut Random) -> Vec<StencilEntry> {
    let mut entries = Vec::new();
    if kind == RandomProblem::Rigid && rng.0.uniform() < 0.7 {
        let block = (nodes + 2 * rng.below(RIGID)) as u32;
        entries.push(StencilEntry::weight(block, 1.0));
        entries.push(StencilEntry::lever(block + 1, rng.vector() * 0.3));
    } else {
        entries.push(StencilEntry::weight(rng.below(nodes) as u32, 1.0));
    }
    let others = rng.below(4);
    let mut weights: Vec<f64> = (0..others).map(|_| 0.1 + rng.0.uniform()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w /= sum);
    for w in weights {
        let node = rng.below(nodes) as u32;
        if entries.iter().all(|e| e.node != node) {
            entries.push(StencilEntry::weight(node, -w));
        }
    }
    entries
}

struct Random(SplitMix);

impl Random {
    /// An index below n > 0.
    fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n.max(1) as u64) as usize
    }

    /// A vector in the cube of half-side 1.
    fn vector(&mut self) -> Vec3 {
        Vec3::from_fn(|_, _| 2.0 * self.0.uniform() - 1.0)
    }

    /// A unit vector, uniformly.
    fn direction(&mut self) -> Vec3 {
        loop {
            let v = self.vector();
            if (0.01..=1.0).contains(&v.norm()) {
                return v.normalize();
            }
        }
    }

    /// A random symmetric matrix with no eigenvalue below `least`.
    fn definite(&mut self, least: f64) -> Mat3 {
        let g = Mat3::from_fn(|_, _| 2.0 * self.0.uniform() - 1.0);
        g * g.transpose() + Mat3::from_diagonal_element(least)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_are_sound_and_depend_on_the_seed_alone() {
        for kind in RandomProblem::ALL {
            for seed in 0..20 {
                let p = random(kind, 4 + seed as usize, seed);
                p.check().unwrap();
                assert_eq!(p.contacts, random(kind, 4 + seed as usize, seed).contacts);
                assert_ne!(p.f, random(kind, 4 + seed as usize, seed + 99).f);
            }
        }
    }

    #[test]
    fn kinds_have_the_property_they_are_named_for() {
        let p = |kind| random(kind, 20, 3);
        assert!(p(RandomProblem::RankDeficient).contacts.len() >= 2 * 20);
        assert!(
            p(RandomProblem::Frictionless)
                .contacts
                .mu
                .iter()
                .all(|&mu| mu == 0.0)
        );
        assert!(
            p(RandomProblem::HighFriction)
                .contacts
                .mu
                .iter()
                .all(|&mu| mu == 10.0)
        );
        assert!(!p(RandomProblem::Rigid).contacts.levers.is_empty());
        assert!(p(RandomProblem::Coupled).a.is_coupled());
        assert!(
            p(RandomProblem::Cohesive)
                .contacts
                .cohesion
                .iter()
                .any(|&x| x > 0.1)
        );
        assert!(
            p(RandomProblem::Compliant)
                .contacts
                .compliance
                .iter()
                .any(|&x| x > 0.1)
        );
        let mass = p(RandomProblem::MassRatio).mass;
        let (min, max) = mass
            .iter()
            .fold((f64::MAX, 0.0f64), |(a, b), &m| (a.min(m), b.max(m)));
        assert!(max / min > 1e4);
        let redundant = p(RandomProblem::Redundant).contacts;
        assert_eq!(redundant.contact(0), redundant.contact(2));
        let normals = p(RandomProblem::NearDegenerate).contacts.normal;
        assert!((normals[0] - normals[1]).norm() < 1e-5 && normals[0] != normals[1]);
    }
}
