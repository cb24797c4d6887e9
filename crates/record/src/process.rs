//! Memory and processor time of this process.

use std::fs;

/// Ticks per second of the processor times in `/proc`: the same on every Linux system as seen by
/// programs.
const TICKS: f64 = 100.0;

/// Peak memory of this process so far [bytes]; 0 if unavailable.
pub fn peak_memory() -> u64 {
    memory("VmHWM:")
}

/// Resets the peak of [`peak_memory`]; returns the current memory [bytes], or none if the system
/// does not allow it.
pub fn reset_peak_memory() -> Option<u64> {
    fs::write("/proc/self/clear_refs", "5").ok()?;
    Some(memory("VmRSS:"))
}

fn memory(key: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Processor time of all threads of this process [s], to 0.01 s; 0 if unavailable. On a busy
/// machine it is a better measure of work than wall-clock time.
pub fn processor_time() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field, a name in parentheses, may contain any character.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks.filter_map(|t| t.parse::<f64>().ok()).sum::<f64>() / TICKS
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::time::Instant;

    use super::{peak_memory, processor_time};

    #[test]
    fn peak_memory_grows_with_the_memory_in_use() {
        let before = peak_memory();
        assert!(before > 1 << 20);
        let ballast = std::hint::black_box(vec![1u8; 300 << 20]);
        assert!(peak_memory() >= 300 << 20, "{} {}", before, ballast.len());
    }

    #[test]
    fn processor_time_grows_with_work() {
        let before = processor_time();
        let (start, mut x) = (Instant::now(), 0.0_f64);
        while processor_time() < before + 0.1 && start.elapsed().as_secs() < 60 {
            for k in 0..100_000 {
                x = std::hint::black_box(x + f64::from(k).sqrt());
            }
        }
        assert!(processor_time() >= before + 0.1, "{x}");
    }
}
