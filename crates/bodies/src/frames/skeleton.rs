//! Construction of frames, their masses, the samples between them and the skin from the parts of a
//! plant.

use std::f64::consts::PI;

use stiction_geometry::{Plant, PlantPart, PlantSection, PlantVertex, Station, shapes::ShapeError};
use stiction_math::{Mat3, Vec3, sym_eig3};

use super::{Blended, QuadraturePoint};
use crate::{
    elements::ElementError,
    material::{SolidLaw, SolidMaterial},
    solid::{Corotated, FixedCorotated, IsotropicLaw, Lame},
    term::{self, Recipe},
};

/// Maximum number of frames that a cell may depend on.
pub const MOST_FRAMES: usize = 4;
/// The corners of a regular tetrahedron in a cube.
const CORNERS: [[f64; 3]; 4] = [
    [1.0, 1.0, 1.0],
    [1.0, -1.0, -1.0],
    [-1.0, 1.0, -1.0],
    [-1.0, -1.0, 1.0],
];
/// Frames whose mass is flatter than this fraction of its length are refused.
const FLATTEST: f64 = 1e-7;

/// Errors of building a body of frames.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FrameError {
    /// The shape is invalid.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A cell would depend on too many frames.
    #[error(
        "part {part}: its root depends on {frames} frames, but {MOST_FRAMES} are the most; let it have fewer frames across, or grow on a part with one across, away from that part's own root"
    )]
    TooMany {
        /// The part.
        part: usize,
        /// Number of frames.
        frames: usize,
    },
    /// Cross-sections intersect.
    #[error(
        "part {part}: its spine bends so sharply that cross-sections overlap (a sample has the volume {volume:e} m³)"
    )]
    Folded {
        /// The part.
        part: usize,
        /// The volume [m³].
        volume: f64,
    },
    /// A frame without mass, or with mass of no extent.
    #[error("part {part}: the mass of a frame fills no space")]
    Thin {
        /// The part.
        part: usize,
    },
    /// A law that does not support the split of λ.
    #[error("frames need the law `corotated` or `fixed-corotated`")]
    Law,
    /// Material or samples are out of range.
    #[error(transparent)]
    Element(#[from] ElementError),
}

/// Frames that carry a body: nodes, masses, samples and skin, all in the body's own numbering.
#[derive(Clone, Debug)]
pub struct Skeleton {
    /// Positions of the nodes at rest [m]; frame i has the nodes 4i to 4i + 3.
    pub nodes: Vec<Vec3>,
    /// The mass of each node [kg].
    pub masses: Vec<f64>,
    /// Nodes and weights of every vertex of the plant's surface.
    pub skin: Vec<SkinPoint>,
    cells: Vec<Cell>,
    frames: usize,
}

/// Nodes and weights of a point.
pub type SkinPoint = Vec<(u32, f64)>;

/// A frame at rest: λₐ(X) = ¼ + ∇λₐ·(X − c), ∇λₐ = ¼ Σₖ ±ₐₖ eₖ/σₖ.
#[derive(Clone, Debug)]
struct Frame {
    c: Vec3,
    /// ∇λₐ [1/m].
    gradients: [Vec3; 4],
}

/// Samples over the same frames.
#[derive(Clone, Debug)]
struct Cell {
    frames: Vec<u32>,
    /// Whether several frames across allow the section to curve.
    curves: bool,
    points: Vec<Point>,
}

/// A sample over any number of nodes.
#[derive(Clone, Debug)]
struct Point {
    volume: f64,
    /// ∇N of the nodes of the cell's frames [1/m].
    gradients: Vec<Vec3>,
    /// Whether it is at the centre of a section.
    middle: bool,
}

/// A part with its stations and the fields of its frames.
struct Limb<'a> {
    part: &'a PlantPart,
    stations: Vec<Station>,
    /// Row by row along the spine.
    slots: Vec<Slot>,
}

/// An affine field: Σ (value + slope · (X − origin)) of its items, which are frames or nodes.
///
/// A frame of the part itself is one item; the root of a part with a parent follows the parent's
/// map to first order about the root position. (Not the parent's frames: their slopes along the
/// spine are not those of the material between them.)
#[derive(Clone)]
struct Slot {
    origin: Vec3,
    items: Vec<Item>,
}

/// The weight of a frame or node at some point, and its gradient [1/m].
#[derive(Clone)]
struct Item {
    index: u32,
    value: f64,
    slope: Vec3,
}

