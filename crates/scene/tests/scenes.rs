//! Loading scenes: defaults, overrides, files, materials, fingerprints.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use stiction_bodies::{BodyKind, obstacle::Shape};
use stiction_math::Vec3;
use stiction_scene::{
    Frames, Kind, Limits, LoadOptions, MethodConfig, Scene, SceneError, SceneSource, builtin,
    library, load,
};
use stiction_sim::check::{Progress, Subject};
use stiction_sim::newton::Stop;

const STRIP: &str = r#"# A comment.
[time]
step = 0.01   # trailing
duration = 1.0

[[body]]
name = "strip"
kind = "shell"
shape = { type = "sheet", size = [0.2, 1.0], cells = [2, 10] }
material = "tablecloth"

[[pin]]
name = "top"
body = "strip"
select = { half_space = { normal = [0, 1, 0], point = [0, 0.5, 0] } }
"#;

fn text(text: &str) -> SceneSource {
    SceneSource::Text {
        name: "test.toml".to_owned(),
        text: text.to_owned(),
    }
}

fn set(overrides: &[&str]) -> LoadOptions {
    LoadOptions {
        overrides: overrides.iter().map(|s| s.to_string()).collect(),
        ..LoadOptions::default()
    }
}

fn ok(source: &str) -> Scene {
    load(&text(source), &LoadOptions::default()).unwrap_or_else(|e| panic!("{}", e.plain()))
}

fn ok_with(source: &str, overrides: &[&str]) -> Scene {
    load(&text(source), &set(overrides)).unwrap_or_else(|e| panic!("{}", e.plain()))
}

fn fails(source: &str, overrides: &[&str]) -> SceneError {
    match load(&text(source), &set(overrides)) {
        Ok(_) => panic!("loads"),
        Err(error) => error,
    }
}

fn scenes_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes")
}

/// Runs a scene to its end and gives the outcome of every check.
fn run(scene: Scene) -> Vec<stiction_sim::check::Outcome> {
    let (mut simulation, plan) = scene.simulation().unwrap();
    let mut progress = vec![Progress::default(); plan.checks.len()];
    let h = plan.time.step;
    for step in 0..=plan.time.steps() {
        let report = if step > 0 {
            Some(simulation.step().unwrap())
        } else {
            None
        };
        for (check, progress) in plan.checks.iter().zip(&mut progress) {
            let value = match &check.of {
                Subject::Probe(i) => Some(
                    plan.probes[*i]
                        .quantity
                        .measure(simulation.model(), simulation.state()),
                ),
                Subject::Certificate(field) => report.and_then(|r| r.certificate.field(field)),
            };
            if let Some(value) = value {
                check.observe(progress, step as f64 * h, h, value);
            }
        }
    }
    plan.checks
        .iter()
        .zip(&progress)
        .map(|(c, p)| c.outcome(p))
        .collect()
}

#[test]
fn a_small_scene_has_the_documented_defaults() {
    let scene = ok(STRIP);
    assert_eq!(scene.plan.name, "test.toml");
    assert_eq!(scene.model.gravity, Vec3::new(0.0, 0.0, -9.81));
    assert!(scene.model.air.is_none());
    assert!(!scene.model.contact);
    assert_eq!(scene.plan.time.frames, Frames::PerSecond(25.0));
    assert_eq!(scene.plan.time.steps(), 100);
    let MethodConfig::Newton(config) = &scene.plan.method else {
        panic!()
    };
    assert_eq!(
        config.stop,
        Stop::Tolerance {
            tolerance: 1e-8,
            max: 50
        }
    );
    assert_eq!(scene.plan.friction.between("a", "b").static_, 0.5);
    assert_eq!(scene.plan.output.formats, ["vtu"]);
    let body = &scene.model.bodies[0];
    assert_eq!(
        (body.name.as_str(), body.material.as_str()),
        ("strip", "tablecloth")
    );
    assert_eq!(body.blocks, 0..33);
    // Area times the library's 0.128 kg/m².
    assert!((body.total_mass() - 0.2 * 0.128).abs() < 1e-15);
    assert_eq!(
        scene.model.pins.iter().map(|p| p.block).collect::<Vec<_>>(),
        [30, 31, 32]
    );
}

