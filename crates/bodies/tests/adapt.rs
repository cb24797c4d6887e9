//! A change of topology keeps mass, momenta, stretching energy and material points.
#![allow(clippy::unwrap_used)]

use stiction_bodies::{
    Body, BodyKind, Model, State, Stencil,
    adapt::{
        AdaptError, Adaptation, MeshChange, Topology, TopologyChange, TriangleOverlap, WeightRows,
    },
    builder::{Anchor, BodySpec, Builder, Rooting},
    energy::{
        angular_momentum, attachment_energy, elastic_energy, kinetic_energy, momentum,
        volume_energy,
    },
    material::{BendingLaw, Damping, MassKind, MembraneLaw, RestAngles, ShellMaterial},
    motion::Motion,
    rod::{Natural, RodMaterial, Twist},
    volume::{Region, VolumeLaw},
};
use stiction_geometry::{
    CHILDREN, Strands, TriMesh,
    shapes::{BoxSurface, Sheet, SheetPattern},
};
use stiction_math::{Mat3, Quat, Vec3};

fn cloth(density: f64) -> ShellMaterial {
    ShellMaterial {
        thickness: 1e-3,
        area_density: density,
        membrane: MembraneLaw::StVk {
            young: 1e5,
            poisson: 0.3,
        },
        bending: BendingLaw::None,
        rest_angles: RestAngles::Mesh,
        damping: Damping::default(),
    }
}

fn sheet(pattern: SheetPattern) -> TriMesh {
    Sheet {
        size: [1.0, 0.7],
        cells: [4, 3],
        pattern,
    }
    .build()
    .unwrap()
}

/// Two patches of different weight, with a mass matrix of the given kind, between a rigid box and
/// another sheet, so that its blocks are not the first and others follow.
fn world(mass: MassKind) -> (Builder, usize) {
    let mut b = Builder::new(Vec3::new(0.0, 0.0, -9.81), None);
    let mut cube = BoxSurface {
        size: [0.2, 0.2, 0.2],
        cells: [1, 1, 1],
    }
    .build()
    .unwrap();
    let up = Vec3::new(0.0, 0.0, 0.6);
    cube.transform(&Quat::identity(), &Vec3::repeat(1.0), &up);
    b.rigid(BodySpec::new("box"), &cube, 500.0, Damping::default())
        .unwrap();
    let mesh = sheet(SheetPattern::Irregular {
        jitter: 0.8,
        seed: 3,
    });
    let heavy = |t: &[u32; 3]| u32::from(mesh.positions[t[0] as usize].x > 0.0);
    let of: Vec<u32> = mesh.triangles.iter().map(heavy).collect();
    let spec = BodySpec {
        mass,
        velocity: Vec3::new(0.3, -0.2, 0.1),
        angular_velocity: Vec3::new(2.0, -1.0, 3.0),
        ..BodySpec::new("cloth")
    };
    let body = b
        .patched_shell(spec, mesh, &[cloth(0.2), cloth(1.1)], &of)
        .unwrap();
    let mut other = sheet(SheetPattern::Regular);
    other.transform(
        &Quat::identity(),
        &Vec3::repeat(1.0),
        &Vec3::new(0.0, 0.0, -0.5),
    );
    b.shell(BodySpec::new("other"), other, &cloth(0.1)).unwrap();
    (b, body)
}

/// Bends, stretches and stirs the cloth.
fn stir(model: &Model, state: &mut State) {
    let range = model.body("cloth").unwrap().blocks.clone();
    for i in range {
        let x = state.x[i];
        state.x[i] = Vec3::new(
            1.1 * x.x + 0.05 * x.y,
            0.9 * x.y,
            x.z + 0.1 * (3.0 * x.x).sin(),
        );
        state.v[i] += Vec3::new(x.y * x.y, 0.3 * x.x, (5.0 * x.x * x.y).cos());
    }
}

fn refined(model: &Model, body: usize) -> (Model, TopologyChange) {
    let change = MeshChange::refine(model, body).unwrap();
    let change = TopologyChange::new(model, vec![change]).unwrap();
    let after = Topology::after(model, &change).apply(model).unwrap();
    (after, change)
}

