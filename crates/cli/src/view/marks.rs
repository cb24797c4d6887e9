//! From a recorded frame to what is drawn of it.

use std::collections::BTreeMap;

use stiction_contact::ContactState;
use stiction_math::Vec3;
use stiction_record::{OBSTACLE_PREFIX, animation::polylines, picture::Colour};

use crate::replay::{RecordedContact, Seen, SeenCells, Shot};

/// The longest arrow of a force, as a fraction of the size of the bodies in the first frame.
const ARROW: f64 = 0.15;
/// The radius of the dot of a contact, as a fraction of that size.
const DOT: f64 = 0.004;
/// Rods thinner than this fraction of that size would be less than a pixel wide.
const THIN: f64 = 8e-4;
/// Cosine of the angle between triangles of the first frame beyond which their edge stays sharp.
const SHARP: f64 = 0.8;

/// One item to draw or to plot.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewMark {
    /// Path in the viewer, from the general to the particular.
    pub path: Vec<String>,
    /// Its looks.
    pub what: What,
}

/// Content of a mark. Lengths in metres, in single precision, as viewers take them.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A surface.
    Surface {
        /// Points.
        positions: Vec<[f32; 3]>,
        /// Corners of triangles, if they differ from those shown before.
        triangles: Option<Vec<[u32; 3]>>,
        /// Unit normals, one per point.
        normals: Vec<[f32; 3]>,
        /// Its colour.
        colour: [u8; 3],
    },
    /// Rods.
    Strands {
        /// Polylines.
        strips: Vec<Vec<[f32; 3]>>,
        /// Their radius, if that can be seen from where the whole scene is.
        radius: Option<f32>,
        /// Their colour.
        colour: [u8; 3],
    },
    /// Balls.
    Balls {
        /// Centres.
        positions: Vec<[f32; 3]>,
        /// Radii.
        radii: Vec<f32>,
        /// Colours, one for all or one each.
        colours: Vec<[u8; 3]>,
    },
    /// Arrows.
    Arrows {
        /// Start points.
        origins: Vec<[f32; 3]>,
        /// From there to their tips.
        vectors: Vec<[f32; 3]>,
        /// Colours, one each.
        colours: Vec<[u8; 3]>,
    },
    /// A number in a plot.
    Number(f64),
}

/// From where a scene is seen [m].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Eye {
    /// Position of the camera.
    pub position: Vec3,
    /// Point at which it is directed.
    pub target: Vec3,
}

/// Turns frames into marks, in order. What it remembers of earlier frames is only what must not
/// change between them: connections, sizes, and the largest force so far, which sets the scale of
/// arrows without knowing what is to come.
#[derive(Debug, Default)]
pub struct Scribe {
    shown: BTreeMap<String, Seen>,
    splits: BTreeMap<String, Split>,
    colours: BTreeMap<String, [u8; 3]>,
    /// The corners of the box around the bodies of the first frame.
    corners: Option<[Vec3; 2]>,
    largest: f64,
}

impl Scribe {
    /// The marks of a frame. Obstacles that stay where they are are drawn once.
    pub fn frame(&mut self, shot: &Shot) -> Vec<ViewMark> {
        if self.corners.is_none() {
            self.corners = corners(shot);
        }
        let mut marks = Vec::new();
        for seen in &shot.bodies {
            if seen.obstacle && self.shown.get(&seen.name) == Some(seen) {
                continue;
            }
            let path = match seen.name.strip_prefix(OBSTACLE_PREFIX) {
                Some(name) => ["world", "obstacles", name],
                None => ["world", "bodies", &seen.name],
            };
            let colour = self.colour(seen);
            let what = self.body(seen, colour);
            marks.push(mark(&path, what));
            if seen.obstacle {
                self.shown.insert(seen.name.clone(), seen.clone());
            } else {
                // Of a body only what connects its points is compared.
                let cells = Seen {
                    positions: Vec::new(),
                    velocities: Vec::new(),
                    ..seen.clone()
                };
                self.shown.insert(seen.name.clone(), cells);
            }
        }
        self.contacts(&shot.contacts, &mut marks);
        marks
    }

    /// From above and aside, with all bodies of the first frame in view.
    pub fn eye(&self) -> Option<Eye> {
        let [low, high] = self.corners?;
        let target = 0.5 * (low + high);
        let away = 1.2 * (high - low).norm().max(1e-6);
        let direction = Vec3::new(0.55, -0.75, 0.4).normalize();
        Some(Eye {
            position: target + direction * away,
            target,
        })
    }

    /// The diagonal of the box around the bodies of the first frame [m].
    fn size(&self) -> f64 {
        self.corners.map_or(0.0, |[low, high]| (high - low).norm())
    }

    fn colour(&mut self, seen: &Seen) -> [u8; 3] {
        if seen.obstacle {
            return Colour::OBSTACLE.0;
        }
        let next = Colour::palette(self.colours.len()).0;
        *self.colours.entry(seen.name.clone()).or_insert(next)
    }

