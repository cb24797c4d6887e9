//! Transfer of columns from the old model to the new one.

use stiction_math::{Mat3, Vec3};

use super::change::{MeshChange, TopologyChange};
use crate::{
    mass::Mass,
    model::{BodyKind, Deformable, Model},
    state::State,
};

/// A change of topology between two models.
#[derive(Clone, Copy, Debug)]
pub struct Adaptation<'a> {
    /// The model before it.
    pub before: &'a Model,
    /// The model after it.
    pub after: &'a Model,
    /// The change.
    pub change: &'a TopologyChange,
}

impl Adaptation<'_> {
    /// The state after the change: interpolated positions, and velocities with the same momenta. If the
    /// surface moved, the energy that this added is taken from them.
    pub fn state(&self, state: &State) -> State {
        let mut next = State {
            time: state.time,
            step: state.step,
            x: self.interpolated(&state.x),
            v: self.velocities(&state.x, &state.v),
            rotations: state.rotations.clone(),
            frames: state.frames.clone(),
            columns: state.columns.clone(),
        };
        self.pay(state, &mut next);
        next
    }

    /// A column of positions or velocities at the new nodes, interpolated linearly.
    pub fn interpolated(&self, old: &[Vec3]) -> Vec<Vec3> {
        self.column(old, |change, _, old, out| {
            let of = |i| change.nodes.value(i, old);
            out.extend((0..change.nodes.len()).map(of));
        })
    }

    /// A column of impulses at the new nodes: the impulse per mass is interpolated, and removed nodes
    /// leave the excess to their surroundings. Where all edges are halved, the sum over each body stays
    /// the same.
    pub fn impulses(&self, old: &[Vec3]) -> Vec<Vec3> {
        self.column(old, |change, [from, to], old, out| {
            let (m, n) = (from.mass.lumped(), to.mass.lumped());
            let first = out.len();
            out.extend((0..change.nodes.len()).map(|i| {
                let row = change.nodes.row(i).iter();
                let terms = row.map(|&(j, w)| old[j as usize] * (w / m[j as usize]));
                terms.sum::<Vec3>()
            }));
            let density: Vec<Vec3> = old.iter().zip(m).map(|(r, m)| r / *m).collect();
            leave_excess(change, [m, n], &density, &mut out[first..]);
            for (r, n) in out[first..].iter_mut().zip(n) {
                *r *= *n;
            }
        })
    }

    /// Velocities at the new nodes when the old nodes are at `x` [m] and move at `v` [m/s]:
    /// interpolated, with the excess of removed nodes, then corrected by the rigid motion that restores
    /// linear and angular momentum.
    pub fn velocities(&self, x: &[Vec3], v: &[Vec3]) -> Vec<Vec3> {
        let mut next = self.interpolated(v);
        let at = self.interpolated(x);
        for (b, [from, to]) in self.soft() {
            let [before, after] = self.change.blocks(b).clone();
            if let Some(change) = self.change.of_body(b) {
                let masses = [from.mass.lumped(), to.mass.lumped()];
                let own = &mut next[after.clone()];
                leave_excess(change, masses, &v[before.clone()], own);
            }
            let target = Momenta::of(from, &x[before.clone()], &v[before]);
            target.restore(to, &at[after.clone()], &mut next[after]);
        }
        next
    }

    /// Momenta of the new blocks [kg·m/s] for momenta `p` of the old ones at positions `x` [m], by
    /// the transfer of the corresponding velocities.
    pub fn momenta(&self, x: &[Vec3], p: &[Vec3]) -> Vec<Vec3> {
        // Blocks of other bodies keep their momenta, whatever their intermediate values.
        let mut v = p.to_vec();
        for (b, [from, _]) in self.soft() {
            let range = self.change.blocks(b)[0].clone();
            divide(from, &p[range.clone()], &mut v[range]);
        }
        let mut next = self.velocities(x, &v);
        for (b, [_, to]) in self.soft() {
            let range = self.change.blocks(b)[1].clone();
            let v = next[range.clone()].to_vec();
            for (i, p) in next[range].iter_mut().enumerate() {
                *p = to.mass.row(&to.pattern, &v, i);
            }
        }
        next
    }

    /// The bodies that change, before and after.
    pub(super) fn soft(&self) -> impl Iterator<Item = (usize, [&Deformable; 2])> {
        self.change.changes().iter().filter_map(|c| {
            match (
                &self.before.bodies[c.body].kind,
                &self.after.bodies[c.body].kind,
            ) {
                (BodyKind::Deformable(a), BodyKind::Deformable(b)) => Some((c.body, [a, b])),
                _ => None,
            }
        })
    }

    fn column(
        &self,
        old: &[Vec3],
        changed: impl Fn(&MeshChange, [&Deformable; 2], &[Vec3], &mut Vec<Vec3>),
    ) -> Vec<Vec3> {
        let mut out = Vec::with_capacity(self.after.blocks());
        let bodies = self.before.bodies.iter().zip(&self.after.bodies);
        for (b, (from, to)) in bodies.enumerate() {
            let old = &old[from.blocks.clone()];
            match (self.change.of_body(b), &from.kind, &to.kind) {
                (Some(change), BodyKind::Deformable(from), BodyKind::Deformable(to)) => {
                    changed(change, [from, to], old, &mut out);
                }
                _ => out.extend_from_slice(old),
            }
        }
        out
    }
}

