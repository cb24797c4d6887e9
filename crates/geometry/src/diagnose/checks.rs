//! The single checks. Each adds at most one finding per kind.

use stiction_math::Vec3;

use super::{Finding, FindingElements, FindingKind, MAX_LISTED, Severity};
use crate::bounds::Aabb;
use crate::inside::InsideTest;
use crate::mesh::{TetMesh, TriMesh};
use crate::quality::{tet_aspect, triangle_aspect};
use crate::topology::{Components, HalfEdge, tet_faces};
use FindingKind as Kind;
use Severity::{Error, Note, Warning};

/// An element flatter than this has no usable shape: its inverse rest shape loses half of all
/// digits.
const DEGENERATE_ASPECT: f64 = 1e7;
/// An element flatter than this is accepted, but will dominate the condition of the system.
const POOR_ASPECT: f64 = 50.0;
/// Vertices closer than this fraction of the mesh's diagonal are probably meant to be one.
const NEARBY: f64 = 1e-6;
/// Sizes of things that people simulate in metres [m].
const PLAUSIBLE_SIZE: [f64; 2] = [1e-3, 100.0];

/// Collects findings about one mesh.
pub(super) struct Examination<'a, const N: usize> {
    positions: &'a [Vec3],
    elements: &'a [[u32; N]],
    name: fn(Vec<u32>) -> FindingElements,
    finite: Vec<bool>,
    findings: Vec<Finding>,
}

impl<'a, const N: usize> Examination<'a, N> {
    pub fn new(
        positions: &'a [Vec3],
        elements: &'a [[u32; N]],
        name: fn(Vec<u32>) -> FindingElements,
    ) -> Self {
        let is_finite = |p: &Vec3| p.iter().all(|x| x.is_finite());
        Examination {
            positions,
            elements,
            name,
            finite: positions.iter().map(is_finite).collect(),
            findings: Vec::new(),
        }
    }

    /// The findings, most serious first.
    pub fn finish(mut self) -> Vec<Finding> {
        self.findings.sort_by_key(|f| (f.severity, f.kind));
        self.findings
    }

    /// Everything that concerns indices and positions alone.
    pub fn elements_and_vertices(&mut self) {
        if self.elements.is_empty() {
            self.whole(
                Error,
                Kind::Empty,
                "the mesh has no elements".to_owned(),
                "check that the file holds triangles or tetrahedra and was read completely",
            );
        }
        let count = self.positions.len();
        let bad_vertices = indices(self.finite.iter().map(|f| !f));
        self.list(
            Error,
            Kind::NonFiniteVertex,
            (FindingElements::Vertices, bad_vertices),
            "has a coordinate that is not finite",
            "repair or remove the vertex in the program that wrote the mesh",
        );
        let beyond = |e: &[u32; N]| e.iter().any(|v| *v as usize >= count);
        let bad_elements = indices(self.elements.iter().map(beyond));
        self.list(
            Error,
            Kind::IndexOutOfRange,
            (self.name, bad_elements),
            "refers to a vertex that does not exist",
            "the file is damaged or its indices do not start where they should; export it again",
        );
        let mut used = vec![false; count];
        for v in self.elements.iter().flatten() {
            if let Some(u) = used.get_mut(*v as usize) {
                *u = true;
            }
        }
        self.list(
            Error,
            Kind::IsolatedVertex,
            (FindingElements::Vertices, indices(used.iter().map(|u| !u))),
            "belongs to no element and would have no mass",
            "delete loose vertices",
        );
        let exact = self.coinciding();
        let nearby = self.nearby(&exact);
        self.list(
            Warning,
            Kind::DuplicateVertices,
            (FindingElements::Vertices, exact),
            "lies exactly on an earlier vertex",
            "merge vertices by distance, or the mesh will come apart there",
        );
        self.list(
            Warning,
            Kind::NearbyVertices,
            (FindingElements::Vertices, nearby),
            "lies within a millionth of the mesh's size from an earlier vertex",
            "merge vertices by distance, or move them apart",
        );
    }

    /// The elements that can be examined further, and their original indices.
    pub fn sound<const M: usize>(&self, elements: &[[u32; M]]) -> (Vec<[u32; M]>, Vec<u32>) {
        let fine = |v: &u32| self.finite.get(*v as usize) == Some(&true);
        let keep = |(_, e): &(u32, &[u32; M])| e.iter().all(fine);
        let kept = (0..).zip(elements).filter(keep);
        kept.map(|(i, e)| (*e, i)).unzip()
    }

    pub fn triangle_shapes(&mut self, mesh: &TriMesh, original: &[u32]) {
        let aspects = (0..mesh.triangles.len()).map(|t| triangle_aspect(&mesh.corners(t)));
        self.shapes(aspects.collect(), original);
    }

