//! The text forms of Siconos' friction problems.
//!
//! Numbers between blanks. A **local** problem (`frictionContact_printInFile`) is the dimension (3),
//! the number of contacts, W, q and one μ per contact. A **global** one
//! (`globalFrictionContact_printInFile`) has two matrices, M and H, then f, w and the μ. Nothing in the
//! text says which of the two it is, so what follows the first matrix decides. Some files end with a
//! flag 0, which says that no guess follows; anything else after the end is an error.
//!
//! A matrix (`NM_write_in_file`) begins with its storage and its two sizes; then
//!
//! - storage 0, dense: the two sizes again, and all values column after column;
//! - storage 1, blocks: the number of blocks; the numbers of block rows and columns; where each block
//!   row ends, and each block column; two lengths, and so many row starts and block columns, as in a
//!   compressed matrix; then for each block its number, from 0, and its values column after column;
//! - storage 2, sparse: the kind (1 triplets, 2 compressed columns, 3 compressed rows, 4 the half of a
//!   symmetric matrix as triplets; absent in old files), a line with the version of CSparse, a line
//!   with sizes and counts, and the entries as `row column : value`, or column after column.

use super::{ExchangeError, GlobalProblem, ProblemForm, ReducedProblem, TripletMatrix};

/// The problem in `text`.
pub fn read(text: &str) -> Result<ProblemForm, ExchangeError> {
    let lines = text.lines().enumerate();
    let words = lines.flat_map(|(i, line)| line.split_whitespace().map(move |w| (i + 1, w)));
    let mut words = Words {
        words: words.collect(),
        at: 0,
        limit: text.len(),
    };
    match words.count("the dimension")? {
        3 => {}
        2 => return Err(words.wrong("a problem in two dimensions, which is not supported,")),
        5 => {
            return Err(words.wrong("a problem with rolling friction, which is not supported,"));
        }
        _ => return Err(words.wrong("only problems in three dimensions are read: dimension")),
    }
    let contacts = words.count("the number of contacts")?;
    let numbers = contacts
        .checked_mul(3)
        .ok_or_else(|| words.wrong("too many contacts"))?;
    let first = matrix(&mut words)?;
    if first.rows != first.columns {
        return Err(words.wrong("the first matrix is not square"));
    }
    let after = words.at;
    let local = rest_of_local(&mut words, &first, numbers, contacts);
    let here = words.at;
    // A second matrix begins with its storage and the rows of the first.
    words.at = after;
    let has_second = matches!(words.count("storage"), Ok(0..=2))
        && words.count("rows").is_ok_and(|n| n == first.rows)
        && words.count("columns").is_ok_and(|n| n == numbers);
    match local {
        Ok((q, mu)) => Ok(ProblemForm::Local(ReducedProblem { w: first, q, mu })),
        Err(_) if has_second => {
            words.at = after;
            rest_of_global(&mut words, first, numbers, contacts).map(ProblemForm::Global)
        }
        Err(error) => {
            words.at = here;
            Err(error)
        }
    }
}

fn rest_of_local(
    words: &mut Words<'_>,
    w: &TripletMatrix,
    numbers: usize,
    contacts: usize,
) -> Result<(Vec<f64>, Vec<f64>), ExchangeError> {
    if w.rows != numbers {
        return Err(words.wrong("the matrix does not have three rows and columns per contact"));
    }
    let q = words.numbers(numbers, "q")?;
    let mu = words.numbers(contacts, "a coefficient of friction")?;
    words.end()?;
    Ok((q, mu))
}

fn rest_of_global(
    words: &mut Words<'_>,
    m: TripletMatrix,
    numbers: usize,
    contacts: usize,
) -> Result<GlobalProblem, ExchangeError> {
    let h = matrix(words)?;
    let f = words.numbers(m.rows, "f")?;
    let w = words.numbers(numbers, "w")?;
    let mu = words.numbers(contacts, "a coefficient of friction")?;
    words.end()?;
    Ok(GlobalProblem { m, h, f, w, mu })
}

fn matrix(words: &mut Words<'_>) -> Result<TripletMatrix, ExchangeError> {
    let storage = words.count("the storage of the matrix")?;
    let (rows, columns) = (words.count("rows")?, words.count("columns")?);
    let entries = match storage {
        0 => dense(words, rows, columns)?,
        1 => blocks(words, rows, columns)?,
        2 => sparse(words, rows, columns)?,
        _ => return Err(words.wrong("a matrix that is stored neither dense, by blocks nor sparse")),
    };
    Ok(TripletMatrix {
        rows,
        columns,
        entries,
    })
}

