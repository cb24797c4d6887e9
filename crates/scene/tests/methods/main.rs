//! The registry of methods as scenes see it: keys, refusals, documentation, and a method from outside
//! the library.
#![allow(clippy::unwrap_used, clippy::panic)]

mod documentation;
mod explicit;

use stiction_scene::{LoadOptions, Scene, SceneError, SceneSource, load};
use stiction_sim::Registry;

const FALLING: &str = r#"
[time]
step = 0.01
duration = 0.2

[[body]]
name = "sheet"
kind = "shell"
shape = { type = "sheet", size = [0.2, 0.2], cells = [2, 2] }
# So soft that an explicit step of 10 ms is stable: rounding does not grow.
material = { density = 200, thickness = 1e-3, young = 100, poisson = 0.3 }

[[probe]]
name = "height"
type = "centroid"
body = "sheet"
axis = "z"
"#;

const ROPE: &str = r#"
[[body]]
name = "rope"
kind = "rods"
shape = { type = "path", moves = [[0.5]], segments = 10 }
material = "human-hair"
"#;

const GAS: &str = r#"
[[body]]
name = "ball"
kind = "shell"
shape = { type = "sphere", radius = 0.1, frequency = 4 }
material = "tablecloth"
translate = [1, 0, 0]

[[volume]]
name = "gas"
body = "ball"
law = "gas"
inflation_atm = 0.2
"#;

fn load_with(text: &str, methods: Registry, overrides: &[&str]) -> Result<Scene, SceneError> {
    let source = SceneSource::Text {
        name: "test.toml".to_owned(),
        text: text.to_owned(),
    };
    let options = LoadOptions {
        overrides: overrides.iter().map(|s| (*s).to_owned()).collect(),
        methods,
        ..LoadOptions::default()
    };
    load(&source, &options)
}

fn refusal(text: &str, methods: Registry, overrides: &[&str]) -> String {
    match load_with(text, methods, overrides) {
        Ok(_) => panic!("loads"),
        Err(error) => error.plain(),
    }
}

/// With one registration line.
fn with_explicit() -> Registry {
    Registry::default().with(&explicit::ENTRY)
}

const EXPLICIT: &str = "method={name=\"explicit\", slowing=3}";

#[test]
fn a_method_from_outside_reads_its_key_and_runs() {
    let scene = load_with(FALLING, with_explicit(), &[EXPLICIT]).unwrap();
    let config = scene.plan.method.downcast_ref::<explicit::Config>();
    assert_eq!(config.unwrap().slowing, 3.0);
    let (mut sim, plan) = scene.simulation().unwrap();
    assert_eq!(sim.method().name(), "explicit");
    let height = |sim: &stiction_sim::Simulation| {
        let probe = &plan.probes[0];
        probe.quantity.measure(sim.model(), sim.state(), &[])
    };
    // A flat sheet falls as a point does: v ← (1 − h c) (v − h g), z ← z + h v.
    let (mut v, mut z) = (0.0, height(&sim));
    for _ in 0..20 {
        sim.step().unwrap();
        v = (1.0 - 0.01 * 3.0) * (v - 0.01 * 9.81);
        z += 0.01 * v;
        // Rounding of positions of about a metre, over twenty steps.
        let off = height(&sim) - z;
        assert!(off.abs() < 1e-13, "{off:e}");
    }
}

