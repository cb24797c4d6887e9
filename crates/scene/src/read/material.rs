//! Materials: `[material.NAME]`, inline tables and the library.

use stiction_bodies::{
    builder::GranularSpec,
    elements::ElementError,
    material::{
        BendingLaw, Damping, MaterialError, MembraneLaw, RestAngles, ShellMaterial, SolidLaw,
        SolidMaterial,
    },
    mpm::{Hencky, PointLaw, Yield},
    rod::{Natural, RodMaterial, Twist, shear_modulus},
    solid::{FixedCorotated, Lame},
};
use stiction_contact::detect::PairLaw;

use crate::{
    format::{
        Fields, Read, Reporter, SourceSpan, TableKeys, TreeNode, TreeTable, Words, section, words,
        wrong_type,
    },
    read::{Context, friction::CoefficientKeys, shape::Purpose},
};

/// The materials a scene can use.
pub(crate) struct Materials {
    /// `[material.NAME]` of the scene.
    pub scene: TreeTable,
    /// The library.
    pub library: TreeTable,
}

/// A material with what it inherits filled in.
#[derive(Clone, Debug)]
pub(crate) struct Material {
    pub name: String,
    /// Span of its name in the body.
    pub place: SourceSpan,
    pub table: TreeTable,
}

words! { SolidLaw: "corotated" => Corotated, "fixed-corotated" => FixedCorotated, "neo-hookean" => NeoHookean, "stable-neo-hookean" => StableNeoHookean, "stvk" => StVk }
const SHELL_LAWS: &[&str] = &["stvk", "neo-hookean", "springs"];
const LAWS: &[&str] = &[
    "stvk",
    "neo-hookean",
    "springs",
    "corotated",
    "fixed-corotated",
    "stable-neo-hookean",
    "sand",
    "goo",
];
const POINT_LAWS: &[&str] = &["fixed-corotated", "sand", "goo"];
/// Groups of keys that are alternatives of one property: giving one drops what is inherited of
/// the others.
const ALTERNATIVES: &[&[&[&str]]] = &[
    &[&["density"], &["area_density"]],
    &[&["young", "poisson"], &["stretch"], &["springs"]],
];

