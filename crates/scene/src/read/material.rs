//! Materials: `[material.NAME]`, inline tables and the library.

use stiction_bodies::material::{
    BendingLaw, Damping, MaterialError, MembraneLaw, RestAngles, ShellMaterial, SolidLaw,
    SolidMaterial,
};

use crate::{
    error::{Kind, Reporter},
    fields::Fields,
    friction::Coefficients,
    read::{friction::coefficients, shape::Purpose},
    schema,
    source::{At, Place},
    suggest,
    tree::{Node, Table, Value},
};

/// The materials a scene can use.
pub(crate) struct Materials<'a> {
    pub reporter: &'a Reporter,
    /// `[material.NAME]` of the scene.
    pub scene: Option<&'a Table>,
    /// The library.
    pub library: &'a Table,
}

/// A material with what it inherits filled in.
#[derive(Clone, Debug)]
pub(crate) struct Material {
    pub name: String,
    /// Where the body names it.
    pub place: Place,
    pub table: Table,
}

/// What a body is made as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Shell,
    Solid,
    Rigid,
    Rod,
}

const KINDS: &[(&str, &str)] = &[
    ("shell", "shell"),
    ("solid", "solid"),
    ("rigid", "rigid"),
    ("rod", "rod"),
];
const SHELL_LAWS: &[&str] = &["stvk", "neo-hookean", "springs"];
const SOLID_LAWS: &[(&str, SolidLaw)] = &[
    ("corotated", SolidLaw::Corotated),
    ("fixed-corotated", SolidLaw::FixedCorotated),
    ("neo-hookean", SolidLaw::NeoHookean),
    ("stable-neo-hookean", SolidLaw::StableNeoHookean),
    ("stvk", SolidLaw::StVk),
];
/// Groups of keys that say the same thing in different ways: giving one drops what is inherited of
/// the others.
const ALTERNATIVES: &[&[&[&str]]] = &[
    &[&["density"], &["area_density"]],
    &[&["young", "poisson"], &["stretch"], &["springs"]],
];