#[test]
fn mass_and_momenta_are_kept() {
    for mass in [MassKind::Lumped, MassKind::Consistent] {
        let (builder, body) = world(mass);
        let (mut model, mut state) = builder.finish().unwrap();
        stir(&model, &mut state);
        for _ in 0..2 {
            let (after, change) = refined(&model, body);
            let adaptation = Adaptation {
                before: &model,
                after: &after,
                change: &change,
            };
            let next = adaptation.state(&state);
            assert_eq!(next.x.len(), after.blocks());
            assert_eq!(after.generation, model.generation + 1);
            for (a, b) in model.bodies.iter().zip(&after.bodies) {
                let (m, n) = (a.total_mass(), b.total_mass());
                assert!((m - n).abs() <= 1e-12 * m, "{m} {n}");
                let scale = (2.0 * m * kinetic_energy(a, &state)).sqrt().max(1e-300);
                let (p, q) = (momentum(a, &state), momentum(b, &next));
                assert!((p - q).norm() <= 1e-12 * scale, "{p} {q}");
                let (k, l) = (angular_momentum(a, &state), angular_momentum(b, &next));
                assert!((k - l).norm() <= 1e-12 * scale, "{k} {l}");
            }
            // A consistent mass integrates what is interpolated exactly: its kinetic energy stays.
            if mass == MassKind::Consistent {
                let [a, b] = [(&model, &state), (&after, &next)]
                    .map(|(m, s)| kinetic_energy(&m.bodies[body], s));
                assert!((a - b).abs() <= 1e-12 * a, "{a} {b}");
            }
            // Momenta of an earlier time are carried likewise.
            let d = |m: &Model, s: &State| -> Vec<Vec3> {
                let b = &m.bodies[body];
                let BodyKind::Deformable(soft) = &b.kind else {
                    return Vec::new();
                };
                let v = &s.v[b.blocks.clone()];
                (0..v.len())
                    .map(|i| soft.mass.row(&soft.pattern, v, i))
                    .collect()
            };
            let mut p = state.v.clone();
            p[model.bodies[body].blocks.clone()].copy_from_slice(&d(&model, &state));
            let carried = adaptation.momenta(&state.x, &p);
            let expected = d(&after, &next);
            let range = after.bodies[body].blocks.clone();
            for (a, b) in carried[range].iter().zip(&expected) {
                assert!((a - b).norm() < 1e-12, "{a} {b}");
            }
            (model, state) = (after, next);
        }
    }
}

#[test]
fn interpolation_alone_would_change_the_angular_momentum_of_lumped_masses() {
    let (builder, body) = world(MassKind::Lumped);
    let (model, mut state) = builder.finish().unwrap();
    stir(&model, &mut state);
    let (after, change) = refined(&model, body);
    let adaptation = Adaptation {
        before: &model,
        after: &after,
        change: &change,
    };
    let mut plain = adaptation.state(&state);
    plain.v = adaptation.interpolated(&state.v);
    let (p, q) = (
        momentum(&model.bodies[body], &state),
        momentum(&after.bodies[body], &plain),
    );
    assert!((p - q).norm() <= 1e-12 * p.norm());
    let (k, l) = (
        angular_momentum(&model.bodies[body], &state),
        angular_momentum(&after.bodies[body], &plain),
    );
    assert!((k - l).norm() > 1e-3 * k.norm(), "{k} {l}");
}

#[test]
fn stretching_keeps_its_energy() {
    let (builder, body) = world(MassKind::Lumped);
    let (model, mut state) = builder.finish().unwrap();
    stir(&model, &mut state);
    let (after, change) = refined(&model, body);
    let adaptation = Adaptation {
        before: &model,
        after: &after,
        change: &change,
    };
    let next = adaptation.state(&state);
    for (a, b) in model.bodies.iter().zip(&after.bodies) {
        let (e, f) = (elastic_energy(a, &state), elastic_energy(b, &next));
        assert!((e - f).abs() <= 1e-12 * e, "{}: {e} {f}", a.name);
    }
    assert!(elastic_energy(&model.bodies[body], &state) > 1e-3);
}

