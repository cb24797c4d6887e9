//! VTK legacy files, text and binary: `UNSTRUCTURED_GRID` and `POLYDATA`, with the cell layout of
//! versions up to 4 and that of version 5. Data arrays are skipped.

use super::bytes::{Cursor, Encoding, Scalar, Token, shorten};
use super::cells;
use super::error::{FileLocation, MeshFileError, MeshFileProblem};
use super::soup::Soup;
use super::{MeshFile, MeshLimits};

/// Reads a VTK legacy file.
pub fn read(bytes: &[u8], limits: &MeshLimits) -> Result<MeshFile, MeshFileError> {
    let mut cursor = Cursor::new(bytes)?;
    let encoding = read_header(&mut cursor)?;
    let mut file = Reader {
        limits,
        encoding,
        soup: Soup::new(limits, bytes.len()),
        has_points: false,
        cells: None,
        kinds: None,
        polygons: Vec::new(),
    };
    let dataset = file.read_sections(&mut cursor)?;
    file.finish(dataset)
}

fn read_header(cursor: &mut Cursor) -> Result<Encoding, MeshFileError> {
    let first = cursor.rest_of_line();
    if !first.text.starts_with(b"# vtk DataFile") {
        return Err(first.unexpected("`# vtk DataFile Version …`"));
    }
    cursor.rest_of_line();
    let kind = cursor.token("`ASCII` or `BINARY`")?;
    if kind.is("ASCII") {
        Ok(Encoding::Text)
    } else if kind.is("BINARY") {
        Ok(Encoding::Big)
    } else {
        Err(kind.unexpected("`ASCII` or `BINARY`"))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Dataset {
    UnstructuredGrid,
    PolyData,
}

struct Reader<'a> {
    limits: &'a MeshLimits,
    encoding: Encoding,
    soup: Soup,
    has_points: bool,
    cells: Option<Lists>,
    kinds: Option<Vec<i64>>,
    /// Lists of corners and the cell type that they stand for.
    polygons: Vec<(i64, Lists)>,
}

/// Lists of vertex indices, one after the other.
#[derive(Default)]
struct Lists {
    indices: Vec<i64>,
    /// Start of each list, and the end of the last one.
    bounds: Vec<usize>,
    place: Option<FileLocation>,
}

impl Reader<'_> {
    fn read_sections(&mut self, cursor: &mut Cursor) -> Result<Dataset, MeshFileError> {
        let mut dataset = None;
        while let Some(word) = cursor.next() {
            if word.is("DATASET") {
                let name = cursor.token("a dataset type")?;
                dataset = Some(dataset_type(&name)?);
            } else if word.is("POINTS") {
                self.read_points(cursor, word)?;
            } else if word.is("CELLS") {
                once(self.cells.is_some(), &word)?;
                self.cells = Some(self.read_lists(cursor)?);
            } else if word.is("CELL_TYPES") {
                once(self.kinds.is_some(), &word)?;
                self.kinds = Some(self.read_kinds(cursor)?);
            } else if let Some(kind) = poly_section(&word) {
                let lists = self.read_lists(cursor)?;
                self.polygons.push((kind, lists));
            } else if word.is("FIELD") {
                self.skip_field(cursor)?;
            } else if word.is("METADATA") {
                cursor.rest_of_line();
                while !cursor.rest_of_line().text.is_empty() {}
            } else if word.is("POINT_DATA") || word.is("CELL_DATA") {
                break;
            } else {
                return Err(word.unexpected("a section such as `POINTS` or `CELLS`"));
            }
        }
        dataset.ok_or_else(|| missing("`DATASET`"))
    }

    fn read_points(&mut self, cursor: &mut Cursor, word: Token) -> Result<(), MeshFileError> {
        once(self.has_points, &word)?;
        self.has_points = true;
        let token = cursor.token("the number of points")?;
        let count = token.count("the number of points")?;
        let name = cursor.token("a number type")?;
        let scalar = scalar_type(&name)?;
        self.start(cursor);
        let least_bytes = 3 * self.encoding.least_bytes(scalar);
        let limit = self.limits.max_nodes;
        cursor.check_count("points", count, least_bytes, limit, token.place)?;
        for number in 0..count {
            let place = cursor.place(self.encoding);
            let position = cursor.position3(scalar, self.encoding, number)?;
            self.soup.push_position(position, place)?;
        }
        Ok(())
    }

    /// Either `n size` and lists that begin with their length, or (version 5) `n+1 size` and the
    /// two arrays `OFFSETS` and `CONNECTIVITY`.
    fn read_lists(&mut self, cursor: &mut Cursor) -> Result<Lists, MeshFileError> {
        let first = cursor.token("a number of cells")?;
        let count = first.count("a number of cells")?;
        let second = cursor.token("a number of indices")?;
        let size = second.count("a number of indices")?;
        let mut lists = Lists {
            place: Some(first.place),
            ..Lists::default()
        };
        if count == 0 && size == 0 {
            return Ok(lists);
        }
        // The peek cannot mistake binary data for the word: data begins with a small length.
        if cursor.peek().is_some_and(|token| token.is("OFFSETS")) {
            cursor.keyword("OFFSETS")?;
            let bounds = self.read_integers(cursor, count, "offsets", first.place)?;
            cursor.keyword("CONNECTIVITY")?;
            lists.indices = self.read_integers(cursor, size, "indices", second.place)?;
            lists.bounds = check_offsets(&bounds, lists.indices.len(), first.place)?;
            return Ok(lists);
        }
        self.start(cursor);
        let least_bytes = self.encoding.least_bytes(Scalar::I32);
        let size = cursor.check_count("indices", size, least_bytes, u64::MAX, second.place)?;
        let limit = self.limits.max_elements;
        cursor.check_count("cells", count, least_bytes, limit, first.place)?;
        lists.bounds.push(0);
        for number in 0..count {
            let at_cell = |error: MeshFileError| error.at("cell", number);
            let (length, place) = cursor
                .count(Scalar::I32, self.encoding, "a number of corners")
                .map_err(at_cell)?;
            let used = lists.indices.len() + lists.bounds.len();
            if length > size.saturating_sub(used) as u64 {
                let what = format!("a list of {length} corners overruns the declared size {size}");
                let remedy = "export the mesh again";
                let problem = MeshFileProblem::Inconsistent { what, remedy };
                return Err(at_cell(MeshFileError::new(place, problem)));
            }
            for _ in 0..length {
                let (index, _) = cursor
                    .integer(Scalar::I32, self.encoding, "a vertex index")
                    .map_err(at_cell)?;
                lists.indices.push(index);
            }
            lists.bounds.push(lists.indices.len());
        }
        Ok(lists)
    }

    fn read_integers(
        &self,
        cursor: &mut Cursor,
        count: u64,
        what: &'static str,
        place: FileLocation,
    ) -> Result<Vec<i64>, MeshFileError> {
        let name = cursor.token("a number type")?;
        let scalar = scalar_type(&name)?;
        if scalar.is_real() {
            return Err(name.unexpected("an integer type"));
        }
        self.start(cursor);
        let least_bytes = self.encoding.least_bytes(scalar);
        let count = cursor.check_count(what, count, least_bytes, u64::MAX, place)?;
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            values.push(cursor.integer(scalar, self.encoding, "an integer")?.0);
        }
        Ok(values)
    }

    fn read_kinds(&mut self, cursor: &mut Cursor) -> Result<Vec<i64>, MeshFileError> {
        let token = cursor.token("the number of cell types")?;
        let count = token.count("the number of cell types")?;
        self.start(cursor);
        let least_bytes = self.encoding.least_bytes(Scalar::I32);
        let limit = self.limits.max_elements;
        let count = cursor.check_count("cell types", count, least_bytes, limit, token.place)?;
        let mut kinds = Vec::with_capacity(count);
        for number in 0..count {
            let kind = cursor.integer(Scalar::I32, self.encoding, "a cell type");
            kinds.push(kind.map_err(|error| error.at("cell", number as u64))?.0);
        }
        Ok(kinds)
    }

    /// Passes over `FIELD name n` and its arrays, which may stand before the points.
    fn skip_field(&self, cursor: &mut Cursor) -> Result<(), MeshFileError> {
        cursor.token("a field name")?;
        let arrays = cursor.token("the number of arrays")?;
        for _ in 0..arrays.count("the number of arrays")? {
            let name = cursor.token("an array name")?;
            if name.is("METADATA") {
                cursor.rest_of_line();
                while !cursor.rest_of_line().text.is_empty() {}
                cursor.token("an array name")?;
            }
            let components = cursor.token("a number of components")?;
            let tuples = cursor.token("a number of tuples")?;
            let count = components
                .count("a number of components")?
                .saturating_mul(tuples.count("a number of tuples")?);
            let kind = cursor.token("a number type")?;
            if kind.is("string") {
                self.skip_strings(cursor, count)?;
                continue;
            }
            let scalar = scalar_type(&kind)?;
            self.start(cursor);
            let least_bytes = self.encoding.least_bytes(scalar);
            let count = cursor.check_count("values", count, least_bytes, u64::MAX, tuples.place)?;
            match self.encoding {
                Encoding::Text => {
                    for _ in 0..count {
                        cursor.token("a value")?;
                    }
                }
                Encoding::Little | Encoding::Big => {
                    cursor.take(count * scalar.size(), "a value")?;
                }
            }
        }
        Ok(())
    }

    /// Texts stand one per line, or in binary behind a length whose first two bits tell its size.
    fn skip_strings(&self, cursor: &mut Cursor, count: u64) -> Result<(), MeshFileError> {
        cursor.rest_of_line();
        cursor.check_count("texts", count, 1, u64::MAX, cursor.place(self.encoding))?;
        for _ in 0..count {
            if self.encoding == Encoding::Text {
                cursor.rest_of_line();
                continue;
            }
            let first = cursor.rest().first().copied().unwrap_or_default();
            let (size, bits) = match first >> 6 {
                3 => (1, 6),
                2 => (2, 14),
                1 => (4, 30),
                _ => (8, 62),
            };
            let length = cursor.take(size, "the length of a text")?;
            let length = length
                .iter()
                .fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
            let length = usize::try_from(length & ((1 << bits) - 1)).unwrap_or(usize::MAX);
            cursor.take(length, "a text")?;
        }
        Ok(())
    }

    /// Binary data starts on the next line.
    fn start(&self, cursor: &mut Cursor) {
        if self.encoding != Encoding::Text {
            cursor.rest_of_line();
        }
    }

    fn finish(mut self, dataset: Dataset) -> Result<MeshFile, MeshFileError> {
        if !self.has_points {
            return Err(missing("`POINTS`"));
        }
        match dataset {
            Dataset::UnstructuredGrid => {
                let lists = self.cells.take().ok_or_else(|| missing("`CELLS`"))?;
                let kinds = self.kinds.take().ok_or_else(|| missing("`CELL_TYPES`"))?;
                let cells = lists.bounds.len().saturating_sub(1);
                if kinds.len() != cells {
                    let what = format!("{cells} cells but {} cell types", kinds.len());
                    let remedy = "export the mesh again";
                    let place = lists.place.unwrap_or(FileLocation::File);
                    return Err(MeshFileError::new(
                        place,
                        MeshFileProblem::Inconsistent { what, remedy },
                    ));
                }
                self.push(&lists, |cell| kinds[cell])?;
            }
            Dataset::PolyData => {
                for (kind, lists) in std::mem::take(&mut self.polygons) {
                    self.push(&lists, |_| kind)?;
                }
            }
        }
        self.soup.finish()
    }

    fn push(&mut self, lists: &Lists, kind: impl Fn(usize) -> i64) -> Result<(), MeshFileError> {
        let vertices = self.soup.positions.len() as u64;
        let place = lists.place.unwrap_or(FileLocation::File);
        let mut corners = Vec::new();
        for (cell, ends) in lists.bounds.windows(2).enumerate() {
            corners.clear();
            for &index in &lists.indices[ends[0]..ends[1]] {
                match u64::try_from(index) {
                    Ok(vertex) if vertex < vertices => corners.push(vertex as u32),
                    _ => {
                        let (first, count) = (0, vertices);
                        let problem = MeshFileProblem::IndexOutOfRange {
                            index,
                            first,
                            count,
                        };
                        return Err(MeshFileError::new(place, problem).at("cell", cell as u64));
                    }
                }
            }
            cells::push(&mut self.soup, kind(cell), &corners, cell as u64, place)?;
        }
        Ok(())
    }
}