/// A position on a part: the stations around it, the fraction between them, and η and ζ.
#[derive(Clone, Copy)]
struct At {
    k: usize,
    t: f64,
    eta: f64,
    zeta: f64,
}

impl Limb<'_> {
    /// The weights of all frames or nodes at a position.
    fn blend(&self, at: At) -> Vec<Item> {
        let (x, axes) = self.place(at);
        // Where sections meet there is no gradient; samples there have no volume and are refused.
        let gradients = axes.try_inverse().unwrap_or_default().transpose();
        let [rows, columns] = self.part.frames.map(|n| n as usize);
        let step = self.part.cells[0] as usize;
        let i = (at.k / step).min(rows - 2);
        let u = ((at.k - i * step) as f64 + at.t) / step as f64;
        let slope = 1.0 / step as f64;
        let (j, v, rise) = if columns == 1 {
            (0, 0.0, 0.0)
        } else {
            let rise = 0.5 * (columns - 1) as f64;
            let v = (at.eta + 1.0) * rise;
            let j = (v.max(0.0) as usize).min(columns - 2);
            (j, v - j as f64, rise)
        };
        let mut list: Vec<Item> = Vec::with_capacity(4 * MOST_FRAMES);
        for (di, w, dw) in [(0, 1.0 - u, -slope), (1, u, slope)] {
            for (dj, z, dz) in [(0, 1.0 - v, -rise), (1, v, rise)] {
                if dj >= columns {
                    continue;
                }
                let weight = w * z;
                let gradient = gradients * Vec3::new(dw * z, w * dz, 0.0);
                let slot = &self.slots[(i + di) * columns + j + dj];
                for item in &slot.items {
                    let here = item.value + item.slope.dot(&(x - slot.origin));
                    let (value, slope) = (weight * here, gradient * here + item.slope * weight);
                    match list.iter_mut().find(|l| l.index == item.index) {
                        Some(l) => {
                            l.value += value;
                            l.slope += slope;
                        }
                        None => list.push(Item {
                            index: item.index,
                            value,
                            slope,
                        }),
                    }
                }
            }
        }
        list
    }

    /// The field that the root of a part at `p` follows.
    fn held(&self, p: &Vec3) -> Slot {
        let at = self.nearest(p);
        Slot {
            origin: self.place(at).0,
            items: self.blend(at),
        }
    }

    /// The point of the section at the fraction `t` between station `k` and the next, its slopes
    /// along and across, and the second half axis.
    fn place(&self, at: At) -> (Vec3, Mat3) {
        let At { k, t, eta, zeta } = at;
        let (a, b) = (&self.stations[k], &self.stations[k + 1]);
        let at = |s: &Station| s.c + s.e * eta + s.f * zeta;
        let x = at(a) * (1.0 - t) + at(b) * t;
        let e = a.e * (1.0 - t) + b.e * t;
        let f = a.f * (1.0 - t) + b.f * t;
        (x, Mat3::from_columns(&[at(b) - at(a), e, f]))
    }

    /// Points of the section of the cells in column `j` as (η, ζ, weight), and its centres.
    fn section(&self, j: usize) -> [Vec<(f64, f64, f64)>; 2] {
        let g = 1.0 / 3f64.sqrt();
        let signs = [-1.0, 1.0];
        match self.part.section {
            // Four points with the second moments of a disc.
            PlantSection::Round { .. } => {
                let four = signs
                    .iter()
                    .flat_map(|a| signs.map(|b| (0.5 * a, 0.5 * b, 0.25 * PI)));
                [four.collect(), vec![(0.0, 0.0, PI)]]
            }
            PlantSection::Flat { .. } => {
                let columns = (self.part.frames[1] - 1).max(1);
                let half = 1.0 / f64::from(columns);
                let middle = (2 * j + 1) as f64 * half - 1.0;
                let etas = signs.map(|s| middle + s * half * g);
                let four = etas.iter().flat_map(|e| signs.map(|s| (*e, s * g, half)));
                let middles = if self.part.frames[1] == 1 {
                    vec![(0.0, 0.0, 4.0)]
                } else {
                    etas.map(|e| (e, 0.0, 2.0 * half)).to_vec()
                };
                [four.collect(), middles]
            }
        }
    }

    /// The position on the centreline of the part that is closest to `p`.
    fn nearest(&self, p: &Vec3) -> At {
        let mut best = (f64::INFINITY, 0, 0.0);
        for (k, w) in self.stations.windows(2).enumerate() {
            let d = w[1].c - w[0].c;
            let t = ((p - w[0].c).dot(&d) / d.norm_squared()).clamp(0.0, 1.0);
            let far = (w[0].c + d * t - p).norm_squared();
            if far < best.0 {
                best = (far, k, t);
            }
        }
        let (_, k, t) = best;
        let (eta, zeta) = (0.0, 0.0);
        let (c, axes) = self.place(At { k, t, eta, zeta });
        let e = axes.column(1);
        let eta = ((p - c).dot(&e) / e.norm_squared()).clamp(-1.0, 1.0);
        At { k, t, eta, zeta }
    }
}

