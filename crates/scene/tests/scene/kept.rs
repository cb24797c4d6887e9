//! The text that a run keeps, and the differences between two scenes.

use stiction_scene::{LoadOptions, SceneSource, builtin, differences, load};

use crate::{STRIP, ok, ok_with, set, text};

#[test]
fn the_kept_text_is_the_same_scene() {
    let overrides = [
        "time.step=0.005",
        "pin.top.motion.release=0.5",
        "material.own={ based_on = \"denim\" }",
        "material.\"a b\"={ based_on = \"own\", density = 1e-7 }",
        "body.strip.material=own",
        "contact.enabled=false",
        "description='of \"two\"\\lines'",
    ];
    let scene = ok_with(STRIP, &overrides);
    let again = ok(&scene.plan.text);
    assert_eq!(again.plan.hash, scene.plan.hash);
    assert_eq!(again.plan.text, scene.plan.text);
    assert_eq!(again.state, scene.state);
    assert_eq!(again.plan.description, "of \"two\"\\lines");
    // Comments, layout and the order of keys leave no trace.
    let other = STRIP.replace("# A comment.", "# Another one.").replace(
        "step = 0.01   # trailing\nduration = 1.0",
        "duration = 1.0\nstep = 0.01",
    );
    assert_ne!(other, STRIP);
    assert_eq!(ok_with(&other, &overrides).plan.text, scene.plan.text);
}

#[test]
fn every_built_in_scene_is_the_same_after_it_was_kept() {
    for builtin in builtin::list() {
        let source = SceneSource::Builtin(builtin.name.to_owned());
        let first = load(&source, &LoadOptions::default());
        let first = first.unwrap_or_else(|e| panic!("{}", e.plain()));
        let again = ok(&first.plan.text);
        assert_eq!(again.plan.hash, first.plan.hash, "{}", builtin.name);
        assert_eq!(again.plan.text, first.plan.text);
        assert_eq!(again.plan.name, first.plan.name);
        assert!(again.state == first.state, "{}", builtin.name);
        let settings = |s: &stiction_scene::Scene| {
            format!(
                "{:?} {:?} {:?}",
                s.plan.method, s.plan.time, s.plan.friction
            )
        };
        assert_eq!(settings(&again), settings(&first));
    }
}

#[test]
fn a_method_of_the_command_line_is_kept_with_its_own_parameters() {
    let scene = format!("{STRIP}\n[method]\nname = \"admm\"\nsweeps = 3\n");
    let with = |method: &str| {
        let options = LoadOptions {
            method: Some(method.into()),
            ..LoadOptions::default()
        };
        load(&text(&scene), &options).unwrap().plan
    };
    let newton = ok(&with("newton").text).plan;
    assert_eq!(newton.method.name(), "newton");
    assert_eq!(newton.hash, with("newton").hash);
    let method = ok(&with("admm").text).plan.method;
    let admm = method.downcast_ref::<stiction_sim::admm::Config>();
    assert_eq!(admm.unwrap().solver.sweeps, 3);
    assert_eq!(with("admm").hash, ok(&scene).plan.hash);
}

