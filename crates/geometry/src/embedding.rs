//! A closed surface embedded in a lattice of tetrahedra that does not conform to it
//! [daviet2020, Sect. 7.2].
//!
//! The lattice carries the dynamics; each surface vertex follows the tetrahedron it lies in.
//! Tetrahedra are kept if they reach inside the surface or cross it, and each is weighted with
//! the fraction of its volume that lies inside, for mass and stiffness.
//!
//! The lattice is body-centred cubic: nodes at the corners and centres of cubes, tetrahedra
//! between neighbouring centres. All its tetrahedra are congruent, with dihedral angles of 60°
//! and 90°, and no diagonal is preferred, while cubes cut into six have angles of 45° and are
//! stiffer along one space diagonal. It is also as easy to search: the tetrahedron around a
//! point and its barycentric weights follow from the point's coordinates alone.
//!
//! Fractions come from sampling, which is robust for any surface; see [`InsideTest`].

mod lattice;
mod overlap;
mod sampling;

use stiction_math::{Vec3, parallel};

use crate::inside::InsideTest;
use crate::mesh::{MeshError, TetMesh, TriMesh};
use lattice::{Bcc, Tet};
use sampling::Sampler;

/// Settings of the embedding of a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmbeddingConfig {
    /// Edge length of the cubes [m]. Lattice edges are as long, and √¾ times as long.
    pub cell_size: f64,
    /// Tetrahedra that cross the surface are sampled at samples³ points. Walls may be much
    /// thinner than a cell: the points are spread at random in each tetrahedron, so the total
    /// volume is right on average whatever the thickness.
    pub samples: u32,
}

/// A surface in its lattice.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    /// The kept tetrahedra of the lattice, all congruent and positively oriented.
    pub lattice: TetMesh,
    /// Per tetrahedron the fraction of its volume inside the surface, in (0, 1]. A crossing
    /// tetrahedron without a single sample inside gets half of one sample, so that no node is
    /// without mass.
    pub fractions: Vec<f64>,
    /// Per surface vertex where it sits in the lattice.
    pub vertices: Vec<EmbeddedVertex>,
}

/// A point given by the nodes of a tetrahedron: x = Σ wⱼ xⱼ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmbeddedVertex {
    /// Index of the tetrahedron in the lattice.
    pub tet: u32,
    /// Barycentric weights in the order of its corners, none negative, summing to 1.
    pub weights: [f64; 4],
}

/// Reason for which a surface cannot be embedded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EmbeddingError {
    /// Indices, coordinates or closedness are at fault.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// There are no triangles.
    #[error("the surface has no triangles")]
    Empty,
    /// The surface faces inwards or encloses nothing.
    #[error(
        "the surface encloses a volume of {volume} m³; if it is negative, the triangles face \
         inwards and must be turned over"
    )]
    Volume {
        /// The signed volume [m³].
        volume: f64,
    },
    /// The cell size is not a positive number.
    #[error("the cell size must be positive and finite, but is {0}")]
    CellSize(f64),
    /// Too few or absurdly many samples.
    #[error("the number of samples along an edge must be from 1 to 32, but is {0}")]
    Samples(u32),
    /// The surface is so far from the origin that rounding would blur the lattice.
    #[error(
        "the surface reaches {distance} m away from the origin, too far for cells of \
         {cell_size} m; move it nearer to the origin"
    )]
    FarAway {
        /// The largest coordinate [m].
        distance: f64,
        /// The requested cell size [m].
        cell_size: f64,
    },
    /// The lattice would be absurdly large.
    #[error(
        "cells of {cell_size} m would need {cells:.0} cubes to cover the surface, more than the \
         limit of {MAX_CELLS}; use larger cells"
    )]
    TooLarge {
        /// The requested number of cubes.
        cells: f64,
        /// The requested cell size [m].
        cell_size: f64,
    },
}

/// No lattice covers a bounding box of more cubes than this.
pub const MAX_CELLS: u64 = 8_000_000;