/// The energy of linear triangles on a smooth deformation converges with h²: from one refinement of
/// the coarse model to the next, the difference to the energy of the smooth shape falls by 4.
#[test]
fn refined_terms_are_those_of_the_finer_mesh() {
    let (builder, body) = world(MassKind::Lumped);
    let (mut model, _) = builder.finish().unwrap();
    let mut energies = Vec::new();
    for _ in 0..4 {
        let cloth = &model.bodies[body];
        let mut state = State {
            x: vec![Vec3::zeros(); model.blocks()],
            v: vec![Vec3::zeros(); model.blocks()],
            ..State::default()
        };
        for (i, x) in cloth.blocks.clone().zip(cloth.rest()) {
            state.x[i] = Vec3::new(x.x, x.y, 0.1 * (2.0 * x.x).sin() * (x.y + 1.0));
        }
        energies.push(elastic_energy(cloth, &state));
        model = refined(&model, body).0;
    }
    let ratio = (energies[1] - energies[2]) / (energies[2] - energies[3]);
    assert!((3.2..5.0).contains(&ratio), "{energies:?} {ratio}");
}

#[test]
fn pins_attachments_roots_volumes_and_points_stay_on_their_material() {
    let (mut b, body) = world(MassKind::Lumped);
    // A closed pillow around which later blocks are renumbered.
    let mut pillow = BoxSurface {
        size: [0.2, 0.2, 0.2],
        cells: [2, 2, 2],
    }
    .build()
    .unwrap();
    let aside = Vec3::new(2.0, 0.0, 0.0);
    pillow.transform(&Quat::identity(), &Vec3::repeat(1.0), &aside);
    let pillow = b
        .shell(BodySpec::new("pillow"), pillow, &cloth(0.3))
        .unwrap();
    let law = VolumeLaw::Quadratic { compression: 1e-5 };
    b.volume("air", pillow, Region::Enclosed, law, 100.0)
        .unwrap();
    let strands = Strands {
        starts: vec![0, 4, 8],
        points: (0..8)
            .map(|i| {
                let x = if i < 4 { -0.21 } else { 0.13 };
                Vec3::new(x, 0.05, 0.02 * f64::from(i % 4))
            })
            .collect(),
    };
    let material = RodMaterial {
        density: 1300.0,
        radii: [1e-3, 1e-3],
        young: 1e8,
        stretch: 1e7,
        shear: 4e7,
        damping: Damping::default(),
        natural: Natural::Given,
        twist: Twist::Dynamic,
    };
    let hair = b
        .rods(BodySpec::new("hair"), strands, &material, &Vec3::y())
        .unwrap();
    b.root(hair, body, &Rooting::default()).unwrap();
    b.pin(hair, &[3], None).unwrap();
    // The whole rim at x = −0.5, and one more node with its own motion.
    let rest = b.model().bodies[body].rest().to_vec();
    let rim: Vec<u32> = (0..rest.len() as u32)
        .filter(|i| (rest[*i as usize].x + 0.5).abs() < 1e-9)
        .collect();
    assert_eq!(rim.len(), 4);
    b.pin(body, &rim, Some(Motion::default())).unwrap();
    let inner = (0..rest.len() as u32).find(|i| (rest[*i as usize].x + 0.25).abs() < 0.1);
    b.pin(body, &[inner.unwrap()], None).unwrap();
    b.pin(0, &[], None).unwrap();
    let near = |body, x, y, z| Anchor::Body {
        body,
        near: Vec3::new(x, y, z),
    };
    for (a, c) in [
        (near(body, 0.31, 0.12, 0.0), near(0, 0.0, 0.0, 0.6)),
        (near(body, 0.4, -0.3, 0.0), near(body, -0.33, 0.2, 0.0)),
        (near(2, 0.1, 0.1, -0.5), near(body, 0.11, -0.21, 0.0)),
        (near(pillow, 2.1, 0.03, 0.04), near(hair, 0.13, 0.05, 0.06)),
    ] {
        b.attach(&a, &c, 100.0, 0.1, 0.01).unwrap();
    }
    let mut tracked = Vec::new();
    for (x, y) in [(0.07, 0.11), (-0.5, 0.35), (0.49, -0.34), (0.0, 0.0)] {
        let point = b.anchor(&near(body, x, y, 0.0)).unwrap();
        tracked.push(b.track(point));
    }
    let node = b.anchor(&Anchor::Node { body, node: 7 }).unwrap();
    tracked.push(b.track(node));
    let (model, mut state) = b.finish().unwrap();
    stir(&model, &mut state);

    let both = [body, pillow].map(|b| MeshChange::refine(&model, b).unwrap());
    let change = TopologyChange::new(&model, both.to_vec()).unwrap();
    let topology = Topology::after(&model, &change);
    let after = topology.clone().apply(&model).unwrap();
    let adaptation = Adaptation {
        before: &model,
        after: &after,
        change: &change,
    };
    let next = adaptation.state(&state);

    let place = |s: &Stencil, state: &State| s.position(state);
    let speed = |s: &Stencil, state: &State| s.velocity(state);
    let plain = State {
        v: adaptation.interpolated(&state.v),
        ..next.clone()
    };
    let springs = |m: &Model| -> Vec<Stencil> {
        let ends = m
            .attachments
            .iter()
            .flat_map(|s| [s.a.clone(), s.b.clone()]);
        ends.chain(m.points.iter().cloned()).collect()
    };
    let (old, new) = (springs(&model), springs(&after));
    assert!(old.len() > 20);
    for (a, b) in old.iter().zip(&new) {
        assert!((place(a, &state) - place(b, &next)).norm() < 1e-15);
        assert!((speed(a, &state) - speed(b, &plain)).norm() < 1e-14);
        // At most a triangle, and of one body.
        assert!(b.blocks().len() <= 3.max(a.blocks().len()));
    }
    let e = attachment_energy(&model, &state);
    assert!(e > 0.0 && (attachment_energy(&after, &next) - e).abs() < 1e-12 * e);
    let e = volume_energy(&model, &state);
    assert!((volume_energy(&after, &next) - e).abs() < 1e-12 * e.abs().max(1e-3));
    assert_eq!(after.volumes[0].rest, model.volumes[0].rest);

    // Surfaces of all bodies are where they were.
    let surface = |m: &Model, s: &State, b: usize| {
        let mut out = Vec::new();
        m.bodies[b].surface.positions(&s.x, &s.rotations, &mut out);
        out
    };
    for b in 0..model.bodies.len() {
        let (old, new) = (surface(&model, &state, b), surface(&after, &next, b));
        assert_eq!(old[..], new[..old.len()], "{}", model.bodies[b].name);
    }

    // The rim is held with its midpoints; the edge from it to the node of another motion is not.
    let held = |m: &Model, b: usize| -> Vec<Vec3> {
        let range = &m.bodies[b].blocks;
        let pins = m.pins.iter().filter(|p| range.contains(&p.block));
        pins.map(|p| m.bodies[b].rest()[p.block - range.start])
            .collect()
    };
    assert_eq!(held(&model, body).len(), 5);
    let pins = held(&after, body);
    assert_eq!(pins.len(), 5 + 3);
    assert!(pins.iter().filter(|x| (x.x + 0.5).abs() < 1e-9).count() == 7);
    let others = |m: &Model| {
        let own = m.bodies[body].blocks.clone();
        m.pins.iter().filter(|p| !own.contains(&p.block)).count()
    };
    assert_eq!(others(&after), others(&model));
    for pin in &after.pins {
        if after.bodies[body].blocks.contains(&pin.block) {
            let i = pin.block - after.bodies[body].blocks.start;
            assert!((pin.start - after.bodies[body].rest()[i]).norm() < 1e-15);
        }
    }

    // What a checkpoint keeps gives the same model on the scene's own.
    assert_eq!(topology, Topology::of(&after));
    let (twice, _) = refined(&after, body);
    let again = Topology::of(&twice).apply(&model).unwrap();
    assert_eq!(Topology::of(&again), Topology::of(&twice));
    assert_eq!(format!("{again:?}"), format!("{twice:?}"));
}

