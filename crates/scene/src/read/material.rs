//! Materials: `[material.NAME]`, inline tables and the library.

use stiction_bodies::{
    material::{
        BendingLaw, Damping, MaterialError, MembraneLaw, RestAngles, ShellMaterial, SolidLaw,
        SolidMaterial,
    },
    rod::{Natural, RodMaterial, Twist, shear_modulus},
};

use crate::{
    error::{ProblemKind, Reporter},
    format::{Fields, section, words},
    friction::Coefficients,
    read::{
        friction::{COEFFICIENTS, coefficients},
        shape::Purpose,
    },
    source::{At, SourceSpan},
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
    /// Span of its name in the body.
    pub place: SourceSpan,
    pub table: Table,
}

words! { SOLID_LAWS: SolidLaw = "corotated" => SolidLaw::Corotated, "fixed-corotated" => SolidLaw::FixedCorotated, "neo-hookean" => SolidLaw::NeoHookean,
"stable-neo-hookean" => SolidLaw::StableNeoHookean, "stvk" => SolidLaw::StVk }
const SHELL_LAWS: &[&str] = &["stvk", "neo-hookean", "springs"];
const LAWS: &[&str] = &[
    "stvk",
    "neo-hookean",
    "springs",
    "corotated",
    "fixed-corotated",
    "stable-neo-hookean",
];
/// Groups of keys that are alternatives of one property: giving one drops what is inherited of
/// the others.
const ALTERNATIVES: &[&[&[&str]]] = &[
    &[&["density"], &["area_density"]],
    &[&["young", "poisson"], &["stretch"], &["springs"]],
];

section! { pub(crate) MATERIAL "material";
    "based_on": Text, Absent, "the material whose keys are taken over; given keys replace them";
    "kind": Word(&["shell", "solid", "rigid", "rod"]), Said("any use"), "what the data are good for: `\"shell\"`, `\"solid\"` (also for shells with a thickness, and rigid bodies), `\"rigid\"`, `\"rod\"`";
    "description": Text, Absent, "for people";
    "source": Text, Absent, "for people: where the numbers come from";
    "density": Number("kg/m³", Any), Said("required"), "mass per volume";
    "area_density": Number("kg/m²", Any), Said("`density` · `thickness`"), "of shells, instead of `density`";
    "thickness": Number("m", Any), Said("required for shells"), "of shells";
    "young": Number("Pa", Any), Said("required"), "Young's modulus; rods may have `young_bending` and `young_stretch` instead";
    "poisson": Number("1", Any), Said("required"), "Poisson's ratio: of solids below 0.5, of shells below 1";
    "law": Word(LAWS), Said("`\"stvk\"` of shells, `\"fixed-corotated\"` of solids"), "of shells `\"stvk\"`, `\"neo-hookean\"`, `\"springs\"`; of solids `\"fixed-corotated\"`, `\"corotated\"`, `\"stable-neo-hookean\"`, `\"neo-hookean\"`, `\"stvk\"`";
    "stretch": Table(&STRETCH), Absent, "of shells, instead of `young` and `poisson`: measured moduli";
    "bending": Either(&[Number("N·m", Any), Word(&["none", "from-thickness"]), Table(&BENDING)]), Said("`\"from-thickness\"`, or `\"none\"` with `stretch` or `springs`"), "the bending rigidity of shells, in all directions or measured; `\"from-thickness\"` is E t³/12(1 − ν²)";
    "springs": Table(&SPRINGS), Absent, "of shells, instead of both: springs along edges";
    "damping": Table(&DAMPING), Absent, "Rayleigh damping";
    "friction": Either(&[Number("1", NotNegative), Table(&COEFFICIENTS)]), Absent, "coefficients of this material, for the [friction](#friction) table";
    "radius": Either(&[Number("m", Any), Numbers(2, "m", Any)]), Said("required for rods"), "of the round cross-section, or both half axes of an elliptic one, the first along the `director`";
    "young_bending": Number("Pa", Any), Said("`young`"), "of rods: the modulus against bending and, with `poisson`, against twist";
    "young_stretch": Number("Pa", Any), Said("`young`"), "of rods: the modulus against stretching";
}
section! { pub(crate) STRETCH "material.stretch";
    "c11": Number("N/m", Any), Required, "along the warp";
    "c12": Number("N/m", Any), Required, "coupling";
    "c22": Number("N/m", Any), Required, "along the weft";
    "c33": Number("N/m", Any), Required, "shear";
}
section! { pub(crate) SPRINGS "material.springs";
    "edge": Number("N", Any), Required, "along edges";
    "bend": Number("N", Any), Num(0.0), "across pairs of triangles";
}
section! { pub(crate) BENDING "material.bending";
    "warp": Number("N·m", Any), Required, "along the warp";
    "weft": Number("N·m", Any), Required, "along the weft";
    "bias": Number("N·m", Any), Required, "along the diagonal";
}
section! { pub(crate) DAMPING "material.damping";
    "mass": Number("1/s", Any), Num(0.0), "the factor of M in the damping matrix";
    "stiffness": Number("s", Any), Num(0.0), "the factor of K in the damping matrix, with the rigid rotations of every element removed from K: what is under stress is not braked when it turns (but bent rods with quasi-static twist are, about their own tangent)";
}