#[test]
fn built_in_scenes_are_the_files_load_and_pass_their_checks() {
    let mut files: Vec<String> = std::fs::read_dir(scenes_folder())
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .map(|p| p.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    files.sort();
    let names: Vec<&str> = builtin::list().iter().map(|s| s.name).collect();
    assert_eq!(names, files, "the embedded list and the folder differ");
    for builtin in builtin::list() {
        let file = std::fs::read_to_string(scenes_folder().join(format!("{}.toml", builtin.name)))
            .unwrap();
        assert_eq!(builtin.text, file);
        let source = SceneSource::Builtin(builtin.name.to_owned());
        let scene =
            load(&source, &LoadOptions::default()).unwrap_or_else(|e| panic!("{}", e.plain()));
        assert_eq!(scene.plan.name, builtin.name);
        assert!(!scene.plan.description.is_empty(), "{}", builtin.name);
    }
}

#[test]
fn the_pendulum_and_the_tumbling_box_keep_their_laws() {
    for name in ["pendulum", "tumbling"] {
        let scene = load(&SceneSource::Builtin(name.into()), &LoadOptions::default()).unwrap();
        let outcomes = run(scene);
        assert!(!outcomes.is_empty());
        assert!(outcomes.iter().all(|o| o.passed), "{name}: {outcomes:#?}");
    }
}

#[test]
fn the_hanging_strip_and_the_jelly_pass_their_checks() {
    for name in ["hanging-strip", "jelly"] {
        let scene = load(&SceneSource::Builtin(name.into()), &LoadOptions::default()).unwrap();
        let outcomes = run(scene);
        assert!(!outcomes.is_empty());
        assert!(outcomes.iter().all(|o| o.passed), "{name}: {outcomes:#?}");
    }
}

#[test]
fn a_wrong_name_of_a_built_in_scene_suggests_the_right_one() {
    let error = load(
        &SceneSource::from_argument("pendlum"),
        &LoadOptions::default(),
    )
    .unwrap_err();
    assert_eq!(error.kind(), Kind::UnknownName);
    assert!(
        error.plain().contains("did you mean `pendulum`"),
        "{}",
        error.plain()
    );
    let missing = load(
        &SceneSource::from_argument("no/such.toml"),
        &LoadOptions::default(),
    )
    .unwrap_err();
    assert_eq!(missing.kind(), Kind::Read);
    assert!(missing.plain().contains("no/such.toml"));
    let folder = load(&SceneSource::File(scenes_folder()), &LoadOptions::default()).unwrap_err();
    assert!(
        folder.plain().contains("is not a file") || folder.plain().contains("directory"),
        "{}",
        folder.plain()
    );
}

#[test]
fn several_problems_are_reported_at_once_in_the_order_of_the_text() {
    let broken = STRIP
        .replace("step = 0.01", "step = -1")
        .replace("\"tablecloth\"", "\"tablcloth\"")
        .replace("body = \"strip\"", "body = \"strp\"");
    let error = fails(&broken, &[]);
    let lines: Vec<usize> = error
        .problems()
        .iter()
        .map(|p| p.location().unwrap().1)
        .collect();
    assert_eq!(lines, [3, 10, 14], "{}", error.plain());
    let offending: Vec<&str> = error
        .problems()
        .iter()
        .map(|p| p.offending_text().unwrap())
        .collect();
    assert_eq!(offending, ["-1", "\"tablcloth\"", "\"strp\""]);
    let report = format!("{:?}", miette::Report::new(error));
    for part in [
        "test.toml:3",
        "test.toml:10",
        "test.toml:14",
        "did you mean `tablecloth`",
    ] {
        assert!(report.contains(part), "{part} not in\n{report}");
    }
}

#[test]
fn overrides_reach_tables_lists_and_entries_by_name_or_index() {
    let scene = ok_with(
        STRIP,
        &[
            "time.step=0.005",
            "body.strip.shape.cells=[4, 20]",
            "body.0.material=denim",
            "air.wind=[1, 0, 0]",
        ],
    );
    assert_eq!(scene.plan.time.step, 0.005);
    assert_eq!(scene.model.bodies[0].blocks.len(), 5 * 21);
    assert_eq!(scene.model.bodies[0].material, "denim");
    assert_eq!(scene.model.air.unwrap().wind, Vec3::x());
    let one = ok_with(
        STRIP,
        &[
            "body.strip.shape.cells.1=20",
            "pin.top.select={ nodes = [0] }",
        ],
    );
    assert_eq!(one.model.bodies[0].blocks.len(), 3 * 21);
    assert_eq!(one.model.pins.len(), 1);
}

#[test]
fn the_text_after_overrides_is_the_same_scene() {
    let overrides = [
        "time.step=0.005",
        "pin.top.motion.release=0.5",
        "material.own={ based_on = \"denim\" }",
        "body.strip.material=own",
        "contact.enabled=false",
    ];
    let scene = ok_with(STRIP, &overrides);
    assert!(
        scene.plan.text.contains("# A comment."),
        "{}",
        scene.plan.text
    );
    assert!(
        scene.plan.text.contains("step = 0.005   # trailing"),
        "{}",
        scene.plan.text
    );
    let again = ok(&scene.plan.text);
    assert_eq!(again.plan.hash, scene.plan.hash);
    assert_eq!(again.plan.text, scene.plan.text);
    assert_eq!(again.state, scene.state);
}

#[test]
fn errors_about_overrides_quote_them_and_keep_the_lines_of_the_file() {
    let error = fails(
        &STRIP.replace("duration = 1.0", "duration = -1"),
        &["time.step=fast", "body.strip.veloctiy=[0, 0, 1]"],
    );
    let told = error.plain();
    assert!(told.contains("test.toml:4:12: `duration`"), "{told}");
    assert!(
        told.contains("--set:1:11: `step` of [time] must be a number, but is the text \"fast\""),
        "{told}"
    );
    assert!(
        told.contains("--set:1:1: body `strip` has no key `veloctiy`; did you mean `velocity`"),
        "{told}"
    );
    let report = format!("{:?}", miette::Report::new(error));
    assert!(report.contains("time.step=fast"), "{report}");
}

#[test]
fn overrides_that_lead_nowhere_say_so() {
    for (text, part) in [
        ("time.step", "has no `=`"),
        ("=1", "is not a key"),
        ("tme.step=1", "has no key `tme`; did you mean `time`"),
        (
            "body.stripe.kind=solid",
            "no entry is called `stripe`; did you mean `strip`",
        ),
        ("body.7.kind=solid", "there is no entry 7; the list has 1"),
        ("time.step.size=1", "there is no `size` in the number 0.01"),
        ("gravity=[0, 0", "the value is not valid TOML"),
        ("gravity=[0, 0, nan]", "is NaN, but must be finite"),
        ("body=3", "must be a list of tables"),
        ("method.name=bogus", "there is no method `bogus`"),
    ] {
        let told = fails(STRIP, &[text]).plain();
        assert!(
            told.contains(part) && told.contains("--set:1:"),
            "{text}: {told}"
        );
    }
}

#[test]
fn a_method_from_the_command_line_replaces_the_scenes() {
    let scene = format!("{STRIP}\n[method]\nname = \"newton\"\niterations = 3\n");
    let with = |method: &str| {
        load(
            &text(&scene),
            &LoadOptions {
                method: Some(method.into()),
                ..LoadOptions::default()
            },
        )
    };
    let MethodConfig::Newton(config) = with("newton").unwrap().plan.method else {
        panic!()
    };
    assert_eq!(config.stop, Stop::Fixed(3));
    let told = with("newtonn").unwrap_err().plain();
    assert!(
        told.contains("--method:1:1: there is no method `newtonn`; did you mean `newton`"),
        "{told}"
    );
}

#[test]
fn the_fingerprint_follows_what_decides_the_motion_and_nothing_else() {
    let hash = |source: &str, overrides: &[&str]| ok_with(source, overrides).plan.hash;
    let base = hash(STRIP, &[]);
    let same = [
        STRIP.replace("# A comment.", ""),
        STRIP.replace("duration = 1.0", "duration = 7\nframes_per_second = 50"),
        STRIP.replace("0.01 ", "1e-2 "),
        format!(
            "name = \"other\"\ndescription = \"other\"\n{STRIP}\n[output]\nformats = [\"obj\"]\n"
        ),
        STRIP
            .replace("kind = \"shell\"", "")
            .replace("name = \"strip\"", "kind = \"shell\"\nname = \"strip\""),
    ];
    for (i, source) in same.iter().enumerate() {
        assert_eq!(hash(source, &[]), base, "variant {i}");
    }
    for change in [
        "time.step=0.02",
        "gravity=[0, 0, -9.8]",
        "body.0.material=denim",
        "pin.0.motion.release=1",
        "body.0.shape.size=[0.2, 1.0000001]",
        "method={ name = \"newton\", iterations = 2 }",
    ] {
        assert_ne!(hash(STRIP, &[change]), base, "{change}");
    }
}

#[test]
fn mesh_files_are_found_beside_the_scene_and_nowhere_else() {
    let root = tempfile::tempdir().unwrap();
    let inner = root.path().join("scene");
    std::fs::create_dir_all(inner.join("meshes")).unwrap();
    let quad = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\ng left\nf 1 3 4\ng right\nf 1 2 3\n";
    std::fs::write(inner.join("meshes/quad.obj"), quad).unwrap();
    std::fs::write(root.path().join("outside.obj"), quad).unwrap();
    let source = |mesh: &str| {
        let scene = STRIP
            .replace(
                "shape = { type = \"sheet\", size = [0.2, 1.0], cells = [2, 10] }",
                &format!("mesh = \"{mesh}\""),
            )
            .replace(
                "{ half_space = { normal = [0, 1, 0], point = [0, 0.5, 0] } }",
                "{ group = \"right\" }",
            );
        let file = inner.join("scene.toml");
        std::fs::write(&file, scene).unwrap();
        SceneSource::File(file)
    };
    let good = load(&source("meshes/quad.obj"), &LoadOptions::default()).unwrap();
    assert_eq!(good.plan.name, "scene");
    assert_eq!(
        good.model.pins.iter().map(|p| p.block).collect::<Vec<_>>(),
        [0, 1, 2]
    );
    assert!(
        load(
            &source("meshes/../meshes/quad.obj"),
            &LoadOptions::default()
        )
        .is_ok()
    );

    let absolute = root.path().join("outside.obj").display().to_string();
    for bad in [
        "../outside.obj",
        "meshes/../../outside.obj",
        "../scene/meshes/quad.obj",
        &absolute,
    ] {
        let error = load(&source(bad), &LoadOptions::default()).unwrap_err();
        assert_eq!(error.kind(), Kind::Path, "{bad}: {}", error.plain());
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(root.path().join("outside.obj"), inner.join("link.obj"))
            .unwrap();
        std::os::unix::fs::symlink(root.path(), inner.join("up")).unwrap();
        std::os::unix::fs::symlink(inner.join("meshes/quad.obj"), inner.join("fine.obj")).unwrap();
        for bad in ["link.obj", "up/outside.obj"] {
            let error = load(&source(bad), &LoadOptions::default()).unwrap_err();
            assert_eq!(error.kind(), Kind::Path, "{bad}: {}", error.plain());
        }
        assert!(load(&source("fine.obj"), &LoadOptions::default()).is_ok());
    }
    let typo = load(&source("meshes/qaud.obj"), &LoadOptions::default()).unwrap_err();
    assert!(
        typo.plain().contains("did you mean `quad.obj`"),
        "{}",
        typo.plain()
    );
    assert!(load(&source("meshes"), &LoadOptions::default()).is_err());

    // What the user types is the user's own business.
    let mut options = set(&["body.strip.mesh=outside.obj"]);
    options.cwd = Some(root.path().to_path_buf());
    assert!(load(&source("meshes/quad.obj"), &options).is_ok());

    // The mesh is part of the fingerprint.
    std::fs::write(
        inner.join("meshes/quad.obj"),
        quad.replace("1 1 0", "1 1.5 0"),
    )
    .unwrap();
    let moved = load(&source("meshes/quad.obj"), &LoadOptions::default()).unwrap();
    assert_ne!(moved.plan.hash, good.plan.hash);
}

#[test]
fn a_scene_without_a_folder_names_no_files() {
    let scene = STRIP.replace(
        "shape = { type = \"sheet\", size = [0.2, 1.0], cells = [2, 10] }",
        "mesh = \"a.obj\"",
    );
    assert_eq!(fails(&scene, &[]).kind(), Kind::Path);
}

#[test]
fn tetrahedra_come_from_files_without_vertices_that_none_uses() {
    let folder = tempfile::tempdir().unwrap();
    let vtk = "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 5 double\n\
               9 9 9\n0 0 0\n1 0 0\n0 1 0\n0 0 1\nCELLS 1 5\n4 1 2 3 4\nCELL_TYPES 1\n10\n";
    std::fs::write(folder.path().join("tet.vtk"), vtk).unwrap();
    let scene = "[time]\nstep = 0.01\nduration = 1\n[[body]]\nname = \"t\"\nkind = \"solid\"\nmesh = \"tet.vtk\"\nmaterial = \"rubber\"\n";
    let options = LoadOptions {
        base_dir: Some(folder.path().to_path_buf()),
        ..LoadOptions::default()
    };
    let solid = load(&text(scene), &options).unwrap();
    assert_eq!(solid.state.x.len(), 4);
    assert!((solid.model.bodies[0].total_mass() - 925.0 / 6.0).abs() < 1e-9);
    let rigid = load(&text(&scene.replace("solid", "rigid")), &options).unwrap();
    assert!((rigid.model.bodies[0].total_mass() - 925.0 / 6.0).abs() < 1e-9);
}

#[test]
fn every_library_material_has_a_source_and_makes_a_body() {
    let entries = library::list();
    assert!(entries.iter().filter(|e| e.kind == "shell").count() >= 7);
    for entry in entries {
        assert!(entry.source.len() > 10, "{}: no source", entry.name);
        assert!(
            !entry.description.is_empty(),
            "{}: no description",
            entry.name
        );
        let kinds: &[&str] = match entry.kind.as_str() {
            "shell" => &["shell"],
            "solid" => &["solid", "rigid", "shell"],
            "rod" => continue,
            other => panic!("{}: kind {other}", entry.name),
        };
        for kind in kinds {
            let shape = if *kind == "shell" {
                "type = \"sheet\", size = [1, 1]"
            } else {
                "type = \"box\", size = [1, 1, 1]"
            };
            let cells = if *kind == "shell" {
                "[2, 2]"
            } else {
                "[2, 2, 2]"
            };
            let material = match (entry.kind.as_str(), *kind) {
                ("solid", "shell") => {
                    format!("{{ based_on = \"{}\", thickness = 0.001 }}", entry.name)
                }
                _ => format!("\"{}\"", entry.name),
            };
            let scene = format!(
                "[time]\nstep = 0.01\nduration = 1\n[[body]]\nname = \"b\"\nkind = \"{kind}\"\n\
                 shape = {{ {shape}, cells = {cells} }}\nmaterial = {material}\n"
            );
            let scene = ok(&scene);
            assert!(
                scene.model.bodies[0].total_mass() > 0.0,
                "{} as {kind}",
                entry.name
            );
        }
    }
}

#[test]
fn a_derived_material_replaces_what_says_the_same_in_another_way() {
    let mass = |material: &str| {
        ok(&STRIP.replace("\"tablecloth\"", material)).model.bodies[0].total_mass()
    };
    assert!((mass("{ based_on = \"denim\", area_density = 1 }") - 0.2).abs() < 1e-12);
    // Density and thickness in place of the inherited area density.
    assert!(
        (mass("{ based_on = \"denim\", density = 1000, thickness = 0.002 }") - 0.4).abs() < 1e-12
    );
    let own = format!(
        "{}\n[material.denim]\nbased_on = \"denim\"\nyoung = 1e6\npoisson = 0.3\n",
        STRIP.replace("\"tablecloth\"", "\"denim\"")
    );
    assert!((ok(&own).model.bodies[0].total_mass() - 0.2 * 0.324).abs() < 1e-12);
    let both = STRIP.replace(
        "\"tablecloth\"",
        "{ density = 1, area_density = 1, thickness = 1, young = 1, poisson = 0 }",
    );
    assert!(
        fails(&both, &[])
            .plain()
            .contains("both `density` and `area_density`")
    );
}

#[test]
fn bodies_are_scaled_then_turned_then_moved() {
    let placed = STRIP.replace(
        "kind = \"shell\"",
        "kind = \"shell\"\nscale = [2, 1, 1]\nrotate = [{ axis = [0, 0, 9], angle = 90 }, { axis = [1, 0, 0], angle = 90, about = [0, 0, 1] }]\ntranslate = [10, 0, 0]",
    );
    let scene = ok(&placed.replace("point = [0, 0.5, 0]", "point = [0, -5, 0]"));
    // Corner (−0.1, −0.5, 0): scaled (−0.2, −0.5, 0), turned about z (0.5, −0.2, 0), turned about
    // the x axis through z = 1 (0.5, 1, 0.8), moved.
    assert!(
        (scene.state.x[0] - Vec3::new(10.5, 1.0, 0.8)).norm() < 1e-12,
        "{}",
        scene.state.x[0]
    );
}

#[test]
fn copies_are_named_and_placed_in_a_row() {
    let scene = STRIP
        .replace(
            "kind = \"shell\"",
            "kind = \"shell\"\nrepeat = { count = 3, step = [0, 0, 0.1] }",
        )
        .replace("body = \"strip\"", "body = \"strip-2\"");
    let scene = ok(&scene);
    let names: Vec<&str> = scene.model.bodies.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["strip-1", "strip-2", "strip-3"]);
    assert!((scene.state.x[66].z - 0.2).abs() < 1e-15);
    assert_eq!(scene.model.pins[0].block, 33 + 30);
}

