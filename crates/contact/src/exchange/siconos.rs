//! The text form of Siconos' friction problems, which are local.
//!
//! Numbers between blanks, in this order: the dimension (3), the number of contacts, the matrix, q,
//! and one μ per contact. The matrix begins with its storage and its two sizes; then
//!
//! - storage 0, dense: the two sizes again, and all values column after column;
//! - storage 1, blocks: the number of blocks; the numbers of block rows and columns; where each block
//!   row ends, and each block column; two lengths, and so many row starts and block columns, as in a
//!   compressed matrix; then the values of each block, column after column.

use super::{ExchangeError, Local, Matrix};

/// The problem in `text`.
pub fn read(text: &str) -> Result<Local, ExchangeError> {
    let mut words = Words {
        words: text
            .lines()
            .enumerate()
            .flat_map(|(i, line)| line.split_whitespace().map(move |w| (i + 1, w))),
        line: 1,
        left: text.len(),
    };
    if words.count("the dimension")? != 3 {
        return Err(words.wrong("only problems in three dimensions are read"));
    }
    let contacts = words.count("the number of contacts")?;
    let storage = words.count("the storage of the matrix")?;
    let (rows, columns) = (words.count("rows")?, words.count("columns")?);
    if rows != columns || contacts.checked_mul(3) != Some(rows) {
        return Err(words.wrong("the matrix does not have three rows and columns per contact"));
    }
    let entries = match storage {
        0 => dense(&mut words, rows)?,
        1 => blocks(&mut words, rows)?,
        _ => return Err(words.wrong("a matrix that is stored neither dense nor by blocks")),
    };
    let q = (0..rows)
        .map(|_| words.number("q"))
        .collect::<Result<_, _>>()?;
    let mu = (0..contacts)
        .map(|_| words.number("a coefficient of friction"))
        .collect::<Result<_, _>>()?;
    Ok(Local {
        w: Matrix {
            rows,
            columns,
            entries,
        },
        q,
        mu,
    })
}

type Entries = Vec<(u32, u32, f64)>;

fn dense<'a>(
    words: &mut Words<impl Iterator<Item = (usize, &'a str)>>,
    n: usize,
) -> Result<Entries, ExchangeError> {
    if words.count("rows")? != n || words.count("columns")? != n {
        return Err(words.wrong("sizes that differ from those before"));
    }
    let mut entries = Vec::new();
    for j in 0..n as u32 {
        for i in 0..n as u32 {
            let x = words.number("a value of the matrix")?;
            if x != 0.0 {
                entries.push((i, j, x));
            }
        }
    }
    Ok(entries)
}

fn blocks<'a>(
    words: &mut Words<impl Iterator<Item = (usize, &'a str)>>,
    n: usize,
) -> Result<Entries, ExchangeError> {
    let count = words.count("the number of blocks")?;
    let sizes = [words.count("block rows")?, words.count("block columns")?];
    let row_ends = words.list(sizes[0], "the end of a block row")?;
    let column_ends = words.list(sizes[1], "the end of a block column")?;
    for ends in [&row_ends, &column_ends] {
        let rising = ends.windows(2).all(|e| e[0] < e[1]);
        if !rising || ends.last().is_some_and(|&end| end != n) || ends.first() == Some(&0) {
            return Err(words.wrong("ends of blocks that do not rise to the size of the matrix"));
        }
    }
    let lengths = [words.count("a length")?, words.count("a length")?];
    let starts = words.list(lengths[0], "the first block of a row")?;
    let columns = words.list(lengths[1], "the column of a block")?;
    let begin = |ends: &[usize], i: usize| if i == 0 { 0 } else { ends[i - 1] };
    let mut entries = Vec::new();
    let mut row = 0;
    for block in 0..count {
        // Rows without blocks have no start of their own beyond the last one with blocks.
        while starts.get(row + 1).is_some_and(|&next| next <= block) {
            row += 1;
        }
        let column = columns.get(block).copied();
        let (Some(column), true) = (column.filter(|&c| c < sizes[1]), row < sizes[0]) else {
            return Err(words.wrong("a block outside the matrix"));
        };
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

/// Words with the lines they are on.
struct Words<I> {
    words: I,
    line: usize,
    /// Bytes of the text: no list is longer.
    left: usize,
}

impl<'a, I: Iterator<Item = (usize, &'a str)>> Words<I> {
    fn wrong(&self, what: impl Into<String>) -> ExchangeError {
        ExchangeError::Text {
            what: what.into(),
            line: self.line,
        }
    }

    fn word(&mut self, what: &str) -> Result<&'a str, ExchangeError> {
        match self.words.next() {
            Some((line, word)) => {
                self.line = line;
                Ok(word)
            }
            None => Err(self.wrong(format!("the text ends before {what}"))),
        }
    }

    fn count(&mut self, what: &str) -> Result<usize, ExchangeError> {
        let word = self.word(what)?;
        let count: Option<usize> = word.parse().ok();
        let Some(count) = count.filter(|&n| n <= self.left) else {
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

    fn list(&mut self, count: usize, what: &str) -> Result<Vec<usize>, ExchangeError> {
        (0..count).map(|_| self.count(what)).collect()
    }
}
