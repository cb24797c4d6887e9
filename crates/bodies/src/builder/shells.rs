//! The elastic terms of a shell of one or several materials.

use stiction_math::{Vec2, Vec3};

use super::{
    BuildError,
    draft::{Draft, Spread},
};
use crate::{
    bending::{BendingRigidity, BendingTable, Hinges},
    elements::{ElementError, Elements},
    material::{BendingLaw, MaterialError, MembraneLaw, RestAngles, ShellMaterial},
    membrane::{NeoHookeanMembrane, RestTriangles, StretchModuli, StvkMembrane, TabulatedMembrane},
    model::ShellSource,
    spring::{SpringConfig, Springs},
    term::{self, Recipe},
};

/// Terms and mass of a shell with the given rest mesh, before its matrix has a pattern. Used by the
/// builder and by adaptation. `body` is a name for errors.
pub(crate) fn shell_draft(
    body: &str,
    source: &ShellSource,
    positions: &[Vec3],
    triangles: &[[u32; 3]],
) -> Result<Draft, BuildError> {
    let (materials, of) = (&source.materials, &source.patch);
    for material in &materials[..] {
        let springs = matches!(material.membrane, MembraneLaw::Springs { .. });
        let sound = match (springs && materials.len() > 1, material.membrane) {
            (false, MembraneLaw::Springs { edge, .. }) if source.pattern.is_some() => {
                Err(MaterialError {
                    parameter: "springs.edge",
                    value: edge,
                    rule: "springs take their lengths from the mesh and have no rest shape of its texture",
                })
            }
            (true, MembraneLaw::Springs { edge, .. }) => Err(MaterialError {
                parameter: "springs.edge",
                value: edge,
                rule: "edges belong to two triangles, so that springs cannot be one of several materials",
            }),
            _ => material.validate(),
        };
        sound.map_err(|source| BuildError::Material {
            body: body.to_owned(),
            source,
        })?;
    }
    let element = |source| BuildError::Element {
        body: body.to_owned(),
        source,
    };
    let known = of.iter().all(|&m| (m as usize) < materials.len());
    if !known || of.len() != triangles.len() {
        return Err(element(ElementError::Length {
            name: "the list of materials",
            got: of.len(),
            expected: triangles.len(),
        }));
    }

    let pattern = source.pattern.as_deref();
    let rest = match pattern {
        Some(pattern) => RestTriangles::from_pattern(pattern, triangles),
        None => RestTriangles::new(positions, triangles, source.warp),
    };
    let rest = rest.map_err(element)?;
    let masses = rest.areas().iter().zip(of);
    let masses = masses.map(|(a, &m)| a * materials[m as usize].area_density);
    let masses = masses.collect();
    let mut recipes: Vec<Box<dyn Recipe>> = Vec::new();
    for (m, material) in materials.iter().enumerate() {
        let numbers = (0..triangles.len()).filter(|&t| of[t] as usize == m);
        let own: Vec<[u32; 3]> = numbers.clone().map(|t| triangles[t]).collect();
        if own.is_empty() {
            continue;
        }
        let rest = match pattern {
            Some(pattern) => {
                let own_pattern: Vec<[Vec2; 3]> = numbers.map(|t| pattern[t]).collect();
                RestTriangles::from_pattern(&own_pattern, &own)
            }
            None => RestTriangles::new(positions, &own, source.warp),
        };
        let recipe = rest.and_then(|rest| membrane(rest, positions, &own, material));
        recipes.push(recipe.map_err(element)?);
    }
    let rigidity: Vec<Option<BendingTable>> = materials
        .iter()
        .map(rigidity)
        .collect::<Result<_, _>>()
        .map_err(element)?;
    if rigidity.iter().any(Option::is_some) {
        let none = BendingRigidity::isotropic(0.0).map_err(element)?.into();
        let of = |t: usize| rigidity[of[t] as usize].unwrap_or(none);
        let hinges = match pattern {
            Some(pattern) => Hinges::cut(positions, pattern, triangles, of),
            None => Hinges::patched(positions, triangles, of, source.warp),
        };
        let hinges = hinges.map_err(element)?;
        let flat = materials.first().map(|m| m.rest_angles) == Some(RestAngles::Flat);
        recipes.push(term::recipe(if flat { hinges.flattened() } else { hinges }));
    }
    Ok(Draft {
        recipes,
        mass: Some(Spread::Triangles(triangles.to_vec(), masses)),
        kind: source.mass,
        rest: positions.to_vec(),
    })
}

