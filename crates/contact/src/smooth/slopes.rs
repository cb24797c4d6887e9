//! Blocks of the Jacobian of one contact.
//!
//! A surface that moves as a whole has few blocks: dual numbers with a direction for each of them do.
//! One that deforms has many, and [`Tangent`] takes its samples apart. Its result, between the query
//! point and vertices of the surface, is then carried to the blocks that these follow.

use stiction_geometry::implicit::{Blend, TANGENT_LANES, Tangent, TangentForce};
use stiction_math::{Dual, Mat3, Vec3, Vector};

use super::contacts::{Pair, SmoothContacts};
use super::world::{Follow, FrameOf, Motion, Skin, faceted};
use crate::kinematics::{Blocks, COLUMNS, ContactKinematics, Frozen, LANES, Seeded, swing};

/// A block of a Jacobian: its row, its column and its values.
type Block = (u32, u32, Mat3);

/// Which blocks are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    All,
    Diagonal,
}

/// Memory kept from pair to pair.
#[derive(Default)]
pub(super) struct Slopes {
    tangent: Tangent,
    x: Vec<Vec3>,
    v: Vec<Vec3>,
    rows: Vec<Vector<Dual<LANES>>>,
    /// For each point, the first of its `shares`.
    first: Vec<usize>,
    /// Blocks and weights of the points.
    shares: Vec<(u32, f64)>,
}

/// Which forces of a contact are meant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Both,
    Normal,
    Friction,
}

/// Derivatives of the velocity of the end of a lever by the lever and by the angular velocity.
struct Swing {
    by_lever: Mat3,
    by_spin: Mat3,
}

impl Swing {
    fn new(spin: &Vec3, lever: &Vec3, chord: f64) -> Self {
        let seed = |x: &Vec3, lane: usize| {
            let mut y = Vector::<Dual<6>>::constant(x);
            for k in 0..3 {
                y.0[k].d[lane + k] = 1.0;
            }
            y
        };
        let v = swing(&seed(spin, 3), &seed(lever, 0), chord);
        let by = |lane: usize| Mat3::from_fn(|i, j| v.0[i].d[lane + j]);
        Self {
            by_lever: by(0),
            by_spin: by(3),
        }
    }
}

impl Slopes {
    /// Appends the blocks of cx ∂f/∂x + cv ∂f/∂v of a pair.
    pub fn of_pair(
        &mut self,
        contacts: &SmoothContacts,
        pair: &Pair,
        at: &ContactKinematics,
        cx: f64,
        cv: f64,
        which: Which,
        list: &mut Vec<Block>,
    ) {
        match &contacts.world.colliders[pair.surface as usize].skin {
            // Only the closest facet has a say: few blocks.
            Skin::Deforming(samples) if faceted(samples) => {
                let mut blocks = Vec::new();
                let mut take = |corners: Option<(_, [u32; 3])>| {
                    for corner in corners.iter().flat_map(|c| c.1) {
                        contacts.world.blocks_of(corner, &mut blocks);
                    }
                };
                take(contacts.closest_facet(pair, samples, at));
                if let Some(lagged) = &contacts.lagged {
                    let (kept, now) = (&lagged.kept, at);
                    take(contacts.closest_facet(pair, samples, &Frozen { kept, now }));
                }
                self.of_blocks(contacts, pair, blocks, at, [cx, cv], which, list);
                return;
            }
            // Planes that end by distance are few, and may cost more.
            Skin::Deforming(_) if fades(contacts, pair, at) => {
                let mut blocks = Vec::new();
                contacts.blocks_in_reach(pair, at, &mut blocks);
                self.of_blocks(contacts, pair, blocks, at, [cx, cv], which, list);
                return;
            }
            Skin::Deforming(_) => {}
            _ => {
                let blocks = &contacts.blocks[pair.blocks.clone()];
                self.seeded(contacts, pair, blocks, at, [cx, cv], which, list);
                return;
            }
        }
        let Some(lagged) = &contacts.lagged else {
            let kappa = contacts.stiffness;
            self.deforming(contacts, pair, at, kappa, Part::Both, cx, cv, which, list);
            return;
        };
        let kappa = contacts.stiffness;
        self.deforming(contacts, pair, at, kappa, Part::Normal, cx, cv, which, list);
        let (kept, now) = (&lagged.kept, at);
        let frozen = Frozen { kept, now };
        let kappa = lagged.stiffness;
        self.deforming(
            contacts,
            pair,
            &frozen,
            kappa,
            Part::Friction,
            0.0,
            cv,
            which,
            list,
        );
    }

