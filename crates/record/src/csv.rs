//! Append-only tables (`probes.csv`, `certificate.csv`, `contacts.csv`).
//!
//! Every row begins with `step,time`. Rows are written without buffering, so that a full disk is an
//! error of the row that hits it.

use crate::{RecordError, atomic, folder::refuse_link, read_text};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use stiction_math::checksum::Xxh64;

/// An open table.
#[derive(Debug)]
pub struct Table {
    path: PathBuf,
    file: File,
    /// Columns after `step,time`.
    columns: usize,
    last_step: u64,
    /// Bytes of complete rows on disk.
    length: u64,
    /// Hash of these bytes.
    hash: Xxh64,
}

/// The extent of a table at a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableMark {
    /// Length [bytes].
    pub length: u64,
    /// XXH64 of these bytes.
    pub checksum: u64,
}

/// One cell of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TableValue<'a> {
    /// A number in shortest round-trip form; not-a-number and infinities as `NaN`, `inf`, `-inf`.
    Number(f64),
    /// An integer.
    Int(i64),
    /// A text, quoted where necessary.
    Text(&'a str),
}

impl Table {
    /// Starts a table with the header `step,time,COLUMNS…`, replacing the file at `path`.
    pub fn create(path: &Path, columns: &[&str]) -> Result<Self, RecordError> {
        let file = atomic::create(path).map_err(|e| RecordError::io("create", path, e))?;
        let mut table = Self {
            path: path.to_owned(),
            file,
            columns: columns.len(),
            last_step: 0,
            length: 0,
            hash: Xxh64::new(),
        };
        table.append(&header(columns))?;
        Ok(table)
    }

