//! Cyclic redundancy checks, reflected and inverted at both ends.

/// CRC-64/XZ: polynomial 0x42F0E1EBA9EA3693. It detects any damage that is confined to 64 bits.
pub fn crc64(bytes: &[u8]) -> u64 {
    const TABLE: [u64; 256] = table(0xC96C_5795_D787_0F42);
    !remainder(&TABLE, !0, bytes)
}

/// CRC-32 as in zlib: polynomial 0x04C11DB7. It detects any damage that is confined to 32 bits.
pub fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u64; 256] = table(0xEDB8_8320);
    !(remainder(&TABLE, u64::from(u32::MAX), bytes) as u32)
}

/// Remainder of the message after `start`; a polynomial of 32 bits leaves the upper half zero.
fn remainder(table: &[u64; 256], start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |crc, &byte| {
        table[usize::from(crc as u8 ^ byte)] ^ (crc >> 8)
    })
}

/// Remainders of the 256 bytes for a reflected polynomial.
const fn table(polynomial: u64) -> [u64; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut crc = i as u64;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { polynomial } else { 0 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check values of the catalogue of CRC algorithms.
    #[test]
    fn check_values_are_the_published_ones() {
        assert_eq!(crc64(b"123456789"), 0x995D_C9BB_DF19_39FA);
        assert_eq!(crc64(b""), 0);
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }
}
