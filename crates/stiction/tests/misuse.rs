//! Misuse of the library: any calls in any order give an answer or a typed error, and never a panic.
//!
//! `STICTION_LONG=1` tries more.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::{
    prelude::*,
    sample::select,
    test_runner::{Config, TestCaseError},
};
use stiction::{
    Body, Error, Material, Obstacle, Pin, Pose, Probe, Quat, SceneBuilder, Vec3, World,
    bodies::State,
    geometry::{TetMesh, TriMesh},
    sim::Registry,
};

fn config(cases: u32) -> Config {
    let long = std::env::var_os("STICTION_LONG").is_some();
    Config {
        cases: if long { 50 * cases } else { cases },
        failure_persistence: None,
        max_shrink_iters: 200,
        ..Config::default()
    }
}

/// Numbers that programs pass by mistake, and good ones.
fn number() -> impl Strategy<Value = f64> {
    let odd = vec![
        0.0,
        -0.0,
        -1.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1e300,
        -1e300,
        1e-300,
        5e-324,
        1e9,
    ];
    prop_oneof![3 => -2.0..2.0, 1 => select(odd)]
}

fn vector() -> impl Strategy<Value = Vec3> {
    (number(), number(), number()).prop_map(|(x, y, z)| Vec3::new(x, y, z))
}

fn pose() -> impl Strategy<Value = Pose> {
    let turn = prop_oneof![
        vector().prop_map(Quat::from_scaled_axis),
        // Not a rotation at all.
        (vector(), number()).prop_map(|(v, w)| Quat::new_unchecked(
            stiction::math::nalgebra::Quaternion::from_parts(w, v)
        )),
    ];
    (turn, vector()).prop_map(|(rotation, translation)| Pose {
        rotation,
        translation,
    })
}

fn name() -> impl Strategy<Value = &'static str> {
    select(vec![
        "box", "cloth", "hair", "floor", "tray", "height", "", "b\nx",
    ])
}