/// Mass and moments of ρW.
#[derive(Clone, Default)]
struct Moments {
    part: usize,
    /// A nearby point about which moments are computed, to avoid cancellation [m].
    origin: Vec3,
    mass: f64,
    first: Vec3,
    second: Mat3,
}

impl Skeleton {
    /// Builds the frames of `plant`, filled with material of `density` [kg/m³].
    ///
    /// # Errors
    /// If a part cannot be built, folds over itself or depends on too many frames.
    pub fn new(plant: &Plant, density: f64) -> Result<Self, FrameError> {
        plant.check()?;
        // First with frames, for their masses, which determine the positions of their nodes.
        let whole = |index: u32| Slot {
            origin: Vec3::zeros(),
            items: vec![Item {
                index,
                value: 1.0,
                slope: Vec3::zeros(),
            }],
        };
        let (limbs, owners) = grow(plant, whole);
        let (frames, masses) = moments(&limbs, &owners, density)?;
        let corners =
            |(frame, sigma): &(Frame, Mat3)| CORNERS.map(|s| frame.c + sigma * Vec3::from(s));
        let nodes = frames.iter().flat_map(corners).collect();
        let frames: Vec<Frame> = frames.into_iter().map(|f| f.0).collect();
        let (limbs, _) = grow(plant, |index| {
            let frame = &frames[index as usize];
            let items = (0..4).map(|a| Item {
                index: 4 * index + a,
                value: 0.25,
                slope: frame.gradients[a as usize],
            });
            Slot {
                origin: frame.c,
                items: items.collect(),
            }
        });
        let mut cells = Vec::new();
        for (p, limb) in limbs.iter().enumerate() {
            limb.cells(p, &mut cells)?;
        }
        let (_, vertices) = plant.surface();
        let skin = vertices.iter().map(|v| limbs[v.part as usize].skin(v));
        Ok(Self {
            nodes,
            masses,
            skin: skin.collect(),
            cells,
            frames: owners.len(),
        })
    }

    /// The nodes of the first frames of those parts of `plant` that have no parent; pinning them
    /// holds the plant.
    pub fn roots(plant: &Plant) -> Vec<u32> {
        let mut first = 0;
        let mut roots = Vec::new();
        for part in &plant.parts {
            let [rows, columns] = part.frames;
            if part.parent.is_none() {
                roots.extend(4 * first..4 * (first + columns));
            }
            let own = rows.saturating_sub(u32::from(part.parent.is_some()));
            first += own * columns;
        }
        roots
    }

    /// Number of frames.
    pub fn frame_count(&self) -> usize {
        self.frames
    }

    /// The elastic energy of all cells.
    ///
    /// # Errors
    /// If the law cannot be split, or a material parameter is out of range.
    pub fn terms(&self, material: &SolidMaterial) -> Result<Vec<Box<dyn Recipe>>, FrameError> {
        let lame = Lame::new(material.young, material.poisson)?;
        match material.law {
            SolidLaw::Corotated => self.recipes(lame, |lame| Corotated { lame }),
            SolidLaw::FixedCorotated => self.recipes(lame, |lame| FixedCorotated { lame }),
            SolidLaw::NeoHookean | SolidLaw::StableNeoHookean | SolidLaw::StVk => {
                Err(FrameError::Law)
            }
        }
    }

    fn recipes<L>(
        &self,
        lame: Lame,
        law: impl Fn(Lame) -> L,
    ) -> Result<Vec<Box<dyn Recipe>>, FrameError>
    where
        L: IsotropicLaw + std::fmt::Debug + Send + 'static,
    {
        let mut recipes = Vec::new();
        for curves in [false, true] {
            let laws = || laws(lame, curves).map(&law);
            recipes.extend(self.recipe::<L, 8>(laws(), curves)?);
            recipes.extend(self.recipe::<L, 12>(laws(), curves)?);
            recipes.extend(self.recipe::<L, 16>(laws(), curves)?);
        }
        Ok(recipes)
    }

