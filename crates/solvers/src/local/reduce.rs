//! From velocities to contacts alone, body by body.
//!
//! A falls into components that nothing couples, such as rigid bodies. Contacts meet in W = B A⁻¹ Bᵀ + C
//! where they share one, so W is sparse where bodies are many. Each component has a dense factor.

use std::sync::Arc;

use stiction_contact::{FrictionProblem, LocalProblem};
use stiction_math::{BlockMatrix, BlockPattern, Mat3, Vec3, frame, nalgebra};

use super::Error;

type Dense = nalgebra::DMatrix<f64>;
type Cholesky = nalgebra::Cholesky<f64, nalgebra::Dyn>;

/// The largest number of velocities of a component, whose factor is dense.
const COMPONENT: usize = 3000;
/// The largest number of blocks of W.
const BLOCKS: usize = 2_000_000;

/// A problem reduced to its contacts, and the recovery of velocities.
pub struct Reduced {
    pub local: LocalProblem,
    /// Contact frames with the columns n, t, t.
    frames: Vec<Mat3>,
    components: Vec<Component>,
}

/// Blocks of A that nothing couples to others.
struct Component {
    blocks: Vec<usize>,
    factor: Factor,
}

/// Most components are single blocks or rigid bodies.
enum Factor {
    Block(Mat3),
    Pair(Box<nalgebra::Cholesky<f64, nalgebra::Const<6>>>),
    Large(Cholesky),
}

impl Factor {
    fn solve(&self, x: &mut [f64]) {
        match self {
            Self::Block(inverse) => {
                let y = inverse * Vec3::from_column_slice(x);
                x.copy_from_slice(y.as_slice());
            }
            Self::Pair(factor) => {
                let mut y = nalgebra::SVector::<f64, 6>::from_column_slice(x);
                factor.solve_mut(&mut y);
                x.copy_from_slice(y.as_slice());
            }
            Self::Large(factor) => {
                let mut y = nalgebra::DVector::from_column_slice(x);
                factor.solve_mut(&mut y);
                x.copy_from_slice(y.as_slice());
            }
        }
    }
}

impl Reduced {
    pub fn new(problem: &FrictionProblem) -> Result<Self, Error> {
        let set = &problem.contacts;
        let (components, of) = components(problem)?;
        // The contacts of each component.
        let mut touching: Vec<Vec<u32>> = vec![Vec::new(); components.len()];
        for c in 0..set.len() {
            for e in set.entries(c) {
                let list = &mut touching[of[e.node as usize].0 as usize];
                if list.last() != Some(&(c as u32)) {
                    list.push(c as u32);
                }
            }
        }
        for list in &mut touching {
            list.sort_unstable();
            list.dedup();
        }
        let blocks: usize = touching.iter().map(|t| t.len() * t.len()).sum();
        if blocks > BLOCKS {
            return Err(Error::TooLarge {
                rows: 3 * set.len(),
                limit: 3 * BLOCKS.isqrt(),
            });
        }
        let frames: Vec<Mat3> = set.normal.iter().map(frame).collect();
        let cliques = touching.iter().map(|t| &t[..]);
        let pattern = BlockPattern::from_cliques(set.len(), cliques)?;
        let mut w = BlockMatrix::zeros(Arc::new(pattern));
        let mut q: Vec<Vec3> = (0..set.len())
            .map(|c| {
                let give = set.normal[c] * (set.compliance[c] * set.cohesion[c]);
                frames[c].tr_mul(&(set.k[c] - give))
            })
            .collect();
        for (k, (component, contacts)) in components.iter().zip(&touching).enumerate() {
            component.add(problem, k as u32, &of, contacts, &frames, &mut w, &mut q)?;
        }
        for c in 0..set.len() {
            if set.compliance[c] > 0.0 {
                let mut give = Mat3::zeros();
                give.m11 = set.compliance[c];
                w.add(c, c, &give)?;
            }
        }
        Ok(Self {
            local: LocalProblem {
                w,
                q,
                mu: set.mu.clone(),
            },
            frames,
            components,
        })
    }

    /// Impulses [N·s] with cohesion, in contact frames; zero if there are none of this size.
    pub fn impulses_in_frames(&self, problem: &FrictionProblem, r: &[Vec3]) -> Vec<Vec3> {
        let set = &problem.contacts;
        if r.len() != set.len() {
            return Vec::new();
        }
        let turned =
            |(c, r): (usize, &Vec3)| self.frames[c].tr_mul(&(r + set.normal[c] * set.cohesion[c]));
        r.iter().enumerate().map(turned).collect()
    }

    /// The reverse.
    pub fn impulses_in_world(&self, problem: &FrictionProblem, r: &[Vec3]) -> Vec<Vec3> {
        let set = &problem.contacts;
        let turned = |(c, r): (usize, &Vec3)| self.frames[c] * r - set.normal[c] * set.cohesion[c];
        r.iter().enumerate().map(turned).collect()
    }

    /// v = A⁻¹ (f + Bᵀ r) [m/s].
    pub fn velocities(&self, problem: &FrictionProblem, r: &[Vec3]) -> Vec<Vec3> {
        let mut v = problem.f.clone();
        problem.contacts.add_transpose(r, &mut v);
        for component in &self.components {
            let mut x: Vec<f64> = component
                .blocks
                .iter()
                .flat_map(|&j| <[f64; 3]>::from(v[j]))
                .collect();
            component.factor.solve(&mut x);
            for (&j, x) in component.blocks.iter().zip(x.as_chunks::<3>().0) {
                v[j] = Vec3::from(*x);
            }
        }
        v
    }
}

