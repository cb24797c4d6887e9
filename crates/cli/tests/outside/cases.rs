//! Input and arguments of one case.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use stiction_cli::{math::checksum::Xxh64, scene, sim::Registry, solvers::SOLVERS};

use crate::{
    common::{self, Draw, code, root, stderr, stiction},
    mutate,
    scenes::{GARMENT, SAND, SCENE, SETTINGS},
};

/// Initial data of the cases.
pub struct Seeds {
    meshes: Vec<(String, Vec<u8>)>,
    strands: Vec<Vec<u8>>,
    problems: Vec<Vec<u8>>,
    scenes: Vec<String>,
    /// A run of `SCENE` whose checkpoint is of the middle.
    run: PathBuf,
    /// All keys of the scene format, by table.
    keys: BTreeMap<String, Vec<String>>,
    methods: Vec<&'static str>,
}

/// Makes the initial data in `dir`.
pub fn seeds(dir: &Path) -> Seeds {
    let scene = dir.join("scene.toml");
    fs::write(&scene, SCENE).unwrap();
    let (scene, run) = (scene.to_string_lossy().into_owned(), dir.join("run"));
    let out = run.to_string_lossy().into_owned();
    let args = ["run", &scene, "--out", &out, "--quiet", "--frames", "3"];
    let more = ["--contacts", "--dump-problems", "every=1", "--threads", "1"];
    let output = stiction(&[&args[..], &more].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let mut problems: Vec<PathBuf> = fs::read_dir(run.join("problems"))
        .unwrap()
        .map(|f| f.unwrap().path())
        .collect();
    problems.sort();
    let mut meshes: Vec<(String, Vec<u8>)> = Vec::new();
    let broken = root().join("scenes/broken/meshes");
    for entry in fs::read_dir(broken).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        meshes.push((name, fs::read(path).unwrap()));
    }
    for name in ["cloth_000001.vtu", "box_000001.obj", "hair_000001.vtu"] {
        meshes.push((
            name.to_owned(),
            fs::read(run.join("frames").join(name)).unwrap(),
        ));
    }
    meshes.sort();
    let mut strands = Vec::new();
    for form in ["text", "double", "single"] {
        let path = dir.join(form).to_string_lossy().into_owned();
        let more = ["--count", "4", "--segments", "3", "--form", form];
        let args = [&["groom", path.as_str()][..], &more].concat();
        assert_eq!(code(&stiction(&args)), 0);
        strands.push(fs::read(path).unwrap());
    }
    let small = [
        "free-fall",
        "tumbling",
        "block-slide",
        "capstan",
        "pendulum",
        "grains",
    ];
    let builtin = |name: &&str| scene::builtin::get(name).unwrap().text.to_owned();
    let registry = Registry::default();
    let schema = scene::schema(&registry);
    let tables = schema["$defs"].as_object().unwrap().iter();
    let keys = tables.map(|(name, table)| {
        let keys = table["properties"].as_object();
        let keys = keys
            .map(|k| k.keys().cloned().collect())
            .unwrap_or_default();
        (name.clone(), keys)
    });
    let keys = keys.collect();
    Seeds {
        meshes,
        strands,
        problems: problems.iter().map(|p| fs::read(p).unwrap()).collect(),
        scenes: small
            .iter()
            .map(builtin)
            .chain([SCENE, SAND, GARMENT].map(str::to_owned))
            .collect(),
        run,
        keys,
        methods: registry.names(),
    }
}

/// Copies a folder with all it holds.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(fs::copy(&path, &target).unwrap()),
        }
    }
}