    /// Continues the table at `path` after the extent `mark`, which ends with the rows of `step`;
    /// later rows are removed. Refuses a table that does not begin with that extent: rows would be
    /// missing, or belong to another run.
    pub fn resume_at(
        path: &Path,
        columns: &[&str],
        step: u64,
        mark: &TableMark,
    ) -> Result<Self, RecordError> {
        let fail = |error| RecordError::io("resume", path, error);
        refuse_special(path)?;
        let file = OpenOptions::new().read(true).write(true).open(path);
        let mut file = file.map_err(fail)?;
        let mut hash = Xxh64::new();
        let mut reader = BufReader::new(&file).take(mark.length);
        loop {
            let piece = reader.fill_buf().map_err(fail)?;
            if piece.is_empty() {
                break;
            }
            hash.update(piece);
            let count = piece.len();
            reader.consume(count);
        }
        if reader.limit() > 0 || hash.finish() != mark.checksum {
            let reason = "it does not have the rows that it had when the checkpoint was written; \
                          restore it from a copy, or start the run afresh";
            return Err(RecordError::malformed(path, reason));
        }
        file.set_len(mark.length).map_err(fail)?;
        file.seek(SeekFrom::Start(mark.length)).map_err(fail)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            columns: columns.len(),
            last_step: step,
            length: mark.length,
            hash,
        })
    }

    /// The current extent of the table, for a checkpoint.
    pub fn mark(&self) -> TableMark {
        TableMark {
            length: self.length,
            checksum: self.hash.finish(),
        }
    }

    /// Step of the last row; zero without rows.
    pub fn last_step(&self) -> u64 {
        self.last_step
    }

    /// Continues the table at `path` after the rows with a step of at most `step`; removes later
    /// rows and a truncated last line. Creates a missing file.
    pub fn resume(path: &Path, columns: &[&str], step: u64) -> Result<Self, RecordError> {
        let fail = |error| RecordError::io("resume", path, error);
        refuse_special(path)?;
        let mut file = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Self::create(path, columns);
            }
            Err(error) => return Err(fail(error)),
        };
        let mut reader = BufReader::new(&file);
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line).map_err(fail)?;
        if line != header(columns).as_bytes() {
            let whole = line.ends_with(b"\n");
            if !whole && header(columns).as_bytes().starts_with(&line) {
                return Self::create(path, columns);
            }
            return Err(RecordError::malformed(
                path,
                format!(
                    "its header is not \"{}\", so it belongs to another run; move it away",
                    header(columns).trim_end()
                ),
            ));
        }
        let (mut length, mut last_step) = (line.len() as u64, 0);
        let mut hash = Xxh64::new();
        hash.update(&line);
        for number in 2.. {
            line.clear();
            reader.read_until(b'\n', &mut line).map_err(fail)?;
            if !line.ends_with(b"\n") {
                break;
            }
            let first = line.split(|&byte| byte == b',').next().unwrap_or(&[]);
            let parsed = std::str::from_utf8(first)
                .ok()
                .and_then(|text| text.parse().ok());
            let Some(row_step): Option<u64> = parsed else {
                return Err(RecordError::malformed(
                    path,
                    format!("line {number} does not begin with a step; repair or remove the line"),
                ));
            };
            if row_step > step {
                break;
            }
            last_step = row_step;
            length += line.len() as u64;
            hash.update(&line);
        }
        file.set_len(length).map_err(fail)?;
        file.seek(SeekFrom::Start(length)).map_err(fail)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            columns: columns.len(),
            last_step,
            length,
            hash,
        })
    }

    /// Appends one row of numbers for `step` at `time` [s].
    pub fn numbers(&mut self, step: u64, time: f64, values: &[f64]) -> Result<(), RecordError> {
        let row: Vec<TableValue> = values
            .iter()
            .map(|&value| TableValue::Number(value))
            .collect();
        self.rows(step, time, [row])
    }

    /// Appends one row of numbers for `step` at `time` [s]; the cell of a number that does not apply is
    /// empty.
    pub fn numbers_that_apply(
        &mut self,
        step: u64,
        time: f64,
        values: &[Option<f64>],
    ) -> Result<(), RecordError> {
        let cell = |value: &Option<f64>| value.map_or(TableValue::Text(""), TableValue::Number);
        let row: Vec<TableValue> = values.iter().map(cell).collect();
        self.rows(step, time, [row])
    }

    /// Appends one row for `step` at `time` [s].
    pub fn row(&mut self, step: u64, time: f64, values: &[TableValue]) -> Result<(), RecordError> {
        self.rows(step, time, [values])
    }

    /// Appends several rows of the same step at once: all of them, or none if the disk is full.
    pub fn rows<'a, R: AsRef<[TableValue<'a>]>>(
        &mut self,
        step: u64,
        time: f64,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<(), RecordError> {
        if step < self.last_step {
            let last = self.last_step;
            let reason = format!("step {step} after step {last}; rows are in order of steps");
            return Err(RecordError::invalid(&self.path, reason));
        }
        let mut text = String::new();
        for row in rows {
            let row = row.as_ref();
            if row.len() != self.columns {
                let (got, expected) = (row.len(), self.columns);
                let reason = format!("a row of {got} values in a table of {expected} columns");
                return Err(RecordError::invalid(&self.path, reason));
            }
            // Writing to a `String` cannot fail.
            let _ = write!(text, "{step},{time:?}");
            for value in row {
                text.push(',');
                match value {
                    TableValue::Number(number) => {
                        let _ = write!(text, "{number:?}");
                    }
                    TableValue::Int(number) => {
                        let _ = write!(text, "{number}");
                    }
                    TableValue::Text(words) => quote(&mut text, words),
                }
            }
            text.push('\n');
        }
        self.append(&text)?;
        self.last_step = step;
        Ok(())
    }

    /// Waits until all rows are on the disk; call it before a checkpoint refers to them.
    pub fn sync(&mut self) -> Result<(), RecordError> {
        self.file
            .sync_data()
            .map_err(|error| RecordError::io("flush", &self.path, error))
    }

    fn append(&mut self, text: &str) -> Result<(), RecordError> {
        let written = self.file.write_all(text.as_bytes());
        if let Err(error) = written {
            // Half a row would break every reader; complete rows stay.
            let _ = self.file.set_len(self.length);
            let _ = self.file.seek(SeekFrom::Start(self.length));
            return Err(RecordError::io("append to", &self.path, error));
        }
        self.length += text.len() as u64;
        self.hash.update(text.as_bytes());
        Ok(())
    }
}