#[test]
fn a_method_from_outside_is_checked_like_any_other() {
    let with = |text: &str, method: &str| refusal(text, with_explicit(), &[method]);
    let said = with(FALLING, "method={name=\"explicit\", slowing=-1}");
    assert!(
        said.contains("`slowing` of [method] is -1, but must be zero or positive"),
        "{said}"
    );
    let said = with(FALLING, "method={name=\"explicit\", slowin=1}");
    assert!(said.contains("did you mean `slowing`"), "{said}");
    let said = with(FALLING, "method={name=\"explict\"}");
    assert!(said.contains("did you mean `explicit`"), "{said}");
    let said = with(&format!("{FALLING}{ROPE}"), EXPLICIT);
    assert!(
        said.contains(
            "method `explicit` cannot run this scene: body `rope` is made of rods with dynamic \
             twist, which it does not support; choose method `newton` or `admm` or `nodal` or `cr`, or"
        ),
        "{said}"
    );
    // Where it is not registered, it does not exist.
    let said = refusal(FALLING, Registry::default(), &[EXPLICIT]);
    assert!(said.contains("there is no method `explicit`"), "{said}");
    assert!(
        !said.contains("known methods: newton, admm, smooth, explicit"),
        "{said}"
    );
}

#[test]
fn a_refusal_names_only_methods_that_can_run_the_whole_scene() {
    let builtin = Registry::default;
    let gas = format!("{FALLING}{GAS}");
    let said = refusal(&gas, builtin(), &["method={name=\"admm\"}"]);
    assert!(
        said.contains("volume `gas` is enclosed, which it does not support"),
        "{said}"
    );
    assert!(
        said.contains("choose method `smooth` or `attachment`, or remove the [[volume]] table"),
        "{said}"
    );
    // No method has both rods and volumes.
    let both = format!("{gas}{ROPE}");
    let said = refusal(&both, builtin(), &["method={name=\"admm\"}"]);
    assert!(!said.contains("choose method"), "{said}");
    let said = refusal(&both, builtin(), &["method={name=\"smooth\"}"]);
    assert!(!said.contains("choose method"), "{said}");
    assert!(said.contains("body `rope`"), "{said}");
}

#[test]
fn a_refusal_because_of_a_setting_names_the_setting() {
    let rope = format!("{FALLING}{ROPE}");
    let splitting = "method={name=\"admm\", integrator=\"splitting\"}";
    let said = refusal(&rope, Registry::default(), &[splitting]);
    assert!(
        said.contains("which it does not support with `integrator = \"splitting\"`"),
        "{said}"
    );
    assert!(
        said.contains(
            "choose method `newton` or `nodal` or `cr`, set `integrator = \"newton\"`, \
             or set `twist = \"quasi-static\"` for the body"
        ),
        "{said}"
    );
    // With the default settings of the method there is nothing to refuse.
    load_with(&rope, Registry::default(), &["method={name=\"admm\"}"]).unwrap();
}

#[test]
fn several_wrong_settings_are_reported_at_once() {
    let method =
        "method={name=\"smooth\", epsilon=0, friction=\"laged\", lagged_iterations=2, kapa=1}";
    let Err(error) = load_with(FALLING, Registry::default(), &[method]) else {
        panic!("loads");
    };
    let messages: Vec<&str> = error.problems().iter().map(|p| p.message()).collect();
    assert_eq!(
        messages,
        [
            "`epsilon` of [method] is 0, but must be positive",
            "`friction` of [method] cannot be `laged`",
            "[method] has no key `kapa`",
        ]
    );
}

#[test]
fn a_colliding_scene_without_a_method_gets_one_that_solves_contact() {
    let floor = "\n[[obstacle]]\nname = \"floor\"\nshape = { type = \"plane\", normal = [0, 0, 1], offset = -9 }\n";
    let scene = load_with(&format!("{FALLING}{floor}"), Registry::default(), &[]).unwrap();
    assert_eq!(scene.plan.method.name(), "admm");
    // Settings may do without the name.
    let overrides = ["method.residual=1e-6"];
    let scene = load_with(
        &format!("{FALLING}{floor}"),
        Registry::default(),
        &overrides,
    )
    .unwrap();
    assert_eq!(scene.plan.method.name(), "admm");
}

#[test]
fn a_scene_without_a_method_has_the_first_of_the_registry() {
    let scene = load_with(FALLING, Registry::default(), &[]).unwrap();
    assert_eq!(
        scene.plan.method.name(),
        Registry::default().default_for(false)
    );
}
