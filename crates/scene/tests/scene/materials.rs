//! The library and materials derived from it.

use stiction_scene::library;

use crate::{STRIP, fails, ok};

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
fn a_derived_material_replaces_alternative_keys() {
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
            .contains("takes only one of `density`, `area_density`")
    );
}