impl<'a> Materials<'a> {
    /// All names, the scene's own first.
    pub fn names(&self) -> Vec<&'a str> {
        let own = self.scene.into_iter().flat_map(Table::keys);
        own.chain(self.library.keys()).collect()
    }

    /// The material that a body's `material` key names or holds.
    pub fn of(&self, node: &'a Node, owner: &str) -> Option<Material> {
        let (name, table) = match &node.value {
            Value::String(name) => (name, self.named(name, node.place, &mut Vec::new())?),
            Value::Table(table) => (&owner.to_owned(), self.complete(table, &mut Vec::new())?),
            // Reported with the table that it stands in.
            _ => return None,
        };
        Some(Material {
            name: name.clone(),
            place: node.place,
            table,
        })
    }

    /// The material called `name`.
    pub fn by_name(&self, name: &At<String>) -> Option<Material> {
        Some(Material {
            name: name.value.clone(),
            place: name.place,
            table: self.named(&name.value, name.place, &mut Vec::new())?,
        })
    }

    /// Checks the scene's own materials, also those that no body uses.
    pub fn check(&self) {
        for e in self.scene.iter().flat_map(|t| &t.entries) {
            let what = format!("material `{}`", e.key);
            let own = Fields::new(self.reporter, &e.node, what, &MATERIAL);
            let name = At::new(e.key.clone(), e.key_place);
            if let Some(material) = own.and_then(|_| self.by_name(&name)) {
                let f = material.fields(self.reporter);
                material.friction(self.reporter);
                damping(&f);
                stretch(&f);
                springs(&f);
                bending(&f);
            }
        }
    }

    fn named(&self, name: &str, place: SourceSpan, trail: &mut Vec<String>) -> Option<Table> {
        // A material may build on the library's of the same name.
        let own = self
            .scene
            .and_then(|t| t.get(name))
            .filter(|_| trail.last().is_none_or(|last| last != name));
        if own.is_some() && trail.iter().any(|t| t == name) {
            let chain = trail.join(" → ");
            let message = format!("material `{name}` is based on itself: {chain} → {name}");
            let help = Some("break the circle".to_owned());
            return self.reporter.fail(ProblemKind::Value, place, message, help);
        }
        let Some(node) = own.or_else(|| self.library.get(name)) else {
            let help = Some(suggest::help(name, "materials", self.names()));
            let message = format!("there is no material `{name}`");
            return self
                .reporter
                .fail(ProblemKind::UnknownName, place, message, help);
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
            let found = node.value.describe();
            let message = format!("`based_on` must be the name of a material, but is {found}");
            return self
                .reporter
                .fail(ProblemKind::Type, node.place, message, None);
        };
        let mut base = self.named(name, node.place, trail)?;
        for group in ALTERNATIVES {
            let given = |keys: &&&[&str]| keys.iter().any(|k| table.get(k).is_some());
            if let Some(given) = group.iter().find(given) {
                let all = group.concat();
                let dropped = |key: &str| all.contains(&key) && !given.contains(&key);
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
        Fields::over(reporter, &self.table, self.place, what).of(&MATERIAL)
    }

    /// Its coefficient of friction, if it has one.
    pub fn friction(&self, reporter: &Reporter) -> Option<Coefficients> {
        let what = format!("`friction` of material `{}`", self.name);
        coefficients(reporter, self.table.get("friction")?, &what)
    }

    /// The kind of a body that does not say its own: what the material is meant for.
    pub fn purpose(&self, body: &Fields<'_>) -> Option<Purpose> {
        match self.fields(body.reporter).text("kind").map(|k| k.value) {
            Some("shell") => Some(Purpose::Shell),
            Some("solid") => Some(Purpose::Solid),
            Some("rigid") => Some(Purpose::Rigid),
            Some("rod") => Some(Purpose::Rods),
            _ => body.missing("kind"),
        }
    }

    pub fn shell(&self, reporter: &Reporter, rest_angles: RestAngles) -> Option<ShellMaterial> {
        let f = self.usable(reporter, "shell", "a shell")?;
        let thickness: f64 = f.need("thickness")?;
        let area_density = match (f.has("area_density"), f.has("density")) {
            (true, true) => {
                let message = format!("{} gives both `density` and `area_density`", f.what);
                return f.refuse("density", message, "give one of them");
            }
            (false, false) => return f.missing("area_density"),
            (true, false) => f.take("area_density")?,
            (false, true) => {
                let density: f64 = f.take("density")?;
                if density <= 0.0 {
                    return f.out_of_range("density", density, "positive");
                }
                density * thickness
            }
        };
        let law = self.law(&f, SHELL_LAWS, "shells")?;
        let law = law.as_deref();
        let neo_hookean = law == Some("neo-hookean");
        let membrane = if f.has("springs") || law == Some("springs") {
            springs(&f).or_else(|| {
                if f.has("springs") {
                    None
                } else {
                    f.missing("springs")
                }
            })?
        } else if f.has("stretch") {
            if neo_hookean {
                let what = &f.what;
                let message = format!(
                    "{what} has measured moduli `stretch`, which the law `neo-hookean` cannot use"
                );
                return f.refuse("law", message, "remove `law` or give `young` and `poisson`");
            }
            stretch(&f)?
        } else {
            let (young, poisson) = (f.need("young")?, f.need("poisson")?);
            match neo_hookean {
                true => MembraneLaw::NeoHookean { young, poisson },
                false => MembraneLaw::StVk { young, poisson },
            }
        };
        let modulus = matches!(
            membrane,
            MembraneLaw::StVk { .. } | MembraneLaw::NeoHookean { .. }
        );
        let bending = match bending(&f) {
            Some(BendingLaw::FromThickness) if !modulus => {
                let what = &f.what;
                let message =
                    format!("{what} takes its bending from the thickness, but has no `young`");
                let help = "give `bending` as a number [N·m] or \"none\"";
                return f.refuse("bending", message, help);
            }
            Some(law) => law,
            None if modulus => BendingLaw::FromThickness,
            None => BendingLaw::None,
        };
        let material = ShellMaterial {
            thickness,
            area_density,
            membrane,
            bending,
            rest_angles,
            damping: damping(&f),
        };
        self.validated(&f, material.validate())?;
        Some(material)
    }

    pub fn solid(&self, reporter: &Reporter) -> Option<SolidMaterial> {
        let f = self.usable(reporter, "", "a solid")?;
        let (density, young, poisson) = (f.need("density"), f.need("young"), f.need("poisson"));
        let law = match self.law(&f, SOLID_LAWS.words, "solids")? {
            Some(_) => f.choice("law", &SOLID_LAWS)?,
            None => SolidLaw::default(),
        };
        let material = SolidMaterial {
            density: density?,
            young: young?,
            poisson: poisson?,
            law,
            damping: damping(&f),
        };
        self.validated(&f, material.validate())?;
        Some(material)
    }

    /// Density [kg/m³] and damping of a rigid body.
    pub fn rigid(&self, reporter: &Reporter) -> Option<(f64, Damping)> {
        let f = self.usable(reporter, "rigid", "a rigid body")?;
        let density: f64 = f.need("density")?;
        if density <= 0.0 {
            return f.out_of_range("density", density, "positive");
        }
        let damping = damping(&f);
        self.validated(&f, damping.validate())?;
        Some((density, damping))
    }

    /// The material of rods.
    pub fn rod(&self, reporter: &Reporter, natural: Natural, twist: Twist) -> Option<RodMaterial> {
        let f = self.usable(reporter, "rod", "rods")?;
        let (density, radii, poisson) = (f.need("density"), f.need("radius"), f.need("poisson"));
        // One modulus for both, or one for each.
        let modulus = |own: &str| match f.has(own) {
            true => f.take(own),
            false => f.need("young"),
        };
        let (young, stretch) = (modulus("young_bending"), modulus("young_stretch"));
        let (young, poisson): (f64, f64) = (young?, poisson?);
        if poisson <= -1.0 || poisson > 0.5 {
            return f.out_of_range("poisson", poisson, "above −1 and at most 0.5");
        }
        let material = RodMaterial {
            density: density?,
            young,
            stretch: stretch?,
            shear: shear_modulus(young, poisson),
            radii: radii?,
            natural,
            twist,
            damping: damping(&f),
        };
        self.validated(&f, material.validate())?;
        Some(material)
    }

    /// Its keys, if it may be used so. Data of bulk materials (steel, rubber) serve all uses; what was
    /// measured on cloth or hair serves only its own.
    fn usable<'a>(&'a self, reporter: &'a Reporter, own: &str, body: &str) -> Option<Fields<'a>> {
        let f = self.fields(reporter);
        let kind = f.text("kind").map_or("solid", |k| k.value);
        if kind == "solid" || kind == own {
            return Some(f);
        }
        let message = format!("{} is of kind `{kind}` and cannot make {body}", f.what);
        reporter.fail(ProblemKind::Value, self.place, message, None)
    }

    /// Its law, one of `laws`, if it is given.
    fn law(&self, f: &Fields<'_>, laws: &[&str], of: &str) -> Option<Option<String>> {
        let law: Option<String> = f.take("law")?;
        match law {
            Some(law) if !laws.contains(&law.as_str()) => {
                let help = suggest::help(&law, &format!("laws of {of}"), laws.iter().copied());
                let message = format!("`law` of {} cannot be `{law}`", f.what);
                f.fail(ProblemKind::UnknownName, "law", message, Some(help))
            }
            law => Some(law),
        }
    }

    fn validated(&self, f: &Fields<'_>, result: Result<(), MaterialError>) -> Option<()> {
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
        f.reporter.fail(
            ProblemKind::Value,
            place,
            format!("{}: {error}", f.what),
            None,
        )
    }
}

fn damping(f: &Fields<'_>) -> Damping {
    let Some(Some(d)) = f.sub("damping", &DAMPING) else {
        return Damping::default();
    };
    let (mass, stiffness) = (d.take("mass"), d.take("stiffness"));
    Damping {
        mass: mass.unwrap_or(0.0),
        stiffness: stiffness.unwrap_or(0.0),
    }
}

fn bending(f: &Fields<'_>) -> Option<BendingLaw> {
    match &f.get("bending")?.value {
        Value::Integer(_) | Value::Float(_) => f.take("bending").map(BendingLaw::Rigidity),
        Value::Table(_) => {
            let b = f.sub("bending", &BENDING)??;
            Some(BendingLaw::Measured {
                warp: b.take("warp")?,
                weft: b.take("weft")?,
                bias: b.take("bias")?,
            })
        }
        _ => match f.text("bending")?.value {
            "from-thickness" => Some(BendingLaw::FromThickness),
            _ => Some(BendingLaw::None),
        },
    }
}

fn stretch(f: &Fields<'_>) -> Option<MembraneLaw> {
    let s = f.sub("stretch", &STRETCH)??;
    Some(MembraneLaw::Measured {
        c11: s.take("c11")?,
        c12: s.take("c12")?,
        c22: s.take("c22")?,
        c33: s.take("c33")?,
    })
}

fn springs(f: &Fields<'_>) -> Option<MembraneLaw> {
    let s = f.sub("springs", &SPRINGS)??;
    Some(MembraneLaw::Springs {
        edge: s.take("edge")?,
        bend: s.take("bend")?,
    })
}