section! { struct MaterialKeys "material" [AtMostOne(&["density", "area_density"]), Demands("law", &["sand"], "friction_angle"), Demands("law", &["goo"], "yield_stress"),
    Demands("law", &["springs"], "springs"), Excludes("law", &["neo-hookean"], &["stretch"], "this law of shells uses `young` and `poisson`")] {
    based_on: () = Text, Absent, "the material whose keys are taken over; given keys replace them";
    kind: Option<String> = Word(&["shell", "solid", "rigid", "rod"]), Said("any use"), "what the data are good for: `\"shell\"`, `\"solid\"` (also for shells with a thickness, and rigid bodies), `\"rigid\"`, `\"rod\"`";
    description: () = Text, Absent, "for people";
    source: () = Text, Absent, "for people: where the numbers come from";
    density: Option<f64> = Number("kg/m³", Positive), Said("required"), "mass per volume";
    area_density: Option<f64> = Number("kg/m²", Positive), Said("`density` · `thickness`"), "of shells, instead of `density`";
    thickness: Option<f64> = Number("m", Any), Said("required for shells"), "of shells";
    young: Option<f64> = Number("Pa", Any), Said("required"), "Young's modulus; rods may have `young_bending` and `young_stretch` instead";
    poisson: Option<f64> = Number("1", Any), Said("required"), "Poisson's ratio: of solids below 0.5, of shells below 1";
    law: Option<String> = Word(LAWS), Said("`\"stvk\"` of shells, `\"fixed-corotated\"` of solids"), "of shells `\"stvk\"`, `\"neo-hookean\"`, `\"springs\"`; of solids `\"fixed-corotated\"`, `\"corotated\"`, `\"stable-neo-hookean\"`, `\"neo-hookean\"`, `\"stvk\"`; of granular bodies `\"fixed-corotated\"`, `\"sand\"` (Drucker and Prager) and `\"goo\"` (a Bingham fluid)";
    friction_angle: Option<f64> = Number("°", Any), Said("required for sand"), "inner friction of sand";
    yield_stress: Option<f64> = Number("Pa", Any), Said("required for goo"), "of goo: the tension above which it flows";
    viscosity: f64 = Number("Pa·s", Any), Num(0.0), "of goo that flows";
    stretch: Option<MembraneLaw> = Table(StretchKeys::SECTION), Absent, "of shells, instead of `young` and `poisson`: measured moduli";
    bending: Option<BendingLaw> = Either(&[Number("N·m", Any), Word(&["none", "from-thickness"]), Table(BendingKeys::SECTION)]), Said("`\"from-thickness\"`, or `\"none\"` with `stretch` or `springs`"), "the bending rigidity of shells, in all directions or measured; `\"from-thickness\"` is E t³/12(1 − ν²)";
    springs: Option<Springs> = Table(Springs::SECTION), Absent, "of shells, instead of both: springs along edges";
    damping: Option<Damping> = Table(Damping::SECTION), Absent, "Rayleigh damping";
    friction: Option<PairLaw> = Either(&[Number("1", NotNegative), Table(CoefficientKeys::SECTION)]), Absent, "coefficients of this material, for the [friction](#friction) table";
    radius: Option<[f64; 2]> = Either(&[Number("m", Any), Numbers(2, "m", Any)]), Said("required for rods"), "of the round cross-section, or both half axes of an elliptic one, the first along the `director`";
    young_bending: Option<f64> = Number("Pa", Any), Said("`young`"), "of rods: the modulus against bending and, with `poisson`, against twist";
    young_stretch: Option<f64> = Number("Pa", Any), Said("`young`"), "of rods: the modulus against stretching";
} }
section! { struct StretchKeys "material.stretch" [OneGroup(&[&["c11", "c12", "c22", "c33"], &["samples"]])] => MembraneLaw, stretch {
    c11: Option<f64> = Number("N/m", Any), Said("required without `samples`"), "along the warp";
    c12: Option<f64> = Number("N/m", Any), Said("required without `samples`"), "coupling";
    c22: Option<f64> = Number("N/m", Any), Said("required without `samples`"), "along the weft";
    c33: Option<f64> = Number("N/m", Any), Said("required without `samples`"), "shear";
    samples: Option<[[f64; 4]; 6]> = Rows(6, &Numbers(4, "N/m", Any)), Absent, "instead, for moduli that depend on strain: six published rows c11, c12, c22, c33 [wang2011], at rest, then at a stretch of 1 + 1/6 along 0°, 22.5°, 45°, 67.5° and 90° to the warp";
} }
section! { struct Springs "material.springs" {
    edge: f64 = Number("N", Any), Required, "along edges";
    bend: f64 = Number("N", Any), Num(0.0), "across pairs of triangles";
} }
section! { struct BendingKeys "material.bending" [OneGroup(&[&["warp", "weft", "bias"], &["samples"]])] {
    warp: Option<f64> = Number("N·m", Any), Said("required without `samples`"), "along the warp";
    weft: Option<f64> = Number("N·m", Any), Said("required without `samples`"), "along the weft";
    bias: Option<f64> = Number("N·m", Any), Said("required without `samples`"), "along the diagonal";
    samples: Option<[[f64; 5]; 3]> = Rows(3, &Numbers(5, "N·m", Any)), Absent, "instead, for a rigidity that depends on curvature: three published rows [wang2011] for folds along the warp, the bias and the weft, at 0, 5, 10, 15 and 20 m⁻¹; four times the rigidity";
} }
section! { for Damping "material.damping" {
    mass: f64 = Number("1/s", NotNegative), Num(0.0), "the factor of M in the damping matrix";
    stiffness: f64 = Number("s", NotNegative), Num(0.0), "the factor of K in the damping matrix, with the rigid rotations of every element removed from K: what is under stress is not braked when it turns (but bent rods with quasi-static twist are, about their own tangent)";
} }

