//! `--set`, `--method` and the fingerprint.

use stiction_math::Vec3;
use stiction_scene::{LoadOptions, load};
use stiction_sim::newton::{self, NewtonStop};

use crate::{STRIP, fails, ok_with, text};

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
fn a_mesh_takes_the_place_of_a_shape_and_the_reverse() {
    // Paths on the command line start at the current folder, here that of the crate.
    let mesh = "body.strip.mesh=../meshio/tests/peers/meshio.obj";
    let pin = "pin.top.select={ nodes = [0] }";
    let scene = ok_with(STRIP, &[mesh, pin]);
    let text = std::fs::read_to_string("../meshio/tests/peers/meshio.obj").unwrap();
    let vertices = text.lines().filter(|l| l.starts_with("v ")).count();
    assert_eq!(scene.model.bodies[0].blocks.len(), vertices);
    let shape = r#"body.strip.shape={ type = "sheet", size = [1, 1], cells = [2, 2] }"#;
    let scene = ok_with(STRIP, &[mesh, shape, pin]);
    assert_eq!(scene.model.bodies[0].blocks.len(), 9);
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
    let scene = with("newton").unwrap();
    let config = scene.plan.method.downcast_ref::<newton::Config>().unwrap();
    assert_eq!(config.stop, NewtonStop::Fixed(3));
    let told = with("newtonn").unwrap_err().plain();
    assert!(
        told.contains("--method:1:1: there is no method `newtonn`; did you mean `newton`"),
        "{told}"
    );
}

#[test]
fn the_fingerprint_depends_on_the_motion_and_nothing_else() {
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
