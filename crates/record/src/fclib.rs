//! Friction problems in FCLIB's HDF5 files [acary2014], in memory.
//!
//! The layout is in `docs/problem-format.md`. Data that FCLIB does not support (frames, time step)
//! go into a separate group, which its readers ignore.

use hdf5_pure::{File, FileBuilder, GroupBuilder};
use stiction_contact::exchange::{
    Exchange, ExchangeError, GlobalProblem, Point, ProblemForm, ReducedProblem, TripletMatrix,
};
use stiction_math::Mat3;

/// Errors of reading or writing an FCLIB problem.
#[derive(Debug, thiserror::Error)]
pub enum FclibError {
    /// The container cannot be read or written.
    #[error("the HDF5 file is damaged or of a kind that is not read: {0}")]
    Hdf5(String),
    /// Something that FCLIB prescribes is missing or has another type.
    #[error("`{path}`: {reason}")]
    Missing {
        /// Its path in the file.
        path: String,
        /// The error message of the container.
        reason: String,
    },
    /// An invalid value.
    #[error("`{path}`: {reason}")]
    Malformed {
        /// Its path in the file.
        path: String,
        /// Description of the error.
        reason: String,
    },
    /// The problem is invalid.
    #[error(transparent)]
    Problem(#[from] ExchangeError),
}

/// Whether bytes are an HDF5 file.
pub fn is_hdf5(bytes: &[u8]) -> bool {
    hdf5_pure::is_hdf5_bytes(bytes)
}

/// Name of the group with data that FCLIB does not support.
const OURS: &str = "stiction";

/// Encodes a problem as a file.
pub fn to_bytes(exchange: &Exchange) -> Result<Vec<u8>, FclibError> {
    let mut file = FileBuilder::new();
    let (name, matrices, vectors) = match &exchange.form {
        ProblemForm::Global(g) => (
            "fclib_global",
            vec![("M", &g.m), ("H", &g.h)],
            vec![("f", &g.f), ("w", &g.w), ("mu", &g.mu)],
        ),
        ProblemForm::Local(l) => (
            "fclib_local",
            vec![("W", &l.w)],
            vec![("q", &l.q), ("mu", &l.mu)],
        ),
    };
    let mut group = file.create_group(name);
    group.create_dataset("spacedim").with_i32_data(&[3]);
    for (name, matrix) in matrices {
        let mut sub = group.create_group(name);
        write_matrix(&mut sub, name, matrix)?;
        group.add_group(sub.finish());
    }
    let mut sub = group.create_group("vectors");
    for (name, vector) in vectors {
        sub.create_dataset(name).with_f64_data(vector);
    }
    group.add_group(sub.finish());
    let mut sub = group.create_group("info");
    for (name, text) in [
        ("title", "friction problem"),
        ("description", &exchange.origin),
    ] {
        // FCLIB takes text of fixed length, which cannot be empty.
        let text = if text.is_empty() { "unknown" } else { text };
        let set = sub.create_dataset(name);
        set.with_strings(&[text])
            .map_err(|e| FclibError::Hdf5(e.to_string()))?;
        set.with_shape(&[]);
    }
    group.add_group(sub.finish());
    file.add_group(group.finish());

    if let Some(solution) = &exchange.solution {
        let mut group = file.create_group("solution");
        write_point(&mut group, solution);
        file.add_group(group.finish());
    }
    if let Some(guess) = &exchange.guess {
        let mut group = file.create_group("guesses");
        group
            .create_dataset("number_of_guesses")
            .with_i32_data(&[1]);
        let mut sub = group.create_group("1");
        write_point(&mut sub, guess);
        group.add_group(sub.finish());
        file.add_group(group.finish());
    }
    let mut group = file.create_group(OURS);
    group.create_dataset("h").with_f64_data(&[exchange.h]);
    if !exchange.frames.is_empty() {
        let numbers: Vec<f64> = exchange.frames.iter().flatten().copied().collect();
        group.create_dataset("frames").with_f64_data(&numbers);
    }
    file.add_group(group.finish());
    file.finish().map_err(|e| FclibError::Hdf5(e.to_string()))
}

/// Compressed columns: `nz = -1` in FCLIB.
fn write_matrix(
    group: &mut GroupBuilder,
    name: &str,
    matrix: &TripletMatrix,
) -> Result<(), FclibError> {
    let entries = matrix.merged();
    let int = |n: usize| {
        i32::try_from(n).map_err(|_| FclibError::Malformed {
            path: name.to_owned(),
            reason: format!("{n} is more than FCLIB can count"),
        })
    };
    let mut starts = vec![0i32; matrix.columns + 1];
    for e in &entries {
        starts[e.1 as usize + 1] += 1;
    }
    for j in 0..matrix.columns {
        starts[j + 1] += starts[j];
    }
    let rows: Vec<i32> = entries.iter().map(|e| e.0 as i32).collect();
    let values: Vec<f64> = entries.iter().map(|e| e.2).collect();
    let sizes = [
        ("nzmax", int(entries.len())?),
        ("m", int(matrix.rows)?),
        ("n", int(matrix.columns)?),
        ("nz", -1),
    ];
    for (name, value) in sizes {
        group.create_dataset(name).with_i32_data(&[value]);
    }
    group.create_dataset("p").with_i32_data(&starts);
    group.create_dataset("i").with_i32_data(&rows);
    group.create_dataset("x").with_f64_data(&values);
    Ok(())
}

fn write_point(group: &mut GroupBuilder, point: &Point) {
    for (name, column) in [("v", &point.v), ("u", &point.u), ("r", &point.r)] {
        if !column.is_empty() {
            group.create_dataset(name).with_f64_data(column);
        }
    }
}

/// Decodes the problem in a file. Equality constraints (`G`, `V`, `R`) are not supported.
pub fn from_bytes(bytes: &[u8]) -> Result<Exchange, FclibError> {
    let reader =
        Reader(File::from_bytes(bytes.to_vec()).map_err(|e| FclibError::Hdf5(e.to_string()))?);
    for rolling in [
        "fclib_global_rolling",
        "fclib_local_rolling",
        "fclib_rolling_global",
        "fclib_rolling_local",
    ] {
        if reader.has_group(rolling) {
            return Err(malformed(rolling, "rolling friction is not supported"));
        }
    }
    let global = reader.has_group("fclib_global");
    let name = if global {
        "fclib_global"
    } else {
        "fclib_local"
    };
    let path = |rest: &str| format!("{name}/{rest}");
    match reader.int(&path("spacedim"))? {
        3 => {}
        2 => {
            let reason = "a problem in two dimensions, which is not supported";
            return Err(malformed(&path("spacedim"), reason));
        }
        n => {
            let reason = format!("{n}: only problems in three dimensions are read");
            return Err(malformed(&path("spacedim"), reason));
        }
    }
    for extra in ["G", "V", "R"] {
        if reader.has_group(&path(extra)) {
            return Err(malformed(
                &path(extra),
                "equality constraints are not supported",
            ));
        }
    }
    let mu = reader.numbers(&path("vectors/mu"))?;
    let form = if global {
        ProblemForm::Global(GlobalProblem {
            m: reader.matrix(&path("M"))?,
            h: reader.matrix(&path("H"))?,
            f: reader.numbers(&path("vectors/f"))?,
            w: reader.numbers(&path("vectors/w"))?,
            mu,
        })
    } else {
        ProblemForm::Local(ReducedProblem {
            w: reader.matrix(&path("W"))?,
            q: reader.numbers(&path("vectors/q"))?,
            mu,
        })
    };
    let point = |group: &str| -> Result<Option<Point>, FclibError> {
        if !reader.has_group(group) {
            return Ok(None);
        }
        Ok(Some(Point {
            v: reader.optional(&format!("{group}/v"))?,
            u: reader.optional(&format!("{group}/u"))?,
            r: reader.numbers(&format!("{group}/r"))?,
        }))
    };
    let frames = reader.optional(&format!("{OURS}/frames"))?;
    let h = reader.optional(&format!("{OURS}/h"))?;
    Ok(Exchange {
        form,
        frames: frames
            .as_chunks::<9>()
            .0
            .iter()
            .map(|f| Mat3::from_column_slice(f))
            .collect(),
        h: h.first().copied().unwrap_or(1.0),
        origin: reader.text(&path("info/description")),
        guess: point("guesses/1")?,
        solution: point("solution")?,
    })
}

struct Reader(File);

impl Reader {
    fn has_group(&self, path: &str) -> bool {
        self.0.group(path).is_ok()
    }