/// Refuses links, which lead elsewhere, and special files, which may block.
fn refuse_special(path: &Path) -> Result<(), RecordError> {
    refuse_link(path)?;
    match path.metadata() {
        Ok(meta) if !meta.is_file() => {
            let error = io::Error::other("it is not a regular file");
            Err(RecordError::io("resume", path, error))
        }
        _ => Ok(()),
    }
}

fn header(columns: &[&str]) -> String {
    let mut text = String::from("step,time");
    for column in columns {
        text.push(',');
        quote(&mut text, column);
    }
    text.push('\n');
    text
}

/// Control characters become spaces, so that a row is always one line.
fn quote(out: &mut String, text: &str) {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    if text.contains([',', '"']) {
        out.push('"');
        for c in text.chars().map(clean) {
            out.push(c);
            if c == '"' {
                out.push('"');
            }
        }
        out.push('"');
    } else {
        out.extend(text.chars().map(clean));
    }
}

/// A table read from disk.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredTable {
    /// Names of the columns, `step` and `time` among them.
    pub columns: Vec<String>,
    /// The cells of every complete row.
    pub rows: Vec<Vec<String>>,
}

impl StoredTable {
    /// One column as numbers; cells that are not numbers become not-a-number.
    pub fn numbers(&self, column: &str) -> Option<Vec<f64>> {
        let at = self.columns.iter().position(|name| name == column)?;
        let cell = |row: &Vec<String>| row.get(at).and_then(|text| text.parse().ok());
        Some(
            self.rows
                .iter()
                .map(|row| cell(row).unwrap_or(f64::NAN))
                .collect(),
        )
    }
}

/// Reads a table; a truncated last line is skipped.
pub fn read_table(path: &Path) -> Result<StoredTable, RecordError> {
    let text = read_text(path)?;
    let complete = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    let mut lines = complete.lines().map(split);
    let columns = lines
        .next()
        .ok_or_else(|| RecordError::malformed(path, "it has no header"))?;
    let rows: Vec<Vec<String>> = lines.collect();
    if let Some(at) = rows.iter().position(|row| row.len() != columns.len()) {
        let (got, expected) = (rows[at].len(), columns.len());
        let reason = format!("line {} has {got} cells, the header {expected}", at + 2);
        return Err(RecordError::malformed(path, reason));
    }
    Ok(StoredTable { columns, rows })
}

