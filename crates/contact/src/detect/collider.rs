//! Colliders.

use std::sync::Arc;

use stiction_geometry::LevelSet;
use stiction_geometry::analytic::Shape;
use stiction_math::Vec3;

/// A collider.
#[derive(Clone, Debug, PartialEq)]
pub struct Collider {
    /// The caller's number; it appears in `ContactSet::pair`.
    pub id: u32,
    /// The row of the table of [`Laws`].
    pub material: u32,
    /// Contact thickness [m]: two colliders touch at the mean of their thicknesses.
    pub thickness: f64,
    /// Its form.
    pub form: ColliderForm,
}

/// The kinds of colliders.
#[derive(Clone, Debug, PartialEq)]
pub enum ColliderForm {
    /// A surface that follows 3-blocks.
    Body(ColliderBody),
    /// A mesh with prescribed motion: a kinematic obstacle.
    Mesh(ColliderMesh),
    /// An analytic shape with prescribed motion.
    Shape(Shape),
    /// A solid given by its sampled signed distance, with prescribed motion.
    LevelSet(Arc<LevelSet>),
}

/// A surface that follows 3-blocks. Without triangles and rods its vertices are particles: balls
/// whose diameter is the thickness, which touch one another as well if `self_contact` says so.
#[derive(Clone, Debug, PartialEq)]
pub struct ColliderBody {
    /// Three vertices per triangle, counter-clockwise from outside.
    pub triangles: Vec<[u32; 3]>,
    /// Edges that belong to no triangle.
    pub rods: Vec<[u32; 2]>,
    /// Dependence of vertices on blocks.
    pub points: Points,
    /// Positions of the vertices at rest [m]; for a rigid body those in its frame.
    pub rest: Vec<Vec3>,
    /// Whether the triangles bound a solid, so that there is an inside.
    pub closed: bool,
    /// Whether the surface can touch itself. Rigid ones never do.
    pub self_contact: bool,
    /// Another body that parts of this one never touch, such as the body in which hair is rooted.
    pub exempt: Option<Exempt>,
}

/// Vertices of a body that never touch another one, and neither does any edge or triangle at them.
#[derive(Clone, Debug, PartialEq)]
pub struct Exempt {
    /// The place of the other body among the colliders.
    pub collider: u32,
    /// Which vertices, ascending.
    pub vertices: Vec<u32>,
}

/// Dependence of the vertices of a surface on 3-blocks.
#[derive(Clone, Debug, PartialEq)]
pub enum Points {
    /// Vertex i is Σ b x over the entries `start[i]..start[i + 1]` of blocks and weights b: one
    /// entry of weight 1 for a node, four for a vertex carried by a tetrahedron.
    Weighted {
        /// One more than there are vertices.
        start: Vec<u32>,
        /// Block and weight [1].
        entries: Vec<(u32, f64)>,
    },
    /// Vertices fixed in a rigid body: c + R p.
    Rigid {
        /// The block of the centre of mass; the angular block follows it.
        block: u32,
        /// The body's place among the rotations.
        rigid: u32,
        /// Positions in the body's frame, from the centre of mass [m].
        local: Vec<Vec3>,
    },
}

/// A mesh with prescribed motion.
#[derive(Clone, Debug, PartialEq)]
pub struct ColliderMesh {
    /// Three vertices per triangle, counter-clockwise from outside.
    pub triangles: Vec<[u32; 3]>,
    /// Positions in its own frame [m].
    pub vertices: Vec<Vec3>,
    /// Whether the triangles bound a solid, so that there is an inside.
    pub closed: bool,
}

/// Contact law of two materials.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairLaw {
    /// Coefficient of friction at rest [1].
    pub mu: f64,
    /// Coefficient of friction in sliding [1], for contacts whose points slide along each other at
    /// the start of a step; none if it is the same.
    pub kinetic: Option<f64>,
    /// The pull that a closed contact bears [Pa]; it falls off linearly to zero at a gap of half the thickness.
    pub cohesion: f64,
    /// Compliance of a contact under pressure [m/Pa].
    pub compliance: f64,
}

/// A law for every pair of materials.
#[derive(Clone, Debug, PartialEq)]
pub struct Laws {
    count: u32,
    table: Vec<PairLaw>,
}

impl Laws {
    /// A table over `count` materials, asked from `law` once per pair.
    pub fn new(count: u32, mut law: impl FnMut(u32, u32) -> PairLaw) -> Self {
        let mut table = Vec::with_capacity((count as usize).pow(2));
        for a in 0..count {
            for b in 0..count {
                table.push(law(a.min(b), a.max(b)));
            }
        }
        Self { count, table }
    }

    /// One law between all materials.
    pub fn uniform(law: PairLaw) -> Self {
        let (count, table) = (1, vec![law]);
        Self { count, table }
    }

    /// Whether friction in sliding differs from that at rest anywhere.
    pub(super) fn have_kinetic(&self) -> bool {
        self.table.iter().any(|law| law.kinetic.is_some())
    }

    /// The law between materials `a` and `b`.
    pub fn between(&self, a: u32, b: u32) -> PairLaw {
        self.table[(a * self.count + b) as usize]
    }

    /// Number of materials.
    pub fn count(&self) -> u32 {
        self.count
    }
}

impl Points {
    /// Every vertex is one block.
    pub fn nodes(blocks: impl IntoIterator<Item = u32>) -> Self {
        let entries: Vec<(u32, f64)> = blocks.into_iter().map(|b| (b, 1.0)).collect();
        let start = (0..=entries.len() as u32).collect();
        Points::Weighted { start, entries }
    }

    /// The number of vertices.
    pub fn len(&self) -> usize {
        match self {
            Points::Weighted { start, .. } => start.len().saturating_sub(1),
            Points::Rigid { local, .. } => local.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