#[test]
fn meshes_keep_their_path_inside_the_scenes_folder_and_get_one_elsewhere() {
    let root = tempfile::tempdir().unwrap();
    let (inner, kept) = (root.path().join("scene"), root.path().join("kept"));
    std::fs::create_dir_all(inner.join("parts")).unwrap();
    std::fs::create_dir_all(inner.join("frames")).unwrap();
    let quad = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 3 4\nf 1 2 3\n";
    let tet = "4 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n";
    std::fs::write(inner.join("parts/a.obj"), quad).unwrap();
    std::fs::write(inner.join("frames/a.obj"), quad).unwrap();
    std::fs::write(inner.join("parts/tet.node"), tet).unwrap();
    std::fs::write(inner.join("parts/tet.ele"), "1 4 0\n0 0 1 2 3\n").unwrap();
    std::fs::write(root.path().join("a.obj"), quad.replace("1 1 0", "1 2 0")).unwrap();
    let shell = |mesh: &str, z: usize| {
        format!(
            "[[body]]\nname = \"b{z}\"\nkind = \"shell\"\nmesh = \"{mesh}\"\n\
             material = \"tablecloth\"\ntranslate = [0, 0, {z}]\n"
        )
    };
    let solid = "[[body]]\nname = \"solid\"\nkind = \"solid\"\nmesh = \"parts/tet.ele\"\n\
                 material = \"rubber\"\n";
    let scene = [
        "[time]\nstep = 0.01\nduration = 1\n".to_owned(),
        shell("parts/a.obj", 1),
        shell("parts/../parts/a.obj", 2),
        shell("frames/a.obj", 3),
        shell("parts/a.obj", 4),
        solid.to_owned(),
    ];
    let file = inner.join("scene.toml");
    std::fs::write(&file, scene.concat()).unwrap();
    let mut options = set(&["body.b4.mesh=a.obj"]);
    options.cwd = Some(root.path().to_path_buf());
    let first = load(&SceneSource::File(file), &options).unwrap();
    let paths: Vec<&str> = first.plan.meshes.iter().map(|m| m.kept.as_str()).collect();
    let expected = [
        "parts/a.obj",
        "meshes/a.obj",
        "meshes/2/a.obj",
        "meshes/3/a.obj",
        "parts/tet.ele",
        "parts/tet.node",
    ];
    assert_eq!(paths, expected);
    for mesh in &first.plan.meshes {
        let to = kept.join(&mesh.kept);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(&mesh.path, to).unwrap();
    }
    let file = kept.join("scene.toml");
    std::fs::write(&file, &first.plan.text).unwrap();
    let again = load(&SceneSource::File(file), &LoadOptions::default())
        .unwrap_or_else(|e| panic!("{}", e.plain()));
    assert_eq!(again.plan.hash, first.plan.hash);
    assert_eq!(again.plan.text, first.plan.text);
    assert_eq!(again.state, first.state);
}

#[test]
fn differences_name_keys_as_overrides_do() {
    let told = |a: &str, b: &str| -> Vec<String> {
        let found = differences(a, b).unwrap();
        found.iter().map(ToString::to_string).collect()
    };
    let kept = |overrides: &[&str]| ok_with(STRIP, overrides).plan.text;
    let base = kept(&[]);
    assert_eq!(
        told(
            &base,
            &kept(&[
                "body.strip.shape.cells=[80, 80]",
                "time.step=0.02",
                "gravity=[0, 0, 1]"
            ])
        ),
        [
            "time.step: 0.01 in the run, 0.02 now",
            "body.strip.shape.cells: [2, 10] in the run, [80, 80] now",
            "gravity: not set in the run, [0, 0, 1] now",
        ]
    );
    let free = [
        "time.duration=7",
        "time.frame_every=3",
        "name=other",
        "description=other",
        "output.formats=[\"obj\"]",
    ];
    assert_eq!(told(&base, &kept(&free)), [""; 0]);
    // Numbers are compared as numbers.
    assert_eq!(
        told("gravity = [0, 0, 1]", "gravity = [0.0, -0.0, 1e0]"),
        [""; 0]
    );
    let list = |names: &[&str]| {
        let entry = |n: &&str| format!("[[body]]\nname = \"{n}\"\nkind = \"shell\"\n");
        names.iter().map(entry).collect::<String>()
    };
    assert_eq!(
        told(&list(&["a", "b"]), &list(&["b", "a", "c d"])),
        [
            "body.\"c d\": not set in the run, { name = \"c d\", kind = \"shell\" } now",
            "order of body: a, b in the run, b, a, c d now",
        ]
    );
    assert_eq!(
        told(
            "[[pin]]\nbody = \"a\"\n",
            "[[pin]]\nbody = \"b\"\n[[pin]]\nbody = \"c\"\n"
        ),
        [
            "pin.0.body: \"a\" in the run, \"b\" now",
            "pin.1: not set in the run, { body = \"c\" } now",
        ]
    );
}