#[test]
fn selections_combine_and_include_their_boundaries_after_rounding() {
    let pins = |select: &str| {
        let scene = STRIP
            .replace(
                "{ half_space = { normal = [0, 1, 0], point = [0, 0.5, 0] } }",
                select,
            )
            .replace(
                "kind = \"shell\"",
                "kind = \"shell\"\nrotate = { axis = [0, 0, 1], angle = 90 }",
            );
        ok(&scene)
            .model
            .pins
            .iter()
            .map(|p| p.block)
            .collect::<Vec<_>>()
    };
    // The edge y = 0.5 is now at x = −0.5, up to rounding.
    assert_eq!(
        pins("{ box = { min = [-0.5, -1, 0], max = [-0.5, 1, 0] } }"),
        [30, 31, 32]
    );
    assert_eq!(
        pins("{ boundary = true, half_space = { normal = [-1, 0, 0], point = [-0.35, 0, 0] } }"),
        [27, 29, 30, 31, 32]
    );
    assert_eq!(pins("{ boundary = true, nearest = [0, 0, 0] }").len(), 1);
    assert_eq!(
        pins("{ sphere = { center = [0, 0, 0], radius = 0.1 } }").len(),
        5
    );
    assert_eq!(pins("{ nodes = [5, 3, 5] }"), [3, 5]);
}