fn split(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cells.last_mut().into_iter().for_each(|cell| cell.push('"'));
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().into_iter().for_each(|cell| cell.push(c)),
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use std::fs;

    const COLUMNS: [&str; 2] = ["height, left", "force"];

    fn filled(path: &Path, steps: u64) {
        let mut table = Table::create(path, &COLUMNS).unwrap();
        for step in 0..steps {
            let x = (step as f64).sqrt();
            table
                .numbers(step, step as f64 * 0.1, &[x, -1.0 / x])
                .unwrap();
        }
    }

    #[test]
    fn numbers_survive_bit_for_bit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("probes.csv");
        let mut table = Table::create(&path, &["a", "b", "c"]).unwrap();
        let odd = [
            0.1 + 0.2,
            -0.0,
            5e-324,
            f64::MAX,
            1e-7,
            f64::NEG_INFINITY,
            f64::NAN,
        ];
        for (step, &x) in odd.iter().enumerate() {
            let row = [
                TableValue::Number(x),
                TableValue::Int(-3),
                TableValue::Text("say \"hi\",\nthen go"),
            ];
            table.row(step as u64, x, &row).unwrap();
        }
        let back = read_table(&path).unwrap();
        assert_eq!(back.columns, ["step", "time", "a", "b", "c"]);
        assert_eq!(back.rows[0][3..], ["-3", "say \"hi\", then go"]);
        for (a, b) in back.numbers("a").unwrap().iter().zip(&odd) {
            assert!(
                a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
                "{a} {b}"
            );
        }
    }

    #[test]
    fn resuming_equals_never_having_stopped_wherever_the_file_was_cut() {
        let dir = tempfile::tempdir().unwrap();
        let (path, whole) = (dir.path().join("probes.csv"), dir.path().join("whole.csv"));
        filled(&whole, 12);
        let expected = fs::read(&whole).unwrap();
        filled(&path, 20);
        let long = fs::read(&path).unwrap();
        let kept = {
            filled(&path, 8);
            fs::read(&path).unwrap().len()
        };
        for cut in kept..=long.len() {
            fs::write(&path, &long[..cut]).unwrap();
            let mut table = Table::resume(&path, &COLUMNS, 7).unwrap();
            for step in 8..12 {
                let x = (step as f64).sqrt();
                table
                    .numbers(step, step as f64 * 0.1, &[x, -1.0 / x])
                    .unwrap();
            }
            assert_eq!(fs::read(&path).unwrap(), expected, "cut after {cut} bytes");
        }
    }

    #[test]
    fn a_table_without_the_rows_of_the_checkpoint_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("probes.csv");
        filled(&path, 8);
        let mark = Table::resume(&path, &COLUMNS, 7).unwrap().mark();
        let good = fs::read(&path).unwrap();
        assert_eq!(mark.length, good.len() as u64);
        let mut edited = good.clone();
        edited[40] ^= 1;
        for bad in [&good[..good.len() - 1], &edited, b""] {
            fs::write(&path, bad).unwrap();
            let error = Table::resume_at(&path, &COLUMNS, 7, &mark).unwrap_err();
            assert!(error.to_string().contains("probes.csv"), "{error}");
            assert_eq!(fs::read(&path).unwrap(), bad, "a refusal changes nothing");
        }
        fs::write(&path, [&good[..], b"8,0.8,1"].concat()).unwrap();
        let table = Table::resume_at(&path, &COLUMNS, 7, &mark).unwrap();
        assert_eq!(table.mark(), mark);
        assert_eq!(fs::read(&path).unwrap(), good);
    }

    #[cfg(unix)]
    #[test]
    fn a_planted_link_is_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("probes.csv"), dir.path().join("mine"));
        fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        assert!(Table::resume(&path, &COLUMNS, 5).is_err());
        filled(&path, 3);
        assert_eq!(fs::read(&other).unwrap(), b"mine");
    }

    #[test]
    fn a_torn_header_starts_afresh_and_a_foreign_one_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("probes.csv");
        fs::write(&path, "step,ti").unwrap();
        drop(Table::resume(&path, &COLUMNS, 5).unwrap());
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "step,time,\"height, left\",force\n"
        );
        let error = Table::resume(&path, &["other"], 5).unwrap_err().to_string();
        assert!(error.contains("another run"), "{error}");
        fs::write(&path, "step,time,a\n0,0.0,1\nrubbish\n1,0.1,1\n").unwrap();
        let error = Table::resume(&path, &["a"], 5).unwrap_err().to_string();
        assert!(error.contains("line 3"), "{error}");
        drop(Table::resume(&dir.path().join("new.csv"), &["a"], 5).unwrap());
        assert!(dir.path().join("new.csv").exists());
    }

    #[test]
    fn rows_of_the_wrong_width_or_order_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mut table = Table::create(&dir.path().join("a.csv"), &["a"]).unwrap();
        table.numbers(3, 0.3, &[1.0]).unwrap();
        assert!(table.numbers(4, 0.4, &[1.0, 2.0]).is_err());
        assert!(table.numbers(2, 0.2, &[1.0]).is_err());
        table.numbers(3, 0.3, &[1.0]).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_surfaces_with_the_path() {
        let path = Path::new("/dev/full");
        let mut table = Table {
            path: path.to_owned(),
            file: OpenOptions::new().write(true).open(path).unwrap(),
            columns: 1,
            last_step: 0,
            length: 0,
            hash: Xxh64::new(),
        };
        let error = table.numbers(0, 0.0, &[1.0]).unwrap_err().to_string();
        assert!(
            error.contains("/dev/full") && error.contains("No space left on device"),
            "{error}"
        );
    }
}