    /// [`seeded`](Self::seeded) for the blocks of a surface and those of the query point.
    fn of_blocks(
        &mut self,
        contacts: &SmoothContacts,
        pair: &Pair,
        mut blocks: Vec<u32>,
        at: &ContactKinematics,
        rates: [f64; 2],
        which: Which,
        list: &mut Vec<Block>,
    ) {
        contacts.world.blocks_of(pair.query, &mut blocks);
        blocks.sort_unstable();
        blocks.dedup();
        self.seeded(contacts, pair, &blocks, at, rates, which, list);
    }

    /// A few columns of the blocks that the pair depends on at a time, by dual numbers.
    fn seeded(
        &mut self,
        contacts: &SmoothContacts,
        pair: &Pair,
        blocks: &[u32],
        at: &ContactKinematics,
        [cx, cv]: [f64; 2],
        which: Which,
        list: &mut Vec<Block>,
    ) {
        if !contacts.forces_of_pair(pair, at, |_, _| {}) {
            return;
        }
        let rows = &mut self.rows;
        rows.clear();
        rows.resize(blocks.len(), Vector::zero());
        for columns in blocks.chunks(COLUMNS) {
            rows.fill(Vector::zero());
            let seeded = Seeded {
                at,
                cx,
                cv,
                columns,
            };
            contacts.forces_of_pair(pair, &seeded, |j, f| {
                if let Ok(row) = blocks.binary_search(&j) {
                    rows[row] += f;
                }
            });
            for (i, row) in blocks.iter().zip(&*rows) {
                for (c, j) in columns.iter().enumerate() {
                    if which == Which::All || i == j {
                        let block = Mat3::from_fn(|a, b| row.0[a].d[3 * c + b]);
                        list.push((*i, *j, block));
                    }
                }
            }
        }
    }

    fn deforming(
        &mut self,
        contacts: &SmoothContacts,
        pair: &Pair,
        at: &impl Blocks<f64>,
        kappa: f64,
        what: Part,
        cx: f64,
        cv: f64,
        which: Which,
        list: &mut Vec<Block>,
    ) {
        let world = &contacts.world;
        let part = &world.colliders[pair.surface as usize];
        let Skin::Deforming(samples) = &part.skin else {
            return;
        };
        let query = world.motion(pair.query, at);
        let vertices = &contacts.vertices[pair.vertices.clone()];
        self.x.clear();
        self.v.clear();
        for &i in vertices {
            let m = world.motion(i, at);
            self.x.push(m.x.plain());
            self.v.push(m.v.plain());
        }
        let blend = Blend {
            side: pair.side,
            far: (!part.closed).then_some(2.0 * pair.delta),
            end: Some(pair.delta),
        };
        let near = contacts.near[pair.near.clone()].iter();
        let near = near.map(|n| (&samples[n.sample as usize], n.slots));
        let v = (what != Part::Normal).then_some(&self.v[..]);
        let tangent = &mut self.tangent;
        let Some(blending) = tangent.set(&query.x.plain(), near, &self.x, v, &blend) else {
            return;
        };
        let jet = &blending.jet;
        // Where planes fade there are blocks only if something is left of them, and then not here.
        let psi = jet.value.re;
        if psi >= pair.reach() || contacts.ends(pair, samples, psi, at).is_some() {
            return;
        }
        let zero = Dual::<TANGENT_LANES>::new(0.0, [0.0; TANGENT_LANES]);
        let slip = query.v.plain() - tangent.velocity();
        let velocity = || {
            let mut u = Vector([zero; 3]);
            for k in 0..3 {
                u.0[k].re = slip[k];
                u.0[k].d[TANGENT_LANES - 3 + k] = 1.0;
            }
            u
        };
        let mut forces = contacts.forces_at(pair, jet.value, &jet.gradient, velocity, kappa);
        match what {
            Part::Both => {}
            Part::Normal => forces.friction = Vector([zero; 3]),
            Part::Friction => forces.lambda = zero,
        }
        let pull = TangentForce {
            s: forces.lambda,
            f: forces.friction,
        };
        self.follow(contacts, pair, vertices);
        let plain = self.shares.len() == self.first.len() - 1
            && self.shares.iter().all(|s| s.1 == 1.0)
            && !matches!(world.part_of(pair.query).follow, Follow::Framed(_));
        let diagonal = plain && which == Which::Diagonal;
        self.tangent
            .differentiate(&blending, &pull, cx, cv, diagonal);
        let force = (jet.gradient.scale(pull.s) + pull.f).value();
        let spin = match world.part_of(pair.query).follow {
            Follow::Framed(FrameOf::Rigid { block, .. }) => at.v(block + 1).plain(),
            _ => Vec3::zeros(),
        };
        let swing = Swing::new(&spin, &query.lever.plain(), at.chord());
        self.carry(
            contacts,
            pair,
            &query,
            &pull,
            (&force, &swing),
            [cx, cv],
            which,
            list,
        );
    }