#[test]
fn embedded_bodies_obstacles_springs_and_friction_are_built() {
    let scene = r#"
        [time]
        step = 0.01
        duration = 1
        [contact]
        enabled = false
        [[body]]
        name = "ball"
        kind = "embedded"
        shape = { type = "sphere", radius = 0.1, frequency = 6 }
        cell = 0.04
        material = { based_on = "rubber", friction = { static = 0.8, kinetic = 0.6 } }
        drag = {}
        [[attachment]]
        a = { world = [0, 0, 1] }
        b = { body = "ball", near = [0, 0, 0.2] }
        stiffness = 10
        length = 0.5
        [[obstacle]]
        name = "cone"
        shape = { type = "cone", radius = 0.3, height = 0.6, around = 5 }
        translate = [0, 0, -1]
        material = "ice"
        [[obstacle]]
        name = "floor"
        shape = { type = "plane", offset = -1 }
        motion = { rotate = { axis = [0, 0, 1], times = [0, 1], angles = [0, 90] } }
        [friction]
        default = 0.2
        [[friction.pair]]
        materials = ["ice", "ball"]
        static = 0.1
    "#;
    let scene = ok(scene);
    let ball = &scene.model.bodies[0];
    assert!(matches!(ball.kind, BodyKind::Deformable(_)));
    let exact = 925.0 * 4.0 / 3.0 * std::f64::consts::PI * 1e-3;
    assert!(
        (ball.total_mass() / exact - 1.0).abs() < 0.08,
        "{} {exact}",
        ball.total_mass()
    );
    assert!(scene.model.air.is_some());
    let pole = scene.model.attachments[0].b.position(&scene.state);
    assert!((pole - Vec3::new(0.0, 0.0, 0.1)).norm() < 5e-3, "{pole}");
    assert!(matches!(&scene.model.obstacles[0].shape, Shape::Mesh(m) if m.positions.len() == 7));
    let friction = &scene.plan.friction;
    assert_eq!(friction.between("ball", "ice").static_, 0.1);
    assert!((friction.between("ball", "floor").static_ - 0.4).abs() < 1e-12);
    assert!((friction.between("ball", "floor").kinetic - 0.12_f64.sqrt()).abs() < 1e-12);
    let x = scene.model.obstacles[1].pose(1.0).apply(&Vec3::x());
    assert!((x - Vec3::y()).norm() < 1e-12);
}

