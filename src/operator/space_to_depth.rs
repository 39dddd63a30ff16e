//! `SpaceToDepth`: puts the pixels of each block one after another into the depth of one pixel.

use super::blocks::{self, BLOCKSIZE, Blocks, MODE, Mover, RANK, Rules, version};
use super::{Operator, OutputType, Rule, Text, Topic, always, since};
use crate::tensor::ElementType;

pub(crate) static SPACE_TO_DEPTH: Operator = Operator {
    name: "SpaceToDepth",
    versions: &[
        version(1, ElementType::Complex128, &[BLOCKSIZE]),
        version(13, ElementType::Bfloat16, &[BLOCKSIZE]),
        version(MODE_SINCE, ElementType::Bfloat16, &[BLOCKSIZE, MODE]),
    ],
    rules: &[
        always(Rule::SPACE_TO_DEPTH_RANK),
        always(Rule::SPACE_TO_DEPTH_BLOCKSIZE),
        since(MODE_SINCE, Rule::SPACE_TO_DEPTH_MODE),
        always(Rule::SPACE_TO_DEPTH_DIVISION),
        always(Rule::SPACE_TO_DEPTH_ROUNDING),
        always(Rule::SPACE_TO_DEPTH_DIM_RANGE),
    ],
    catalogue: include_str!("../../corpus/catalogue/space_to_depth.txt"),
    purpose: &[(1, "SpaceToDepth rearranges blocks of spatial data into depth.")],
    execute: |call| blocks::execute(call, &MOVER),
    draw: |d| blocks::draw(d, &MOVER),
    output_rank: |_| Some(RANK),
    output_dims: |_, _| None,
    output_type: OutputType::Data,
};

/// The version that introduced the attribute `mode`.
const MODE_SINCE: u8 = 28;

static MOVER: Mover = Mover {
    units: |size| [1, 1, size, size],
    dims: |[batch, channels, height, width], size| {
        [batch, channels.saturating_mul(size * size), height / size, width / size]
    },
    source,
    beyond: |[batch, channels, ..]| [batch, channels.max(1), 0, 0],
    sizes_beyond: &[1 << 32, (1 << 32) + 1, 3_037_000_500, 1 << 62, i64::MAX],
    rules: Rules {
        rank: Rule::SPACE_TO_DEPTH_RANK,
        size: Rule::SPACE_TO_DEPTH_BLOCKSIZE,
        mode: Rule::SPACE_TO_DEPTH_MODE,
        division: Rule::SPACE_TO_DEPTH_DIVISION,
        rounding: Rule::SPACE_TO_DEPTH_ROUNDING,
        beyond: Rule::SPACE_TO_DEPTH_DIM_RANGE,
    },
};

fn source(blocks: &Blocks, [batch, depth, row, column]: [usize; RANK]) -> [usize; RANK] {
    let size = blocks.size;
    let (channel, place) = blocks.at(depth);
    [batch, channel, row * size + place / size, column * size + place % size]
}

