//! Bodies that start within the contact thickness are not launched: every kind of body on a floor and on its
//! twin, every method with contact, time steps from 1e-5 to 1e-2 s, overlaps up to the whole thickness. Every
//! kind on every other one is tried at half the thickness and 1e-5 s, where the gain would be largest, and with
//! `STICTION_LONG=1` at all time steps and overlaps.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use stiction_bodies::{
    Model, State,
    builder::{BodySpec, Builder, GranularSpec},
    energy,
    material::{Damping, SolidLaw, SolidMaterial},
    mpm::{Hencky, PointLaw, Yield},
    rod::{Natural, RodMaterial, Twist, shear_modulus},
    solid::{FixedCorotated, Lame},
};
use stiction_contact::detect::{Laws, PairLaw};
use stiction_geometry::{
    EmbeddingConfig, Plant, PlantPart, PlantSection, Strands,
    shapes::{BoxSolid, BoxSurface, TetPattern},
};
use stiction_math::{Quat, Vec3};
use stiction_sim::{
    Method, Simulation, Smooth,
    admm::{self, admm},
    attachment,
    colliders::{ContactRules, material_names},
    linearised::ElasticSolver,
    methods::{cr, nodal},
    registry::MethodConfig,
    smooth,
};

const THICKNESS: f64 = 1e-3;
/// The size of the bodies [m]: m g times it is the scale of their energy.
const SIZE: f64 = 0.1;
const ROD_RADIUS: f64 = 2e-3;
const PARTICLE_RADIUS: f64 = 5e-3;
/// Points of a granular body, which fills one cell.
const PER_CELL: u32 = 16;

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Cloth,
    Block,
    Embedded,
    Rigid,
    Rods,
    Frames,
    Particles,
    /// Material points, elastic and of sand.
    Jelly,
    Sand,
}

const KINDS: [What; 9] = [
    What::Cloth,
    What::Block,
    What::Embedded,
    What::Rigid,
    What::Rods,
    What::Frames,
    What::Particles,
    What::Jelly,
    What::Sand,
];

/// Kinds of which only one method holds contacts.
const POINTS: [What; 2] = [What::Jelly, What::Sand];

#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Admm,
    Splitting,
    Smooth,
    Nodal,
    Cr,
    Attachment,
}

/// The support of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Below {
    Floor,
    /// A free body, far from everything else.
    Body(What),
}

/// Time steps [s].
const STEPS: [f64; 4] = [1e-5, 1e-4, 1e-3, 1e-2];
/// Overlaps as fractions of the thickness.
const OVERLAPS: [f64; 4] = [0.0, 0.01, 0.5, 1.0];

/// Pairs of which other features are closest in the third step than were in the first two, with the splitting integrator:
/// contacts that had been found by their motion kept no record of the overlap, which was removed at once.
const LATE: [(What, Below); 2] = [
    (What::Block, Below::Body(What::Embedded)),
    (What::Embedded, Below::Body(What::Block)),
];

/// Distance from the centreline or centre of a body to its surface [m].
fn radius(what: What) -> f64 {
    match what {
        What::Rods => ROD_RADIUS,
        What::Particles => PARTICLE_RADIUS,
        // Half of the spacing, see `Builder::granular`.
        What::Jelly | What::Sand => 0.5 * SIZE / f64::from(PER_CELL).cbrt(),
        _ => 0.0,
    }
}

/// Height of a body, from its lowest point to its highest [m].
fn height(what: What) -> f64 {
    match what {
        What::Cloth | What::Frames => 0.0,
        What::Block | What::Embedded | What::Rigid | What::Jelly | What::Sand => SIZE,
        What::Rods | What::Particles => 2.0 * radius(what),
    }
}

