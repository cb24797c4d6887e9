//! Line plots: linear or logarithmic axes, a legend and several series, alone or several plots on
//! one sheet, as SVG or PNG.

use std::{io::Cursor, path::Path, sync::OnceLock};

use plotters::{
    coord::{
        Shift,
        ranged1d::{Ranged, ValueFormatter},
    },
    prelude::*,
};

use crate::{RecordError, atomic};

/// Scale of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Linear.
    #[default]
    Linear,
    /// Logarithmic. Values that are not positive are skipped.
    Logarithmic,
}

/// One curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its points. A point that is not finite interrupts the curve.
    pub points: Vec<(f64, f64)>,
}

/// Curves over one pair of axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Title above the curves.
    pub title: String,
    /// Label of x, with its unit.
    pub x_label: String,
    /// Label of y, with its unit.
    pub y_label: String,
    /// Scale of x.
    pub x_scale: Scale,
    /// Scale of y.
    pub y_scale: Scale,
    /// The curves.
    pub series: Vec<Series>,
    /// Width and height [pixels].
    pub size: (u32, u32),
}

impl Series {
    /// A curve of at most `most` points that looks the same: of each interval, the minimum and the
    /// maximum are kept, so that no peak is lost.
    pub fn thinned(self, most: usize) -> Self {
        let stretch = self.points.len().div_ceil((most / 2).max(1));
        if stretch <= 2 {
            return self;
        }
        let mut points = Vec::with_capacity(most);
        for piece in self.points.chunks(stretch) {
            let by = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
            let (low, high) = (piece.iter().min_by(by), piece.iter().max_by(by));
            let mut ends: Vec<(f64, f64)> = low.into_iter().chain(high).copied().collect();
            ends.sort_by(|a, b| a.0.total_cmp(&b.0));
            ends.dedup();
            points.extend(ends);
        }
        Self { points, ..self }
    }
}

impl Default for Plot {
    fn default() -> Self {
        Self {
            title: String::new(),
            x_label: String::new(),
            y_label: String::new(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            series: Vec::new(),
            size: (900, 600),
        }
    }
}

/// The font is registered once, and is part of the program.
static FONT: OnceLock<bool> = OnceLock::new();

/// Colours that are distinct for most eyes and dark enough on white.
const COLOURS: [(u8, u8, u8); 8] = [
    (0, 114, 178),
    (213, 94, 0),
    (0, 158, 115),
    (204, 121, 167),
    (86, 180, 233),
    (230, 159, 0),
    (90, 90, 90),
    (148, 0, 60),
];

/// Plots on one sheet, row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// The plots; all have the size of the first one.
    pub plots: Vec<Plot>,
    /// Number of plots in a row; at least one.
    pub columns: usize,
}

impl Figure {
    /// Writes the figure as `.svg` or `.png`, by the extension, atomically.
    pub fn write(&self, path: &Path) -> Result<(), RecordError> {
        match path.extension().and_then(|e| e.to_str()) {
            Some("svg") => {
                let svg = self.svg().map_err(|e| RecordError::invalid(path, e))?;
                atomic::write(path, svg.as_bytes())
            }
            Some("png") => {
                let png = self.png().map_err(|e| RecordError::invalid(path, e))?;
                atomic::write(path, &png)
            }
            _ => Err(RecordError::invalid(path, "plots end in .svg or .png")),
        }
    }

    /// The figure as SVG.
    pub fn svg(&self) -> Result<String, String> {
        let mut text = String::new();
        draw(
            &self.plots,
            self.grid(),
            SVGBackend::with_string(&mut text, self.size()),
        )?;
        Ok(text)
    }

    /// The figure as PNG.
    pub fn png(&self) -> Result<Vec<u8>, String> {
        bitmap(&self.plots, self.grid(), self.size())
    }

    /// Rows and columns.
    fn grid(&self) -> (usize, usize) {
        let columns = self.columns.clamp(1, self.plots.len().max(1));
        (self.plots.len().div_ceil(columns).max(1), columns)
    }

    fn size(&self) -> (u32, u32) {
        let (width, height) = self.plots.first().map_or((900, 600), |p| p.size);
        let (rows, columns) = self.grid();
        (width * columns as u32, height * rows as u32)
    }
}

impl Plot {
    /// Writes the plot as `.svg` or `.png`, by the extension, atomically.
    pub fn write(&self, path: &Path) -> Result<(), RecordError> {
        let figure = Figure {
            plots: vec![self.clone()],
            columns: 1,
        };
        figure.write(path)
    }