impl Component {
    /// Adds B A⁻¹ Bᵀ and B A⁻¹ (f − Bᵀ ξ n) of this component, number `k`, in contact frames.
    #[allow(clippy::too_many_arguments, reason = "the columns of one reduction")]
    fn add(
        &self,
        problem: &FrictionProblem,
        k: u32,
        of: &[(u32, u32)],
        contacts: &[u32],
        frames: &[Mat3],
        w: &mut BlockMatrix,
        q: &mut [Vec3],
    ) -> Result<(), Error> {
        let set = &problem.contacts;
        let n = 3 * self.blocks.len();
        // What of a contact's stencil is here: place and Fᵀ B.
        let here = |c: u32| -> Vec<(usize, Mat3)> {
            let entries = set
                .entries(c as usize)
                .filter(|e| of[e.node as usize].0 == k);
            let frame = &frames[c as usize];
            let block = |e: stiction_contact::StencilEntry| {
                (of[e.node as usize].1 as usize, frame.tr_mul(&e.matrix()))
            };
            entries.map(block).collect()
        };
        let stencils: Vec<Vec<(usize, Mat3)>> = contacts.iter().map(|&c| here(c)).collect();
        let apply = |stencil: &[(usize, Mat3)], x: &[f64]| {
            let terms = stencil
                .iter()
                .map(|(j, b)| b * Vec3::from_column_slice(&x[3 * j..3 * j + 3]));
            terms.fold(Vec3::zeros(), |sum, t| sum + t)
        };
        let mut x: Vec<f64> = self
            .blocks
            .iter()
            .flat_map(|&j| <[f64; 3]>::from(problem.f[j]))
            .collect();
        for (&c, stencil) in contacts.iter().zip(&stencils) {
            let pull = set.cohesion[c as usize];
            for (j, b) in stencil {
                for i in 0..3 {
                    x[3 * j + i] -= b[(0, i)] * pull;
                }
            }
        }
        self.factor.solve(&mut x);
        for (&c, stencil) in contacts.iter().zip(&stencils) {
            q[c as usize] += apply(stencil, &x);
        }
        let mut columns = [vec![0.0; n], vec![0.0; n], vec![0.0; n]];
        for (a, &c) in contacts.iter().enumerate() {
            for (i, column) in columns.iter_mut().enumerate() {
                column.fill(0.0);
                for (j, b) in &stencils[a] {
                    for s in 0..3 {
                        column[3 * j + s] += b[(i, s)];
                    }
                }
                self.factor.solve(column);
            }
            // The upper half; the lower one is its transpose, to the last digit.
            for (&d, stencil) in contacts.iter().zip(&stencils).skip(a) {
                let u = [0, 1, 2].map(|i| apply(stencil, &columns[i]));
                let mut block = Mat3::from_columns(&u);
                if c == d {
                    block = (block + block.transpose()) * 0.5;
                } else {
                    w.add(c as usize, d as usize, &block.transpose())?;
                }
                w.add(d as usize, c as usize, &block)?;
            }
        }
        Ok(())
    }
}

/// The components of A with their factors, and for each block its component and place there.
fn components(problem: &FrictionProblem) -> Result<(Vec<Component>, Vec<(u32, u32)>), Error> {
    let n = problem.blocks();
    let mut parent: Vec<u32> = (0..n as u32).collect();
    fn root(parent: &mut [u32], mut i: u32) -> u32 {
        while parent[i as usize] != i {
            parent[i as usize] = parent[parent[i as usize] as usize];
            i = parent[i as usize];
        }
        i
    }
    problem.a.for_each_block(|i, j, block| {
        if i != j && *block != Mat3::zeros() {
            let (a, b) = (root(&mut parent, i as u32), root(&mut parent, j as u32));
            // The least is the root, so that components come in the order of their first blocks.
            parent[a.max(b) as usize] = a.min(b);
        }
    });
    let mut number = vec![u32::MAX; n];
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    let mut of = Vec::with_capacity(n);
    for i in 0..n {
        let top = root(&mut parent, i as u32) as usize;
        if number[top] == u32::MAX {
            number[top] = blocks.len() as u32;
            blocks.push(Vec::new());
        }
        let list = &mut blocks[number[top] as usize];
        of.push((number[top], list.len() as u32));
        list.push(i);
    }
    if let Some(rows) = blocks
        .iter()
        .map(|b| 3 * b.len())
        .max()
        .filter(|&n| n > COMPONENT)
    {
        let limit = COMPONENT;
        return Err(Error::TooLarge { rows, limit });
    }
    let mut matrices: Vec<Dense> = blocks
        .iter()
        .map(|b| Dense::zeros(3 * b.len(), 3 * b.len()))
        .collect();
    problem.a.for_each_block(|i, j, block| {
        if of[i].0 == of[j].0 {
            let (row, column) = (3 * of[i].1 as usize, 3 * of[j].1 as usize);
            let mut view = matrices[of[i].0 as usize].fixed_view_mut::<3, 3>(row, column);
            view += block;
        }
    });
    let mut components = Vec::with_capacity(blocks.len());
    for (blocks, matrix) in blocks.into_iter().zip(matrices) {
        let factor = match blocks.len() {
            1 => {
                let block: Mat3 = matrix.fixed_view::<3, 3>(0, 0).into_owned();
                Factor::Block(block.try_inverse().ok_or(Error::NotPositiveDefinite)?)
            }
            2 => {
                let pair = matrix.fixed_view::<6, 6>(0, 0).into_owned();
                Factor::Pair(Box::new(pair.cholesky().ok_or(Error::NotPositiveDefinite)?))
            }
            _ => Factor::Large(matrix.cholesky().ok_or(Error::NotPositiveDefinite)?),
        };
        components.push(Component { blocks, factor });
    }
    Ok((components, of))
}
