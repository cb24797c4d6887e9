//! A triangle sheet whose connectivity changes: half-edges, and one operation on them.
//!
//! Half-edge 3 t + k runs from corner k to corner k + 1 of triangle t. Every change of topology
//! replaces a few triangles by others with the same outline, so that there is one place where
//! neighbours are linked.

use stiction_math::Vec3;

/// Marks a half-edge at the boundary, a removed vertex and a free triangle.
pub(super) const NONE: u32 = u32::MAX;

/// Reason for which a sheet cannot be remeshed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SheetError {
    /// A triangle names a vertex that does not exist, or one twice.
    #[error("triangle {triangle} names a vertex that does not exist, or one twice")]
    Corners {
        /// The triangle.
        triangle: u32,
    },
    /// More than two triangles at an edge, or two with opposite orientations.
    #[error(
        "edge ({}, {}) has more than two triangles, or two of opposite orientation",
        edge[0], edge[1]
    )]
    NotManifold {
        /// The edge.
        edge: [u32; 2],
    },
    /// Two fans of triangles meet in one vertex, or a vertex has no triangle.
    #[error("the triangles at vertex {vertex} do not form one fan")]
    Fan {
        /// The vertex.
        vertex: u32,
    },
}

impl SheetError {
    /// Checks that a sheet can be remeshed.
    pub fn check(vertices: usize, triangles: &[[u32; 3]]) -> Result<(), Self> {
        let x = vec![Vec3::zeros(); vertices];
        Sheet::new(&x, &x, triangles, &vec![0; triangles.len()]).map(|_| ())
    }
}

/// A triangle that takes the place of others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Successor {
    /// Its corners.
    pub corners: [u32; 3],
    /// The triangle before, whose label it has and whose plane it lies in.
    pub of: u32,
}

/// A manifold triangle mesh in rest space and world space.
#[derive(Clone, Debug, Default)]
pub(super) struct Sheet {
    /// Rest positions [m].
    pub rest: Vec<Vec3>,
    /// World positions [m].
    pub world: Vec<Vec3>,
    /// Corners of each triangle; [`NONE`] for a free one.
    pub corners: Vec<[u32; 3]>,
    /// Label of each triangle, kept by all operations.
    pub label: Vec<u32>,
    /// The opposite half-edge of each half-edge.
    twin: Vec<u32>,
    /// An outgoing half-edge of each vertex; at a boundary the one without a triangle to its right.
    out: Vec<u32>,
    free: Vec<u32>,
}

impl Sheet {
    pub fn new(
        rest: &[Vec3],
        world: &[Vec3],
        triangles: &[[u32; 3]],
        label: &[u32],
    ) -> Result<Self, SheetError> {
        let n = rest.len() as u32;
        let mut half: Vec<([u32; 2], u32)> = Vec::with_capacity(3 * triangles.len());
        for (t, c) in triangles.iter().enumerate() {
            let [i, j, k] = *c;
            if i == j || j == k || k == i || i.max(j).max(k) >= n {
                return Err(SheetError::Corners { triangle: t as u32 });
            }
            for k in 0..3 {
                half.push(([c[k], c[(k + 1) % 3]], (3 * t + k) as u32));
            }
        }
        half.sort_unstable();
        if let Some(pair) = half.windows(2).find(|w| w[0].0 == w[1].0) {
            return Err(SheetError::NotManifold { edge: pair[0].0 });
        }
        let mut sheet = Self {
            rest: rest.to_vec(),
            world: world.to_vec(),
            corners: triangles.to_vec(),
            label: label.to_vec(),
            twin: vec![NONE; half.len()],
            out: vec![NONE; rest.len()],
            free: Vec::new(),
        };
        let mut degree = vec![0_u32; rest.len()];
        for &([a, b], h) in &half {
            if let Ok(at) = half.binary_search_by_key(&[b, a], |e| e.0) {
                sheet.twin[h as usize] = half[at].1;
            }
            sheet.out[a as usize] = h;
            degree[a as usize] += 1;
        }
        for v in 0..n {
            if sheet.out[v as usize] == NONE {
                return Err(SheetError::Fan { vertex: v });
            }
            sheet.turn_back(v);
            if sheet.fan(v).count() as u32 != degree[v as usize] {
                return Err(SheetError::Fan { vertex: v });
            }
        }
        Ok(sheet)
    }

    /// The vertex at which a half-edge starts.
    pub fn from(&self, h: u32) -> u32 {
        self.corners[h as usize / 3][h as usize % 3]
    }

    /// The vertex at which a half-edge ends.
    pub fn to(&self, h: u32) -> u32 {
        self.from(next(h))
    }

    /// The third vertex of the triangle of a half-edge.
    pub fn opposite(&self, h: u32) -> u32 {
        self.from(before(h))
    }

    /// The opposite half-edge, or [`NONE`] at the boundary.
    pub fn twin(&self, h: u32) -> u32 {
        self.twin[h as usize]
    }

    /// Whether a vertex is in use.
    pub fn has(&self, v: u32) -> bool {
        self.out[v as usize] != NONE
    }