impl EmbeddingConfig {
    /// Cells of the given size and 4³ samples, which gives the volume to well below 2 %.
    pub fn new(cell_size: f64) -> Self {
        EmbeddingConfig {
            cell_size,
            samples: 4,
        }
    }

    /// About how many nodes the lattice will have, from the volume and the area of the surface:
    /// two nodes per cube of volume, which includes a margin of about one cell all around.
    pub fn node_count_estimate(&self, surface: &TriMesh) -> Result<u64, EmbeddingError> {
        let (bcc, volume) = self.prepare(surface)?;
        let h = self.cell_size;
        let cubes = (volume + surface.area() * h) / h.powi(3);
        Ok((2.0 * cubes).min(bcc.node_count() as f64).max(4.0) as u64)
    }

    /// Builds the lattice and places the vertices in it. The result is the same for any number
    /// of threads.
    pub fn build(&self, surface: &TriMesh) -> Result<Embedding, EmbeddingError> {
        let (bcc, _) = self.prepare(surface)?;
        let inside = InsideTest::new(surface)?;
        let hosts: Vec<(Tet, [f64; 4])> = surface.positions.iter().map(|p| bcc.locate(p)).collect();
        let contacts = find_contacts(&bcc, surface);
        let mut kept = classify(&bcc, surface, &contacts, &inside, self.samples);
        // A vertex on the rim of a kept tetrahedron may be located in one that is not.
        let floor = 0.5 / f64::from(self.samples).powi(3);
        let mut extra: Vec<(u64, f64)> = hosts.iter().map(|(t, _)| (bcc.id(t), floor)).collect();
        extra.retain(|(id, _)| kept.binary_search_by_key(id, |k| k.0).is_err());
        kept.extend(extra);
        kept.sort_unstable_by_key(|k| k.0);
        kept.dedup_by_key(|k| k.0);

        let vertices = hosts
            .iter()
            .map(|(t, weights)| {
                let place = kept.partition_point(|k| k.0 < bcc.id(t));
                EmbeddedVertex {
                    tet: place as u32,
                    weights: *weights,
                }
            })
            .collect();
        Ok(Embedding {
            lattice: assemble(&bcc, &kept),
            fractions: kept.iter().map(|k| k.1).collect(),
            vertices,
        })
    }

    /// Checks everything, and lays out the lattice. Also returns the volume.
    fn prepare(&self, surface: &TriMesh) -> Result<(Bcc, f64), EmbeddingError> {
        surface.check()?;
        let bounds = match surface.bounds() {
            Some(b) if !surface.triangles.is_empty() => b,
            _ => return Err(EmbeddingError::Empty),
        };
        surface.check_closed()?;
        let volume = surface.volume();
        if volume.is_nan() || volume <= 0.0 {
            return Err(EmbeddingError::Volume { volume });
        }
        if !(self.cell_size > 0.0 && self.cell_size.is_finite()) {
            return Err(EmbeddingError::CellSize(self.cell_size));
        }
        if !(1..=32).contains(&self.samples) {
            return Err(EmbeddingError::Samples(self.samples));
        }
        let distance = bounds.min.amax().max(bounds.max.amax());
        if distance > 1e9 * self.cell_size {
            return Err(EmbeddingError::FarAway {
                distance,
                cell_size: self.cell_size,
            });
        }
        let cells = Bcc::cells_over(&bounds, self.cell_size);
        if cells.iter().product::<f64>() > MAX_CELLS as f64 {
            return Err(EmbeddingError::TooLarge {
                cells: cells.iter().product(),
                cell_size: self.cell_size,
            });
        }
        Ok((Bcc::over(&bounds, self.cell_size), volume))
    }
}

impl Embedding {
    /// The surface vertices for given node positions [m], 1 per node of the lattice.
    pub fn interpolate(&self, nodes: &[Vec3]) -> Vec<Vec3> {
        let point = |v: &EmbeddedVertex| -> Vec3 {
            let corners = self.lattice.tets[v.tet as usize];
            let terms = corners.iter().zip(v.weights);
            terms.map(|(&i, w)| w * nodes[i as usize]).sum()
        };
        self.vertices.iter().map(point).collect()
    }