impl<'a> Materials<'a> {
    /// All names, the scene's own first.
    pub fn names(&self) -> Vec<&'a str> {
        let own = self.scene.into_iter().flat_map(Table::keys);
        own.chain(self.library.keys()).collect()
    }

    /// The material that a body's `material` key names or holds.
    pub fn of(&self, node: &'a Node, owner: &str) -> Option<Material> {
        match &node.value {
            Value::String(name) => {
                let table = self.named(name, node.place, &mut Vec::new())?;
                Some(Material {
                    name: name.clone(),
                    place: node.place,
                    table,
                })
            }
            Value::Table(table) => {
                let table = self.complete(table, &mut Vec::new())?;
                Some(Material {
                    name: owner.to_owned(),
                    place: node.place,
                    table,
                })
            }
            other => {
                let message = format!(
                    "`material` of body `{owner}` must be a name or a table, but is {}",
                    other.describe()
                );
                self.reporter.fail(Kind::Type, node.place, message, None)
            }
        }
    }

    /// The material called `name`.
    pub fn by_name(&self, name: &At<String>) -> Option<Material> {
        let table = self.named(&name.value, name.place, &mut Vec::new())?;
        Some(Material {
            name: name.value.clone(),
            place: name.place,
            table,
        })
    }

    /// Checks the scene's own materials, also those that no body uses.
    pub fn check(&self) {
        for e in self.scene.iter().flat_map(|t| &t.entries) {
            let what = format!("material `{}`", e.key);
            if Fields::new(self.reporter, &e.node, what, schema::MATERIAL).is_none() {
                continue;
            }
            if let Some(table) = self.named(&e.key, e.key_place, &mut Vec::new()) {
                Material {
                    name: e.key.clone(),
                    place: e.key_place,
                    table,
                }
                .types(self.reporter);
            }
        }
    }

    fn named(&self, name: &str, place: Place, trail: &mut Vec<String>) -> Option<Table> {
        // A material may build on the library's of the same name.
        let own = self
            .scene
            .and_then(|t| t.get(name))
            .filter(|_| trail.last().is_none_or(|last| last != name));
        if own.is_some() && trail.iter().any(|t| t == name) {
            let message = format!(
                "material `{name}` is based on itself: {} → {name}",
                trail.join(" → ")
            );
            return self.reporter.fail(
                Kind::Value,
                place,
                message,
                Some("break the circle".to_owned()),
            );
        }
        let Some(node) = own.or_else(|| self.library.get(name)) else {
            let help = suggest::help(name, "materials", self.names());
            return self.reporter.fail(
                Kind::UnknownName,
                place,
                format!("there is no material `{name}`"),
                Some(help),
            );
        };
        trail.push(name.to_owned());
        match &node.value {
            Value::Table(table) => self.complete(table, trail),
            // Reported by `check`.
            _ => None,
        }
    }

    /// `table` with what `based_on` names filled in.
    fn complete(&self, table: &Table, trail: &mut Vec<String>) -> Option<Table> {
        let Some(node) = table.get("based_on") else {
            return Some(table.clone());
        };
        let Value::String(name) = &node.value else {
            let message = format!(
                "`based_on` must be the name of a material, but is {}",
                node.value.describe()
            );
            return self.reporter.fail(Kind::Type, node.place, message, None);
        };
        let mut base = self.named(name, node.place, trail)?;
        for group in ALTERNATIVES {
            let given = group
                .iter()
                .position(|keys| keys.iter().any(|k| table.get(k).is_some()));
            if let Some(given) = given {
                let dropped = |key: &str| {
                    group
                        .iter()
                        .enumerate()
                        .any(|(i, keys)| i != given && keys.contains(&key))
                };
                base.entries.retain(|e| !dropped(&e.key));
            }
        }
        for e in &table.entries {
            base.set(e.clone());
        }
        Some(base)
    }
}

impl Material {
    fn fields<'a>(&'a self, reporter: &'a Reporter) -> Fields<'a> {
        let what = format!("material `{}`", self.name);
        let fields = Fields {
            reporter,
            table: &self.table,
            place: self.place,
            what,
        };
        fields.allow(schema::MATERIAL);
        fields
    }

    /// Reads every key for its type.
    fn types(&self, reporter: &Reporter) {
        let f = self.fields(reporter);
        f.choice("kind", KINDS);
        for key in [
            "density",
            "area_density",
            "thickness",
            "young",
            "poisson",
            "young_bending",
            "young_stretch",
        ] {
            f.number(key);
        }
        f.string("law");
        f.string("description");
        f.string("source");
        self.friction(reporter);
        self.damping(&f);
        stretch(&f);
        springs(&f);
        self.bending(&f);
    }

    /// Its coefficient of friction, if it has one.
    pub fn friction(&self, reporter: &Reporter) -> Option<Coefficients> {
        let node = self.table.get("friction")?;
        coefficients(
            reporter,
            node,
            &format!("`friction` of material `{}`", self.name),
        )
    }

    /// The kind of a body that does not say its own: what the material is meant for.
    pub fn purpose(&self, body: &Fields<'_>) -> Option<Purpose> {
        match self.fields(body.reporter).string("kind").map(|k| k.value) {
            Some("shell") => Some(Purpose::Shell),
            Some("solid") => Some(Purpose::Solid),
            Some("rigid") => Some(Purpose::Rigid),
            Some("rod") => Some(Purpose::Rods),
            _ => body.missing("kind"),
        }
    }

