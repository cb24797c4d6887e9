//! Particles and objects of all colliders, in one numbering of vertices.

use stiction_geometry::analytic::Solid;
use stiction_math::{Mat3, Real, Vec3, Vector};

use super::{contacts::AttachError, mesh::SurfaceTopology};
use crate::detect::{Collider, ColliderForm, Exempt, Points};
use crate::kinematics::{Blocks, FrameOf};

/// All colliders.
#[derive(Debug, Default)]
pub(super) struct World {
    pub parts: Vec<Part>,
    /// The first vertex of each collider, and the number of all at the end.
    pub first: Vec<u32>,
    /// The collider of each vertex.
    pub owner: Vec<u32>,
    /// Positions at rest, in the frame of rigid colliders [m].
    pub rest: Vec<Vec3>,
    /// The displacement of each vertex per unit of thickness: in the frame of rigid colliders, and as of the
    /// start of the step in the world for others.
    pub offsets: Vec<Vec3>,
    /// Blocks, rigid bodies and obstacles that are named.
    pub blocks: usize,
    pub rigids: usize,
    pub obstacles: usize,
}

/// One collider.
#[derive(Debug)]
pub(super) struct Part {
    pub id: u32,
    pub material: u32,
    pub thickness: f64,
    pub follow: Follow,
    pub object: Object,
    pub closed: bool,
    pub self_contact: bool,
    pub exempt: Option<Exempt>,
}

/// Dependence of vertices on blocks.
#[derive(Debug)]
pub(super) enum Follow {
    /// Σ b x over the entries of each vertex.
    Weighted {
        start: Vec<u32>,
        entries: Vec<(u32, f64)>,
    },
    /// Fixed in a frame.
    Framed(FrameOf),
}

/// The surface that particles attach to.
#[derive(Debug)]
pub(super) enum Object {
    /// There is none.
    None,
    /// A solid by its field.
    Solid(Solid),
    /// Triangles over the collider's own vertices.
    Mesh(SurfaceTopology),
}

/// Longest displacement of a vertex for a unit of thickness. A shorter one than that of all faces tilts them: faces of rigid bodies are
/// exact down to edges of 15°. Folds of surfaces that deform are sharper, and far from where faces meet.
const LONGEST: (f64, f64) = (8.0, 2.0);
/// Weight of the length of a displacement in its fit.
const REGULAR: f64 = 1e-6;

impl Part {
    /// Longest displacement of a vertex for a unit of thickness.
    pub fn longest(&self) -> f64 {
        match self.follow {
            Follow::Framed(_) => LONGEST.0,
            Follow::Weighted { .. } => LONGEST.1,
        }
    }
}

impl World {
    pub fn new(colliders: &[Collider]) -> Result<Self, AttachError> {
        let mut world = World {
            first: vec![0],
            ..World::default()
        };
        for (i, collider) in colliders.iter().enumerate() {
            let part = world.part(collider);
            let part = part.map_err(|reason| AttachError::Collider {
                collider: i,
                reason,
            })?;
            world.parts.push(part);
            world.owner.resize(world.rest.len(), i as u32);
            world.first.push(world.rest.len() as u32);
        }
        world.offsets = vec![Vec3::zeros(); world.rest.len()];
        for p in 0..world.parts.len() {
            let base = world.first[p] as usize;
            let end = world.first[p + 1] as usize;
            if let Object::Mesh(mesh) = &world.parts[p].object {
                let longest = world.parts[p].longest();
                let offsets = offsets(mesh, &world.rest[base..end], longest);
                world.offsets[base..end].copy_from_slice(&offsets);
            }
        }
        Ok(world)
    }