    /// The plot as SVG.
    pub fn svg(&self) -> Result<String, String> {
        let mut text = String::new();
        let backend = SVGBackend::with_string(&mut text, self.size);
        draw(std::slice::from_ref(self), (1, 1), backend)?;
        Ok(text)
    }

    /// The plot as PNG.
    pub fn png(&self) -> Result<Vec<u8>, String> {
        bitmap(std::slice::from_ref(self), (1, 1), self.size)
    }

    fn draw<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>) -> Result<(), String> {
        let x = self.range(self.x_scale, |p| p.0);
        let y = self.range(self.y_scale, |p| p.1);
        let log = |r: &std::ops::Range<f64>| (r.start..r.end).log_scale();
        match (self.x_scale, self.y_scale) {
            (Scale::Linear, Scale::Linear) => self.draw_on(area, x, y),
            (Scale::Linear, Scale::Logarithmic) => self.draw_on(area, x, log(&y)),
            (Scale::Logarithmic, Scale::Linear) => self.draw_on(area, log(&x), y),
            (Scale::Logarithmic, Scale::Logarithmic) => self.draw_on(area, log(&x), log(&y)),
        }
    }

    fn shown(&self, p: &(f64, f64)) -> bool {
        // Beyond these limits, ticks cannot be labelled.
        let fits = |x: f64, scale| match scale {
            Scale::Linear => x.abs() < 1e100,
            Scale::Logarithmic => (1e-100..1e100).contains(&x),
        };
        fits(p.0, self.x_scale) && fits(p.1, self.y_scale)
    }

    /// The range of the values, with a margin.
    fn range(&self, scale: Scale, of: impl Fn(&(f64, f64)) -> f64) -> std::ops::Range<f64> {
        let points = self.series.iter().flat_map(|s| &s.points);
        let values = points.filter(|p| self.shown(p)).map(of);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| {
            (a.min(x), b.max(x))
        });
        match scale {
            _ if low > high => 0.1..1.0,
            // Whole decades, so that the ends have labels.
            Scale::Logarithmic => {
                let (a, b) = (low.log10().floor(), high.log10().ceil());
                10f64.powf(a)..10f64.powf(b.max(a + 1.0))
            }
            Scale::Linear => {
                let margin = match (high - low) * 0.03 {
                    0.0 => low.abs().max(1.0) * 0.1,
                    margin => margin,
                };
                low - margin..high + margin
            }
        }
    }

    fn draw_on<D, X, Y>(
        &self,
        area: &DrawingArea<D, Shift>,
        x: impl plotters::coord::ranged1d::AsRangedCoord<CoordDescType = X, Value = f64>,
        y: impl plotters::coord::ranged1d::AsRangedCoord<CoordDescType = Y, Value = f64>,
    ) -> Result<(), String>
    where
        D: DrawingBackend,
        X: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let said = |e: &dyn std::fmt::Display| e.to_string();
        let span = |scale, of: fn(&(f64, f64)) -> f64| {
            let range = self.range(scale, of);
            match scale {
                Scale::Linear => range.end - range.start,
                Scale::Logarithmic => 0.0,
            }
        };
        let spans = (span(self.x_scale, |p| p.0), span(self.y_scale, |p| p.1));
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, ("sans-serif", 22))
            .margin(14)
            .x_label_area_size(46)
            .y_label_area_size(78)
            .build_cartesian_2d(x, y)
            .map_err(|e| said(&e))?;
        chart
            .configure_mesh()
            .x_desc(&self.x_label)
            .y_desc(&self.y_label)
            .x_label_formatter(&|x| label(*x, spans.0))
            .y_label_formatter(&|y| label(*y, spans.1))
            .label_style(("sans-serif", 14))
            .axis_desc_style(("sans-serif", 16))
            .light_line_style(RGBColor(240, 240, 240))
            .draw()
            .map_err(|e| said(&e))?;
        for (i, series) in self.series.iter().enumerate() {
            let (r, g, b) = COLOURS[i % COLOURS.len()];
            let colour = RGBColor(r, g, b);
            let pieces = series.points.split(|p| !self.shown(p));
            let mut named = false;
            for piece in pieces.filter(|piece| !piece.is_empty()) {
                let line = LineSeries::new(piece.iter().copied(), colour.stroke_width(2));
                let drawn = chart.draw_series(line).map_err(|e| said(&e))?;
                if !named {
                    drawn.label(&series.name).legend(move |(x, y)| {
                        PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(2))
                    });
                    named = true;
                }
            }
        }
        if self.series.len() > 1 || self.series.iter().any(|s| !s.name.is_empty()) {
            chart
                .configure_series_labels()
                .background_style(WHITE.mix(0.8))
                .border_style(RGBColor(180, 180, 180))
                .draw()
                .map_err(|e| said(&e))?;
        }
        Ok(())
    }
}

