//! Overlaps of a state, by name and place: for messages and for pictures.

use std::fmt;

use stiction_bodies::{Model, State, obstacle::ObstacleShape};
use stiction_contact::{
    ContactSet,
    detect::{
        Collider, ColliderForm, DetectConfig, DetectError, DetectStep, Detector, Offence, Points,
    },
};
use stiction_math::Vec3;

use crate::colliders::{ContactRules, collider_names, colliders, place, sewn};

pub use stiction_contact::detect::SurfaceElement;

/// Penetrations below this fraction of the contact thickness are ignored: that is
/// rounding, not an overlap.
pub const TOLERANCE: f64 = 0.01;

/// Two places that overlap or are closer than the contact thickness. Displays as a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlap {
    /// A part of a body.
    pub first: BodyPart,
    /// A part of another body, of the same, or of an obstacle.
    pub second: BodyPart,
    /// Penetration below the contact thickness [m]; none where surfaces cross.
    pub depth: Option<f64>,
    /// Whether they overlap, and are not merely closer than the contact thickness.
    pub overlaps: bool,
}

/// A part of a body or obstacle.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyPart {
    /// Its name.
    pub name: String,
    /// Its number: bodies in the order of the model, then obstacles.
    pub number: u32,
    /// Which vertex, edge or triangle of its surface.
    pub element: SurfaceElement,
    /// Positions of its vertices [m]; none for a solid without a mesh.
    pub corners: Vec<Vec3>,
}

impl fmt::Display for BodyPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.element {
            SurfaceElement::Vertex(v) => write!(f, "vertex {v} of `{}`", self.name),
            SurfaceElement::Edge([a, b]) => write!(f, "edge {a}-{b} of `{}`", self.name),
            SurfaceElement::Triangle(t) => write!(f, "triangle {t} of `{}`", self.name),
            SurfaceElement::Whole => write!(f, "`{}`", self.name),
        }
    }
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.depth {
            None => write!(f, "{} overlaps {}", self.first, self.second),
            Some(depth) if self.overlaps => write!(
                f,
                "{} overlaps {} (it is {depth:.2e} m too close)",
                self.first, self.second
            ),
            Some(depth) => write!(
                f,
                "{} is {depth:.2e} m within the contact thickness of {}",
                self.first, self.second
            ),
        }
    }
}

/// All overlaps in `state`: first surfaces that cross, by exact tests, and bodies inside something
/// else, then pairs that are closer
/// than the contact thickness, deepest first. Points of a body that has blocks for one step only overlap what they are
/// inside of; those that are merely close keep their distance, and are left out.
pub fn overlaps(
    model: &Model,
    state: &State,
    rules: &ContactRules,
) -> Result<Vec<Overlap>, DetectError> {
    let found = still(model, state, rules, |d, step| d.offences(step, TOLERANCE))?;
    let surfaces = Surfaces::new(model, state);
    let counts = |o: &&Offence| {
        let sides = [o.first.0, o.second.0].map(|number| has_points(model, number));
        match sides {
            [false, false] => true,
            // Each has a grid of its own: they do not touch.
            [true, true] => false,
            _ => o.overlaps,
        }
    };
    let found = found.iter().filter(counts);
    Ok(found.map(|o| surfaces.name(model, o)).collect())
}

/// Whether a collider is a body of points that has blocks for one step only.
fn has_points(model: &Model, number: u32) -> bool {
    let body = model.bodies.get(number as usize);
    body.is_some_and(|b| b.kind.per_step().is_some())
}

/// Positions of all blocks [m], followed by the points of bodies without blocks, which their colliders follow.
fn with_points(model: &Model, state: &State, colliders: &mut [Collider]) -> Vec<Vec3> {
    let mut x = state.x.clone();
    let mut points = Vec::new();
    for (body, collider) in model.bodies.iter().zip(colliders) {
        let ColliderForm::Body(form) = &mut collider.form else {
            continue;
        };
        if body.kind.per_step().is_none() || !body.blocks.is_empty() {
            continue;
        }
        body.vertices(state, &mut points);
        let first = x.len() as u32;
        x.extend(&points);
        form.points = Points::nodes(first..x.len() as u32);
        form.rest.clone_from(&points);
    }
    x
}

/// Number of pairs of triangles that cross in `state`, by exact tests, and number of triangles that
/// reach into solids.
pub fn crossings(model: &Model, state: &State, rules: &ContactRules) -> Result<usize, DetectError> {
    still(model, state, rules, |d, step| d.intersections(step)).map(|found| found.len())
}

/// Asks a new detector about a state in which nothing moves.
fn still<T>(
    model: &Model,
    state: &State,
    rules: &ContactRules,
    ask: impl FnOnce(&Detector, &DetectStep) -> Result<T, DetectError>,
) -> Result<T, DetectError> {
    let laws = rules.laws.clone();
    let mut list = colliders(model, rules);
    let x = with_points(model, state, &mut list);
    let still = vec![Vec3::zeros(); x.len()];
    let detector = Detector::new(list, laws, DetectConfig::default())?;
    let detector = detector.named(collider_names(model)).sewn(&sewn(model));
    let mut placements = Vec::new();
    place(model, state.time, state.time, &mut placements);
    let step = DetectStep {
        h: 1.0,
        x: &x,
        rotations: &state.rotations,
        v: &still,
        start: &still,
        fixed: &vec![false; x.len()],
        obstacles: &placements,
        previous: &ContactSet::default(),
        held: &[],
    };
    ask(&detector, &step)
}

/// Positions of the vertices of all colliders, and their triangles.
pub(crate) struct Surfaces(Vec<(Vec<Vec3>, Vec<[u32; 3]>)>);

impl Surfaces {
    pub(crate) fn new(model: &Model, state: &State) -> Self {
        let mut all = Vec::new();
        for body in &model.bodies {
            let mut x = Vec::new();
            body.vertices(state, &mut x);
            all.push((x, body.surface.triangles.clone()));
        }
        for obstacle in &model.obstacles {
            all.push(match &obstacle.shape {
                ObstacleShape::Mesh(_) | ObstacleShape::Animated(_) => {
                    let mut x = Vec::new();
                    obstacle.vertices(state.time, &mut x);
                    (x, obstacle.shape.triangles().to_vec())
                }
                ObstacleShape::Solid(_) | ObstacleShape::LevelSet(..) => (Vec::new(), Vec::new()),
            });
        }
        Self(all)
    }

    pub(crate) fn name(&self, model: &Model, offence: &Offence) -> Overlap {
        Overlap {
            first: self.place(model, offence.first),
            second: self.place(model, offence.second),
            depth: offence.depth,
            overlaps: offence.overlaps,
        }
    }

    fn place(&self, model: &Model, (number, element): (u32, SurfaceElement)) -> BodyPart {
        let at = number as usize;
        let name = match model.bodies.get(at) {
            Some(body) => body.name.clone(),
            None => model.obstacles[at - model.bodies.len()].name.clone(),
        };
        let (x, triangles) = &self.0[at];
        let vertices = match element {
            SurfaceElement::Vertex(v) => vec![v],
            SurfaceElement::Edge(e) => e.to_vec(),
            SurfaceElement::Triangle(t) => triangles[t as usize].to_vec(),
            SurfaceElement::Whole => Vec::new(),
        };
        BodyPart {
            name,
            number,
            element,
            corners: vertices.iter().map(|v| x[*v as usize]).collect(),
        }
    }
}