/// A call between steps.
#[derive(Clone, Debug)]
enum Call {
    Step,
    Until(f64),
    Pose(&'static str, Pose),
    Velocity(&'static str, Vec3, Vec3),
    Nodes(&'static str, usize, Vec3),
    NodeVelocities(&'static str, usize, Vec3),
    Force(&'static str, Vec3),
    Torque(&'static str, Vec3),
    ForceAt(&'static str, Vec3, Vec3),
    MoveTo(&'static str, Pose),
    MoveObstacle(&'static str, Pose),
    Gravity(Vec3),
    Read(&'static str, &'static str),
    Checkpoint,
    Restore,
    /// Columns of the state that are cut to a length.
    Cut(usize, usize),
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        4 => Just(Call::Step),
        1 => select(vec![f64::NAN, -1.0, 0.0, f64::NEG_INFINITY, 0.01]).prop_map(Call::Until),
        1 => (name(), pose()).prop_map(|(n, p)| Call::Pose(n, p)),
        1 => (name(), vector(), vector()).prop_map(|(n, v, w)| Call::Velocity(n, v, w)),
        1 => (name(), 0..30usize, vector()).prop_map(|(n, i, v)| Call::Nodes(n, i, v)),
        1 => (name(), 0..30usize, vector()).prop_map(|(n, i, v)| Call::NodeVelocities(n, i, v)),
        1 => (name(), vector()).prop_map(|(n, v)| Call::Force(n, v)),
        1 => (name(), vector()).prop_map(|(n, v)| Call::Torque(n, v)),
        1 => (name(), vector(), vector()).prop_map(|(n, v, p)| Call::ForceAt(n, v, p)),
        1 => (name(), pose()).prop_map(|(n, p)| Call::MoveTo(n, p)),
        1 => (name(), pose()).prop_map(|(n, p)| Call::MoveObstacle(n, p)),
        1 => vector().prop_map(Call::Gravity),
        1 => (name(), name()).prop_map(|(a, b)| Call::Read(a, b)),
        1 => Just(Call::Checkpoint),
        1 => Just(Call::Restore),
        1 => (0..4usize, 0..3usize).prop_map(|(c, n)| Call::Cut(c, n)),
    ]
}

/// Cloth, a rigid box, a pinned hair and a moving tray.
fn several(method: &str) -> SceneBuilder {
    let hair: [(&str, toml_edit::Value); 4] = [
        ("count", 2.into()),
        ("radius", 0.1.into()),
        ("length", 0.1.into()),
        ("segments", 3.into()),
    ];
    let mut scene = SceneBuilder::new()
        .step(0.01)
        .friction(0.5)
        .method(method)
        .set("method.max_iterations", 100)
        .obstacle(Obstacle::plane("floor", [0.0, 0.0, 1.0]))
        .obstacle(Obstacle::cuboid("tray", [0.3, 0.3, 0.02]).translate([1.0, 0.0, 0.5]))
        .body(Body::rigid_box("box", [0.1, 0.1, 0.1], 1000.0).translate([1.0, 0.0, 0.561]))
        .body(Body::sheet("cloth", [0.2, 0.2], [2, 2], "cotton").translate([0.0, 0.0, 0.01]))
        .material(Material::shell("cotton", 0.2, 1e-3, 1e5, 0.3, 1e-5))
        .probe(Probe::new("height", "centroid").body("cloth").axis("z"));
    if method == "admm" {
        scene = scene
            .body(
                Body::new("rods", "hair")
                    .shape("groom", &hair)
                    .set("material.kind", "rod")
                    .set("material.density", 1300.0)
                    .set("material.radius", 1e-3)
                    .set("material.young_bending", 1e8)
                    .set("material.young_stretch", 1e7)
                    .set("material.poisson", 0.4)
                    .translate([-1.0, 0.0, 1.0]),
            )
            .pin(Pin::all("hair").set("select.roots", true));
    }
    scene
}

fn made(
    world: &mut World,
    call: &Call,
    kept: &mut Option<stiction::Checkpoint>,
) -> Result<(), Error> {
    match call {
        Call::Step => world.step().map(drop),
        Call::Until(end) => {
            let end = world.time() + end;
            world.run_until(end).map(drop)
        }
        Call::Pose(name, pose) => world.body_mut(name)?.set_pose(pose),
        Call::Velocity(name, v, w) => world.body_mut(name)?.set_velocity(*v, *w),
        Call::Nodes(name, n, v) => {
            let mut nodes = world.body(name)?.node_positions();
            if *n < nodes.len() {
                nodes[*n] = *v;
            } else {
                nodes.push(*v);
            }
            world.body_mut(name)?.set_node_positions(&nodes)
        }
        Call::NodeVelocities(name, n, v) => {
            world.body_mut(name)?.set_node_velocities(&vec![*v; *n])
        }
        Call::Force(name, force) => world.body_mut(name)?.set_force(*force),
        Call::Torque(name, torque) => world.body_mut(name)?.set_torque(*torque),
        Call::ForceAt(name, force, at) => world.body_mut(name)?.set_force_at(*force, *at),
        Call::MoveTo(name, pose) => world.body_mut(name)?.move_to(pose),
        Call::MoveObstacle(name, pose) => world.move_obstacle(name, pose),
        Call::Gravity(gravity) => {
            world.set_gravity(*gravity);
            Ok(())
        }
        Call::Read(a, b) => {
            world.contact_force(a, b)?;
            world.probe(a)?;
            world.obstacle(b).map(drop)
        }
        Call::Checkpoint => {
            *kept = Some(world.checkpoint());
            Ok(())
        }
        Call::Restore => kept.as_ref().map_or(Ok(()), |k| world.restore(k)),
        Call::Cut(column, n) => {
            let state = world.simulation_mut().state_mut();
            match column {
                0 => state.x.truncate(*n),
                1 => state.v.truncate(*n),
                2 => state.rotations.truncate(*n),
                _ => state.frames.director.truncate(*n),
            }
            Ok(())
        }
    }
}

fn finite(state: &State) -> bool {
    let turned = state
        .rotations
        .iter()
        .all(|q| q.coords.iter().all(|c| c.is_finite()));
    state.first_non_finite().is_none() && turned
}

/// A failed call changes nothing; a step that succeeds leaves numbers.
fn any_order(method: &str, calls: &[Call]) -> Result<(), TestCaseError> {
    let mut world = several(method).build().unwrap();
    let mut kept = None;
    for call in calls {
        let before = world.simulation().state().clone();
        match made(&mut world, call, &mut kept) {
            Ok(()) if matches!(call, Call::Step) => {
                prop_assert!(finite(world.simulation().state()), "after {call:?}");
            }
            Ok(()) => {}
            Err(error) => {
                prop_assert!(!error.to_string().is_empty());
                if !matches!(call, Call::Until(_)) {
                    let same = format!("{before:?}") == format!("{:?}", world.simulation().state());
                    prop_assert!(same, "{call:?} failed and changed the state: {error}");
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn calls_in_any_order_with_any_numbers_never_panic(
        method in select(vec!["admm", "nodal", "smooth"]),
        calls in prop::collection::vec(call(), 1..12),
    ) {
        any_order(method, &calls)?;
    }
}

/// A small body of any kind.
#[derive(Clone, Debug)]
struct Small {
    kind: usize,
    size: [f64; 3],
    cells: u32,
    at: [f64; 3],
    velocity: [f64; 3],
    turn: f64,
    young: f64,
    density: f64,
}

fn small() -> impl Strategy<Value = Small> {
    let size = prop_oneof![4 => 0.02..0.3, 1 => number()];
    let at = prop_oneof![6 => 0.0..0.4, 1 => number()];
    let speed = prop_oneof![4 => -2.0..2.0, 1 => number()];
    let density = prop_oneof![4 => 100.0..2000.0, 1 => number()];
    let young = prop_oneof![4 => 1e4..1e6, 1 => number()];
    (
        0..6usize,
        [size.clone(), size.clone(), size],
        0..3u32,
        [at.clone(), at.clone(), at],
        [speed.clone(), speed.clone(), speed],
        (number(), young, density),
    )
        .prop_map(
            |(kind, size, cells, at, velocity, (turn, young, density))| Small {
                kind,
                size,
                cells,
                at,
                velocity,
                turn,
                young,
                density,
            },
        )
}

impl Small {
    fn body(&self, name: &str) -> Body {
        let Self { size, cells, .. } = *self;
        let body = match self.kind {
            0 => Body::rigid_box(name, size, self.density),
            1 => Body::sheet(name, [size[0], size[1]], [cells, cells + 1], name),
            2 => Body::solid_box(name, size, [cells, 1, 1], name),
            3 => Body::new("rods", name)
                .shape(
                    "groom",
                    &[
                        ("count", i64::from(cells).into()),
                        ("radius", size[0].into()),
                        ("length", size[1].into()),
                        ("segments", 3.into()),
                    ],
                )
                .set("material.kind", "rod")
                .set("material.density", self.density)
                .set("material.radius", 0.1 * size[2])
                .set("material.young_bending", self.young)
                .set("material.young_stretch", self.young)
                .set("material.poisson", 0.4),
            4 => Body::new("rigid", name)
                .triangles(self.mesh())
                .set("material.kind", "rigid")
                .set("material.density", self.density),
            _ => Body::new("solid", name)
                .tetrahedra(TetMesh {
                    positions: self.mesh().positions,
                    tets: vec![[0, 1, 2, self.cells + 1]],
                })
                .material(name),
        };
        body.translate(self.at)
            .velocity(self.velocity)
            .rotate([1.0, 1.0, 0.0], self.turn)
    }

    /// A tetrahedron, sometimes with an index that does not exist.
    fn mesh(&self) -> TriMesh {
        let [x, y, z] = self.size;
        TriMesh {
            positions: vec![Vec3::zeros(), Vec3::x() * x, Vec3::y() * y, Vec3::z() * z],
            triangles: vec![[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 2 + self.cells]],
        }
    }

    fn material(&self, name: &str) -> Material {
        match self.kind {
            1 => Material::shell(name, 1e-3 * self.density, 1e-3, self.young, 0.3, 1e-5),
            _ => Material::solid(name, self.density, self.young, 0.3),
        }
    }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn small_scenes_of_any_bodies_step_or_are_refused(
        all in prop::collection::vec(small(), 1..4),
        method in select(Registry::default().names()),
        thickness in prop_oneof![4 => 1e-4..5e-3, 1 => number()],
        step in prop_oneof![4 => 1e-4..2e-2, 1 => number()],
        friction in prop_oneof![4 => 0.0..1.0, 1 => number()],
    ) {
        let mut scene = SceneBuilder::new()
            .step(step)
            .method(method)
            .friction(friction)
            .thickness(thickness)
            .obstacle(Obstacle::plane("floor", [0.0, 0.0, 1.0]));
        for (i, one) in all.iter().enumerate() {
            let name = format!("body-{i}");
            scene = scene.body(one.body(&name)).material(one.material(&name));
        }
        match scene.build() {
            Err(error) => prop_assert!(!error.to_string().is_empty()),
            Ok(mut world) => {
                // Long enough for a fall of many to meet the floor.
                for _ in 0..3 {
                    match world.step() {
                        Ok(_) => prop_assert!(finite(world.simulation().state())),
                        Err(error) => {
                            prop_assert!(!error.to_string().is_empty());
                            break;
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_state_of_another_model_is_refused_and_a_checkpoint_cures_it() {
    let mut world = several("admm").build().unwrap();
    let good = world.checkpoint();
    world.simulation_mut().state_mut().x.pop();
    let error = world.step().map(drop).unwrap_err();
    assert!(matches!(error, Error::Step(_)), "{error}");
    assert!(error.to_string().contains("positions"), "{error}");
    world.restore(&good).unwrap();
    world.step().unwrap();
    // A checkpoint that was made of the broken state is not taken.
    world.simulation_mut().state_mut().v.push(Vec3::zeros());
    let broken = world.checkpoint();
    assert!(matches!(world.restore(&broken), Err(Error::OtherScene)));
    world.restore(&good).unwrap();
    world.step().unwrap();
}

#[test]
fn bodies_whose_meshes_had_one_name_keep_their_own() {
    let tetrahedron = |size: f64| TriMesh {
        positions: [Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z()]
            .map(|p| p * size)
            .to_vec(),
        triangles: vec![[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]],
    };
    let body = |size: f64| {
        let body = Body::new("rigid", "part").triangles(tetrahedron(size));
        body.set("material.kind", "rigid")
            .set("material.density", 600.0)
    };
    let world = SceneBuilder::new()
        .body(body(0.1))
        .body(body(0.2).set("name", "large").translate([1.0, 0.0, 0.0]))
        .build()
        .unwrap();
    // ρ a³ / 6.
    for (name, expected) in [("part", 0.1), ("large", 0.8)] {
        let mass = world.body(name).unwrap().mass();
        assert!((mass - expected).abs() < 1e-12, "{name}: {mass}");
    }
}

#[test]
fn lists_that_were_set_as_values_keep_what_is_added() {
    let entry = "[{ name = \"a\", kind = \"rigid\", shape = { type = \"box\", size = [0.1, 0.1, 0.1] }, \
                 material = { kind = \"rigid\", density = 500 } }]";
    let entry: toml_edit::Value = entry.parse().unwrap();
    let more = Body::rigid_box("b", [0.1, 0.1, 0.1], 500.0).translate([1.0, 0.0, 0.0]);
    let world = SceneBuilder::new()
        .set("body", entry)
        .body(more)
        .build()
        .unwrap();
    assert_eq!(world.bodies().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn meshes_in_memory_with_vertices_that_are_not_there_are_refused() {
    let mut surface = TriMesh {
        positions: vec![Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z()],
        triangles: vec![[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 4]],
    };
    let tets = TetMesh {
        positions: surface.positions.clone(),
        tets: vec![[0, 1, 2, u32::MAX]],
    };
    let solid = Body::new("solid", "a").tetrahedra(tets).material("rubber");
    let rigid = |mesh: &TriMesh| {
        let body = Body::new("rigid", "a").triangles(mesh.clone());
        body.set("material.kind", "rigid")
            .set("material.density", 500.0)
    };
    for body in [rigid(&surface), solid] {
        let error = SceneBuilder::new()
            .body(body)
            .build()
            .map(drop)
            .unwrap_err();
        assert!(error.to_string().contains("vertices"), "{error}");
    }
    let wall = SceneBuilder::new().obstacle(Obstacle::triangles("wall", surface.clone()));
    let wall = wall.body(Body::rigid_box("a", [0.1, 0.1, 0.1], 500.0));
    assert!(matches!(wall.build(), Err(Error::Scene(_))));
    surface.triangles.pop();
    surface.positions[0].x = f64::NAN;
    let error = SceneBuilder::new()
        .body(rigid(&surface))
        .build()
        .map(drop)
        .unwrap_err();
    assert!(error.to_string().contains("finite"), "{error}");
}

#[test]
fn an_entry_is_one_table() {
    let scene = || SceneBuilder::new().body(Body::rigid_box("a", [0.1, 0.1, 0.1], 500.0));
    assert!(
        scene()
            .entry_toml("probe", "name = \"v\", type = \"speed\", body = \"a\"")
            .is_ok()
    );
    for more in ["name = \"v\" }\nname = { x = 1", "x = 1 }, { y = 2", "x = "] {
        assert!(scene().entry_toml("probe", more).is_err(), "{more}");
    }
}

#[test]
fn paths_without_end_are_refused_with_the_scene() {
    for path in [
        "a.".repeat(100_000) + "b",
        ".".repeat(100_000),
        String::new(),
        "..".to_owned(),
    ] {
        let scene =
            SceneBuilder::new().body(Body::rigid_box("a", [0.1, 0.1, 0.1], 500.0).set(&path, 1));
        let error = scene.set(&path, 1).build().map(drop).unwrap_err();
        assert!(matches!(error, Error::Scene(_)), "{error}");
        assert!(error.to_string().len() < 1_000_000);
    }
}