fn stretch(f: &Fields<'_>, k: StretchKeys) -> Option<MembraneLaw> {
    Some(match k.samples {
        Some(table) => MembraneLaw::Tabulated(table),
        None => MembraneLaw::Measured {
            c11: f.need("c11", k.c11)?,
            c12: f.need("c12", k.c12)?,
            c22: f.need("c22", k.c22)?,
            c33: f.need("c33", k.c33)?,
        },
    })
}

impl Read<Context> for BendingLaw {
    fn read(f: &Fields<'_>, key: &str, node: &TreeNode) -> Option<Self> {
        match (node.number(), node.text()) {
            (Some(rigidity), _) => return Some(Self::Rigidity(rigidity)),
            (_, Some("from-thickness")) => return Some(Self::FromThickness),
            (_, Some(_)) => return Some(Self::None),
            _ => {}
        }
        let f = f.inside(key, node, BendingKeys::SECTION)?;
        let k = BendingKeys::keys(&f)?;
        Some(match k.samples {
            Some(table) => Self::Tabulated(table),
            None => Self::Measured {
                warp: f.need("warp", k.warp)?,
                weft: f.need("weft", k.weft)?,
                bias: f.need("bias", k.bias)?,
            },
        })
    }
}

impl Materials {
    /// All names, the scene's own first.
    pub fn names(&self) -> Vec<&str> {
        self.scene.keys().chain(self.library.keys()).collect()
    }

    /// The material called `name`.
    pub fn by_name(&self, reporter: &Reporter, name: &str, place: SourceSpan) -> Option<Material> {
        Some(Material {
            name: name.to_owned(),
            place,
            table: self.named(reporter, name, place, &mut Vec::new())?,
        })
    }

    /// Checks the scene's own materials, also those that no body uses.
    pub fn check(&self, root: &Fields<'_>) {
        for e in &self.scene.entries {
            let what = format!("material `{}`", e.key);
            let own = root
                .open(&e.node, what)
                .map(|f| f.of(MaterialKeys::SECTION));
            let material = own.and_then(|_| self.by_name(root.reporter(), &e.key, e.key_place));
            let _ = material.and_then(|m| m.open(root).map(|_| ()));
        }
    }

    fn named(
        &self,
        reporter: &Reporter,
        name: &str,
        place: SourceSpan,
        trail: &mut Vec<String>,
    ) -> Option<TreeTable> {
        // A material may build on the library's of the same name.
        let own = self
            .scene
            .get(name)
            .filter(|_| trail.last().is_none_or(|last| last != name));
        if own.is_some() && trail.iter().any(|t| t == name) {
            let chain = trail.join(" → ");
            let message = format!("material `{name}` is based on itself: {chain} → {name}");
            return reporter.refuse(place, message, "break the circle");
        }
        let Some(node) = own.or_else(|| self.library.get(name)) else {
            let message = format!("there is no material `{name}`");
            return reporter.unknown(place, message, name, "materials", self.names());
        };
        trail.push(name.to_owned());
        // Another value has been reported by `check`.
        self.complete(reporter, node.table()?, trail)
    }