/// A change that removes nodes: velocities of the nodes that stay are not enough, so that momenta
/// are kept by the correction alone, and points on removed nodes move to the edges that had them.
#[test]
fn a_change_that_removes_nodes_keeps_momenta_and_points() {
    let (mut b, body) = world(MassKind::Lumped);
    for (x, y) in [(0.07, 0.11), (-0.5, 0.35), (0.31, -0.2)] {
        let near = Vec3::new(x, y, 0.0);
        let point = b.anchor(&Anchor::Body { body, near }).unwrap();
        b.track(point);
    }
    let (coarse, state) = b.finish().unwrap();
    let (fine, change) = refined(&coarse, body);
    let there = Adaptation {
        before: &coarse,
        after: &fine,
        change: &change,
    };
    let mut state = there.state(&state);
    stir(&fine, &mut state);
    let refinement = &change.changes()[0];
    let n = coarse.bodies[body].node_count();
    let back = MeshChange {
        body,
        triangles: coarse.bodies[body].surface.triangles.clone(),
        nodes: WeightRows::among(0..n as u32),
        old_nodes: refinement.nodes.clone(),
        // The corners of a triangle in the coordinates of its children.
        overlaps: (0..coarse.bodies[body].surface.triangles.len() as u32)
            .flat_map(|child| (0..4).map(move |k| (child, k)))
            .map(|(child, k)| {
                let columns = CHILDREN[k].map(Vec3::from);
                let inverse = Mat3::from_columns(&columns).try_inverse().unwrap();
                TriangleOverlap {
                    child,
                    triangle: 4 * child + k as u32,
                    corners: inverse.into(),
                }
            })
            .collect(),
    };
    let back = TopologyChange::new(&fine, vec![back]).unwrap();
    let again = Topology::after(&fine, &back).apply(&fine).unwrap();
    assert_eq!(again.generation, 2);
    assert_eq!(again.blocks(), coarse.blocks());
    let adaptation = Adaptation {
        before: &fine,
        after: &again,
        change: &back,
    };
    let next = adaptation.state(&state);
    for (a, b) in fine.bodies.iter().zip(&again.bodies) {
        let m = a.total_mass();
        assert!((m - b.total_mass()).abs() <= 1e-12 * m);
        let scale = (2.0 * m * kinetic_energy(a, &state)).sqrt().max(1e-300);
        assert!((momentum(a, &state) - momentum(b, &next)).norm() <= 1e-12 * scale);
        // About the centre of mass, which moves where nodes are removed from a bent sheet.
        let spin = |m: &Body, s: &State| {
            let lumped = m.block_masses();
            let x = &s.x[m.blocks.clone()];
            let c: Vec3 = x.iter().zip(&lumped).map(|(x, m)| x * *m).sum();
            angular_momentum(m, s) - (c / m.total_mass()).cross(&momentum(m, s))
        };
        if !matches!(a.kind, BodyKind::Rigid(_)) {
            assert!((spin(a, &state) - spin(b, &next)).norm() <= 1e-12 * scale);
        }
    }
    // Material points of the rest mesh are where they were.
    let rest = |m: &Model| -> Vec<Vec3> {
        let state = State {
            x: m.bodies.iter().flat_map(|b| b.block_positions()).collect(),
            ..State::default()
        };
        m.points.iter().map(|p| p.position(&state)).collect()
    };
    for (a, b) in rest(&coarse).iter().zip(&rest(&again)) {
        assert!((a - b).norm() < 1e-15, "{a} {b}");
    }
}