    fn recipe<L, const K: usize>(
        &self,
        laws: [L; 2],
        curves: bool,
    ) -> Result<Option<Box<dyn Recipe>>, FrameError>
    where
        L: IsotropicLaw + std::fmt::Debug + Send + 'static,
    {
        let cells = self.blended::<L, K>(laws, curves)?;
        Ok(cells.map(term::recipe))
    }

    /// The cells over K/4 frames whose sections can curve, or cannot; none if there are none.
    ///
    /// # Errors
    /// If a sample has no volume.
    pub fn blended<L, const K: usize>(
        &self,
        laws: [L; 2],
        curves: bool,
    ) -> Result<Option<Blended<L, K>>, FrameError> {
        let mut blended = Blended::<L, K>::new(laws);
        let mut any = false;
        let mut samples = Vec::new();
        for cell in &self.cells {
            if 4 * cell.frames.len() != K || cell.curves != curves {
                continue;
            }
            let nodes = std::array::from_fn(|i| 4 * cell.frames[i / 4] + (i % 4) as u32);
            samples.clear();
            samples.extend(cell.points.iter().map(|p| QuadraturePoint {
                gradients: std::array::from_fn(|i| p.gradients[i]),
                volume: p.volume,
                law: usize::from(p.middle),
            }));
            blended.push(nodes, &samples)?;
            any = true;
        }
        Ok(any.then_some(blended))
    }
}

/// μ and λ′ of samples, and λ − λ′ alone at the centres of sections.
pub(super) fn laws(lame: Lame, curves: bool) -> [Lame; 2] {
    let Lame { mu, lambda } = lame;
    let poisson = lambda / (2.0 * (lambda + mu));
    let reduced = if curves {
        2.0 * mu * poisson / (1.0 - poisson)
    } else {
        2.0 * mu * poisson
    };
    [
        Lame {
            mu,
            lambda: reduced,
        },
        Lame {
            mu: 0.0,
            lambda: lambda - reduced,
        },
    ]
}

/// Makes mass fractions positive. Extrapolated beyond the frames of a parent some may be negative;
/// any fractions that sum to one give the body its mass and moments.
fn share_out(items: &mut [Item]) {
    items.iter_mut().for_each(|i| i.value = i.value.max(0.0));
    let sum: f64 = items.iter().map(|i| i.value).sum();
    items.iter_mut().for_each(|i| i.value /= sum);
}