/// A body whose surface is closer to what is below it than the thickness by `overlap` [m].
fn scene(what: What, below: Below, overlap: f64) -> (Model, State) {
    let apart = THICKNESS - overlap;
    match below {
        Below::Floor => {
            let mut b = Builder::new(common::GRAVITY, None);
            b.contact(true);
            b.obstacle(common::floor());
            add(&mut b, "body", what, apart);
            let (model, mut state) = b.finish().unwrap();
            stand(&mut state, what, apart);
            (model, state)
        }
        Below::Body(low) => {
            let mut b = Builder::new(Vec3::zeros(), None);
            b.contact(true);
            let place = height(low) + apart;
            // Granular bodies come last.
            if POINTS.contains(&low) {
                add(&mut b, "high", what, place);
                add(&mut b, "low", low, 0.0);
            } else {
                add(&mut b, "low", low, 0.0);
                add(&mut b, "high", what, place);
            }
            let (model, mut state) = b.finish().unwrap();
            stand(&mut state, what, place);
            hang(&mut state, low, height(low));
            (model, state)
        }
    }
}

/// Raises points so that the lowest of them touches the height `z` [m].
fn stand(state: &mut State, what: What, z: f64) {
    if POINTS.contains(&what) {
        raise(state, |lowest, _| z + radius(what) - lowest);
    }
}

/// Raises points so that the highest of them touches the height `z` [m].
fn hang(state: &mut State, what: What, z: f64) {
    if POINTS.contains(&what) {
        raise(state, |_, highest| z - radius(what) - highest);
    }
}

/// Raises points by a displacement that depends on the lowest and the highest of them [m].
fn raise(state: &mut State, by: impl Fn(f64, f64) -> f64) {
    let x = state.columns[0].get_mut("position");
    let heights = x.iter().skip(2).step_by(3);
    let (low, high) = heights.fold((f64::MAX, f64::MIN), |(low, high), z| {
        (low.min(*z), high.max(*z))
    });
    let by = by(low, high);
    x.iter_mut().skip(2).step_by(3).for_each(|z| *z += by);
}

/// Adds a body whose lowest point is at the height `z` [m].
fn add(b: &mut Builder, name: &str, what: What, z: f64) {
    let lift = |middle: f64| Vec3::new(0.0, 0.0, z + middle);
    let (same, unit) = (Quat::identity(), Vec3::repeat(SIZE));
    let spec = BodySpec::new(name);
    match what {
        What::Cloth => {
            let mut mesh = common::sheet(3);
            mesh.transform(&same, &unit, &lift(0.0));
            b.shell(spec, mesh, &common::cloth()).unwrap();
        }
        What::Block => {
            let block = BoxSolid {
                size: [1.0; 3],
                cells: [2; 3],
                pattern: TetPattern::Kuhn,
            };
            let mut mesh = block.build().unwrap();
            mesh.transform(&same, &unit, &lift(0.5 * SIZE));
            b.solid(spec, mesh, &common::rubber()).unwrap();
        }
        What::Rigid | What::Embedded => {
            let (size, cells) = ([1.0; 3], [1; 3]);
            let mut mesh = BoxSurface { size, cells }.build().unwrap();
            mesh.transform(&same, &unit, &lift(0.5 * SIZE));
            if what == What::Rigid {
                b.rigid(spec, &mesh, 500.0, Damping::default()).unwrap();
                return;
            }
            let lattice = EmbeddingConfig::new(0.6 * SIZE).build(&mesh).unwrap();
            b.embedded(spec, &mesh, lattice, &common::rubber()).unwrap();
        }
        What::Rods => {
            let radius = ROD_RADIUS;
            let node = |i: u32| lift(radius) + Vec3::x() * (SIZE * f64::from(i) / 6.0);
            let material = RodMaterial {
                density: 1000.0,
                young: 1e7,
                stretch: 1e7,
                shear: shear_modulus(1e7, 0.3),
                radii: [radius; 2],
                natural: Natural::Given,
                twist: Twist::Dynamic,
                damping: Damping::default(),
            };
            let strands = Strands::single((0..7).map(node).collect());
            b.rods(spec, strands, &material, &Vec3::z()).unwrap();
        }
        What::Frames => {
            let material = SolidMaterial {
                density: 300.0,
                young: 1e6,
                poisson: 0.3,
                law: SolidLaw::Corotated,
                damping: Damping::default(),
            };
            // The surface of a flat section is its middle.
            let strip = PlantPart {
                points: vec![lift(0.0), lift(0.0) + Vec3::x() * SIZE],
                section: PlantSection::Flat {
                    widths: vec![0.3 * SIZE],
                    thickness: 0.05 * SIZE,
                },
                up: Vec3::z(),
                frames: [4, 1],
                cells: [2, 4],
                stiffness: 1.0,
                parent: None,
            };
            let parts = vec![strip];
            b.frames(spec, &Plant { parts }, &material).unwrap();
        }
        What::Jelly | What::Sand => {
            let mesh = BoxSurface {
                size: [SIZE; 3],
                cells: [1; 3],
            };
            let lame = Lame::new(1e5, 0.3).unwrap();
            let law = match what {
                What::Jelly => PointLaw::Elastic(FixedCorotated { lame }),
                _ => {
                    let angle = 30f64.to_radians();
                    PointLaw::Plastic(Hencky::new(lame), Yield::sand(angle).unwrap())
                }
            };
            let granular = GranularSpec {
                law,
                density: 1000.0,
                cell: SIZE,
                per_cell: PER_CELL,
                damping: Damping::default(),
            };
            b.granular(spec, &mesh.build().unwrap(), &granular).unwrap();
        }
        What::Particles => {
            let radius = PARTICLE_RADIUS;
            let points = vec![lift(radius), lift(radius) + Vec3::x() * 0.05];
            b.particles(spec, points, radius, 1000.0, Damping::default())
                .unwrap();
        }
    }
}