type Entries = Vec<(u32, u32, f64)>;

fn dense(words: &mut Words<'_>, rows: usize, columns: usize) -> Result<Entries, ExchangeError> {
    if words.count("rows")? != rows || words.count("columns")? != columns {
        return Err(words.wrong("sizes that differ from those before"));
    }
    let mut entries = Vec::new();
    for j in 0..columns as u32 {
        for i in 0..rows as u32 {
            let x = words.number("a value of the matrix")?;
            if x != 0.0 {
                entries.push((i, j, x));
            }
        }
    }
    Ok(entries)
}

fn blocks(words: &mut Words<'_>, rows: usize, columns: usize) -> Result<Entries, ExchangeError> {
    let count = words.count("the number of blocks")?;
    if count == 0 {
        // Nothing else is written then.
        return Ok(Vec::new());
    }
    let sizes = [words.count("block rows")?, words.count("block columns")?];
    let row_ends = words.list(sizes[0], "the end of a block row")?;
    let column_ends = words.list(sizes[1], "the end of a block column")?;
    for (ends, n) in [(&row_ends, rows), (&column_ends, columns)] {
        let rising = ends.windows(2).all(|e| e[0] < e[1]);
        if !rising || ends.last() != Some(&n) || ends.first() == Some(&0) {
            return Err(words.wrong("ends of blocks that do not rise to the size of the matrix"));
        }
    }
    let lengths = [words.count("a length")?, words.count("a length")?];
    let starts = words.list(lengths[0], "the first block of a row")?;
    let block_columns = words.list(lengths[1], "the column of a block")?;
    let begin = |ends: &[usize], i: usize| if i == 0 { 0 } else { ends[i - 1] };
    let mut entries = Vec::new();
    let mut row = 0;
    for block in 0..count {
        // Rows without blocks have no start of their own beyond the last one with blocks.
        while starts.get(row + 1).is_some_and(|&next| next <= block) {
            row += 1;
        }
        let column = block_columns.get(block).copied();
        let (Some(column), true) = (column.filter(|&c| c < sizes[1]), row < sizes[0]) else {
            return Err(words.wrong("a block outside the matrix"));
        };
        let number = words.count("the number of a block")?;
        if number != block {
            let what = format!("block {number} where block {block} is due");
            return Err(words.wrong(what));
        }
        for j in begin(&column_ends, column)..column_ends[column] {
            for i in begin(&row_ends, row)..row_ends[row] {
                let x = words.number("a value of the matrix")?;
                if x != 0.0 {
                    entries.push((i as u32, j as u32, x));
                }
            }
        }
    }
    Ok(entries)
}

/// Kinds of sparse storage, as Siconos numbers them.
const COMPRESSED_ROWS: usize = 3;
const HALF: usize = 4;

fn sparse(words: &mut Words<'_>, rows: usize, columns: usize) -> Result<Entries, ExchangeError> {
    let kind = match words.peek() {
        Some("CSparse") => None,
        _ => Some(words.count("the kind of a sparse matrix")?),
    };
    if words.word("the version of CSparse")? != "CSparse" {
        return Err(words.wrong("a sparse matrix without the line of CSparse's version"));
    }
    words.skip_line();
    let triplets = words.peek() == Some("triplet:");
    if triplets {
        words.word("triplets")?;
    }
    // `162-by-162, nzmax: 3168 nnz: 3168`, with a norm after compressed columns.
    let size = words.word("the sizes of a sparse matrix")?;
    let mut sizes = size.trim_end_matches(',').split("-by-").map(str::parse);
    let fits = sizes.next() == Some(Ok(rows)) && sizes.next() == Some(Ok(columns));
    if !fits || sizes.next().is_some() {
        return Err(words.wrong("sizes that differ from those before"));
    }
    words.expect("nzmax:")?;
    words.count("the capacity for entries")?;
    words.expect("nnz:")?;
    let word = words.word("the number of entries")?;
    let Some(count) = word.trim_end_matches(',').parse().ok() else {
        return Err(words.wrong(format!("`{word}` for the number of entries")));
    };
    words.skip_line();
    let mut entries = Vec::new();
    let mut push = |words: &Words<'_>, i: usize, j: usize, x: f64| match (i < rows, j < columns) {
        (true, true) => {
            entries.push((i as u32, j as u32, x));
            Ok(())
        }
        _ => Err(words.wrong("an entry outside the matrix")),
    };
    if triplets {
        for _ in 0..count {
            let (i, j) = (words.count("a row")?, words.count("a column")?);
            words.expect(":")?;
            let x = words.number("a value of the matrix")?;
            push(words, i, j, x)?;
            if kind == Some(HALF) && i != j {
                push(words, j, i, x)?;
            }
        }
        return Ok(entries);
    }
    let by_rows = kind == Some(COMPRESSED_ROWS);
    let lines = if by_rows { rows } else { columns };
    let mut found = 0;
    for line in 0..lines {
        words.expect("col")?;
        if words.count("a column")? != line {
            return Err(words.wrong("a column out of order"));
        }
        words.expect(":")?;
        words.expect("locations")?;
        let first = words.count("the first entry of a column")?;
        words.expect("to")?;
        // −1 where the first columns are empty.
        let last: i64 = words.integer("the last entry of a column")?;
        if first != found || last < first as i64 - 1 || last >= count as i64 {
            return Err(words.wrong("entries of a column that do not follow those before"));
        }
        for _ in first as i64..=last {
            let other = words.count("a row")?;
            words.expect(":")?;
            let x = words.number("a value of the matrix")?;
            match by_rows {
                true => push(words, line, other, x)?,
                false => push(words, other, line, x)?,
            }
        }
        found = (last + 1) as usize;
    }
    match found == count {
        true => Ok(entries),
        false => Err(words.wrong("fewer entries than it says")),
    }
}

