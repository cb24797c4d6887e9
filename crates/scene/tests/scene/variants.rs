//! `[variant.NAME]` and `--variant`.

use stiction_scene::{LoadOptions, ProblemKind, Scene, SceneError, load, variants};

use crate::{STRIP, fails, ok, ok_with, text};

const CHECKED: &str = r#"
[[probe]]
name = "lowest"
type = "min"
body = "strip"
axis = "z"

[[check]]
name = "late"
of = "lowest"
at = 1.0
below = 0

[[check]]
name = "always"
of = "lowest"
from = 0
below = 0.1
"#;

const QUICK: &str = r#"
[variant.quick]
time.duration = 0.5
body.strip.shape.cells = [1, 4]
pin.0.motion.release = 0.25
body.strip.material = "own"
body.strip.velocity = [0, 0, 1]
remove = ["check.late"]

[variant.quick.material.own]
based_on = "denim"

[variant.fine]
body.strip.shape.cells.1 = 40
check.late.below = -0.5

[[variant.bare.check]]
of = "lowest"
above = -2
"#;

fn scene() -> String {
    format!("{STRIP}{CHECKED}{QUICK}")
}

fn with(source: &str, variant: &str, overrides: &[&str]) -> Result<Scene, SceneError> {
    let options = LoadOptions {
        variant: Some(variant.to_owned()),
        overrides: overrides.iter().map(|s| s.to_string()).collect(),
        ..LoadOptions::default()
    };
    load(&text(source), &options)
}

fn checks(scene: &Scene) -> Vec<&str> {
    scene.plan.checks.iter().map(|c| c.name.as_str()).collect()
}

#[test]
fn a_variant_is_the_same_as_its_overrides() {
    let chosen = with(&scene(), "quick", &[]).unwrap();
    let by_hand = ok_with(
        &format!("{STRIP}{}", CHECKED.replacen("late", "unused", 1)),
        &[
            "time.duration=0.5",
            "body.strip.shape.cells=[1, 4]",
            "pin.0.motion.release=0.25",
            "material.own.based_on=denim",
            "body.strip.material=own",
            "body.strip.velocity=[0, 0, 1]",
            r#"check=[{ name = "always", of = "lowest", from = 0, below = 0.1 }]"#,
        ],
    );
    assert_eq!(chosen.plan.hash, by_hand.plan.hash);
    assert_eq!(chosen.state, by_hand.state);
    assert_eq!(chosen.plan.time, by_hand.plan.time);
    assert_eq!(chosen.plan.variant.as_deref(), Some("quick"));
    assert_eq!(checks(&chosen), ["always"]);
}

#[test]
fn variants_that_are_not_chosen_change_nothing() {
    let plain = ok(&format!("{STRIP}{CHECKED}"));
    let scene = ok(&scene());
    assert_eq!(scene.plan.hash, plain.plan.hash);
    assert_eq!(scene.state, plain.state);
    assert_eq!(scene.plan.variant, None);
    assert_eq!(checks(&scene), ["late", "always"]);
}

#[test]
fn overrides_come_after_the_variant() {
    let chosen = with(&scene(), "quick", &["body.strip.shape.cells.1=8"]).unwrap();
    assert_eq!(chosen.model.bodies[0].blocks.len(), 2 * 9);
    let chosen = with(&scene(), "fine", &["check.late.below=-0.25"]).unwrap();
    assert_eq!(chosen.plan.checks[0].max, -0.25);
    assert_eq!(chosen.model.bodies[0].blocks.len(), 3 * 41);
}

#[test]
fn a_list_of_tables_replaces_the_list() {
    let chosen = with(&scene(), "bare", &[]).unwrap();
    assert_eq!(checks(&chosen), ["lowest"]);
}

#[test]
fn an_inline_table_replaces_a_table_and_a_heading_adds_to_it() {
    let inline = format!("{STRIP}\n[variant.one]\ntime = {{ step = 0.02, duration = 3 }}\n");
    let time = with(&inline, "one", &[]).unwrap().plan.time;
    assert_eq!((time.step, time.duration), (0.02, 3.0));
    let heading = format!("{STRIP}\n[variant.one.time]\nstep = 0.02\n");
    let time = with(&heading, "one", &[]).unwrap().plan.time;
    assert_eq!((time.step, time.duration), (0.02, 1.0));
    let short = format!("{STRIP}\n[variant.one]\ntime = {{ step = 0.02 }}\n");
    let told = with(&short, "one", &[]).unwrap_err().plain();
    assert!(
        told.contains("test.toml:18:8: [time] needs the key `duration`"),
        "{told}"
    );
}

#[test]
fn entries_are_removed_by_the_names_and_numbers_of_the_file() {
    let more = r#"
[[body]]
name = "ball"
kind = "rigid"
shape = { type = "sphere", radius = 0.1 }
material = "steel"
translate = [5, 0, 0]

[[pin]]
body = "strip"
select = { nodes = [0] }

[[pin]]
body = "strip"
select = { nodes = [1] }

[variant.less]
remove = ["pin.0", "body.ball", "pin.1", "pin.0", "body.strip.kind"]
pin.2.motion.release = 0.5
"#;
    let scene = with(&format!("{STRIP}{more}"), "less", &[]).unwrap();
    assert_eq!(scene.model.bodies.len(), 1);
    assert_eq!(scene.model.pins.len(), 1);
    let motion = scene.model.pins[0].motion.unwrap();
    assert_eq!(scene.model.motions[motion].release, Some(0.5));
}