    /// `table` with what `based_on` names filled in.
    fn complete(
        &self,
        reporter: &Reporter,
        table: &TreeTable,
        trail: &mut Vec<String>,
    ) -> Option<TreeTable> {
        let Some(node) = table.get("based_on") else {
            return Some(table.clone());
        };
        let Some(name) = node.text() else {
            let wanted = "the name of a material";
            return wrong_type(reporter, node, "`based_on`", wanted);
        };
        let mut base = self.named(reporter, name, node.place, trail)?;
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

/// The name of a material, or its keys; those are called as the body.
impl Read<Context> for Material {
    fn read(f: &Fields<'_>, _: &str, node: &TreeNode) -> Option<Self> {
        let materials = &f.cx.materials;
        if let Some(name) = node.text() {
            return materials.by_name(f.reporter(), name, node.place);
        }
        Some(Self {
            name: f.table.text("name").unwrap_or(&f.what).to_owned(),
            place: node.place,
            table: materials.complete(f.reporter(), node.table()?, &mut Vec::new())?,
        })
    }
}

impl Material {
    fn open<'a>(&'a self, user: &Fields<'a>) -> Option<(Fields<'a>, MaterialKeys)> {
        let what = format!("material `{}`", self.name);
        let f = user
            .over(&self.table, self.place, what)
            .of(MaterialKeys::SECTION);
        let keys = MaterialKeys::keys(&f)?;
        Some((f, keys))
    }

    /// Its coefficient of friction, if it has one.
    pub fn friction(&self, user: &Fields<'_>) -> Option<PairLaw> {
        self.open(user)?.1.friction
    }

    /// The kind of a body that does not say its own: what the material is meant for.
    pub fn purpose(&self, body: &Fields<'_>) -> Option<Purpose> {
        match self.table.text("kind") {
            Some("rod") => Some(Purpose::Rods),
            Some("shell") => Some(Purpose::Shell),
            Some("solid") => Some(Purpose::Solid),
            Some("rigid") => Some(Purpose::Rigid),
            _ => body.missing("kind"),
        }
    }

    /// The material of a shell.
    pub fn shell(&self, user: &Fields<'_>, rest_angles: RestAngles) -> Option<ShellMaterial> {
        let (f, k) = self.usable(user, "shell", "a shell")?;
        let thickness = f.need("thickness", k.thickness)?;
        let by_volume = k.density.map(|density| density * thickness);
        let area_density = f.need("area_density", k.area_density.or(by_volume))?;
        let law = self.law(&f, k.law.as_deref(), SHELL_LAWS, "shells")?;
        let membrane = match (k.springs, k.stretch, law) {
            (Some(Springs { edge, bend }), ..) => MembraneLaw::Springs { edge, bend },
            (None, Some(measured), _) => measured,
            (None, None, law) => {
                let (young, poisson) = (f.need("young", k.young), f.need("poisson", k.poisson));
                let (young, poisson) = (young?, poisson?);
                match law {
                    Some("neo-hookean") => MembraneLaw::NeoHookean { young, poisson },
                    _ => MembraneLaw::StVk { young, poisson },
                }
            }
        };
        let modulus = matches!(
            membrane,
            MembraneLaw::StVk { .. } | MembraneLaw::NeoHookean { .. }
        );
        let bending = match k.bending {
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
            damping: k.damping.unwrap_or_default(),
        };
        self.validated(&f, material.validate())?;
        Some(material)
    }

    /// The elastic material of a solid.
    pub fn solid(&self, user: &Fields<'_>) -> Option<SolidMaterial> {
        let (f, k) = self.usable(user, "", "a solid")?;
        let density = f.need("density", k.density);
        let (young, poisson) = (f.need("young", k.young), f.need("poisson", k.poisson));
        let law = match self.law(&f, k.law.as_deref(), SolidLaw::WORDS, "solids")? {
            Some(_) => SolidLaw::of(f.get("law")?)?,
            None => SolidLaw::default(),
        };
        let material = SolidMaterial {
            density: density?,
            young: young?,
            poisson: poisson?,
            law,
            damping: k.damping.unwrap_or_default(),
        };
        self.validated(&f, material.validate())?;
        Some(material)
    }

    /// Density [kg/m³] and damping of a rigid body.
    pub fn rigid(&self, user: &Fields<'_>) -> Option<(f64, Damping)> {
        let (f, k) = self.usable(user, "rigid", "a rigid body")?;
        Some((f.need("density", k.density)?, k.damping.unwrap_or_default()))
    }

    /// Material points, so many per cell of a grid [m].
    pub fn granular(&self, user: &Fields<'_>, cell: f64, per_cell: u32) -> Option<GranularSpec> {
        let (f, k) = self.usable(user, "", "a granular body")?;
        let density = f.need("density", k.density)?;
        let (young, poisson) = (f.need("young", k.young), f.need("poisson", k.poisson));
        let lame = self.sound(&f, Lame::new(young?, poisson?))?;
        let rule = match self.law(&f, k.law.as_deref(), POINT_LAWS, "granular bodies")? {
            Some("sand") => {
                let angle = f.need("friction_angle", k.friction_angle)?;
                Some(self.sound(&f, Yield::sand(angle.to_radians()))?)
            }
            Some("goo") => {
                let stress = f.need("yield_stress", k.yield_stress)?;
                Some(self.sound(&f, Yield::goo(stress, k.viscosity))?)
            }
            _ => None,
        };
        Some(GranularSpec {
            law: match rule {
                Some(rule) => PointLaw::Plastic(Hencky::new(lame), rule),
                None => PointLaw::Elastic(FixedCorotated { lame }),
            },
            density,
            cell,
            per_cell,
            damping: k.damping.unwrap_or_default(),
        })
    }

    /// A parameter of an elastic law, or a report at its key.
    fn sound<T>(&self, f: &Fields<'_>, made: Result<T, ElementError>) -> Option<T> {
        match made {
            Ok(made) => Some(made),
            Err(ElementError::Parameter { name, value, rule }) => f.out_of_range(name, value, rule),
            Err(error) => f.reporter().refuse(self.place, error.to_string(), None),
        }
    }

    /// The material of rods.
    pub fn rod(&self, user: &Fields<'_>, natural: Natural, twist: Twist) -> Option<RodMaterial> {
        let (f, k) = self.usable(user, "rod", "rods")?;
        let (density, radii) = (f.need("density", k.density), f.need("radius", k.radius));
        let poisson = f.need("poisson", k.poisson);
        // One modulus for both, or one for each.
        let young = f.need("young", k.young_bending.or(k.young));
        let stretch = f.need("young", k.young_stretch.or(k.young));
        let (young, poisson) = (young?, poisson?);
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
            damping: k.damping.unwrap_or_default(),
        };
        self.validated(&f, material.validate())?;
        Some(material)
    }