impl Rule {
    pub const SPACE_TO_DEPTH_RANK: Rule = Rule(&Text {
        id: "space-to-depth-rank",
        sentence: "\"Input tensor of [N,C,H,W], where N is the batch axis, C is the channel or depth, H is the height \
                   and W is the width.\"",
        source: "SpaceToDepth, Inputs",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const SPACE_TO_DEPTH_BLOCKSIZE: Rule = Rule(&Text {
        id: "space-to-depth-blocksize",
        sentence: "\"Blocks of [blocksize, blocksize] are moved.\" A block has a size of at least 1.",
        source: "SpaceToDepth, attribute `blocksize`",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const SPACE_TO_DEPTH_MODE: Rule = Rule(&Text {
        id: "space-to-depth-mode",
        sentence: "\"DCR (default) for depth-column-row order re-arrangement. Use CRD for column-row-depth order.\"",
        source: "SpaceToDepth-28, attribute `mode`",
        topics: &[Topic::Value],
    });
    pub const SPACE_TO_DEPTH_DIVISION: Rule = Rule(&Text {
        id: "space-to-depth-division",
        sentence: "\"Output tensor of [N, C * blocksize * blocksize, H/blocksize, W/blocksize].\" It holds as many \
                   elements as the data only if height and width are multiples of blocksize.",
        source: "SpaceToDepth, Outputs",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const SPACE_TO_DEPTH_ROUNDING: Rule = Rule(&Text {
        id: "space-to-depth-rounding",
        sentence: "Where there are no elements, a height or width that is no multiple of blocksize may be divided \
                   and rounded down.",
        source: "SpaceToDepth, Outputs (V14)",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const SPACE_TO_DEPTH_DIM_RANGE: Rule = Rule(&Text {
        id: "space-to-depth-dim-range",
        sentence: "A dim is an int64, and so is each dim of the output.",
        source: "SpaceToDepth, Outputs; IR, static tensor shapes",
        topics: &[Topic::Size, Topic::Value, Topic::Dims],
    });
}

#[cfg(test)]
mod tests {
    use super::blocks::calls::{defined, evaluate, open};
    use super::*;
    use crate::operator::Expectation;

    fn moved(dims: &[i64], size: i64) -> Expectation {
        evaluate(&SPACE_TO_DEPTH, 26, dims, size, None)
    }

    #[test]
    fn the_versions_make_as_many_cells_as_the_operator_documents_have() {
        let counts: Vec<(u8, usize)> =
            SPACE_TO_DEPTH.versions.iter().map(|v| (v.since, v.element_types.len())).collect();
        assert_eq!((counts, SPACE_TO_DEPTH.cells()), (vec![(1, 15), (13, 16), (28, 16)], 47));
    }

    #[test]
    fn the_mode_says_in_which_order_the_depth_is_filled() {
        let (depth_first, column_first) = ([0, 4, 1, 5, 2, 6, 3, 7], [0, 1, 2, 3, 4, 5, 6, 7]);
        for opset in [1, 13, 27, 28] {
            let rows = [(None, depth_first), (Some("DCR"), depth_first), (Some("CRD"), column_first)];
            for (mode, elements) in rows.into_iter().take(if opset < MODE_SINCE { 1 } else { 3 }) {
                let expectation = evaluate(&SPACE_TO_DEPTH, opset, &[1, 2, 2, 2], 2, mode);
                assert_eq!(expectation, defined(&[1, 8, 1, 1], elements), "{mode:?} at {opset}");
            }
        }
        let expectation = evaluate(&SPACE_TO_DEPTH, 27, &[1, 2, 2, 2], 2, Some("DCR"));
        assert_eq!(expectation, Expectation::reject(Rule::UNDECLARED_ATTRIBUTE));
        assert_eq!(moved(&[1, 1, 2, 6], 2), defined(&[1, 4, 1, 3], [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]));
    }

    #[test]
    fn data_without_elements_has_the_dims_of_the_formula() {
        let rows: [([i64; 4], [i64; 4]); 3] =
            [([0, 1, 2, 2], [0, 4, 1, 1]), ([1, 0, 4, 6], [1, 0, 2, 3]), ([1, 2, 4, 0], [1, 8, 2, 0])];
        for (dims, output) in rows {
            assert_eq!(moved(&dims, 2), defined(&output, []), "{dims:?}");
        }
        assert_eq!(moved(&[0, 1, 3, 3], 2), open(Rule::SPACE_TO_DEPTH_ROUNDING, &[0, 4, 1, 1]));
        assert_eq!(moved(&[1, 1, 0, 0], 1 << 31), open(Rule::VAST_DIMS, &[1, 1 << 62, 0, 0]));
    }

    #[test]
    fn what_has_no_answer_is_rejected() {
        let (division, size) = (Rule::SPACE_TO_DEPTH_DIVISION, Rule::SPACE_TO_DEPTH_BLOCKSIZE);
        let rows: &[(&[i64], i64, Rule)] = &[
            (&[1, 1, 3, 2], 2, division),
            (&[1, 1, 2, 3], 2, division),
            (&[1, 4, 1, 1], 1 << 31, division),
            (&[1, 4, 1, 1], 1 << 32, division),
            (&[1, 4, 1, 1], i64::MAX, division),
            (&[1, 4, 2, 2], 0, size),
            (&[1, 4, 2, 2], -2, size),
            (&[1, 4, 2, 2], i64::MIN, size),
            (&[0, 1, 3, 3], 0, size),
            (&[4, 2, 2], 2, Rule::SPACE_TO_DEPTH_RANK),
            (&[1, 4, 2, 2, 1], 2, Rule::SPACE_TO_DEPTH_RANK),
            (&[], 1, Rule::SPACE_TO_DEPTH_RANK),
            (&[1, 1, 0, 0], 3_037_000_500, Rule::SPACE_TO_DEPTH_DIM_RANGE),
            (&[1, i64::MAX, 0, 0], i64::MAX, Rule::SPACE_TO_DEPTH_DIM_RANGE),
        ];
        for &(dims, size, rule) in rows {
            assert_eq!(moved(dims, size), Expectation::reject(rule), "{dims:?} by {size}");
        }
        for mode in ["", "dcr"] {
            let expectation = evaluate(&SPACE_TO_DEPTH, 28, &[1, 4, 2, 2], 2, Some(mode));
            assert_eq!(expectation, Expectation::reject(Rule::SPACE_TO_DEPTH_MODE), "{mode}");
        }
    }
}