#[test]
fn checks_read_their_bounds_and_times() {
    let scene = format!(
        "{STRIP}
[[probe]]
name = \"low\"
type = \"min\"
body = \"strip\"
axis = [0, 0, 2]
[[check]]
of = \"low\"
equals = -2
relative = 0.1
[[check]]
of = \"low\"
reduce = \"slope\"
from = 0.5
below = 3
[[check]]
of = \"certificate.residual\"
at = 0.5
below = 1e-6
"
    );
    let checks = ok(&scene).plan.checks;
    assert_eq!((checks[0].min, checks[0].max), (-2.2, -1.8));
    assert_eq!(checks[0].when, stiction_sim::check::When::End);
    assert_eq!(checks[1].name, "low (2)");
    assert_eq!(
        checks[1].when,
        stiction_sim::check::When::Between(0.5, f64::INFINITY)
    );
    assert_eq!(checks[1].min, f64::NEG_INFINITY);
    assert_eq!(checks[2].of, Subject::Certificate("residual".into()));
    // A run that the command line cuts short keeps its checks.
    assert!(load(&text(&scene), &set(&["time.duration=0.1"])).is_ok());
    assert!(
        fails(&scene.replace("duration = 1.0", "duration = 0.1"), &[])
            .plain()
            .contains("the run ends at 0.1 s")
    );
}