/// Offsets must begin at 0, never fall and end at `length`.
fn check_offsets(
    offsets: &[i64],
    length: usize,
    place: FileLocation,
) -> Result<Vec<usize>, MeshFileError> {
    let wrong = |what: String| {
        let remedy = "export the mesh again";
        MeshFileError::new(place, MeshFileProblem::Inconsistent { what, remedy })
    };
    let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
        return Err(wrong("the cells have indices but no offsets".to_string()));
    };
    if first != 0 || last != length as i64 {
        return Err(wrong(format!(
            "offsets run from {first} to {last} instead of 0 to {length}"
        )));
    }
    if let Some(cell) = offsets.windows(2).position(|w| w[0] > w[1]) {
        return Err(wrong("the offset falls".to_string()).at("cell", cell as u64));
    }
    Ok(offsets.iter().map(|&offset| offset as usize).collect())
}

fn dataset_type(name: &Token) -> Result<Dataset, MeshFileError> {
    if name.is("UNSTRUCTURED_GRID") {
        Ok(Dataset::UnstructuredGrid)
    } else if name.is("POLYDATA") {
        Ok(Dataset::PolyData)
    } else {
        let what = format!("a dataset of type {}", shorten(name.text));
        let remedy = "save an unstructured grid or poly data";
        Err(MeshFileError::new(
            name.place,
            MeshFileProblem::Unsupported { what, remedy },
        ))
    }
}