/// The membrane terms of `triangles` of the mesh.
fn membrane(
    rest: RestTriangles,
    positions: &[Vec3],
    triangles: &[[u32; 3]],
    material: &ShellMaterial,
) -> Result<Box<dyn Recipe>, ElementError> {
    let t = material.thickness;
    Ok(match material.membrane {
        MembraneLaw::StVk { young, poisson } => {
            let moduli = StretchModuli::isotropic(young, poisson, t)?;
            term::recipe(StvkMembrane::new(rest, moduli))
        }
        MembraneLaw::Measured { c11, c12, c22, c33 } => {
            let moduli = StretchModuli::measured(c11, c12, c22, c33)?;
            term::recipe(StvkMembrane::new(rest, moduli))
        }
        MembraneLaw::Tabulated(table) => term::recipe(TabulatedMembrane::new(rest, &table)?),
        MembraneLaw::NeoHookean { young, poisson } => {
            term::recipe(NeoHookeanMembrane::new(rest, young, poisson, t)?)
        }
        MembraneLaw::Springs { edge, bend } => {
            let config = SpringConfig {
                edge,
                bending: bend,
            };
            term::recipe(Springs::cloth(positions, triangles, config)?)
        }
    })
}

/// The membrane of one triangle as its material has it; none for springs.
pub(crate) fn sample_membrane(
    rest: RestTriangles,
    material: &ShellMaterial,
) -> Option<Box<dyn Elements<3>>> {
    let t = material.thickness;
    Some(match material.membrane {
        MembraneLaw::StVk { young, poisson } => {
            let moduli = StretchModuli::isotropic(young, poisson, t).ok()?;
            Box::new(StvkMembrane::new(rest, moduli))
        }
        MembraneLaw::Measured { c11, c12, c22, c33 } => {
            let moduli = StretchModuli::measured(c11, c12, c22, c33).ok()?;
            Box::new(StvkMembrane::new(rest, moduli))
        }
        MembraneLaw::Tabulated(table) => Box::new(TabulatedMembrane::new(rest, &table).ok()?),
        MembraneLaw::NeoHookean { young, poisson } => {
            Box::new(NeoHookeanMembrane::new(rest, young, poisson, t).ok()?)
        }
        MembraneLaw::Springs { .. } => return None,
    })
}

/// The bending rigidity, if any.
fn rigidity(material: &ShellMaterial) -> Result<Option<BendingTable>, ElementError> {
    let plate = match material.membrane {
        MembraneLaw::StVk { young, poisson } | MembraneLaw::NeoHookean { young, poisson } => {
            Some((young, poisson))
        }
        MembraneLaw::Measured { .. } | MembraneLaw::Tabulated(_) | MembraneLaw::Springs { .. } => {
            None
        }
    };
    Ok(match (material.bending, plate) {
        (BendingLaw::FromThickness, Some((young, poisson))) => {
            Some(BendingRigidity::plate(young, poisson, material.thickness)?.into())
        }
        (BendingLaw::None | BendingLaw::FromThickness, _) => None,
        (BendingLaw::Rigidity(d), _) => Some(BendingRigidity::isotropic(d)?.into()),
        (BendingLaw::Measured { warp, weft, bias }, _) => {
            Some(BendingRigidity::measured(warp, weft, bias)?.into())
        }
        (BendingLaw::Tabulated(samples), _) => Some(BendingTable::published(&samples)?),
    })
}