    fn part(&mut self, c: &Collider) -> Result<Part, String> {
        if !(c.thickness >= 0.0 && c.thickness.is_finite()) {
            return Err(format!("the thickness is {} m", c.thickness));
        }
        let mesh = |triangles: &[[u32; 3]], count: usize| match triangles
            .iter()
            .flatten()
            .find(|v| **v as usize >= count)
        {
            Some(v) => Err(format!("a triangle names vertex {v}, which does not exist")),
            None if triangles.is_empty() => Ok(Object::None),
            None => Ok(Object::Mesh(SurfaceTopology::new(triangles, count))),
        };
        let finite = |x: &[Vec3]| match x.iter().position(|p| !p.iter().all(|c| c.is_finite())) {
            Some(v) => Err(format!("vertex {v} is not finite")),
            None => Ok(()),
        };
        let (follow, object, closed, self_contact, exempt) = match &c.form {
            ColliderForm::Shape(shape) => {
                shape.check().map_err(|e| e.to_string())?;
                let solid = Object::Solid(Solid::Shape(*shape));
                (Follow::Framed(self.obstacle()), solid, true, false, None)
            }
            ColliderForm::LevelSet(set) => {
                let solid = Object::Solid(Solid::LevelSet(set.clone()));
                (Follow::Framed(self.obstacle()), solid, true, false, None)
            }
            ColliderForm::Mesh(m) => {
                finite(&m.vertices)?;
                let object = mesh(&m.triangles, m.vertices.len())?;
                self.rest.extend(&m.vertices);
                (
                    Follow::Framed(self.obstacle()),
                    object,
                    m.closed,
                    false,
                    None,
                )
            }
            ColliderForm::Body(body) => {
                let object = mesh(&body.triangles, body.points.len())?;
                let exempt = body.exempt.clone();
                match &body.points {
                    Points::Rigid {
                        block,
                        rigid,
                        local,
                    } => {
                        finite(local)?;
                        self.rest.extend(local);
                        self.blocks = self.blocks.max(*block as usize + 2);
                        self.rigids = self.rigids.max(*rigid as usize + 1);
                        let (block, rigid) = (*block, *rigid);
                        let follow = Follow::Framed(FrameOf::Rigid { block, rigid });
                        (follow, object, body.closed, false, exempt)
                    }
                    Points::Weighted { start, entries } => {
                        if body.rest.len() != body.points.len() {
                            return Err("it has not one rest position per vertex".into());
                        }
                        let sound = start.first() == Some(&0)
                            && start.windows(2).all(|w| w[0] <= w[1])
                            && start.last().is_some_and(|e| *e as usize == entries.len());
                        if !sound {
                            return Err("the ranges of its point map are broken".into());
                        }
                        finite(&body.rest)?;
                        self.rest.extend(&body.rest);
                        let named = entries.iter().map(|e| e.0 as usize + 1);
                        self.blocks = self.blocks.max(named.max().unwrap_or(0));
                        let (start, entries) = (start.clone(), entries.clone());
                        let follow = Follow::Weighted { start, entries };
                        (follow, object, body.closed, body.self_contact, exempt)
                    }
                }
            }
        };
        Ok(Part {
            id: c.id,
            material: c.material,
            thickness: c.thickness,
            follow,
            object,
            closed,
            self_contact,
            exempt,
        })
    }

    fn obstacle(&mut self) -> FrameOf {
        self.obstacles += 1;
        FrameOf::Obstacle(self.obstacles as u32 - 1)
    }

    pub fn is_obstacle(&self, part: usize) -> bool {
        matches!(
            self.parts[part].follow,
            Follow::Framed(FrameOf::Obstacle(_))
        )
    }

    /// Half the sum of the thicknesses of two colliders [m].
    pub fn thickness(&self, a: usize, b: usize) -> f64 {
        0.5 * (self.parts[a].thickness + self.parts[b].thickness)
    }

    /// Blocks and weights of a vertex of a weighted collider.
    pub fn entries(&self, vertex: u32) -> &[(u32, f64)] {
        let owner = self.owner[vertex as usize] as usize;
        match &self.parts[owner].follow {
            Follow::Weighted { start, entries } => {
                let i = (vertex - self.first[owner]) as usize;
                &entries[start[i] as usize..start[i + 1] as usize]
            }
            Follow::Framed(_) => &[],
        }
    }

    /// Position of a vertex.
    pub fn position<T: Real>(&self, vertex: u32, blocks: &impl Blocks<T>) -> Vector<T> {
        self.shifted(vertex, 0.0, blocks)
    }

    /// Position of a vertex moved outwards by `thickness` [m]; a negative one is the other side of a sheet.
    pub fn shifted<T: Real>(
        &self,
        vertex: u32,
        thickness: f64,
        blocks: &impl Blocks<T>,
    ) -> Vector<T> {
        let v = vertex as usize;
        let owner = self.owner[v] as usize;
        let offset = self.offsets[v] * thickness;
        match &self.parts[owner].follow {
            Follow::Weighted { .. } => {
                let mut x = Vector::constant(&offset);
                for &(j, b) in self.entries(vertex) {
                    x += blocks.x(j).times(b);
                }
                x
            }
            Follow::Framed(of) => {
                let frame = of.frame(blocks);
                frame.origin + frame.outward(&Vector::constant(&(self.rest[v] + offset)))
            }
        }
    }