    pub fn tet_shapes(&mut self, mesh: &TetMesh, original: &[u32]) {
        let aspects = (0..mesh.tets.len()).map(|t| tet_aspect(&mesh.corners(t)));
        let aspects: Vec<f64> = aspects.collect();
        let inverted = |t: usize| aspects[t] < DEGENERATE_ASPECT && mesh.tet_volume(t) < 0.0;
        let inverted = (0..mesh.tets.len()).filter(|&t| inverted(t));
        let inverted = inverted.map(|t| original[t]).collect();
        self.shapes(aspects, original);
        self.list(
            Error,
            Kind::InvertedTet,
            (self.name, inverted),
            "has a negative volume",
            "swap two of its vertices; if all are inverted, the file uses the other orientation",
        );
    }

    fn shapes(&mut self, aspects: Vec<f64>, original: &[u32]) {
        let select = |test: &dyn Fn(f64) -> bool| {
            let chosen = aspects.iter().zip(original).filter(|(a, _)| test(**a));
            chosen.map(|(_, i)| *i).collect()
        };
        // An overflow in the aspect of huge elements counts as degenerate too.
        let degenerate = select(&|a| a.is_nan() || a >= DEGENERATE_ASPECT);
        let poor = select(&|a| (POOR_ASPECT..DEGENERATE_ASPECT).contains(&a));
        self.list(
            Error,
            Kind::DegenerateElement,
            (self.name, degenerate),
            "is degenerate: it has no area or volume compared to its edges",
            "remove it, or collapse its shortest edge",
        );
        self.list(
            Warning,
            Kind::PoorElement,
            (self.name, poor),
            "is badly shaped: more than 50 times as long as it is high",
            "remesh; such elements make the solution slow and stiff",
        );
    }

    pub fn duplicate_elements<const M: usize>(&mut self, sound: &[[u32; M]], original: &[u32]) {
        let mut keyed: Vec<([u32; M], u32)> = sound
            .iter()
            .zip(original)
            .map(|(e, i)| {
                let mut key = *e;
                key.sort_unstable();
                (key, *i)
            })
            .collect();
        keyed.sort_unstable();
        let repeats = keyed.chunk_by(|a, b| a.0 == b.0).flat_map(|g| &g[1..]);
        let mut repeats: Vec<u32> = repeats.map(|(_, i)| *i).collect();
        repeats.sort_unstable();
        self.list(
            Warning,
            Kind::DuplicateElement,
            (self.name, repeats),
            "has the same vertices as an earlier element",
            "delete the copy, or mass and stiffness count twice there",
        );
    }

    /// Edges, vertices and orientation of a surface; `original` are the triangles' own indices.
    pub fn surface(&mut self, mesh: &TriMesh, original: &[u32]) {
        self.non_manifold(mesh, None);
        let half = mesh.half_edges();
        let mut flipped = Vec::new();
        for pair in half.chunk_by(HalfEdge::same_edge) {
            if let [a, b] = pair
                && a.reversed == b.reversed
            {
                flipped.extend([a, b].map(|h| original[h.triangle as usize]));
            }
        }
        flipped.sort_unstable();
        flipped.dedup();
        self.list(
            Warning,
            Kind::InconsistentOrientation,
            (FindingElements::Triangles, flipped),
            "is oriented against a neighbour",
            "recalculate normals so that neighbours face the same side",
        );
        let open = mesh.boundary_edges();
        self.list(
            Note,
            Kind::OpenBoundary,
            (FindingElements::Edges, open),
            "has a triangle on one side only: the surface is open",
            "fine for cloth; close the holes if it should enclose a volume",
        );
    }

    /// Faces of a solid, and the edges and vertices of its surface.
    pub fn solid(&mut self, mesh: &TetMesh) {
        let mut faces: Vec<[u32; 3]> = mesh
            .tets
            .iter()
            .flat_map(tet_faces)
            .map(|mut f| {
                f.sort_unstable();
                f
            })
            .collect();
        faces.sort_unstable();
        let crowded = faces.chunk_by(|a, b| a == b).filter(|g| g.len() > 2);
        let crowded = crowded.map(|g| g[0]).collect();
        self.list(
            Error,
            Kind::NonManifoldFace,
            (FindingElements::Faces, crowded),
            "belongs to more than two tetrahedra, which must overlap",
            "delete the overlapping tetrahedra",
        );
        let (skin, nodes) = mesh.surface();
        self.non_manifold(&skin, Some(&nodes));
    }