/// Frames at rest with their half axes, and the masses of their nodes.
fn moments(
    limbs: &[Limb<'_>],
    owners: &[usize],
    density: f64,
) -> Result<(Vec<(Frame, Mat3)>, Vec<f64>), FrameError> {
    let mut all = vec![Moments::default(); owners.len()];
    for (moments, part) in all.iter_mut().zip(owners) {
        moments.part = *part;
        moments.origin = limbs[*part].stations[0].c;
    }
    let gauss = [0.5 - 0.5 / 3f64.sqrt(), 0.5 + 0.5 / 3f64.sqrt()];
    for (p, limb) in limbs.iter().enumerate() {
        for k in 0..limb.stations.len() - 1 {
            for j in 0..(limb.part.frames[1] as usize - 1).max(1) {
                for (eta, zeta, weight) in &limb.section(j)[0] {
                    for t in gauss {
                        let (eta, zeta) = (*eta, *zeta);
                        let at = At { k, t, eta, zeta };
                        let (x, axes) = limb.place(at);
                        let volume = 0.5 * weight * axes.determinant();
                        if !(volume > 0.0 && volume.is_finite()) {
                            return Err(FrameError::Folded { part: p, volume });
                        }
                        let mut items = limb.blend(at);
                        share_out(&mut items);
                        for item in items {
                            let m = density * volume * item.value;
                            let one = &mut all[item.index as usize];
                            let x = x - one.origin;
                            one.mass += m;
                            one.first += x * m;
                            one.second += x * x.transpose() * m;
                        }
                    }
                }
            }
        }
    }
    let mut frames = Vec::with_capacity(all.len());
    let mut masses = Vec::with_capacity(4 * all.len());
    for one in &all {
        let c = one.first / one.mass;
        let central = one.second / one.mass - c * c.transpose();
        let (values, axes) = sym_eig3(&central);
        let sigma = values.map(|v| v.max(0.0).sqrt());
        let good = sigma.min() > FLATTEST * sigma.max() && sigma.max().is_finite();
        if !(one.mass > 0.0 && good) {
            return Err(FrameError::Thin { part: one.part });
        }
        let gradients = CORNERS.map(|s| {
            let scaled = Vec3::from(s).component_div(&sigma) * 0.25;
            axes * scaled
        });
        masses.extend([0.25 * one.mass; 4]);
        let c = one.origin + c;
        frames.push((Frame { c, gradients }, axes * Mat3::from_diagonal(&sigma)));
    }
    Ok((frames, masses))
}

impl Limb<'_> {
    /// The cells between its frames with their samples.
    fn cells(&self, p: usize, cells: &mut Vec<Cell>) -> Result<(), FrameError> {
        let [rows, columns] = self.part.frames.map(|n| n as usize);
        let step = self.part.cells[0] as usize;
        // Two points along the spine between two frames, or more where stations are finer.
        let gauss: &[(f64, f64)] = if step == 1 {
            &[
                (0.211_324_865_405_187_1, 0.5),
                (0.788_675_134_594_812_9, 0.5),
            ]
        } else {
            &[(0.5, 1.0)]
        };
        for i in 0..rows - 1 {
            for j in 0..(columns - 1).max(1) {
                let mut cell = Cell {
                    frames: Vec::new(),
                    curves: columns > 1,
                    points: Vec::new(),
                };
                for slot in [i, i + 1].map(|i| i * columns + j) {
                    for slot in slot..slot + columns.min(2) {
                        for item in &self.slots[slot].items {
                            let frame = item.index / 4;
                            if !cell.frames.contains(&frame) {
                                cell.frames.push(frame);
                            }
                        }
                    }
                }
                if cell.frames.len() > MOST_FRAMES {
                    let frames = cell.frames.len();
                    return Err(FrameError::TooMany { part: p, frames });
                }
                let section = self.section(j);
                for k in i * step..(i + 1) * step {
                    for &(t, share) in gauss {
                        for (middle, points) in section.iter().enumerate() {
                            for &(eta, zeta, weight) in points {
                                let at = At { k, t, eta, zeta };
                                let one = self.sample(&cell, at, share * weight);
                                if !(one.volume > 0.0 && one.volume.is_finite()) {
                                    let volume = one.volume;
                                    return Err(FrameError::Folded { part: p, volume });
                                }
                                cell.points.push(Point {
                                    middle: middle == 1,
                                    ..one
                                });
                            }
                        }
                    }
                }
                cells.push(cell);
            }
        }
        Ok(())
    }

    fn sample(&self, cell: &Cell, at: At, weight: f64) -> Point {
        let (_, axes) = self.place(at);
        let list = self.blend(at);
        let nodes = cell.frames.iter().flat_map(|f| 4 * f..4 * f + 4);
        let of = |node: u32| {
            let found = list.iter().find(|i| i.index == node);
            found.map_or(Vec3::zeros(), |i| i.slope)
        };
        Point {
            volume: axes.determinant() * weight * self.part.stiffness,
            gradients: nodes.map(of).collect(),
            middle: false,
        }
    }

    /// Nodes and weights of a vertex.
    fn skin(&self, v: &PlantVertex) -> SkinPoint {
        let along = v.along as usize;
        let k = along.min(self.stations.len() - 2);
        let at = At {
            k,
            t: (along - k) as f64,
            eta: v.across,
            zeta: v.height,
        };
        let items = self.blend(at);
        let size = items.iter().map(|i| i.value.abs()).fold(0.0, f64::max);
        let seen = items.iter().filter(|i| i.value.abs() > 1e-12 * size);
        let mut point: SkinPoint = seen.map(|i| (i.index, i.value)).collect();
        point.sort_by_key(|n| n.0);
        point
    }
}

/// All parts with the fields of their frames, and the owner of each frame. `own` makes the field of
/// a frame of the part itself.
fn grow<'a>(plant: &'a Plant, own: impl Fn(u32) -> Slot) -> (Vec<Limb<'a>>, Vec<usize>) {
    let mut limbs: Vec<Limb<'_>> = Vec::with_capacity(plant.parts.len());
    let mut owners = Vec::new();
    for (p, part) in plant.parts.iter().enumerate() {
        let [rows, columns] = part.frames.map(|n| n as usize);
        let parent = part.parent.and_then(|q| limbs.get(q as usize));
        let held = parent.map(|parent| parent.held(&part.points[0]));
        let mut slots = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            for _ in 0..columns {
                if let (0, Some(held)) = (row, &held) {
                    slots.push(held.clone());
                    continue;
                }
                slots.push(own(owners.len() as u32));
                owners.push(p);
            }
        }
        limbs.push(Limb {
            part,
            stations: part.stations(),
            slots,
        });
    }
    (limbs, owners)
}
