//! Where boxes and lines go: layers from top to bottom, each stage below all that it depends on. Pure geometry, in
//! whatever unit its caller draws.

use crate::order::Pipeline;

/// A box that wants a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) width: u32,
    pub(super) height: u32,
}

/// A box that has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) x: u32,
    pub(super) layer: usize,
    pub(super) size: Size,
}

impl Place {
    /// Where lines come and go.
    pub(super) fn middle(self) -> u32 {
        self.x + self.size.width / 2
    }
}

/// A line from a box to one below. It passes each layer between at one of `through`, where no box is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) through: Vec<u32>,
}

impl Line {
    /// Where it passes a layer between its ends.
    pub(super) fn at(&self, layer: usize, layout: &Layout) -> Option<u32> {
        let step = layer.checked_sub(layout.places.get(self.from)?.layer + 1)?;
        self.through.get(step).copied()
    }
}

/// Everything in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) places: Vec<Place>,
    pub(super) lines: Vec<Line>,
    /// How high each layer is: its highest box.
    pub(super) layers: Vec<u32>,
    pub(super) width: u32,
}

/// Which stage depends on which, by number; what others imply is left out.
pub(super) fn dependencies(pipeline: &Pipeline) -> Vec<(usize, usize)> {
    let number = |name: &str| pipeline.stages.iter().position(|stage| stage.name == name);
    let mut before: Vec<Vec<usize>> = Vec::new();
    let mut lines = Vec::new();
    // Stages stand after those they depend on.
    for (to, stage) in pipeline.stages.iter().enumerate() {
        let direct: Vec<usize> = stage.depends_on.iter().filter_map(|name| number(name)).collect();
        let implied = |from: usize| {
            direct.iter().any(|other| before.get(*other).is_some_and(|all| all.contains(&from)))
        };
        lines.extend(direct.iter().filter(|from| !implied(**from)).map(|from| (*from, to)));
        let mut all = direct.clone();
        all.extend(direct.iter().filter_map(|from| before.get(*from)).flatten());
        before.push(all);
    }
    lines
}

/// What stands in a layer: a box, or a line on its way through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Box(usize),
    Line { line: usize, step: usize },
}

/// Layers for boxes that come after all they depend on, at most `most` side by side.
pub(super) fn layers(count: usize, lines: &[(usize, usize)], most: usize) -> Vec<usize> {
    let mut layers: Vec<usize> = Vec::new();
    for number in 0..count {
        let above = lines.iter().filter(|(_, to)| *to == number).filter_map(|(from, _)| layers.get(*from));
        let mut layer = above.max().map_or(0, |layer| layer + 1);
        while layers.iter().filter(|other| **other == layer).count() >= most.max(1) {
            layer += 1;
        }
        layers.push(layer);
    }
    layers
}

/// Puts boxes in their layers (see [`layers`]) side by side, `gap` apart, so that lines cross little.
pub(super) fn lay_out(sizes: &[Size], lines: &[(usize, usize)], layers: &[usize], gap: u32) -> Layout {
    let depth = layers.iter().max().map_or(0, |last| last + 1);
    let mut rows: Vec<Vec<Slot>> = vec![Vec::new(); depth];
    for (number, layer) in layers.iter().enumerate() {
        rows[*layer].push(Slot::Box(number));
    }
    for (line, (from, to)) in lines.iter().enumerate() {
        for (step, layer) in (layers[*from] + 1..layers[*to]).enumerate() {
            rows[layer].push(Slot::Line { line, step });
        }
    }
    sort_rows(&mut rows, lines);
    let width_of = |slot: &Slot| match slot {
        Slot::Box(number) => sizes[*number].width,
        Slot::Line { .. } => 1,
    };
    let width_of_row =
        |row: &Vec<Slot>| row.iter().map(width_of).sum::<u32>() + gap * (row.len() as u32).saturating_sub(1);
    let width = rows.iter().map(width_of_row).max().unwrap_or(0);
    let mut places: Vec<Place> =
        sizes.iter().zip(layers).map(|(size, layer)| Place { x: 0, layer: *layer, size: *size }).collect();
    let mut drawn: Vec<Line> =
        lines.iter().map(|(from, to)| Line { from: *from, to: *to, through: Vec::new() }).collect();
    for row in &rows {
        let mut x = (width - width_of_row(row)) / 2;
        for slot in row {
            match slot {
                Slot::Box(number) => places[*number].x = x,
                Slot::Line { line, .. } => drawn[*line].through.push(x),
            }
            x += width_of(slot) + gap;
        }
    }
    let height = |layer: usize| {
        let own = places.iter().filter(|place| place.layer == layer);
        own.map(|place| place.size.height).max().unwrap_or(0)
    };
    Layout { layers: (0..depth).map(height).collect(), places, lines: drawn, width }
}