    fn missing(path: &str, reason: impl ToString) -> FclibError {
        FclibError::Missing {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }

    fn numbers(&self, path: &str) -> Result<Vec<f64>, FclibError> {
        let set = self.0.dataset(path).map_err(|e| Self::missing(path, e))?;
        set.read_f64().map_err(|e| Self::missing(path, e))
    }

    fn optional(&self, path: &str) -> Result<Vec<f64>, FclibError> {
        match self.0.dataset(path) {
            Ok(_) => self.numbers(path),
            Err(_) => Ok(Vec::new()),
        }
    }

    fn ints(&self, path: &str) -> Result<Vec<i32>, FclibError> {
        let set = self.0.dataset(path).map_err(|e| Self::missing(path, e))?;
        set.read_i32().map_err(|e| Self::missing(path, e))
    }

    fn int(&self, path: &str) -> Result<i32, FclibError> {
        let all = self.ints(path)?;
        all.first()
            .copied()
            .ok_or_else(|| malformed(path, "it is empty"))
    }

    fn text(&self, path: &str) -> String {
        let read = self.0.dataset(path).and_then(|set| set.read_string());
        read.ok()
            .and_then(|t| t.into_iter().next())
            .unwrap_or_default()
    }

    /// Reads a matrix in any of FCLIB's three storage schemes: triplets (nz ≥ 0), compressed
    /// columns (−1) or rows (−2).
    fn matrix(&self, path: &str) -> Result<TripletMatrix, FclibError> {
        let at = |name: &str| format!("{path}/{name}");
        let size = |name: &str| -> Result<usize, FclibError> {
            let n = self.int(&at(name))?;
            usize::try_from(n).map_err(|_| malformed(&at(name), "it is negative"))
        };
        let (rows, columns) = (size("m")?, size("n")?);
        let nz = self.int(&at("nz"))?;
        let (p, i) = (self.ints(&at("p"))?, self.ints(&at("i"))?);
        let x = self.numbers(&at("x"))?;
        let index = |n: i32, name: &str| {
            u32::try_from(n).map_err(|_| malformed(&at(name), "an index is negative"))
        };
        let mut entries = Vec::new();
        if nz >= 0 {
            let count = nz as usize;
            if p.len() < count || i.len() < count || x.len() < count {
                return Err(malformed(path, "there are fewer triplets than it says"));
            }
            // As in CSparse, p holds columns. FCLIB's header states the reverse, but no file does.
            for k in 0..count {
                entries.push((index(i[k], "i")?, index(p[k], "p")?, x[k]));
            }
        } else if nz == -1 || nz == -2 {
            let lines = if nz == -1 { columns } else { rows };
            let rising = p.windows(2).all(|p| p[0] <= p[1]);
            let end = p.last().map_or(0, |&end| end.max(0) as usize);
            if p.len() != lines + 1 || p[0] != 0 || !rising || end > i.len() || end > x.len() {
                return Err(malformed(
                    &at("p"),
                    "the pointers do not rise to the entries",
                ));
            }
            for line in 0..lines {
                for k in p[line] as usize..p[line + 1] as usize {
                    let other = index(i[k], "i")?;
                    entries.push(match nz {
                        -1 => (other, line as u32, x[k]),
                        _ => (line as u32, other, x[k]),
                    });
                }
            }
        } else {
            return Err(malformed(&at("nz"), "a storage that FCLIB does not have"));
        }
        Ok(TripletMatrix {
            rows,
            columns,
            entries,
        })
    }
}

fn malformed(path: &str, reason: impl Into<String>) -> FclibError {
    FclibError::Malformed {
        path: path.to_owned(),
        reason: reason.into(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use stiction_contact::file::{StoredProblem, StoredSolution};
    use stiction_contact::generate::{RandomProblem, random};
    use stiction_math::Vec3;

    fn stored(kind: RandomProblem, seed: u64) -> StoredProblem {
        let problem = random(kind, 8, seed);
        let v = vec![Vec3::new(0.1, 1.0 / 3.0, -2.0); problem.blocks()];
        let r = vec![Vec3::new(0.7, 1e-20, 3.0); problem.contacts.len()];
        StoredProblem {
            origin: format!("{kind:?} {seed}"),
            v: Some(v.clone()),
            r: Some(r.clone()),
            solution: Some(StoredSolution { v, r }),
            problem,
        }
    }

    #[test]
    fn written_values_are_read_to_the_last_bit() {
        for kind in RandomProblem::ALL {
            let stored = stored(kind, 3);
            for there in [Exchange::global(&stored), Exchange::local(&stored)] {
                let mut there = there.unwrap();
                let back = from_bytes(&to_bytes(&there).unwrap()).unwrap();
                // Entries are read back sorted and summed.
                let sorted = |m: &mut TripletMatrix| m.entries = m.merged();
                match &mut there.form {
                    ProblemForm::Global(g) => [&mut g.m, &mut g.h].map(sorted).len(),
                    ProblemForm::Local(l) => [&mut l.w].map(sorted).len(),
                };
                assert_eq!(back, there, "{kind:?}");
            }
        }
    }

    /// Corrupted input is refused or changes a number; it never panics.
    #[test]
    fn damaged_files_do_no_harm() {
        let there = Exchange::global(&stored(RandomProblem::Sparse, 1)).unwrap();
        let bytes = to_bytes(&there).unwrap();
        let mut refused = 0;
        for cut in (0..bytes.len()).step_by(7) {
            refused += usize::from(from_bytes(&bytes[..cut]).is_err());
        }
        assert_eq!(
            refused,
            bytes.len().div_ceil(7),
            "a file that was cut was read"
        );
        let mut state = 1u64;
        for _ in 0..1500 {
            let mut damaged = bytes.clone();
            for _ in 0..3 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let at = (state >> 33) as usize % damaged.len();
                damaged[at] ^= 1 << (state % 8);
            }
            if let Ok(read) = from_bytes(&damaged) {
                let _ = read.to_stored();
            }
        }
    }
}