/// The arguments in a line without quotes.
fn args(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

const RUN: &str = "run scene.toml --out out --frames 2 --threads 1";
const RESUME: &str = "run scene.toml --resume --out out --threads 1";

/// Commands that read the folder of a run.
const READERS: [&str; 9] = [
    "export out --format usd,gltf,obj,ply",
    "render out --out out/a.png --size 64,48 --contacts",
    "render out --all 3 --out out/a.png --size 64,48",
    "plot out --out out/a.svg --out out/a.png",
    "plot out --columns height,certificate.residual,'a,b' --out out/a.svg",
    "run scene.toml --out out --overwrite --threads 1",
    RESUME,
    RESUME,
    "run out/scene.toml --resume --out out --threads 1",
];

/// Commands that read a scene.
const LOADERS: [&str; 4] = [
    "doctor scene.toml --out out",
    "check scene.toml",
    "run scene.toml --out out --variant a",
    "compare scene.toml --with admm --out out",
];

/// A case in `dir`: its input is there, and `dir/out` is where it may write. Returns the arguments of its
/// commands, which follow one another.
pub fn case(draw: &mut Draw, seeds: &Seeds, dir: &Path) -> Vec<Vec<String>> {
    let make = Make { draw, seeds, dir };
    match make.draw.below(24) {
        0..=4 => make.scene(),
        5 => make.mesh(),
        6 => make.strands(),
        7 | 8 => make.problem(),
        9 | 10 => make.checkpoint(),
        11..=13 => make.file_of_a_run(),
        14 => make.arguments(),
        15 | 16 => make.method(),
        17..=19 => make.settings(),
        20 => make.deep(),
        21 => make.names(),
        _ => make.command(),
    }
}

struct Make<'a> {
    draw: &'a mut Draw,
    seeds: &'a Seeds,
    dir: &'a Path,
}