#[test]
fn the_text_of_a_variant_is_a_scene_without_variants() {
    for name in ["quick", "fine", "bare"] {
        let chosen = with(&scene(), name, &["gravity=[0, 0, -9]"]).unwrap();
        assert!(variants(&text(&chosen.plan.text)).unwrap().is_empty());
        let again = ok(&chosen.plan.text);
        assert_eq!(again.plan.hash, chosen.plan.hash, "{}", chosen.plan.text);
        assert_eq!(again.state, chosen.state);
        assert_eq!(checks(&again), checks(&chosen));
    }
    let table = format!(
        "{STRIP}\n[[variant.one.friction.pair]]\nmaterials = [\"tablecloth\", \"tablecloth\"]\nstatic = 0.3\n[variant.one.method]\nname = \"admm\"\n"
    );
    let chosen = with(&table, "one", &[]).unwrap();
    assert_eq!(ok(&chosen.plan.text).plan.hash, chosen.plan.hash);
}

#[test]
fn a_variant_that_does_not_exist_is_refused_with_those_that_do() {
    let error = with(&scene(), "qiuck", &[]).unwrap_err();
    assert_eq!(error.kind(), ProblemKind::UnknownName);
    let told = error.plain();
    assert!(
        told.contains(
            "--variant:1:1: the scene has no variant `qiuck`; did you mean `quick`? Known variants: quick, fine, bare"
        ),
        "{told}"
    );
    let told = with(STRIP, "quick", &[]).unwrap_err().plain();
    assert!(told.contains("there are no variants"), "{told}");
    let described = scene().replace("[variant.fine]", "[variant.fine]\ndescription = \"Finer.\"");
    let found = variants(&text(&described)).unwrap();
    let found: Vec<(&str, &str)> = found
        .iter()
        .map(|v| (v.name.as_str(), v.description.as_str()))
        .collect();
    assert_eq!(found, [("quick", ""), ("fine", "Finer."), ("bare", "")]);
    // Chosen, it is the description of the scene.
    let fine = with(&described, "fine", &[]).unwrap();
    assert_eq!(fine.plan.description, "Finer.");
}

#[test]
fn mistakes_in_a_variant_are_reported_at_their_lines_whichever_is_loaded() {
    for (lines, message) in [
        (
            "body.stripe.material = \"denim\"",
            "test.toml:17:6: in `body.stripe.material`: no entry is called `stripe`; did you mean `strip`",
        ),
        (
            "tme.step = 0.1",
            "test.toml:17:1: the scene has no key `tme`; did you mean `time`",
        ),
        (
            "body.strip.veloctiy = [0, 0, 1]",
            "test.toml:17:12: body `strip` has no key `veloctiy`; did you mean `velocity`",
        ),
        (
            "time.step = \"fast\"",
            "test.toml:17:13: `step` of [time] must be a number",
        ),
        (
            "time.step.size = 1",
            "test.toml:17:11: in `time.step.size`: there is no `size` in the number 0.01",
        ),
        (
            "remove = [\"body.stripe\"]",
            "test.toml:17:11: in `body.stripe`: no entry is called `stripe`",
        ),
        (
            "remove = [\"chek.late\"]",
            "test.toml:17:11: in `chek.late`: there is no `chek`",
        ),
        (
            "remove = \"check.late\"",
            "`remove` of a variant must be a list",
        ),
    ] {
        let source = format!("{STRIP}\n[variant.one]\n{lines}\n").replace("\n\n[var", "\n[var");
        let told = with(&source, "one", &[]).unwrap_err().plain();
        assert!(told.contains(message), "{lines}: {told}");
        let error = fails(&source, &[]);
        let told = error.plain();
        let (place, what) = message.split_at(message.find(": ").map_or(0, |at| at + 2));
        let elsewhere = format!("{place}in variant `one`: {what}");
        assert!(
            told.contains(&elsewhere) || told.contains("in variant `one`: `remove`"),
            "{lines}: {told}"
        );
    }
    // A scene that needs an override to be read is read with it.
    let source = STRIP.replace("step = 0.01", "step = -1") + "\n[variant.one]\ngravity = [0, 0, 0]";
    ok_with(&source, &["time.step=0.01"]);
}

#[test]
fn overrides_do_not_reach_into_variants() {
    let told = fails(&scene(), &["variant.quick.time.step=1"]).plain();
    assert!(
        told.contains("--set:1:1: variants cannot be changed by an override"),
        "{told}"
    );
}

#[test]
fn the_names_of_variants_are_plain() {
    let told = fails(&format!("{STRIP}\n[variant.\"a/b\"]\n"), &[]).plain();
    assert!(told.contains("the name of a variant cannot be"), "{told}");
    let told = fails(&format!("variant = 3\n{STRIP}"), &[]).plain();
    assert!(told.contains("must be a table of variants"), "{told}");
}