/// The cell type that stands for a section of `POLYDATA`.
fn poly_section(word: &Token) -> Option<i64> {
    let sections = [
        ("VERTICES", 2),
        ("LINES", 4),
        ("POLYGONS", 7),
        ("TRIANGLE_STRIPS", 6),
    ];
    sections
        .iter()
        .find(|(name, _)| word.is(name))
        .map(|&(_, kind)| kind)
}

fn scalar_type(name: &Token) -> Result<Scalar, MeshFileError> {
    let types = [
        ("float", Scalar::F32),
        ("double", Scalar::F64),
        ("int", Scalar::I32),
        ("unsigned_int", Scalar::U32),
        ("vtktypeint64", Scalar::I64),
        ("vtktypeuint64", Scalar::U64),
        ("vtktypeint32", Scalar::I32),
        ("vtktypeuint32", Scalar::U32),
        ("vtktypeint16", Scalar::I16),
        ("vtktypeuint16", Scalar::U16),
        ("vtktypeint8", Scalar::I8),
        ("vtktypeuint8", Scalar::U8),
        ("long", Scalar::I64),
        ("unsigned_long", Scalar::U64),
        ("short", Scalar::I16),
        ("unsigned_short", Scalar::U16),
        ("char", Scalar::I8),
        ("unsigned_char", Scalar::U8),
        // Written as 32-bit integers, whatever the program uses in memory.
        ("vtkIdType", Scalar::I32),
    ];
    types
        .iter()
        .find(|(text, _)| name.is(text))
        .map(|&(_, scalar)| scalar)
        .ok_or_else(|| name.unexpected("a number type"))
}

fn once(seen: bool, word: &Token) -> Result<(), MeshFileError> {
    if seen {
        Err(word.unexpected("this section only once"))
    } else {
        Ok(())
    }
}

fn missing(what: &str) -> MeshFileError {
    let what = format!("the section {what}");
    let remedy = "export the mesh again as an unstructured grid or poly data";
    MeshFileError::new(
        FileLocation::File,
        MeshFileProblem::Missing { what, remedy },
    )
}