impl Make<'_> {
    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.dir.join(name), bytes).unwrap();
    }

    /// A mutated scene.
    fn scene(self) -> Vec<Vec<String>> {
        let text = self.draw.pick(&self.seeds.scenes);
        let text = mutate::text(self.draw, text);
        self.put("scene.toml", text);
        vec![args(RUN)]
    }

    fn mesh(self) -> Vec<Vec<String>> {
        let (name, bytes) = self.draw.pick(&self.seeds.meshes);
        let bytes = mutate::file(self.draw, bytes);
        self.put(name, bytes);
        let on = || {
            let mut groom = args("groom out/hair.strands --count 5 --on");
            groom.push(name.clone());
            groom
        };
        match self.draw.below(3) {
            0 => vec![vec!["doctor".to_owned(), name.clone()], on()],
            1 => vec![on()],
            // The same file in a scene.
            _ => {
                let kind = *self.draw.pick(&["rigid", "shell", "solid"]);
                let material = match kind {
                    "rigid" => "{ kind = \"rigid\", density = 500 }",
                    "shell" => "\"denim\"",
                    _ => "\"rubber\"",
                };
                let file = mutate::quoted(name);
                let text = format!(
                    "[time]\nstep = 0.01\nduration = 0.02\n[[body]]\nname = \"a\"\nkind = \"{kind}\"\n\
                     mesh = {file}\nmaterial = {material}\n[[obstacle]]\nname = \"floor\"\n\
                     shape = {{ type = \"plane\" }}\n"
                );
                self.put("scene.toml", text);
                vec![args(RUN), args("doctor scene.toml --out out")]
            }
        }
    }

    fn strands(self) -> Vec<Vec<String>> {
        let bytes = self.draw.pick(&self.seeds.strands);
        let bytes = mutate::file(self.draw, bytes);
        self.put("hair.strands", bytes);
        if self.draw.below(2) == 0 {
            return vec![args("doctor hair.strands --out out")];
        }
        let groom = SCENE.find("shape = { type = \"groom\"").unwrap();
        let end = groom + SCENE[groom..].find('\n').unwrap();
        let text = format!(
            "{}mesh = \"hair.strands\"{}",
            &SCENE[..groom],
            &SCENE[end..]
        );
        self.put("scene.toml", text);
        vec![args(RUN)]
    }

    fn problem(self) -> Vec<Vec<String>> {
        let bytes = self.draw.pick(&self.seeds.problems);
        let bytes = mutate::bytes(self.draw, bytes);
        self.put("a.problem", bytes);
        let solver = self.draw.pick(SOLVERS).name;
        let out = *self
            .draw
            .pick(&["out", "out/a.json", "out/a.csv", "out/a.hdf5"]);
        let mut all = args("solve a.problem --max-iterations 50 --threads 1 --json --solver");
        all.extend([solver.to_owned(), "--out".to_owned(), out.to_owned()]);
        vec![all]
    }

    /// A checkpoint, with a checksum that fits so that its contents are read.
    fn checkpoint(self) -> Vec<Vec<String>> {
        copy(&self.seeds.run, &self.dir.join("out"));
        self.put("scene.toml", SCENE);
        let path = self.dir.join("out/checkpoint.bin");
        let bytes = fs::read(&path).unwrap();
        let mut bytes = mutate::bytes(self.draw, &bytes[..bytes.len() - 8]);
        if bytes.len() > 20 && self.draw.below(4) > 0 {
            let length = bytes.len() as u64 + 8;
            bytes[12..20].copy_from_slice(&length.to_le_bytes());
        }
        let sum = Xxh64::of(&bytes);
        bytes.extend(sum.to_le_bytes());
        fs::write(&path, bytes).unwrap();
        vec![args(RESUME)]
    }

    /// Any file of a run.
    fn file_of_a_run(self) -> Vec<Vec<String>> {
        copy(&self.seeds.run, &self.dir.join("out"));
        self.put("scene.toml", SCENE);
        let mut files: Vec<PathBuf> = common::contents(&self.dir.join("out"))
            .into_iter()
            .map(|f| f.0)
            .collect();
        // Those of which there are few come as often as frames.
        files.sort_by_key(|f| f.components().count());
        let most = if self.draw.below(2) == 0 {
            8
        } else {
            files.len()
        };
        let file = &files[self.draw.below(most.min(files.len()))];
        let file = self.dir.join("out").join(file);
        let bytes = fs::read(&file).unwrap();
        match self.draw.below(8) {
            0 => fs::remove_file(&file).unwrap(),
            1 => {
                fs::remove_file(&file).unwrap();
                fs::create_dir(&file).unwrap();
            }
            _ => fs::write(&file, mutate::file(self.draw, &bytes)).unwrap(),
        }
        let line = *self.draw.pick(&READERS);
        vec![args(line)]
    }

    /// Arguments in any order, and ones that nothing takes.
    fn arguments(self) -> Vec<Vec<String>> {
        let commands = [
            "run",
            "doctor",
            "groom",
            "solve",
            "export",
            "render",
            "check",
            "plot",
            "view",
            "scenes",
            "compare",
            "validate",
            "bench",
            "init",
            "schema",
            "man",
            "completions",
            "nothing",
        ];
        let command = *self.draw.pick(&commands);
        let mut all = args(command);
        let known = "tumbling --threads 0 1 --frames -1 --set time.step=nan body=[] --require residual<nan \
                     --format none,vtu usd --variant quick --count 5 --length inf --radius nan --on /dev/zero \
                     --method smooth nodal --exact --json = -- --size 0,0 4294967295,1 --camera nan,1 --all \
                     --frame --case slope --with admm,smooth --columns ' --view --color never --help --seed \
                     --curl --apart 1e-300 --clumps --tolerance 1e308 --max-iterations 18446744073709551615 \
                     --allow-path / --dump-problems every=0 every=18446744073709551615 bash --list";
        let mut known: Vec<&str> = known.split_whitespace().collect();
        known.extend(["", "\u{1}", "a\nb", "\u{202e}"]);
        for _ in 0..=self.draw.below(5) {
            all.push((*self.draw.pick(&known)).to_owned());
        }
        all.extend(match command {
            "groom" => args("out/a.strands"),
            "run" | "export" | "check" | "compare" | "validate" => args("--out out"),
            "init" => args("--out out/a.toml"),
            "man" => args("out"),
            _ => Vec::new(),
        });
        vec![all]
    }

    /// Any method, in a scene that is good or mutated, and variants that it has not.
    fn method(self) -> Vec<Vec<String>> {
        let text = self.draw.pick(&self.seeds.scenes);
        let text = match self.draw.below(3) {
            0 => text.clone(),
            _ => mutate::text(self.draw, text),
        };
        // Settings of one method are refused by the others.
        let plain = text.replace("max_iterations = 200\n", "");
        self.put("scene.toml", plain);
        let mut run = args(RUN);
        run.push("--method".to_owned());
        run.push((*self.draw.pick(&self.seeds.methods)).to_owned());
        if self.draw.below(4) == 0 {
            run.push("--variant".to_owned());
            run.push((*self.draw.pick(&["quick", "paper", "", "../x"])).to_owned());
        }
        if self.draw.below(4) == 0 {
            run.extend(args("--exact --contacts --json"));
        }
        vec![run, args("run scene.toml --resume --out out --threads 1")]
    }

    /// Keys at any place with odd values: counts without end, numbers that overflow, wrong types; with any
    /// method where the scene allows several.
    fn settings(self) -> Vec<Vec<String>> {
        let (text, tables) = *self.draw.pick(&SETTINGS);
        let method = *self.draw.pick(&self.seeds.methods);
        // Settings of one method are refused by the others.
        let text = match self.draw.below(2) {
            0 => text.to_owned(),
            _ => text
                .replace("max_iterations = 200\n", "")
                .replace("name = \"admm\"", &format!("name = \"{method}\"")),
        };
        self.put("scene.toml", text);
        let mut run = args(RUN);
        for _ in 0..=self.draw.below(2) {
            let setting = mutate::setting(self.draw, tables, &self.seeds.keys);
            run.extend(["--set".to_owned(), setting]);
        }
        vec![run]
    }

    /// Nesting without end.
    fn deep(self) -> Vec<Vec<String>> {
        let deep = mutate::deep(self.draw);
        self.put("scene.toml", format!("{deep}{SCENE}"));
        let line = *self.draw.pick(&LOADERS);
        vec![args(RUN), args(line)]
    }

    /// Names that mean something elsewhere.
    fn names(self) -> Vec<Vec<String>> {
        let mut text = SCENE.to_owned();
        for known in ["cloth", "box", "hair", "floor", "height"] {
            if self.draw.below(2) == 0 {
                let name = mutate::quoted(&mutate::name(self.draw));
                for key in ["name", "body", "of"] {
                    text =
                        text.replace(&format!("{key} = \"{known}\""), &format!("{key} = {name}"));
                }
            }
        }
        self.put("scene.toml", text);
        let mut run = args(RUN);
        run.extend(args("--contacts --format vtu,obj,ply,usd,gltf"));
        vec![
            run,
            args("export out --format usd,gltf,obj,ply --out out/exported"),
            args("render out --all --out out/a.png --size 64,48 --contacts"),
            args("plot out"),
            args("run out/scene.toml --resume --out out --threads 1"),
        ]
    }

    /// Commands other than `run`, as they are meant.
    fn command(self) -> Vec<Vec<String>> {
        let names: Vec<&str> = scene::builtin::list().iter().map(|s| s.name).collect();
        let name = *self.draw.pick(&names);
        let text = self.draw.pick(&self.seeds.scenes);
        let text = mutate::text(self.draw, text);
        self.put("scene.toml", text);
        let method = *self.draw.pick(&self.seeds.methods);
        let odd = *self.draw.pick(&mutate::ODD);
        let case = *self
            .draw
            .pick(&["slope", "collision", "energy", "pair", "oscillator", "x"]);
        let line = match self.draw.below(16) {
            0 => "init cloth --out out/a.toml".to_owned(),
            1 => "init garment --out out/missing/a.toml".to_owned(),
            2 => "schema".to_owned(),
            3 => format!(
                "completions {}",
                self.draw
                    .pick(&["bash", "zsh", "fish", "elvish", "powershell", "x"])
            ),
            4 => "man out/pages".to_owned(),
            5 => format!("scenes {name}"),
            6 => format!("doctor {name} --out out --method {method} --json"),
            7 | 8 => format!("doctor scene.toml --out out --method {method}"),
            9 => format!("check scene.toml --method {method} --json --threads 1"),
            10 => format!(
                "compare scene.toml --with {method},admm --out out/compared --threads 1 --json"
            ),
            11 => format!("validate --quick --case {case} --method {method} --out out --threads 1"),
            12 => format!("groom out/a.strands --count 5 --length {odd} --segments 3"),
            13 => format!("groom out/a.strands --count {odd} --radius {odd}"),
            14 => format!(
                "groom out/a.strands --count 9 --curl {odd},{odd} --frizz {odd} --clumps {odd} --apart {odd}"
            ),
            _ => format!(
                "run {name} --variant quick --frames 1 --method {method} --out out --threads 1"
            ),
        };
        vec![args(&line)]
    }
}