    /// `nodes` maps the vertices of the surface to those of the mesh.
    fn non_manifold(&mut self, mesh: &TriMesh, nodes: Option<&[u32]>) {
        let name = |v: u32| nodes.map_or(v, |n| n[v as usize]);
        let half = mesh.half_edges();
        let crowded = half.chunk_by(HalfEdge::same_edge).filter(|g| g.len() > 2);
        let crowded = crowded.map(|g| [name(g[0].low), name(g[0].high)]).collect();
        let pinched = pinched_vertices(mesh).into_iter().map(name).collect();
        self.list(
            Error,
            Kind::NonManifoldEdge,
            (FindingElements::Edges, crowded),
            "has more than two triangles, so that no bending angle exists there",
            "split the surface there; join several sheets with attachments instead",
        );
        self.list(
            Warning,
            Kind::NonManifoldVertex,
            (FindingElements::Vertices, pinched),
            "joins parts of the surface in a single point",
            "duplicate the vertex to separate the parts, or join them along an edge",
        );
    }

    /// Closed parts whose triangles face inwards. Cavities inside another part do so rightly.
    pub fn inward_components(&mut self, mesh: &TriMesh, original: &[u32]) {
        let parts = mesh.components();
        let part_of = |t: &[u32; 3]| parts.of_vertex[t[0] as usize] as usize;
        let mut closed = vec![true; parts.count];
        for [a, _] in mesh.boundary_edges() {
            closed[parts.of_vertex[a as usize] as usize] = false;
        }
        let origin = mesh.positions.iter().zip(&self.finite);
        let origin = origin.filter(|p| *p.1).map(|p| *p.0).next();
        let origin = origin.unwrap_or_default();
        let mut volume = vec![0.0; parts.count];
        let mut first = vec![None; parts.count];
        for (t, v) in mesh.triangles.iter().enumerate() {
            let [a, b, c] = mesh.corners(t).map(|p| p - origin);
            volume[part_of(v)] += a.dot(&b.cross(&c)) / 6.0;
            first[part_of(v)].get_or_insert(t);
        }
        let outward = |t: &&[u32; 3]| closed[part_of(t)] && volume[part_of(t)] > 0.0;
        let outer = TriMesh {
            positions: self.tamed(),
            triangles: mesh.triangles.iter().filter(outward).copied().collect(),
        };
        let Ok(inside) = InsideTest::new(&outer) else {
            return;
        };
        let suspect = (0..parts.count).filter(|&p| closed[p] && volume[p] < 0.0);
        let wrong = suspect.filter_map(|p| first[p]).filter(|&t| {
            let corner = mesh.corners(t)[0];
            !inside.contains(&corner)
        });
        let wrong = wrong.map(|t| original[t]).collect();
        self.list(
            Warning,
            Kind::InwardOrientation,
            (FindingElements::Triangles, wrong),
            "and the closed surface it belongs to face inwards",
            "flip the normals of that part",
        );
    }

    pub fn components(&mut self, parts: &Components, sound: &[[u32; N]]) {
        let mut with_elements: Vec<u32> = sound
            .iter()
            .map(|e| parts.of_vertex[e[0] as usize])
            .collect();
        with_elements.sort_unstable();
        with_elements.dedup();
        let count = with_elements.len();
        if count > 1 {
            self.whole(
                Note,
                Kind::SeveralComponents,
                format!("the mesh has {count} parts that do not hang together"),
                "fine if intended; otherwise merge vertices by distance",
            );
        }
    }

    pub fn units(&mut self) {
        let finite: Vec<Vec3> = self.finite_positions().collect();
        let Some(bounds) = Aabb::of(&finite) else {
            return;
        };
        let size = bounds.extent().max();
        let [small, large] = PLAUSIBLE_SIZE;
        let (adjective, remedy) = if size > large {
            (
                "large",
                "positions are in metres: did you mean cm (scale by 0.01) or mm (0.001)?",
            )
        } else if size < small && size > 0.0 {
            (
                "small",
                "positions are in metres: was the mesh scaled to them twice? Did you mean mm or cm?",
            )
        } else {
            return;
        };
        self.whole(
            Warning,
            Kind::SuspiciousUnits,
            format!("the mesh is very {adjective}: its longest side is {size:.3e} m"),
            remedy,
        );
    }

    /// Vertices at the same place as one before them.
    fn coinciding(&self) -> Vec<u32> {
        // Adding zero makes −0 equal to 0.
        let key = |v: u32| self.positions[v as usize].map(|x| (x + 0.0).to_bits());
        let key = |v: u32| <[u64; 3]>::from(key(v));
        let mut order: Vec<u32> = (0..self.positions.len() as u32)
            .filter(|v| self.finite[*v as usize])
            .collect();
        order.sort_unstable_by_key(|v| (key(*v), *v));
        let groups = order.chunk_by(|a, b| key(*a) == key(*b));
        let mut repeats: Vec<u32> = groups.flat_map(|g| &g[1..]).copied().collect();
        repeats.sort_unstable();
        repeats
    }