fn draw<D: DrawingBackend>(plots: &[Plot], grid: (usize, usize), backend: D) -> Result<(), String> {
    FONT.get_or_init(|| {
        let style = FontStyle::Normal;
        let font = dejavu::sans::regular();
        plotters::style::register_font("sans-serif", style, font).is_ok()
    });
    let area = backend.into_drawing_area();
    area.fill(&WHITE).map_err(|e| e.to_string())?;
    for (plot, area) in plots.iter().zip(area.split_evenly(grid)) {
        plot.draw(&area)?;
    }
    area.present().map_err(|e| e.to_string())
}

fn bitmap(plots: &[Plot], grid: (usize, usize), size: (u32, u32)) -> Result<Vec<u8>, String> {
    let (width, height) = size;
    let mut pixels = vec![255u8; 3 * width as usize * height as usize];
    draw(plots, grid, BitMapBackend::with_buffer(&mut pixels, size))?;
    let mut out = Cursor::new(Vec::new());
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&pixels));
    written.map_err(|e| e.to_string())?;
    Ok(out.into_inner())
}

/// A short label, exact if possible, on an axis of the given length.
fn label(x: f64, span: f64) -> String {
    let size = x.abs();
    if size <= 1e-9 * span {
        "0".into()
    } else if !(1e-3..1e5).contains(&size) {
        format!("{x:.1e}").replace(".0e", "e")
    } else {
        let text = format!("{x:.4}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn example(scale: Scale) -> Plot {
        let curve = |rate: f64| (1..60).map(|i| (i as f64, rate.powi(i))).collect();
        Plot {
            title: "two rates".into(),
            x_label: "iteration".into(),
            y_label: "error [m/s]".into(),
            y_scale: scale,
            series: vec![
                Series {
                    name: "slow".into(),
                    points: curve(0.9),
                },
                Series {
                    name: "fast & steep".into(),
                    points: curve(0.5),
                },
            ],
            ..Plot::default()
        }
    }

    #[test]
    fn curves_labels_and_legend_are_there() {
        for scale in [Scale::Linear, Scale::Logarithmic] {
            let svg = example(scale).svg().unwrap();
            for text in [
                "two rates",
                "iteration",
                "error [m/s]",
                "slow",
                "fast &amp; steep",
            ] {
                assert!(svg.contains(text), "{text}");
            }
            assert!(svg.matches("<polyline").count() >= 2);
        }
        let log = example(Scale::Logarithmic).svg().unwrap();
        assert!(log.matches("1e-").count() >= 3, "decades are labelled");
    }

    #[test]
    fn pictures_have_their_size_and_colours() {
        let bytes = example(Scale::Logarithmic).png().unwrap();
        let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (900, 600));
        for colour in [COLOURS[0], COLOURS[1]] {
            let (r, g, b) = colour;
            assert!(pixels.chunks(3).any(|p| p == [r, g, b]), "{colour:?}");
        }
    }

    #[test]
    fn a_figure_holds_its_plots_side_by_side() {
        let figure = Figure {
            plots: vec![example(Scale::Linear); 3],
            columns: 2,
        };
        let bytes = figure.png().unwrap();
        let reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
        let info = reader.info();
        assert_eq!((info.width, info.height), (1800, 1200));
        assert_eq!(figure.svg().unwrap().matches("two rates").count(), 3);
        Figure::default().svg().unwrap();
    }

    #[test]
    fn thinning_keeps_peaks_and_ends() {
        let mut points: Vec<(f64, f64)> = (0..10_000).map(|i| (f64::from(i), 0.0)).collect();
        points[5678].1 = 7.0;
        points[8765].1 = -3.0;
        let thin = Series {
            name: "spike".into(),
            points,
        }
        .thinned(400);
        assert!(thin.points.len() <= 400, "{}", thin.points.len());
        assert!(thin.points.contains(&(5678.0, 7.0)) && thin.points.contains(&(8765.0, -3.0)));
        assert!(thin.points.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn nothing_to_show_is_no_failure() {
        let strange = [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e-310, 1e308];
        for scale in [Scale::Linear, Scale::Logarithmic] {
            let mut plot = example(scale);
            plot.series[0].points = strange.iter().map(|&y| (1.0, y)).collect();
            plot.svg().unwrap();
            plot.series.clear();
            plot.png().unwrap();
        }
    }
}