/// Words with the lines they are on.
struct Words<'a> {
    words: Vec<(usize, &'a str)>,
    at: usize,
    /// Bytes of the text: no list is longer.
    limit: usize,
}

impl<'a> Words<'a> {
    fn wrong(&self, what: impl Into<String>) -> ExchangeError {
        let last = self.words.get(self.at.saturating_sub(1));
        ExchangeError::Text {
            what: what.into(),
            line: last.map_or(1, |w| w.0),
        }
    }

    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).map(|w| w.1)
    }

    fn word(&mut self, what: &str) -> Result<&'a str, ExchangeError> {
        let word = self.peek();
        self.at += usize::from(word.is_some());
        word.ok_or_else(|| self.wrong(format!("the text ends before {what}")))
    }

    fn expect(&mut self, expected: &str) -> Result<(), ExchangeError> {
        let word = self.word(&format!("`{expected}`"))?;
        match word == expected {
            true => Ok(()),
            false => Err(self.wrong(format!("`{word}` where `{expected}` is due"))),
        }
    }

    /// Goes to the first word of the next line.
    fn skip_line(&mut self) {
        let line = self.words.get(self.at.saturating_sub(1)).map(|w| w.0);
        while self.words.get(self.at).map(|w| w.0) == line && self.at < self.words.len() {
            self.at += 1;
        }
    }

    /// The end of the text, or the flag that no guess follows.
    fn end(&mut self) -> Result<(), ExchangeError> {
        let left = self.words.len() - self.at;
        if left == 0 || (left == 1 && self.peek() == Some("0")) {
            return Ok(());
        }
        self.at += 1;
        Err(self.wrong(format!("{left} more words after the end of the problem")))
    }

    fn integer(&mut self, what: &str) -> Result<i64, ExchangeError> {
        let word = self.word(what)?;
        let number = word.parse().ok();
        number.ok_or_else(|| self.wrong(format!("`{word}` for {what}")))
    }

    fn count(&mut self, what: &str) -> Result<usize, ExchangeError> {
        let word = self.word(what)?;
        let count: Option<usize> = word.parse().ok();
        let Some(count) = count.filter(|&n| n <= self.limit) else {
            return Err(self.wrong(format!("`{word}` for {what}")));
        };
        Ok(count)
    }

    fn number(&mut self, what: &str) -> Result<f64, ExchangeError> {
        let word = self.word(what)?;
        let number: Option<f64> = word.parse().ok();
        let Some(number) = number.filter(|x| x.is_finite()) else {
            return Err(self.wrong(format!("`{word}` for {what}")));
        };
        Ok(number)
    }

    fn numbers(&mut self, count: usize, what: &str) -> Result<Vec<f64>, ExchangeError> {
        (0..count).map(|_| self.number(what)).collect()
    }

    fn list(&mut self, count: usize, what: &str) -> Result<Vec<usize>, ExchangeError> {
        (0..count).map(|_| self.count(what)).collect()
    }
}