    /// Vertices close to one before them, apart from those in `exact` (ascending). Vertices are
    /// sorted into cells as large as the distance sought, so only neighbouring cells matter.
    fn nearby(&self, exact: &[u32]) -> Vec<u32> {
        let finite: Vec<Vec3> = self.finite_positions().collect();
        let Some(bounds) = Aabb::of(&finite) else {
            return Vec::new();
        };
        let reach = NEARBY * bounds.diagonal();
        if reach == 0.0 || !reach.is_finite() {
            return Vec::new();
        }
        let cell =
            |p: &Vec3| <[i64; 3]>::from(((p - bounds.min) / reach).map(|x| x.floor() as i64));
        let mut cells: Vec<([i64; 3], u32)> = (0..self.positions.len() as u32)
            .filter(|v| self.finite[*v as usize] && exact.binary_search(v).is_err())
            .map(|v| (cell(&self.positions[v as usize]), v))
            .collect();
        cells.sort_unstable();
        let close_to_earlier = |at: &[i64; 3], v: u32| {
            let p = self.positions[v as usize];
            (0..27).any(|n| {
                let there = [at[0] + n % 3 - 1, at[1] + n / 3 % 3 - 1, at[2] + n / 9 - 1];
                let from = cells.partition_point(|c| c.0 < there);
                cells[from..]
                    .iter()
                    .take_while(|c| c.0 == there && c.1 < v)
                    .any(|c| (self.positions[c.1 as usize] - p).norm() <= reach)
            })
        };
        let close = cells.iter().filter(|(at, v)| close_to_earlier(at, *v));
        let mut close: Vec<u32> = close.map(|c| c.1).collect();
        close.sort_unstable();
        close
    }

    fn finite_positions(&self) -> impl Iterator<Item = Vec3> {
        let finite = self.positions.iter().zip(&self.finite);
        finite.filter(|p| *p.1).map(|p| *p.0)
    }

    /// Positions with the bad ones replaced, for uses that never look at those.
    fn tamed(&self) -> Vec<Vec3> {
        let tame = |(p, finite): (&Vec3, &bool)| if *finite { *p } else { Vec3::zeros() };
        self.positions.iter().zip(&self.finite).map(tame).collect()
    }

    fn whole(&mut self, severity: Severity, kind: Kind, message: String, remedy: &'static str) {
        self.findings.push(Finding {
            severity,
            kind,
            elements: FindingElements::Mesh,
            count: 0,
            message,
            remedy,
        });
    }

    /// Adds a finding if the list is not empty. `fault` follows one element; for several the
    /// sentence becomes "n elements …, each of which".
    fn list<T>(
        &mut self,
        severity: Severity,
        kind: Kind,
        (name, mut items): (fn(Vec<T>) -> FindingElements, Vec<T>),
        fault: &str,
        remedy: &'static str,
    ) {
        let count = items.len();
        if count == 0 {
            return;
        }
        items.truncate(MAX_LISTED);
        let elements = name(items);
        let message = match count {
            1 => format!("{elements} {fault}"),
            2..=MAX_LISTED => format!("each of {elements} {fault}"),
            _ => format!("each of {count}, among them {elements}, {fault}"),
        };
        self.findings.push(Finding {
            severity,
            kind,
            elements,
            count,
            message,
            remedy,
        });
    }
}

/// Vertices whose triangles fall into several groups that share no edge at the vertex.
fn pinched_vertices(mesh: &TriMesh) -> Vec<u32> {
    let around = mesh.vertex_triangles();
    let mut pinched = Vec::new();
    let mut spokes: Vec<(u32, usize)> = Vec::new();
    for v in 0..mesh.positions.len() as u32 {
        let fan = around.of(v as usize);
        spokes.clear();
        for (k, t) in fan.iter().enumerate() {
            let others = mesh.triangles[*t as usize].into_iter().filter(|w| *w != v);
            spokes.extend(others.map(|w| (w, k)));
        }
        spokes.sort_unstable();
        let mut parent: Vec<usize> = (0..fan.len()).collect();
        let root = |parent: &[usize], mut k: usize| {
            while parent[k] != k {
                k = parent[k];
            }
            k
        };
        let mut groups = fan.len();
        for pair in spokes.windows(2).filter(|p| p[0].0 == p[1].0) {
            let (a, b) = (root(&parent, pair[0].1), root(&parent, pair[1].1));
            if a != b {
                parent[a.max(b)] = a.min(b);
                groups -= 1;
            }
        }
        if groups > 1 {
            pinched.push(v);
        }
    }
    pinched
}

fn indices(flags: impl Iterator<Item = bool>) -> Vec<u32> {
    let marked = (0..).zip(flags).filter(|(_, flag)| *flag);
    marked.map(|(i, _)| i).collect()
}