    /// The volume inside the surface according to the fractions [m³].
    pub fn volume(&self) -> f64 {
        let parts = self.fractions.iter().enumerate();
        parts.map(|(t, f)| f * self.lattice.tet_volume(t)).sum()
    }
}

/// A triangle that meets a tetrahedron of the lattice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Contact {
    tet: u64,
    triangle: u32,
    /// Whether it reaches inside, rather than just touching the boundary.
    crossing: bool,
}

/// All contacts, sorted by tetrahedron and triangle.
fn find_contacts(bcc: &Bcc, surface: &TriMesh) -> Vec<Contact> {
    let tolerance = 1e-9 * bcc.cell_size();
    let mut found = parallel::gather(surface.triangles.len(), 16, |range, found| {
        for t in range {
            let triangle = surface.corners(t);
            found.extend(bcc.tets_near(&triangle).into_iter().filter_map(|tet| {
                let depth = overlap::depth(&bcc.corners(&tet), &triangle);
                (depth >= -tolerance).then(|| Contact {
                    tet: bcc.id(&tet),
                    triangle: t as u32,
                    crossing: depth > tolerance,
                })
            }));
        }
    });
    found.sort_unstable();
    found
}

/// The kept tetrahedra with their fractions, sorted by id.
fn classify(
    bcc: &Bcc,
    surface: &TriMesh,
    contacts: &[Contact],
    inside: &InsideTest,
    samples: u32,
) -> Vec<(u64, f64)> {
    // A cube without contacts lies on one side, and so do neighbouring ones together: one test
    // serves a whole row of them.
    let mut near = vec![false; bcc.cube_count()];
    for contact in contacts {
        for cube in bcc.cubes_of(&bcc.tet(contact.tet)) {
            near[cube] = true;
        }
    }
    let rows = bcc.rows();
    let clear = parallel::gather(rows.len(), 1, |range, clear| {
        for row in &rows[range] {
            let mut known: Option<bool> = None;
            clear.extend(row.clone().map(|cube| {
                if near[cube] {
                    known = None;
                    return false;
                }
                let test = || inside.contains(&bcc.cube_centre(cube, row.start));
                *known.get_or_insert_with(test)
            }));
        }
    });

    let fraction = |tet: Tet| {
        let id = bcc.id(&tet);
        let [low, high] = bcc.cubes_of(&tet);
        if !near[low] || !near[high] {
            let whole = clear[low] || clear[high];
            return whole.then_some((id, 1.0));
        }
        let corners = bcc.corners(&tet);
        let from = contacts.partition_point(|c| c.tet < id);
        let count = contacts[from..].partition_point(|c| c.tet == id);
        let own = &contacts[from..from + count];
        if own.iter().any(|c| c.crossing) {
            let sampler = Sampler::new(surface, own, inside, &corners, id);
            return Some((id, sampler.fraction(samples)));
        }
        let centre = corners.iter().sum::<Vec3>() / 4.0;
        inside.contains(&centre).then_some((id, 1.0))
    };
    parallel::gather(bcc.cube_count(), 64, |range, kept| {
        for cube in range {
            let tets = bcc.tets_of_cube(cube as u64).into_iter();
            kept.extend(tets.filter_map(fraction));
        }
    })
}

/// Numbers the nodes of the kept tetrahedra, in the order of the lattice.
fn assemble(bcc: &Bcc, kept: &[(u64, f64)]) -> TetMesh {
    let nodes_of = |id: u64| bcc.nodes(&bcc.tet(id));
    let mut used: Vec<u64> = kept.iter().flat_map(|k| nodes_of(k.0)).collect();
    used.sort_unstable();
    used.dedup();
    let number = |node: u64| used.partition_point(|u| *u < node) as u32;
    TetMesh {
        positions: used.iter().map(|n| bcc.position(*n)).collect(),
        tets: kept.iter().map(|k| nodes_of(k.0).map(number)).collect(),
    }
}

#[cfg(test)]
mod tests;