/// The method; `safe` as scenes have it, without which surfaces may begin in touch.
fn method(how: How, model: &Model, safe: bool) -> Box<dyn Method> {
    let count = material_names(model).len() as u32;
    let mu = 0.5;
    let rules = ContactRules {
        thickness: THICKNESS,
        laws: Laws::new(count, |_, _| PairLaw {
            mu,
            ..PairLaw::default()
        }),
    };
    match how {
        How::Admm => {
            let config = admm::Config {
                safe,
                ..admm::Config::default()
            };
            Box::new(admm(config, rules))
        }
        How::Splitting => {
            let mut config = admm::Config {
                integrator: ElasticSolver::Splitting,
                safe,
                ..admm::Config::default()
            };
            config.solver.polish = None;
            Box::new(admm(config, rules))
        }
        How::Smooth => Box::new(Smooth::new(smooth::Config::default(), rules)),
        How::Nodal => {
            let config = nodal::Config {
                safe,
                ..nodal::Config::default()
            };
            config.build(rules)
        }
        How::Cr => {
            let config = cr::Config {
                safe,
                ..cr::Config::default()
            };
            config.build(rules)
        }
        How::Attachment => attachment::Config::default().build(rules),
    }
}

fn energy(sim: &Simulation) -> f64 {
    let (model, state) = (sim.model(), sim.state());
    let of = |body| {
        energy::kinetic_energy(body, state)
            + energy::elastic_energy(body, state)
            + energy::potential_energy(model, body, state)
    };
    model.bodies.iter().map(of).sum()
}

/// Kinds that a method supports; those that it refuses are `refused`, and points except for the method of their own.
fn supported(how: How, refused: &[What]) -> Vec<What> {
    let supports = |what: &What| {
        let (model, _) = scene(*what, Below::Floor, 0.0);
        let known = method(how, &model, true).needs(&model).is_ok();
        let refused = refused.contains(what) || how != How::Attachment && POINTS.contains(what);
        assert_ne!(known, refused, "{how:?}, {what:?}");
        known
    };
    KINDS.into_iter().filter(supports).collect()
}

/// The energy grows by what it takes to lift a body out of the overlap with the floor, and by no more than
/// a millionth of m g times its size besides, at any time step. (A box at half the thickness gained
/// 2,500 times its energy at 1e-5 s when overlaps were taken out within a step.)
fn grid(how: How, refused: &[What]) {
    pairs(how, refused, false);
}