#[test]
fn the_limit_on_nodes_counts_all_bodies_and_copies() {
    let options = |max_nodes| LoadOptions {
        limits: Limits {
            max_nodes,
            ..Limits::default()
        },
        ..LoadOptions::default()
    };
    let scene = STRIP
        .replace(
            "kind = \"shell\"",
            "kind = \"shell\"\nrepeat = { count = 3, step = [0, 0, 0.1] }",
        )
        .replace("body = \"strip\"", "body = \"strip-2\"");
    assert!(load(&text(&scene), &options(99)).is_ok());
    let error = load(&text(&scene), &options(98)).unwrap_err();
    assert_eq!(error.kind(), Kind::TooLarge);
    assert!(error.plain().contains("99 nodes"), "{}", error.plain());
}

#[test]
fn the_examples_in_the_documentation_are_valid() {
    let docs = std::fs::read_to_string(scenes_folder().join("../docs/scenes.md")).unwrap();
    let blocks: Vec<&str> = docs
        .split("```toml\n")
        .skip(1)
        .map(|b| b.split("```").next().unwrap())
        .collect();
    assert!(blocks.len() >= 7);
    ok(blocks[0]);
    for block in &blocks[1..] {
        // Each completes the first one, with the names it uses.
        let fresh = if block.contains("[time]") {
            blocks[0].replace("[time]\nstep = 0.01\nduration = 2.0\n", "")
        } else {
            blocks[0].to_owned()
        };
        let fresh = if block.contains("[[pin]]") {
            fresh.split("[[pin]]").next().unwrap().to_owned()
        } else {
            fresh
        };
        let ball = "[[body]]\nname = \"ball\"\nkind = \"rigid\"\nshape = { type = \"sphere\", radius = 0.1 }\nmaterial = \"steel\"\n";
        let contact = if block.contains("[contact]") {
            ""
        } else {
            "[contact]\nenabled = false\n"
        };
        ok(&format!("{fresh}\n{ball}\n{contact}\n{block}"));
    }
}

