//! `DepthToSpace`: spreads the depth of each pixel over a block of pixels.

use super::blocks::{self, BLOCKSIZE, Blocks, MODE, Mover, RANK, Rules, version};
use super::{AttributeSpec, Operator, OutputType, Rule, Text, Topic, always, since};
use crate::tensor::ElementType;

pub(crate) static DEPTH_TO_SPACE: Operator = Operator {
    name: "DepthToSpace",
    versions: &[
        version(1, ElementType::Complex128, &[BLOCKSIZE]),
        version(MODE_SINCE, ElementType::Complex128, WITH_MODE),
        version(13, ElementType::Bfloat16, WITH_MODE),
        version(28, ElementType::Bfloat16, WITH_MODE),
    ],
    rules: &[
        always(Rule::DEPTH_TO_SPACE_RANK),
        always(Rule::DEPTH_TO_SPACE_BLOCKSIZE),
        since(MODE_SINCE, Rule::DEPTH_TO_SPACE_MODE),
        always(Rule::DEPTH_TO_SPACE_DIVISION),
        always(Rule::DEPTH_TO_SPACE_ROUNDING),
        always(Rule::DEPTH_TO_SPACE_DIM_RANGE),
    ],
    catalogue: include_str!("../../corpus/catalogue/depth_to_space.txt"),
    purpose: &[(
        1,
        "DepthToSpace rearranges (permutes) data from depth into blocks of spatial data. This is the reverse \
         transformation of SpaceToDepth.",
    )],
    execute: |call| blocks::execute(call, &MOVER),
    draw: |d| blocks::draw(d, &MOVER),
    output_rank: |_| Some(RANK),
    output_dims: |_, _| None,
    output_type: OutputType::Data,
};

/// The version that introduced the attribute `mode`.
const MODE_SINCE: u8 = 11;

const WITH_MODE: &[AttributeSpec] = &[BLOCKSIZE, MODE];

static MOVER: Mover = Mover {
    units: |size| [1, size * size, 1, 1],
    dims: |[batch, depth, height, width], size| [batch, depth / (size * size), height * size, width * size],
    source,
    beyond: |[batch, _, height, width]| [batch, 0, height.max(1), width.max(2)],
    sizes_beyond: &[1 << 62, i64::MAX, i64::MAX - 1, (1 << 62) + 1],
    rules: Rules {
        rank: Rule::DEPTH_TO_SPACE_RANK,
        size: Rule::DEPTH_TO_SPACE_BLOCKSIZE,
        mode: Rule::DEPTH_TO_SPACE_MODE,
        division: Rule::DEPTH_TO_SPACE_DIVISION,
        rounding: Rule::DEPTH_TO_SPACE_ROUNDING,
        beyond: Rule::DEPTH_TO_SPACE_DIM_RANGE,
    },
};

fn source(blocks: &Blocks, [batch, channel, row, column]: [usize; RANK]) -> [usize; RANK] {
    let size = blocks.size;
    let place = (row % size) * size + column % size;
    [batch, blocks.depth(channel, place), row / size, column / size]
}