/// All pairs of bodies without or with a granular one.
fn pairs(how: How, refused: &[What], points: bool) {
    let long = std::env::var_os("STICTION_LONG").is_some();
    let kinds = supported(how, refused);
    let every: Vec<(f64, f64)> = STEPS
        .into_iter()
        .flat_map(|h| OVERLAPS.map(|part| (h, part)))
        .collect();
    let largest = [(STEPS[0], 0.5)];
    // Points take the most time.
    let halves = STEPS.map(|h| (h, 0.5));
    let largest_and_late = [largest[0], (STEPS[3], OVERLAPS[3])];
    let mut wrong = Vec::new();
    for &what in &kinds {
        let others = kinds.iter().map(|other| Below::Body(*other));
        for below in others.chain([Below::Floor]) {
            let alike = below == Below::Floor || below == Below::Body(what);
            let other = match below {
                Below::Body(other) => POINTS.contains(&other),
                Below::Floor => false,
            };
            // Each granular body has a grid of its own: they do not touch.
            let pair = [POINTS.contains(&what), other];
            if pair == [true, true] || pair.contains(&true) != points {
                continue;
            }
            let tried: &[(f64, f64)] = if long || alike && !POINTS.contains(&what) {
                &every
            } else if alike {
                &halves
            } else if how == How::Splitting && LATE.contains(&(what, below)) {
                &largest_and_late
            } else {
                &largest
            };
            wrong.extend(
                tried
                    .iter()
                    .filter_map(|(h, part)| no_energy(how, what, below, *h, *part)),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Says how much energy a start adds, if it adds any.
fn no_energy(how: How, what: What, below: Below, h: f64, part: f64) -> Option<String> {
    // Sheets that coincide with their twins have no side on which they are: one that is hardly apart has.
    let part = match below {
        Below::Body(_) => part.min(0.999),
        Below::Floor => part,
    };
    let (model, state) = scene(what, below, part * THICKNESS);
    // At the whole thickness surfaces touch, which a safe step refuses.
    let method = method(how, &model, part < 1.0);
    let weight: f64 = model.bodies.iter().map(|b| b.total_mass() * 9.81).sum();
    let mut sim = Simulation::new(model, state, method, h).unwrap();
    let before = energy(&sim);
    for step in 1..=40 {
        let at =
            format!("{how:?}, {what:?} on {below:?}, h {h}, {part} of the thickness, step {step}");
        if let Err(error) = sim.step() {
            return Some(format!("{at}: {error}"));
        }
        // An overlap is taken out at most as fast as the distance at which the two touch in five seconds;
        // `smooth` and `attachment` do not take it out.
        let speed = match (how, below) {
            (How::Smooth | How::Attachment, _) | (_, Below::Body(_)) => 0.0,
            _ => (THICKNESS + radius(what)) / 5.0,
        };
        let lifted = weight * (speed * h * f64::from(step)).min(part * THICKNESS);
        let added = energy(&sim) - before - lifted;
        let scale = weight * SIZE;
        if added > 1e-6 * scale {
            return Some(format!("{at}: {added:e} J of {scale:e}"));
        }
    }
    None
}

#[test]
fn overlaps_within_the_thickness_add_no_energy_with_admm() {
    grid(How::Admm, &[]);
}

#[test]
fn overlaps_within_the_thickness_add_no_energy_with_the_splitting_integrator() {
    grid(How::Splitting, &[What::Rods, What::Frames]);
}

#[test]
fn overlaps_within_the_thickness_add_no_energy_with_smooth() {
    grid(How::Smooth, &[What::Rods, What::Particles]);
}

#[test]
fn overlaps_within_the_thickness_add_no_energy_with_nodal() {
    grid(How::Nodal, &[]);
}

#[test]
fn overlaps_within_the_thickness_add_no_energy_with_cr() {
    grid(How::Cr, &[]);
}

#[test]
fn overlaps_within_the_thickness_add_no_energy_with_attachment() {
    grid(How::Attachment, &[What::Rods, What::Particles]);
}

#[test]
fn overlaps_of_granular_bodies_within_the_thickness_add_no_energy() {
    pairs(How::Attachment, &[What::Rods, What::Particles], true);
}