/// Words that mutations put into scenes: keys, extremes, wrong types.
const WORDS: &[&str] = &[
    "0",
    "-1",
    "1e308",
    "-1e308",
    "1e-308",
    "nan",
    "inf",
    "4294967295",
    "9223372036854775807",
    "\"\"",
    "[]",
    "{}",
    "[[]]",
    "true",
    "[1, 2, 3]",
    "[1e300, 1e300, 1e300]",
    "\"strip\"",
    "\"denim\"",
    "\"..\"",
    "1979-05-27",
    "{ type = \"sphere\", radius = 1, frequency = 2 }",
    "\"rigid\"",
    "\"embedded\"",
    "\"solid\"",
    "\"\u{1F600}\"",
];

fn sample() -> String {
    format!(
        "{STRIP}motion = {{ translate = {{ times = [0, 1], values = [[0, 0, 0], [1, 0, 0]] }}, rotate = {{ axis = [0, 0, 1], times = [0, 1], angles = [0, 90] }} }}
[[body]]
name = \"ball\"
kind = \"rigid\"
shape = {{ type = \"sphere\", radius = 0.1, frequency = 2 }}
material = {{ density = 1000 }}
[[attachment]]
name = \"rope\"
a = {{ body = \"ball\", near = [0, 0, 0] }}
b = {{ body = \"strip\", node = 3 }}
stiffness = 10
[[probe]]
name = \"pull\"
type = \"tension\"
attachment = \"rope\"
[[check]]
of = \"pull\"
equals = 1
within = 2
[[obstacle]]
name = \"floor\"
shape = {{ type = \"plane\", normal = [0, 0, 1] }}
[contact]
enabled = false
"
    )
}

/// Loads with a small limit on nodes, so that what is accepted is also quickly built.
fn survives(scene: &str, overrides: Vec<String>) {
    let options = LoadOptions {
        limits: Limits {
            max_nodes: 5_000,
            max_mesh_bytes: 1 << 20,
        },
        overrides,
        ..LoadOptions::default()
    };
    if let Err(error) = load(&text(scene), &options) {
        assert!(!error.problems().is_empty());
        let _ = format!("{:?} {}", miette::Report::new(error), "");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_refused_or_loaded_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        survives(&String::from_utf8_lossy(&bytes), Vec::new());
    }

    #[test]
    fn a_mutated_scene_is_refused_or_loaded_without_panic(
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..12usize), 1..5)
    ) {
        let mut scene: Vec<char> = sample().chars().collect();
        for (at, word, removed) in cuts {
            let at = at.index(scene.len());
            let end = (at + removed).min(scene.len());
            scene.splice(at..end, WORDS[word.index(WORDS.len())].chars());
        }
        survives(&scene.into_iter().collect::<String>(), Vec::new());
    }

    #[test]
    fn a_scene_with_any_value_anywhere_is_refused_or_loaded_without_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..4)
    ) {
        let paths = [
            "time.step", "time.duration", "time.frame_every", "gravity", "body.strip.kind", "body.strip.shape.size",
            "body.strip.shape.cells", "body.strip.shape.pattern", "body.strip.shape", "body.strip.material",
            "body.strip.scale", "body.strip.translate", "body.strip.rotate", "body.strip.velocity", "body.strip.repeat",
            "body.strip.warp", "body.strip.drag", "body.ball.shape.radius", "body.ball.shape.frequency",
            "body.ball.material.density", "body.ball.kind", "body.ball.cell", "body.ball.scale", "pin.0.select",
            "pin.0.select.half_space.point", "pin.0.motion.release", "pin.0.motion.translate.times",
            "attachment.rope.stiffness", "attachment.rope.b.node", "attachment.rope.a.near", "attachment.rope.length",
            "probe.pull.type", "check.0.at", "check.0.equals", "obstacle.floor.shape", "method", "friction", "contact",
            "air", "output", "material", "name", "body.strip.mesh",
        ];
        let overrides = changes
            .iter()
            .map(|(p, w)| format!("{}={}", paths[p.index(paths.len())], WORDS[w.index(WORDS.len())]))
            .collect();
        survives(&sample(), overrides);
    }
}