/// Each slot near what it hangs on, first looking up, then looking down.
fn sort_rows(rows: &mut [Vec<Slot>], lines: &[(usize, usize)]) {
    for _ in 0..4 {
        for layer in 1..rows.len() {
            let (above, below) = rows.split_at_mut(layer);
            sort_row(&mut below[0], &above[layer - 1], |slot, other| hangs_on(other, slot, lines));
        }
        for layer in (1..rows.len()).rev() {
            let (above, below) = rows.split_at_mut(layer);
            sort_row(&mut above[layer - 1], &below[0], |slot, other| hangs_on(slot, other, lines));
        }
    }
}

fn sort_row(row: &mut [Slot], other: &[Slot], is_neighbour: impl Fn(Slot, Slot) -> bool) {
    let own = row.to_vec();
    let weight = |slot: &Slot| {
        let near: Vec<usize> =
            (0..other.len()).filter(|number| is_neighbour(*slot, other[*number])).collect();
        let place = own.iter().position(|known| known == slot).unwrap_or(0);
        // In thousandths of a place, from the middle; what hangs on nothing stays where it is.
        let (sum, count, of) = if near.is_empty() {
            (place, 1, own.len())
        } else {
            (near.iter().sum(), near.len(), other.len())
        };
        (2_000 * sum + 1_000 * count) / (count * of.max(1))
    };
    row.sort_by_cached_key(weight);
}

/// Whether a line goes from this slot straight to that one below.
fn hangs_on(above: Slot, below: Slot, lines: &[(usize, usize)]) -> bool {
    let ends = |line: usize| lines.get(line).copied();
    match (above, below) {
        (Slot::Box(from), Slot::Box(to)) => lines.contains(&(from, to)),
        (Slot::Box(from), Slot::Line { line, step }) => {
            step == 0 && ends(line).is_some_and(|(own, _)| own == from)
        }
        (Slot::Line { line, .. }, Slot::Box(to)) => ends(line).is_some_and(|(_, own)| own == to),
        (Slot::Line { line, step }, Slot::Line { line: other, step: next }) => {
            line == other && next == step + 1
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Boxes of any size, and lines from earlier to later ones.
    fn graph() -> impl Strategy<Value = (Vec<Size>, Vec<(usize, usize)>, usize)> {
        let size = (1..60_u32, 1..9_u32).prop_map(|(width, height)| Size { width, height });
        (
            proptest::collection::vec(size, 1..14),
            proptest::collection::vec((0..14_usize, 0..14_usize), 0..24),
            1..5_usize,
        )
            .prop_map(|(sizes, pairs, most)| {
                let mut lines: Vec<(usize, usize)> =
                    pairs.into_iter().filter(|(from, to)| from < to && *to < sizes.len()).collect();
                lines.sort_unstable();
                lines.dedup();
                (sizes, lines, most)
            })
    }

    proptest! {
        #[test]
        fn no_two_boxes_overlap_and_every_line_goes_down_past_no_box((sizes, lines, most) in graph(), gap in 1..6_u32) {
            let layers = layers(sizes.len(), &lines, most);
            let layout = lay_out(&sizes, &lines, &layers, gap);
            for (number, place) in layout.places.iter().enumerate() {
                prop_assert!(place.x + place.size.width <= layout.width);
                prop_assert!(place.size.height <= layout.layers[place.layer]);
                for other in layout.places[..number].iter().filter(|other| other.layer == place.layer) {
                    let apart = place.x >= other.x + other.size.width + gap || other.x >= place.x + place.size.width + gap;
                    prop_assert!(apart, "{:?} {:?}", place, other);
                }
            }
            for layer in 0..layout.layers.len() {
                prop_assert!(layers.iter().filter(|own| **own == layer).count() <= most);
            }
            prop_assert_eq!(layout.lines.len(), lines.len());
            for line in &layout.lines {
                let (from, to) = (layout.places[line.from], layout.places[line.to]);
                prop_assert!(from.layer < to.layer);
                prop_assert_eq!(line.through.len(), to.layer - from.layer - 1);
                for (x, layer) in line.through.iter().zip(from.layer + 1..) {
                    let hits = layout.places.iter().any(|place| place.layer == layer && (place.x..place.x + place.size.width).contains(x));
                    prop_assert!(!hits, "{:?}", line);
                }
            }
        }
    }

    #[test]
    fn what_others_imply_is_not_drawn() {
        let yaml = "{name: p, version: 1, stages: [{name: a, agent: x}, {name: b, agent: x, depends_on: [a]}, \
                    {name: c, agent: x, depends_on: [a]}, {name: d, agent: x, depends_on: [a, b, c]}]}";
        let pipeline = Pipeline::parse(yaml).unwrap();
        let lines = dependencies(&pipeline);
        assert_eq!(lines, [(0, 1), (0, 2), (1, 3), (2, 3)]);
        assert_eq!(layers(4, &lines, 4), [0, 1, 1, 2]);
        assert_eq!(layers(4, &lines, 1), [0, 1, 2, 3], "no more side by side than fit");
    }
}