    /// Its keys, if it may be used so. Data of bulk materials (steel, rubber) serve all uses; what was
    /// measured on cloth or hair serves only its own.
    fn usable<'a>(
        &'a self,
        user: &Fields<'a>,
        own: &str,
        body: &str,
    ) -> Option<(Fields<'a>, MaterialKeys)> {
        let (f, keys) = self.open(user)?;
        let kind = keys.kind.as_deref().unwrap_or("solid");
        if kind == "solid" || kind == own {
            return Some((f, keys));
        }
        let message = format!("{} is of kind `{kind}` and cannot make {body}", f.what);
        f.reporter().refuse(self.place, message, None)
    }

    /// Its law, one of `laws`, if it is given.
    fn law<'k>(
        &self,
        f: &Fields<'_>,
        law: Option<&'k str>,
        laws: &[&str],
        of: &str,
    ) -> Option<Option<&'k str>> {
        match law {
            Some(law) if !laws.contains(&law) => {
                let (what, kinds) = (&f.what, format!("laws of {of}"));
                let message = format!("`law` of {what} cannot be `{law}`");
                f.unknown("law", message, law, &kinds, laws.iter().copied())
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
            (place, table) = (node.place, node.table());
        }
        let message = format!("{}: {error}", f.what);
        f.reporter().refuse(place, message, None)
    }
}
