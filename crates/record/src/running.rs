use crate::codec::{DecodeError, Decoder, Encoder};
use crate::summary::{MaxRms, MeanMax, ProbeSummary};

/// Running statistics of a number. They can be stored in a checkpoint, so that a resumed run ends
/// with the summary of an uninterrupted one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Running {
    count: u64,
    first: f64,
    last: f64,
    min: f64,
    max: f64,
    sum: f64,
    squares: f64,
}

impl Default for Running {
    fn default() -> Self {
        Self {
            count: 0,
            first: f64::NAN,
            last: f64::NAN,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            sum: 0.0,
            squares: 0.0,
        }
    }
}

impl Running {
    /// Adds a value. NaN makes minimum, maximum and mean NaN, so that a summary does not hide it.
    pub fn push(&mut self, value: f64) {
        if self.count == 0 {
            self.first = value;
        }
        self.count += 1;
        self.last = value;
        self.min = if value.is_nan() || self.min.is_nan() {
            f64::NAN
        } else {
            self.min.min(value)
        };
        self.max = if value.is_nan() || self.max.is_nan() {
            f64::NAN
        } else {
            self.max.max(value)
        };
        self.sum += value;
        self.squares += value * value;
    }

    /// The last value, if there is one.
    pub fn last(&self) -> Option<f64> {
        (self.count > 0).then_some(self.last)
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean and maximum; zero without values.
    pub fn mean_max(&self) -> MeanMax {
        match self.count {
            0 => MeanMax::default(),
            n => MeanMax {
                mean: self.sum / n as f64,
                max: self.max,
            },
        }
    }

    /// Maximum alone; zero without values.
    pub fn max(&self) -> MaxRms {
        let max = if self.count == 0 { 0.0 } else { self.max };
        MaxRms { max, rms: None }
    }

    /// Maximum and root of the mean square; zero without values.
    pub fn max_rms(&self) -> MaxRms {
        let rms = match self.count {
            0 => 0.0,
            n => (self.squares / n as f64).sqrt(),
        };
        MaxRms {
            rms: Some(rms),
            ..self.max()
        }
    }

    /// First, last, minimum and maximum in `unit`; NaN without values.
    pub fn probe(&self, unit: &str) -> ProbeSummary {
        let seen = |value: f64| if self.count == 0 { f64::NAN } else { value };
        ProbeSummary {
            unit: unit.to_owned(),
            first: self.first,
            last: self.last,
            min: seen(self.min),
            max: seen(self.max),
        }
    }

    /// Writes the state to a checkpoint section.
    pub fn encode(&self, out: &mut Encoder) {
        out.u64(self.count);
        for value in [
            self.first,
            self.last,
            self.min,
            self.max,
            self.sum,
            self.squares,
        ] {
            out.f64(value);
        }
    }

    /// Reads the state from a checkpoint section.
    pub fn decode(input: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(Self {
            count: input.u64()?,
            first: input.f64()?,
            last: input.f64()?,
            min: input.f64()?,
            max: input.f64()?,
            sum: input.f64()?,
            squares: input.f64()?,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn a_stored_and_continued_series_equals_an_uninterrupted_one() {
        let series: Vec<f64> = (0..50).map(|i| (f64::from(i) * 0.7).sin()).collect();
        let mut whole = Running::default();
        series.iter().for_each(|&x| whole.push(x));
        let mut half = Running::default();
        series[..20].iter().for_each(|&x| half.push(x));
        let mut out = Encoder::new();
        half.encode(&mut out);
        let bytes = out.finish();
        let mut input = Decoder::new("probe", &bytes);
        let mut rest = Running::decode(&mut input).unwrap();
        input.finish().unwrap();
        series[20..].iter().for_each(|&x| rest.push(x));
        assert_eq!(whole, rest);

        let mean = series.iter().sum::<f64>() / 50.0;
        let rms = (series.iter().map(|x| x * x).sum::<f64>() / 50.0).sqrt();
        assert_eq!(whole.mean_max().mean, mean);
        assert_eq!(whole.max_rms().rms, Some(rms));
        let probe = whole.probe("m");
        assert_eq!([probe.first, probe.last], [series[0], series[49]]);
        assert!(series.iter().all(|&x| probe.min <= x && x <= probe.max));
    }

    #[test]
    fn nothing_is_zero_and_a_nan_is_never_hidden() {
        let empty = Running::default();
        assert_eq!(
            empty.max_rms(),
            MaxRms {
                max: 0.0,
                rms: Some(0.0)
            }
        );
        assert!(empty.probe("m").min.is_nan());
        let mut bad = Running::default();
        [1.0, f64::NAN, 2.0].into_iter().for_each(|x| bad.push(x));
        assert!(
            bad.max().max.is_nan() && bad.probe("m").min.is_nan() && bad.mean_max().mean.is_nan()
        );
    }
}