    pub fn shell(&self, reporter: &Reporter, rest_angles: RestAngles) -> Option<ShellMaterial> {
        let f = self.fields(reporter);
        self.suits(&f, Use::Shell)?;
        let thickness = f.need_number("thickness")?;
        let area_density = match (f.has("area_density"), f.has("density")) {
            (true, true) => {
                let message = format!("{} gives both `density` and `area_density`", f.what);
                return f.fail(
                    Kind::Value,
                    "density",
                    message,
                    Some("give one of them".to_owned()),
                );
            }
            (false, false) => return f.missing("area_density"),
            (true, false) => f.number("area_density")?,
            (false, true) => {
                let density = f.number("density")?;
                if density <= 0.0 {
                    return f.out_of_range("density", density, "positive");
                }
                density * thickness
            }
        };
        let law = match f.string("law") {
            Some(law) if !SHELL_LAWS.contains(&law.value) => {
                let help = suggest::help(law.value, "laws of shells", SHELL_LAWS.iter().copied());
                return law.fail(
                    reporter,
                    Kind::UnknownName,
                    format!("`law` of {} cannot be `{}`", f.what, law.value),
                    Some(help),
                );
            }
            law => law.map(|l| l.value),
        };
        let membrane = if f.has("springs") || law == Some("springs") {
            f.need("springs")?;
            springs(&f)?
        } else if f.has("stretch") {
            if law == Some("neo-hookean") {
                let message = format!(
                    "{} has measured moduli `stretch`, which the law `neo-hookean` cannot use",
                    f.what
                );
                return f.fail(
                    Kind::Value,
                    "law",
                    message,
                    Some("remove `law` or give `young` and `poisson`".to_owned()),
                );
            }
            stretch(&f)?
        } else {
            let (young, poisson) = (f.need_number("young")?, f.need_number("poisson")?);
            if law == Some("neo-hookean") {
                MembraneLaw::NeoHookean { young, poisson }
            } else {
                MembraneLaw::StVk { young, poisson }
            }
        };
        let modulus = matches!(
            membrane,
            MembraneLaw::StVk { .. } | MembraneLaw::NeoHookean { .. }
        );
        let bending = match self.bending(&f) {
            Some(BendingLaw::FromThickness) if !modulus => {
                let message = format!(
                    "{} takes its bending from the thickness, but has no `young`",
                    f.what
                );
                return f.fail(
                    Kind::Value,
                    "bending",
                    message,
                    Some("give `bending` as a number [N·m] or \"none\"".to_owned()),
                );
            }
            Some(law) => law,
            None if modulus => BendingLaw::FromThickness,
            None => BendingLaw::None,
        };
        let damping = self.damping(&f);
        let material = ShellMaterial {
            thickness,
            area_density,
            membrane,
            bending,
            rest_angles,
            damping,
        };
        self.validated(&f, material.validate())?;
        Some(material)
    }

    pub fn solid(&self, reporter: &Reporter) -> Option<SolidMaterial> {
        let f = self.fields(reporter);
        self.suits(&f, Use::Solid)?;
        let (density, young, poisson) = (
            f.need_number("density"),
            f.need_number("young"),
            f.need_number("poisson"),
        );
        let law = f.choice("law", SOLID_LAWS).unwrap_or_default();
        let damping = self.damping(&f);
        let material = SolidMaterial {
            density: density?,
            young: young?,
            poisson: poisson?,
            law,
            damping,
        };
        self.validated(&f, material.validate())?;
        Some(material)
    }

    /// Density [kg/m³] and damping of a rigid body.
    pub fn rigid(&self, reporter: &Reporter) -> Option<(f64, Damping)> {
        let f = self.fields(reporter);
        self.suits(&f, Use::Rigid)?;
        let density = f.need_positive("density")?;
        let damping = self.damping(&f);
        self.validated(&f, damping.validate())?;
        Some((density, damping))
    }

    /// Its keys, if it may be used for rods.
    pub(super) fn rod_fields<'a>(&'a self, reporter: &'a Reporter) -> Option<Fields<'a>> {
        let f = self.fields(reporter);
        self.suits(&f, Use::Rod)?;
        Some(f)
    }