/// Adds to `new` velocities, with masses `n`, the momentum m_j (v_j − Σ w_ji v_i) by which each removed
/// node j exceeded the surface that takes its place, at the corners i of its triangle by their
/// weights.
fn leave_excess(change: &MeshChange, [m, n]: [&[f64]; 2], old: &[Vec3], new: &mut [Vec3]) {
    let removed = (0..change.old_nodes.len()).filter(|j| change.old_nodes.same(*j).is_none());
    let excess: Vec<(usize, Vec3)> = removed
        .map(|j| (j, (old[j] - change.old_nodes.value(j, new)) * m[j]))
        .collect();
    for (j, p) in excess {
        for &(i, w) in change.old_nodes.row(j) {
            new[i as usize] += p * (w / n[i as usize]);
        }
    }
}

/// Momenta of a body about its centre of mass.
pub(super) struct Momenta {
    /// Σ m v [kg·m/s].
    linear: Vec3,
    /// Σ r × (M v) about the centre of mass [kg·m²/s].
    angular: Vec3,
}

/// The centre of mass [m].
fn centre(soft: &Deformable, x: &[Vec3]) -> Vec3 {
    let lumped = soft.mass.lumped();
    let sum: Vec3 = lumped.iter().zip(x).map(|(m, x)| x * *m).sum();
    sum / soft.mass.total()
}

impl Momenta {
    pub fn of(soft: &Deformable, x: &[Vec3], v: &[Vec3]) -> Self {
        let c = centre(soft, x);
        let (mut linear, mut angular) = (Vec3::zeros(), Vec3::zeros());
        for i in 0..v.len() {
            let p = soft.mass.row(&soft.pattern, v, i);
            linear += p;
            angular += (x[i] - c).cross(&p);
        }
        Self { linear, angular }
    }

    /// Corrects the velocities of a body to these momenta by the least change of `v` in the norm of
    /// its mass matrix, a rigid motion.
    fn restore(&self, soft: &Deformable, x: &[Vec3], v: &mut [Vec3]) {
        let now = Self::of(soft, x, v);
        let missing = Self {
            linear: self.linear - now.linear,
            angular: self.angular - now.angular,
        };
        for (v, more) in v.iter_mut().zip(missing.rigid_motion(soft, x)) {
            *v += more;
        }
    }

    /// The velocities of the rigid motion with these momenta [m/s]. What a body does beyond it has no
    /// momentum.
    pub(super) fn rigid_motion(&self, soft: &Deformable, x: &[Vec3]) -> Vec<Vec3> {
        let c = centre(soft, x);
        let r: Vec<Vec3> = x.iter().map(|x| x - c).collect();
        let mut inertia = Mat3::zeros();
        for i in 0..r.len() {
            let weighted = soft.mass.row(&soft.pattern, &r, i);
            inertia -= r[i].cross_matrix() * weighted.cross_matrix();
        }
        let a = self.linear / soft.mass.total();
        let omega = solve_symmetric(&inertia, &self.angular);
        r.iter().map(|r| a + omega.cross(r)).collect()
    }
}

/// Least-norm solution of a symmetric positive semi-definite system; the inertia of nodes on a line
/// is singular.
fn solve_symmetric(m: &Mat3, b: &Vec3) -> Vec3 {
    let eigen = ((m + m.transpose()) * 0.5).symmetric_eigen();
    let largest = eigen.eigenvalues.max();
    let mut x = Vec3::zeros();
    for k in 0..3 {
        let (value, axis) = (eigen.eigenvalues[k], eigen.eigenvectors.column(k));
        if value > 1e-12 * largest {
            x += axis * (axis.dot(b) / value);
        }
    }
    x
}

/// v ← M⁻¹ p by conjugate gradients with diagonal preconditioning, which converge fast: the
/// condition number of a scaled consistent mass matrix does not depend on the mesh.
fn divide(soft: &Deformable, p: &[Vec3], v: &mut [Vec3]) {
    let lumped = soft.mass.lumped();
    for ((v, p), m) in v.iter_mut().zip(p).zip(lumped) {
        *v = p / *m;
    }
    if let Mass::Lumped(_) = soft.mass {
        return;
    }
    let apply = |d: &[Vec3]| -> Vec<Vec3> {
        let row = |i| soft.mass.row(&soft.pattern, d, i);
        (0..d.len()).map(row).collect()
    };
    let dot = |a: &[Vec3], b: &[Vec3]| a.iter().zip(b).map(|(a, b)| a.dot(b)).sum::<f64>();
    let scaled = |r: &[Vec3]| -> Vec<Vec3> { r.iter().zip(lumped).map(|(r, m)| r / *m).collect() };
    let mut r: Vec<Vec3> = p.iter().zip(apply(v)).map(|(p, q)| p - q).collect();
    let mut z = scaled(&r);
    let mut d = z.clone();
    let (mut rz, bound) = (dot(&r, &z), 1e-32 * dot(p, &scaled(p)));
    for _ in 0..200 {
        if rz <= bound || rz.is_nan() {
            break;
        }
        let q = apply(&d);
        let alpha = rz / dot(&d, &q);
        for i in 0..v.len() {
            v[i] += d[i] * alpha;
            r[i] -= q[i] * alpha;
        }
        z = scaled(&r);
        let next = dot(&r, &z);
        let beta = next / rz;
        rz = next;
        for i in 0..d.len() {
            d[i] = z[i] + d[i] * beta;
        }
    }
}
