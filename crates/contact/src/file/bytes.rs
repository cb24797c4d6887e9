//! Numbers to bytes and back, little-endian.

use stiction_math::{Mat3, Vec3};

use super::FileError;

/// Something of fixed size in the file.
pub(super) trait Item: Sized {
    /// Its size [bytes].
    const SIZE: usize;
    fn put(&self, out: &mut Vec<u8>);
    /// From exactly `SIZE` bytes.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($($number:ty),*) => {$(
        impl Item for $number {
            const SIZE: usize = size_of::<$number>();
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> Self {
                let mut array = [0; size_of::<$number>()];
                array.copy_from_slice(bytes);
                Self::from_le_bytes(array)
            }
        }
    )*};
}

number!(u8, u32, u64, f64);

impl<T: Item, const N: usize> Item for [T; N] {
    const SIZE: usize = N * T::SIZE;
    fn put(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|x| x.put(out));
    }
    fn get(bytes: &[u8]) -> Self {
        std::array::from_fn(|i| T::get(&bytes[i * T::SIZE..(i + 1) * T::SIZE]))
    }
}

impl Item for Vec3 {
    const SIZE: usize = 24;
    fn put(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|x| x.put(out));
    }
    fn get(bytes: &[u8]) -> Self {
        <[f64; 3]>::get(bytes).into()
    }
}

impl Item for Mat3 {
    const SIZE: usize = 72;
    fn put(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|x| x.put(out));
    }
    fn get(bytes: &[u8]) -> Self {
        Self::from_column_slice(&<[f64; 9]>::get(bytes))
    }
}

/// Takes items off the front of bytes.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    pub fn corrupt(&self, what: &'static str) -> FileError {
        FileError::Corrupt { what, at: self.at }
    }

    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], FileError> {
        let end = self.at.checked_add(count);
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(bytes) => {
                self.at += count;
                Ok(bytes)
            }
            None => Err(self.corrupt("a list that is longer than the file")),
        }
    }

    pub fn one<T: Item>(&mut self) -> Result<T, FileError> {
        Ok(T::get(self.bytes(T::SIZE)?))
    }

    /// `count` items; memory only if they are there.
    pub fn many<T: Item>(&mut self, count: usize) -> Result<Vec<T>, FileError> {
        let size = count.checked_mul(T::SIZE);
        let bytes = self.bytes(size.unwrap_or(usize::MAX))?;
        Ok(bytes.chunks_exact(T::SIZE).map(T::get).collect())
    }

    /// `count`, if so many items of `size` bytes can still follow.
    pub fn at_least(&self, count: usize, size: usize) -> Result<usize, FileError> {
        let needed = count.checked_mul(size);
        match needed.is_some_and(|needed| needed <= self.bytes.len() - self.at) {
            true => Ok(count),
            false => Err(self.corrupt("a list that is longer than the file")),
        }
    }

    /// A length that the machine can address.
    pub fn length(&mut self) -> Result<usize, FileError> {
        let length = self.one::<u64>()?;
        usize::try_from(length).map_err(|_| self.corrupt("a length that is too large"))
    }

    /// A byte that is 0 or 1.
    pub fn flag(&mut self) -> Result<bool, FileError> {
        match self.one::<u8>()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.corrupt("a flag that is neither 0 nor 1")),
        }
    }

    pub fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }
}