    fn body(&mut self, seen: &Seen, colour: [u8; 3]) -> What {
        let positions = || seen.positions.iter().map(single).collect::<Vec<_>>();
        match &seen.cells {
            SeenCells::Triangles(triangles) => {
                let known = self.shown.get(&seen.name);
                let split = self.splits.get(&seen.name);
                let same = known.is_some_and(|k| k.cells == seen.cells)
                    && split.is_some_and(|s| s.count == seen.positions.len());
                if !same {
                    let split = Split::new(&seen.positions, triangles);
                    self.splits.insert(seen.name.clone(), split);
                }
                let split = &self.splits[&seen.name];
                let points: Vec<Vec3> = split
                    .points
                    .iter()
                    .map(|&i| seen.positions[i as usize])
                    .collect();
                What::Surface {
                    normals: normals(&points, &split.triangles),
                    positions: points.iter().map(single).collect(),
                    triangles: (!same).then(|| split.triangles.clone()),
                    colour,
                }
            }
            SeenCells::Lines(segments, radius) => What::Strands {
                strips: strips(&positions(), segments),
                radius: (*radius > THIN * self.size()).then_some(*radius as f32),
                colour,
            },
            SeenCells::Balls(radii) => What::Balls {
                positions: positions(),
                radii: radii.iter().map(|r| *r as f32).collect(),
                colours: vec![colour],
            },
        }
    }

    fn contacts(&mut self, contacts: &[RecordedContact], marks: &mut Vec<ViewMark>) {
        let size = self.size();
        let forces = contacts.iter().map(|c| c.force.norm());
        self.largest = forces.fold(self.largest, f64::max);
        let scale = ARROW * size / self.largest.max(f64::MIN_POSITIVE);
        let colours: Vec<[u8; 3]> = contacts
            .iter()
            .map(|c| Colour::of_state(c.state).0)
            .collect();
        let origins: Vec<[f32; 3]> = contacts.iter().map(|c| single(&c.point)).collect();
        marks.push(mark(
            &["world", "contacts", "points"],
            What::Balls {
                positions: origins.clone(),
                radii: vec![(DOT * size) as f32; contacts.len()],
                colours: colours.clone(),
            },
        ));
        marks.push(mark(
            &["world", "contacts", "forces"],
            What::Arrows {
                origins,
                vectors: contacts
                    .iter()
                    .map(|c| single(&(c.force * scale)))
                    .collect(),
                colours,
            },
        ));
        for (name, state) in [
            ("open", ContactState::Open),
            ("stick", ContactState::Stick),
            ("slide", ContactState::Slide),
        ] {
            let count = contacts.iter().filter(|c| c.state == state).count();
            marks.push(mark(&["contacts", name], What::Number(count as f64)));
        }
    }
}

fn mark(path: &[&str], what: What) -> ViewMark {
    let path = path.iter().map(|part| (*part).to_owned()).collect();
    ViewMark { path, what }
}

fn single(p: &Vec3) -> [f32; 3] {
    [p.x as f32, p.y as f32, p.z as f32]
}

/// The box around the bodies, or around everything if there are none.
fn corners(shot: &Shot) -> Option<[Vec3; 2]> {
    let around = |obstacles: bool| {
        let seen = shot.bodies.iter().filter(|b| b.obstacle == obstacles);
        let points = seen.flat_map(|b| &b.positions);
        let finite = points.filter(|p| p.iter().all(|x| x.is_finite()));
        finite.fold(None, |corners: Option<[Vec3; 2]>, p| {
            let [low, high] = corners.unwrap_or([*p; 2]);
            Some([low.inf(p), high.sup(p)])
        })
    };
    around(false).or_else(|| around(true))
}

/// A surface whose points are doubled along the edges that are sharp when it is first seen: a box
/// has flat sides, while cloth, flat at first, stays smooth however it folds.
#[derive(Debug)]
struct Split {
    /// Number of points of the surface.
    count: usize,
    /// The point of the surface that each point stands for.
    points: Vec<u32>,
    triangles: Vec<[u32; 3]>,
}

impl Split {
    fn new(positions: &[Vec3], triangles: &[[u32; 3]]) -> Self {
        let normal = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|i| positions[i as usize]);
            (b - a).cross(&(c - a)).try_normalize(0.0)
        };
        let mut split = Self {
            count: positions.len(),
            points: (0..positions.len() as u32).collect(),
            triangles: triangles.to_vec(),
        };
        // Of each point, the normals of the triangles that share it, and which point they use.
        let mut fans: Vec<Vec<(Vec3, u32)>> = vec![Vec::new(); positions.len()];
        for (triangle, corners) in split.triangles.iter_mut().zip(triangles) {
            let Some(normal) = normal(corners) else {
                continue;
            };
            for (corner, &point) in triangle.iter_mut().zip(corners) {
                let fan = &mut fans[point as usize];
                let smooth = fan.iter().find(|(other, _)| other.dot(&normal) > SHARP);
                *corner = match (smooth, fan.is_empty()) {
                    (Some(&(_, known)), _) => known,
                    (None, true) => point,
                    (None, false) => {
                        split.points.push(point);
                        split.points.len() as u32 - 1
                    }
                };
                if smooth.is_none() {
                    fan.push((normal, *corner));
                }
            }
        }
        split
    }
}

/// Unit normals of points: those of their triangles, weighted by area.
fn normals(positions: &[Vec3], triangles: &[[u32; 3]]) -> Vec<[f32; 3]> {
    let mut sums = vec![Vec3::zeros(); positions.len()];
    for t in triangles {
        let [a, b, c] = t.map(|i| positions[i as usize]);
        let normal = (b - a).cross(&(c - a));
        for &i in t {
            sums[i as usize] += normal;
        }
    }
    let unit = |n: &Vec3| single(&n.try_normalize(0.0).unwrap_or_else(Vec3::z));
    sums.iter().map(unit).collect()
}

/// Polylines of the points that segments connect.
fn strips(positions: &[[f32; 3]], segments: &[[u32; 2]]) -> Vec<Vec<[f32; 3]>> {
    let points = |line: &Vec<u32>| line.iter().map(|i| positions[*i as usize]).collect();
    polylines(segments).iter().map(points).collect()
}