#[test]
fn unchangeable_data_are_refused() {
    let (mut b, body) = world(MassKind::Lumped);
    let mut material = cloth(0.2);
    material.membrane = MembraneLaw::Springs {
        edge: 10.0,
        bend: 1.0,
    };
    let springs = b
        .shell(
            BodySpec::new("net"),
            sheet(SheetPattern::Regular),
            &material,
        )
        .unwrap();
    let (model, _) = b.finish().unwrap();
    let error = MeshChange::refine(&model, 0).unwrap_err();
    assert!(
        error.to_string().contains("`box` is not a shell"),
        "{error}"
    );
    let error = MeshChange::refine(&model, springs).unwrap_err();
    assert!(error.to_string().contains("springs"), "{error}");
    let change = MeshChange::refine(&model, body).unwrap();
    let error = TopologyChange::new(&model, vec![change.clone(), change.clone()]).unwrap_err();
    assert!(matches!(error, AdaptError::Inconsistent { .. }), "{error}");
    let mut broken = change;
    broken.triangles[0][0] = 1_000_000;
    let error = TopologyChange::new(&model, vec![broken]).unwrap_err();
    assert!(error.to_string().contains("does not exist"), "{error}");
    let mut topology = Topology::of(&model);
    topology.points.push(Stencil::World(Vec3::zeros()));
    assert!(topology.apply(&model).is_err());
}