    /// The blocks that the points of the tangent follow; none of a query point in a frame.
    fn follow(&mut self, contacts: &SmoothContacts, pair: &Pair, vertices: &[u32]) {
        let world = &contacts.world;
        self.shares.clear();
        self.first.clear();
        self.first.push(0);
        self.shares.extend_from_slice(world.entries(pair.query));
        self.first.push(self.shares.len());
        for &slot in self.tangent.vertices() {
            let entries = world.entries(vertices[slot as usize]);
            self.shares.extend_from_slice(entries);
            self.first.push(self.shares.len());
        }
    }

    /// From points to blocks.
    fn carry(
        &self,
        contacts: &SmoothContacts,
        pair: &Pair,
        query: &Motion<f64>,
        pull: &TangentForce,
        (force, swing): (&Vec3, &Swing),
        [cx, cv]: [f64; 2],
        which: Which,
        list: &mut Vec<Block>,
    ) {
        let points = self.first.len() - 1;
        let shares = |p: usize| &self.shares[self.first[p]..self.first[p + 1]];
        let mut push = |i: u32, j: u32, m: Mat3| {
            if which == Which::All || i == j {
                list.push((i, j, m));
            }
        };
        // Columns of everything that follows blocks by weights.
        for a in 0..points {
            for b in 0..points {
                let mut block = *self.tangent.block(a, b);
                if b == 0 {
                    block += self.tangent.query_velocity(pull, a) * cv;
                }
                for &(i, wi) in shares(a) {
                    for &(j, wj) in shares(b) {
                        push(i, j, block * (wi * wj));
                    }
                }
            }
        }
        let Follow::Framed(FrameOf::Rigid { block, .. }) =
            contacts.world.part_of(pair.query).follow
        else {
            return;
        };
        // A query point on a rigid body: x = o + ℓ and v = V + ω × ℓ, or its chord, where ℓ turns with the body,
        // and the force f is a torque ℓ × f.
        let lever = query.lever.plain();
        let arm = lever.cross_matrix();
        let by_turn = swing.by_lever * -arm * cx + swing.by_spin * cv;
        for a in 0..points {
            let by_x = self.tangent.block(a, 0);
            let by_v = self.tangent.query_velocity(pull, a);
            let linear = by_x + by_v * cv;
            let angular = by_x * -arm + by_v * by_turn;
            for &(i, wi) in shares(a) {
                push(i, block, linear * wi);
                push(i, block + 1, angular * wi);
            }
            if a == 0 {
                push(block, block, linear);
                push(block, block + 1, angular);
                push(block + 1, block, arm * linear);
                let turned = force.cross_matrix() * arm * cx;
                push(block + 1, block + 1, arm * angular + turned);
            }
        }
        for b in 1..points {
            for &(j, wj) in shares(b) {
                let m = self.tangent.block(0, b) * wj;
                push(block, j, m);
                push(block + 1, j, arm * m);
            }
        }
    }
}

/// Whether the blended planes of a pair fade with the distance to the faces, now or where friction is lagged.
fn fades(contacts: &SmoothContacts, pair: &Pair, at: &ContactKinematics) -> bool {
    let lagged = contacts.lagged.as_ref();
    let then = lagged.map(|l| Frozen {
        kept: &l.kept,
        now: at,
    });
    contacts.is_fading(pair, at) || then.is_some_and(|then| contacts.is_fading(pair, &then))
}