impl Rule {
    pub const DEPTH_TO_SPACE_RANK: Rule = Rule(&Text {
        id: "depth-to-space-rank",
        sentence: "\"Input tensor of [N,C,H,W], where N is the batch axis, C is the channel or depth, H is the height \
                   and W is the width.\"",
        source: "DepthToSpace, Inputs",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const DEPTH_TO_SPACE_BLOCKSIZE: Rule = Rule(&Text {
        id: "depth-to-space-blocksize",
        sentence: "\"Blocks of [blocksize, blocksize] are moved.\" A block has a size of at least 1.",
        source: "DepthToSpace, attribute `blocksize`",
        topics: &[Topic::Value, Topic::Dims],
    });
    pub const DEPTH_TO_SPACE_MODE: Rule = Rule(&Text {
        id: "depth-to-space-mode",
        sentence: "\"DCR (default) for depth-column-row order re-arrangement. Use CRD for column-row-depth order.\"",
        source: "DepthToSpace-11 and later, attribute `mode`",
        topics: &[Topic::Value],
    });
    pub const DEPTH_TO_SPACE_DIVISION: Rule = Rule(&Text {
        id: "depth-to-space-division",
        sentence: "\"Output tensor of [N, C/(blocksize * blocksize), H * blocksize, W * blocksize].\" It holds as many \
                   elements as the data only if the depth is a multiple of blocksize * blocksize.",
        source: "DepthToSpace, Outputs",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const DEPTH_TO_SPACE_ROUNDING: Rule = Rule(&Text {
        id: "depth-to-space-rounding",
        sentence: "Where there are no elements, a depth that is no multiple of blocksize * blocksize may be divided \
                   and rounded down.",
        source: "DepthToSpace, Outputs (V14)",
        topics: &[Topic::Dims, Topic::Value],
    });
    pub const DEPTH_TO_SPACE_DIM_RANGE: Rule = Rule(&Text {
        id: "depth-to-space-dim-range",
        sentence: "A dim is an int64, and so is each dim of the output.",
        source: "DepthToSpace, Outputs; IR, static tensor shapes",
        topics: &[Topic::Size, Topic::Value, Topic::Dims],
    });
}

#[cfg(test)]
mod tests {
    use super::blocks::calls::{defined, evaluate, open};
    use super::*;
    use crate::operator::Expectation;

    fn moved(dims: &[i64], size: i64) -> Expectation {
        evaluate(&DEPTH_TO_SPACE, 26, dims, size, None)
    }

    #[test]
    fn the_versions_make_as_many_cells_as_the_operator_documents_have() {
        let counts: Vec<(u8, usize)> =
            DEPTH_TO_SPACE.versions.iter().map(|v| (v.since, v.element_types.len())).collect();
        assert_eq!((counts, DEPTH_TO_SPACE.cells()), (vec![(1, 15), (11, 15), (13, 16), (28, 16)], 62));
    }

    #[test]
    fn the_mode_says_in_which_order_the_depth_is_spread() {
        let (depth_first, column_first) = ([0, 2, 4, 6, 1, 3, 5, 7], [0, 1, 2, 3, 4, 5, 6, 7]);
        for opset in [1, 10, 11, 13, 28] {
            let rows = [(None, depth_first), (Some("DCR"), depth_first), (Some("CRD"), column_first)];
            for (mode, elements) in rows.into_iter().take(if opset < MODE_SINCE { 1 } else { 3 }) {
                let expectation = evaluate(&DEPTH_TO_SPACE, opset, &[1, 8, 1, 1], 2, mode);
                assert_eq!(expectation, defined(&[1, 2, 2, 2], elements), "{mode:?} at {opset}");
            }
        }
        let expectation = evaluate(&DEPTH_TO_SPACE, 10, &[1, 8, 1, 1], 2, Some("DCR"));
        assert_eq!(expectation, Expectation::reject(Rule::UNDECLARED_ATTRIBUTE));
        // By the formula of the document, also in the other dims. numpy gives the same result.
        assert_eq!(moved(&[1, 4, 1, 3], 2), defined(&[1, 1, 2, 6], [0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11]));
    }

    #[test]
    fn data_without_elements_has_the_dims_of_the_formula() {
        let rows: [([i64; 4], [i64; 4]); 3] =
            [([0, 4, 1, 1], [0, 1, 2, 2]), ([1, 0, 2, 3], [1, 0, 4, 6]), ([1, 4, 0, 3], [1, 1, 0, 6])];
        for (dims, output) in rows {
            assert_eq!(moved(&dims, 2), defined(&output, []), "{dims:?}");
        }
        assert_eq!(moved(&[0, 3, 1, 1], 2), open(Rule::DEPTH_TO_SPACE_ROUNDING, &[0, 0, 2, 2]));
        assert_eq!(moved(&[1, 0, 1, 1], 1 << 32), open(Rule::VAST_DIMS, &[1, 0, 1 << 32, 1 << 32]));
    }

    #[test]
    fn what_has_no_answer_is_rejected() {
        let (division, size) = (Rule::DEPTH_TO_SPACE_DIVISION, Rule::DEPTH_TO_SPACE_BLOCKSIZE);
        let rows: &[(&[i64], i64, Rule)] = &[
            (&[1, 3, 1, 1], 2, division),
            (&[1, 6, 1, 1], 2, division),
            (&[1, 4, 1, 1], 1 << 31, division),
            (&[1, 4, 1, 1], 1 << 32, division),
            (&[1, 4, 1, 1], i64::MAX, division),
            (&[1, 4, 1, 1], 0, size),
            (&[1, 4, 1, 1], -2, size),
            (&[1, 4, 1, 1], i64::MIN, size),
            (&[0, 3, 1, 1], 0, size),
            (&[4, 1, 1], 2, Rule::DEPTH_TO_SPACE_RANK),
            (&[1, 4, 1, 1, 1], 2, Rule::DEPTH_TO_SPACE_RANK),
            (&[], 1, Rule::DEPTH_TO_SPACE_RANK),
            (&[1, 0, 2, 3], i64::MAX, Rule::DEPTH_TO_SPACE_DIM_RANGE),
            (&[0, 3, 2, 2], 1 << 62, Rule::DEPTH_TO_SPACE_DIM_RANGE),
        ];
        for &(dims, size, rule) in rows {
            assert_eq!(moved(dims, size), Expectation::reject(rule), "{dims:?} by {size}");
        }
        for mode in ["", "dcr"] {
            let expectation = evaluate(&DEPTH_TO_SPACE, 11, &[1, 4, 1, 1], 2, Some(mode));
            assert_eq!(expectation, Expectation::reject(Rule::DEPTH_TO_SPACE_MODE), "{mode}");
        }
    }
}