    /// Whether the material may be used so. Data of bulk materials (steel, rubber) serve all uses;
    /// what was measured on cloth or hair serves only its own.
    fn suits(&self, f: &Fields<'_>, wanted: Use) -> Option<()> {
        let kind = f.choice("kind", KINDS).unwrap_or("solid");
        let fits = match wanted {
            Use::Shell => matches!(kind, "shell" | "solid"),
            Use::Solid => kind == "solid",
            Use::Rigid => matches!(kind, "rigid" | "solid"),
            Use::Rod => matches!(kind, "rod" | "solid"),
        };
        if fits {
            return Some(());
        }
        let body = match wanted {
            Use::Shell => "a shell",
            Use::Solid => "a solid",
            Use::Rigid => "a rigid body",
            Use::Rod => "rods",
        };
        let message = format!("{} is of kind `{kind}` and cannot make {body}", f.what);
        f.reporter.fail(Kind::Value, self.place, message, None)
    }

    pub(super) fn validated(
        &self,
        f: &Fields<'_>,
        result: Result<(), MaterialError>,
    ) -> Option<()> {
        let Err(error) = result else { return Some(()) };
        let mut place = self.place;
        let mut table = Some(&self.table);
        for key in error.parameter.split('.') {
            let Some(node) = table.and_then(|t| t.get(key)) else {
                break;
            };
            place = node.place;
            table = match &node.value {
                Value::Table(t) => Some(t),
                _ => None,
            };
        }
        f.reporter
            .fail(Kind::Value, place, format!("{}: {error}", f.what), None)
    }

    pub(super) fn damping(&self, f: &Fields<'_>) -> Damping {
        let read = |node| {
            let d = Fields::new(
                f.reporter,
                node,
                format!("`damping` of {}", f.what),
                schema::DAMPING,
            )?;
            Some(Damping {
                mass: d.number("mass").unwrap_or(0.0),
                stiffness: d.number("stiffness").unwrap_or(0.0),
            })
        };
        f.get("damping").and_then(read).unwrap_or_default()
    }

    fn bending(&self, f: &Fields<'_>) -> Option<BendingLaw> {
        let node = f.get("bending")?;
        match &node.value {
            Value::Integer(_) | Value::Float(_) => f.number("bending").map(BendingLaw::Rigidity),
            Value::String(_) => f.choice(
                "bending",
                &[
                    ("none", BendingLaw::None),
                    ("from-thickness", BendingLaw::FromThickness),
                ],
            ),
            _ => {
                let b = Fields::new(
                    f.reporter,
                    node,
                    format!("`bending` of {}", f.what),
                    schema::BENDING,
                )?;
                let (warp, weft, bias) = (
                    b.need_number("warp"),
                    b.need_number("weft"),
                    b.need_number("bias"),
                );
                Some(BendingLaw::Measured {
                    warp: warp?,
                    weft: weft?,
                    bias: bias?,
                })
            }
        }
    }
}

fn stretch(f: &Fields<'_>) -> Option<MembraneLaw> {
    let s = Fields::new(
        f.reporter,
        f.get("stretch")?,
        format!("`stretch` of {}", f.what),
        schema::STRETCH,
    )?;
    let (c11, c12) = (s.need_number("c11"), s.need_number("c12"));
    let (c22, c33) = (s.need_number("c22"), s.need_number("c33"));
    Some(MembraneLaw::Measured {
        c11: c11?,
        c12: c12?,
        c22: c22?,
        c33: c33?,
    })
}

fn springs(f: &Fields<'_>) -> Option<MembraneLaw> {
    let s = Fields::new(
        f.reporter,
        f.get("springs")?,
        format!("`springs` of {}", f.what),
        schema::SPRINGS,
    )?;
    let edge = s.need_number("edge");
    let bend = s.number("bend").unwrap_or(0.0);
    Some(MembraneLaw::Springs { edge: edge?, bend })
}