    /// Calls `add` with the shares of blocks in the force `f` on a vertex of a collider.
    pub fn pull<T: Real>(
        &self,
        vertex: u32,
        point: &Vector<T>,
        f: &Vector<T>,
        blocks: &impl Blocks<T>,
        add: &mut impl FnMut(u32, Vector<T>),
    ) {
        let owner = self.owner[vertex as usize] as usize;
        match &self.parts[owner].follow {
            Follow::Weighted { .. } => {
                for &(j, b) in self.entries(vertex) {
                    add(j, f.times(b));
                }
            }
            Follow::Framed(of) => pull_frame(*of, point, f, blocks, add),
        }
    }

    /// The blocks that a vertex depends on.
    pub fn blocks_of(&self, vertex: u32, out: &mut Vec<u32>) {
        let owner = self.owner[vertex as usize] as usize;
        match &self.parts[owner].follow {
            Follow::Weighted { .. } => out.extend(self.entries(vertex).iter().map(|e| e.0)),
            Follow::Framed(FrameOf::Rigid { block, .. }) => out.extend([*block, *block + 1]),
            Follow::Framed(FrameOf::Obstacle(_)) => {}
        }
    }

    /// Takes the directions of offsets of surfaces that deform from the positions `x` of all vertices [m].
    pub fn turn_offsets(&mut self, x: &[Vec3]) {
        for (p, part) in self.parts.iter().enumerate() {
            let range = self.first[p] as usize..self.first[p + 1] as usize;
            if let (Follow::Weighted { .. }, Object::Mesh(mesh)) = (&part.follow, &part.object) {
                let offsets = offsets(mesh, &x[range.clone()], part.longest());
                self.offsets[range].copy_from_slice(&offsets);
            }
        }
    }
}

/// The share of a frame in the force `f` at `point`: the force and its torque about the origin.
pub(super) fn pull_frame<T: Real>(
    of: FrameOf,
    point: &Vector<T>,
    f: &Vector<T>,
    blocks: &impl Blocks<T>,
    add: &mut impl FnMut(u32, Vector<T>),
) {
    if let FrameOf::Rigid { block, .. } = of {
        add(block, *f);
        add(block + 1, (*point - blocks.x(block)).cross(f));
    }
}

/// For each vertex the shortest displacement that moves all faces around it by one along their normals: the
/// solution N of n·N = 1 in the sense of least squares.
fn offsets(mesh: &SurfaceTopology, x: &[Vec3], longest: f64) -> Vec<Vec3> {
    let normals: Vec<Vec3> = mesh
        .triangles()
        .iter()
        .map(|t| {
            let [a, b, c] = t.map(|v| x[v as usize]);
            let area = (b - a).cross(&(c - a));
            area.try_normalize(f64::MIN_POSITIVE).unwrap_or_default()
        })
        .collect();
    let of = |v: usize| {
        let (mut matrix, mut sum) = (Mat3::zeros(), Vec3::zeros());
        for &t in mesh.around(v as u32) {
            let n = normals[t as usize];
            matrix += n * n.transpose();
            sum += n;
        }
        let Some(mean) = sum.try_normalize(f64::MIN_POSITIVE) else {
            return Vec3::zeros();
        };
        // Differences from the mean normal are what the small weight keeps short.
        matrix += Mat3::identity() * (REGULAR * matrix.trace());
        let known = sum - matrix * mean;
        let offset = match matrix.cholesky() {
            Some(cholesky) => mean + cholesky.solve(&known),
            None => mean,
        };
        let length = offset.norm();
        match length > longest {
            true => offset * (longest / length),
            false => offset,
        }
    };
    (0..x.len()).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A box whose vertices move by their offsets is a box larger by that on every side.
    #[test]
    fn offsets_of_a_box_are_its_mitres() {
        let corners: Vec<Vec3> = (0..8)
            .map(|i| Vec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2)))
            .collect();
        let quads = [
            [0, 2, 3, 1],
            [4, 5, 7, 6],
            [0, 1, 5, 4],
            [2, 6, 7, 3],
            [0, 4, 6, 2],
            [1, 3, 7, 5],
        ];
        let triangles: Vec<[u32; 3]> = quads
            .iter()
            .flat_map(|q| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]])
            .collect();
        let mesh = SurfaceTopology::new(&triangles, 8);
        for (offset, x) in offsets(&mesh, &corners, 2.0).iter().zip(&corners) {
            let expected = x.map(|c| if c > 0.5 { 1.0 } else { -1.0 });
            assert!((offset - expected).norm() < 1e-5, "{offset} {expected}");
        }
    }
}