    /// The triangles in use.
    pub fn triangles(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.corners.len() as u32).filter(|t| self.corners[*t as usize][0] != NONE)
    }

    /// The outgoing half-edges of a vertex, counter-clockwise.
    pub fn fan(&self, v: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.out[v as usize];
        let mut at = first;
        std::iter::from_fn(move || {
            let h = at;
            if h == NONE {
                return None;
            }
            at = self.twin[before(h) as usize];
            if at == first {
                at = NONE;
            }
            Some(h)
        })
    }

    /// The neighbours of a vertex, counter-clockwise.
    pub fn neighbours(&self, v: u32) -> impl Iterator<Item = u32> + '_ {
        self.fan(v).flat_map(move |h| {
            let last = self.twin[before(h) as usize] == NONE;
            let end = last.then(|| self.opposite(h));
            std::iter::once(self.to(h)).chain(end)
        })
    }

    /// A half-edge between two vertices, in either direction.
    pub fn edge(&self, a: u32, b: u32) -> Option<u32> {
        if !self.has(a) || !self.has(b) {
            return None;
        }
        self.fan(a).find_map(|h| {
            if self.to(h) == b {
                return Some(h);
            }
            let last = before(h);
            (self.from(last) == b).then_some(last)
        })
    }

    /// Adds a vertex without triangles.
    pub fn add(&mut self, rest: Vec3, world: Vec3) -> u32 {
        self.rest.push(rest);
        self.world.push(world);
        self.out.push(NONE);
        (self.rest.len() - 1) as u32
    }

    /// Replaces triangles by others with the same outline, each with the label of a triangle before.
    /// Returns where the new ones are. Vertices that no triangle names any more are no longer in use.
    pub fn replace(&mut self, old: &[u32], new: &[Successor]) -> Vec<u32> {
        let labels: Vec<u32> = new.iter().map(|n| self.label[n.of as usize]).collect();
        let mut outline: Vec<([u32; 2], u32)> = Vec::new();
        let mut touched: Vec<u32> = Vec::new();
        for &t in old {
            for h in 3 * t..3 * t + 3 {
                let twin = self.twin[h as usize];
                if twin == NONE || !old.contains(&(twin / 3)) {
                    outline.push(([self.from(h), self.to(h)], twin));
                }
                touched.push(self.from(h));
            }
        }
        for &t in old {
            self.corners[t as usize] = [NONE; 3];
            self.free.push(t);
        }
        // The lowest slot first: the order depends on the operation alone.
        let mut slots = Vec::with_capacity(new.len());
        for (Successor { corners, .. }, label) in new.iter().zip(labels) {
            let t = match self.free.pop() {
                Some(t) => t,
                None => {
                    self.corners.push([NONE; 3]);
                    self.label.push(label);
                    self.twin.extend([NONE; 3]);
                    (self.corners.len() - 1) as u32
                }
            };
            self.corners[t as usize] = *corners;
            self.label[t as usize] = label;
            slots.push(t);
            touched.extend(corners);
        }
        for &t in &slots {
            for h in 3 * t..3 * t + 3 {
                let [a, b] = [self.from(h), self.to(h)];
                let inside = slots.iter().flat_map(|&s| 3 * s..3 * s + 3);
                let mut inside = inside.filter(|&g| self.from(g) == b && self.to(g) == a);
                let twin = inside.next().unwrap_or_else(|| {
                    let outer = outline.iter().find(|o| o.0 == [a, b]);
                    outer.map_or(NONE, |o| o.1)
                });
                self.twin[h as usize] = twin;
                if twin != NONE {
                    self.twin[twin as usize] = h;
                }
            }
        }
        for &v in &touched {
            self.out[v as usize] = NONE;
        }
        for &t in &slots {
            for h in 3 * t..3 * t + 3 {
                let v = self.from(h);
                self.out[v as usize] = h;
            }
        }
        // Corners of the outline may have all their new triangles elsewhere.
        for &([a, b], twin) in &outline {
            if twin != NONE {
                for (v, h) in [(b, twin), (a, next(twin))] {
                    if self.out[v as usize] == NONE {
                        self.out[v as usize] = h;
                    }
                }
            }
        }
        touched.sort_unstable();
        touched.dedup();
        for v in touched {
            if self.has(v) {
                self.turn_back(v);
            }
        }
        slots
    }

    /// Turns clockwise to the boundary, if there is one.
    fn turn_back(&mut self, v: u32) {
        let first = self.out[v as usize];
        let mut h = first;
        loop {
            let twin = self.twin[h as usize];
            if twin == NONE {
                break;
            }
            h = next(twin);
            if h == first {
                break;
            }
        }
        self.out[v as usize] = h;
    }
}

/// The next half-edge of the same triangle.
pub(super) fn next(h: u32) -> u32 {
    if h % 3 == 2 { h - 2 } else { h + 1 }
}

/// The previous half-edge of the same triangle.
pub(super) fn before(h: u32) -> u32 {
    if h.is_multiple_of(3) { h + 2 } else { h - 1 }
}
