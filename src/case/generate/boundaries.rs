//! The boundary cases of each operator. A test checks that the generator reaches each of them.
//!
//! Those of Shape, Flatten, Reshape and Size are in `tests`, with the boundaries that all operators have.

use std::collections::BTreeSet;

use super::{Generated, Generator};
use crate::case::{Single, has_twice};
use crate::operator::{AttributeValue, Expectation, OPERATORS, Rule};
use crate::tensor::{ElementType, Tensor};

const SEED: u64 = 7;
/// The number of cases of each operator.
const CASES: u64 = 40_000;
/// How often each boundary must be reached at least.
const LEAST: u32 = 5;

const MIN: i64 = i64::MIN;
const MAX: i64 = i64::MAX;
const MIN32: i64 = i32::MIN as i64;
const MAX32: i64 = i32::MAX as i64;

/// A case that was drawn.
struct DrawnCall {
    call: Single,
    expectation: Expectation,
}

impl DrawnCall {
    fn new(generated: Generated) -> Option<DrawnCall> {
        Some(DrawnCall { call: generated.case.single()?, expectation: generated.expectation })
    }

    fn since(&self) -> u8 {
        self.call.since()
    }

    fn dims(&self) -> &[i64] {
        self.call.data().map_or(&[], |data| &data.dims)
    }

    fn rank(&self) -> i64 {
        crate::operator::rank(self.dims())
    }

    fn is_valid(&self) -> bool {
        matches!(self.expectation, Expectation::Defined(_))
    }

    fn outputs(&self) -> &[Tensor] {
        self.expectation.outputs().unwrap_or_default()
    }

    fn is_about(&self, rule: Rule) -> bool {
        self.expectation.rule() == Some(rule)
    }

    fn is(&self, element_type: ElementType) -> bool {
        self.call.data().is_some_and(|data| data.element_type == element_type)
    }

    /// The numbers of an attribute or input; empty if it is not given.
    fn numbers(&self, name: &str) -> Vec<i64> {
        self.call.numbers_of(name).unwrap_or_default()
    }

    fn has(&self, name: &str) -> bool {
        self.call.numbers_of(name).is_some()
    }

    fn any(&self, name: &str, holds: impl Fn(i64) -> bool) -> bool {
        self.numbers(name).into_iter().any(holds)
    }

    fn is_empty(&self, name: &str) -> bool {
        self.has(name) && self.numbers(name).is_empty()
    }

    fn text(&self, name: &str) -> &str {
        match self.call.attribute(name) {
            Some(AttributeValue::String(text)) => text,
            _ => "",
        }
    }

    /// Whether a number does not fit in 32 bits, and meets the condition after it is cut to 32 bits.
    fn is_cut(&self, name: &str, holds: impl Fn(i64) -> bool) -> bool {
        #[expect(clippy::cast_possible_truncation, reason = "this is what a runtime that truncates does")]
        self.any(name, |number| i32::try_from(number).is_err() && holds(i64::from(number as i32)))
    }

    /// The axes that are given, or else all of them.
    fn axes(&self) -> Vec<i64> {
        self.call.numbers_of("axes").unwrap_or_else(|| (0..self.rank()).collect())
    }

    /// Each number of a list with the size of its axis. The axes are the given ones, or else all.
    fn with_sizes(&self, name: &str) -> Vec<(i64, i64)> {
        self.numbers(name)
            .into_iter()
            .zip(self.axes())
            .filter_map(|(number, axis)| Some((number, self.size_at(axis)?)))
            .collect()
    }

    /// The size of an axis, which counts from the back when negative.
    fn size_at(&self, axis: i64) -> Option<i64> {
        let place = if axis < 0 { axis.saturating_add(self.rank()) } else { axis };
        self.dims().get(usize::try_from(place).ok()?).copied()
    }

    /// The size of the axis that an attribute `axis` names.
    fn size_at_axis(&self) -> Option<i64> {
        self.size_at(self.numbers("axis").first().copied().unwrap_or(0))
    }

    /// Whether an index and the size of the axis meet a condition.
    fn index(&self, holds: impl Fn(i64, i64) -> bool) -> bool {
        self.size_at_axis().is_some_and(|size| self.any("indices", |index| holds(index, size)))
    }

    /// The pads of each axis, with its size.
    fn pads(&self) -> Vec<(i64, i64, i64)> {
        let pads = [self.numbers("pads"), self.numbers("paddings")].concat();
        let axes = self.axes();
        if pads.len() != 2 * axes.len() {
            return vec![];
        }
        let pair = |(place, &axis): (usize, &i64)| Some((pads[place], pads[place + axes.len()], self.size_at(axis)?));
        axes.iter().enumerate().filter_map(pair).collect()
    }

    /// Whether the pads of an axis and its size meet a condition, in this mode.
    fn pads_of(&self, mode: &str, holds: impl Fn(i64, i64, i64) -> bool) -> bool {
        let own = if self.text("mode").is_empty() { "constant" } else { self.text("mode") };
        own == mode && self.pads().into_iter().any(|(before, behind, size)| holds(before, behind, size))
    }
}

/// A boundary: the operator, a description, and a test whether a case is at the boundary.
type Boundary = (&'static str, &'static str, fn(&DrawnCall) -> bool);

const BOUNDARIES: &[Boundary] = &[
    ("Identity", "a scalar", |s| s.is_valid() && s.rank() == 0),
    ("Identity", "two dims of zero", |s| s.is_valid() && s.dims().iter().filter(|&&dim| dim == 0).count() == 2),
    ("Identity", "a rank of 8 and more", |s| s.is_valid() && s.rank() >= 8),
    ("Squeeze", "no axes, and dims of 0 and 1", |s| {
        s.is_valid() && !s.has("axes") && s.dims().contains(&0) && s.dims().contains(&1)
    }),
    ("Squeeze", "no axes, and no dim of 1", |s| s.is_valid() && !s.has("axes") && !s.dims().contains(&1)),
    ("Squeeze", "no axes of a scalar", |s| s.is_valid() && !s.has("axes") && s.rank() == 0),
    ("Squeeze", "nothing is left", |s| s.is_valid() && s.rank() > 1 && s.outputs()[0].rank() == 0),
    ("Squeeze", "axes that are not in order", |s| s.is_valid() && !s.numbers("axes").is_sorted()),
    ("Squeeze", "an axis of -r", |s| s.is_valid() && s.any("axes", |axis| axis == -s.rank())),
    ("Squeeze", "an axis of r", |s| s.is_about(Rule::SQUEEZE_AXIS_RANGE) && s.any("axes", |axis| axis == s.rank())),
    ("Squeeze", "an axis of -r - 1", |s| s.any("axes", |axis| axis == -s.rank() - 1)),
    ("Squeeze", "an axis that is right in 32 bits", |s| s.is_cut("axes", |axis| (0..s.rank()).contains(&axis))),
    ("Squeeze", "the smallest axis", |s| s.any("axes", |axis| axis == MIN)),
    ("Squeeze", "the largest axis", |s| s.any("axes", |axis| axis == MAX)),
    ("Squeeze", "a dim of 0 is named", |s| s.is_about(Rule::SQUEEZE_NOT_ONE) && s.with_axes().any(|size| size == 0)),
    ("Squeeze", "an axis twice, once from the back", |s| {
        s.is_about(Rule::SQUEEZE_REPEATED_AXIS) && s.any("axes", |axis| axis < 0) && s.any("axes", |axis| axis >= 0)
    }),
    ("Squeeze", "empty axes beside a 1", |s| s.is_about(Rule::SQUEEZE_EMPTY_AXES)),
    ("Squeeze", "empty axes beside no 1", |s| s.is_valid() && s.is_empty("axes")),
    ("Unsqueeze", "a scalar", |s| s.is_valid() && s.rank() == 0 && !s.is_empty("axes")),
    ("Unsqueeze", "a dim of zero", |s| s.is_valid() && s.dims().contains(&0)),
    ("Unsqueeze", "empty axes", |s| s.is_valid() && s.is_empty("axes")),
    ("Unsqueeze", "axes that are not in order", |s| s.is_valid() && !s.numbers("axes").is_sorted()),
    ("Unsqueeze", "the last axis of the output", |s| s.is_valid() && s.any("axes", |axis| axis == s.unsqueezed() - 1)),
    ("Unsqueeze", "an axis of -R", |s| s.is_valid() && s.any("axes", |axis| axis == -s.unsqueezed())),
    ("Unsqueeze", "an axis of R", |s| s.any("axes", |axis| axis == s.unsqueezed())),
    ("Unsqueeze", "an axis of -R - 1", |s| s.any("axes", |axis| axis == -s.unsqueezed() - 1)),
    ("Unsqueeze", "an axis that is right in 32 bits", |s| s.is_cut("axes", |axis| (0..=s.rank()).contains(&axis))),
    ("Unsqueeze", "the smallest axis", |s| s.any("axes", |axis| axis == MIN)),
    ("Unsqueeze", "the largest axis", |s| s.any("axes", |axis| axis == MAX)),
    ("Unsqueeze", "an axis twice, once from the back", |s| {
        s.is_about(Rule::UNSQUEEZE_REPEATED_AXIS) && !has_twice(&s.numbers("axes"))
    }),
    ("Transpose", "no perm", |s| s.is_valid() && !s.has("perm") && s.rank() > 1),
    ("Transpose", "a scalar with an empty perm", |s| s.is_valid() && s.is_empty("perm")),
    ("Transpose", "an empty perm", |s| s.is_about(Rule::TRANSPOSE_EMPTY_PERM)),
    ("Transpose", "nothing is moved", |s| s.is_valid() && s.rank() > 1 && s.numbers("perm").is_sorted()),
    ("Transpose", "only dims of 1 are moved", |s| {
        let rest = |dims: &[i64]| dims.iter().copied().filter(|&dim| dim != 1).collect::<Vec<i64>>();
        s.is_valid() && s.outputs()[0].dims() != s.dims() && rest(s.outputs()[0].dims()) == rest(s.dims())
    }),
    ("Transpose", "a dim of zero is moved", |s| {
        s.is_valid() && s.dims().contains(&0) && s.outputs()[0].dims() != s.dims()
    }),
    ("Transpose", "one number too few", |s| s.has("perm") && s.numbers("perm").len() + 1 == s.dims().len()),
    ("Transpose", "one number too many", |s| s.numbers("perm").len() == s.dims().len() + 1),
    ("Transpose", "a number of r", |s| s.is_about(Rule::TRANSPOSE_PERM_RANGE) && s.any("perm", |p| p == s.rank())),
    ("Transpose", "a number that is right in 32 bits", |s| s.is_cut("perm", |p| (0..s.rank()).contains(&p))),
    ("Transpose", "a repeat", |s| s.is_about(Rule::TRANSPOSE_PERM_REPEAT)),
    ("Transpose", "all numbers from the back", |s| {
        s.is_about(Rule::TRANSPOSE_NEGATIVE_PERM) && s.numbers("perm").iter().all(|&p| p < 0)
    }),
    ("Transpose", "the smallest number", |s| s.any("perm", |p| p == MIN)),
    ("Transpose", "the largest number", |s| s.any("perm", |p| p == MAX)),
    ("Expand", "a scalar and an empty shape", |s| s.is_valid() && s.rank() == 0 && s.is_empty("shape")),
    ("Expand", "a shape that is shorter", |s| s.is_valid() && s.shape_is(|shape, dims| shape.len() < dims.len())),
    ("Expand", "a shape that is longer", |s| s.is_valid() && s.shape_is(|shape, dims| shape.len() > dims.len())),
    ("Expand", "a dim of 1 becomes 0", |s| s.is_valid() && s.facing(|dim, size| dim == 1 && size == 0)),
    ("Expand", "a dim of 0 stays beside a 1", |s| s.is_valid() && s.facing(|dim, size| dim == 0 && size == 1)),
    ("Expand", "a dim of 0 is to be larger", |s| s.is_about(Rule::EXPAND_DIMS) && s.facing(|d, n| d == 0 && n > 1)),
    ("Expand", "a dim is to be 0", |s| s.is_about(Rule::EXPAND_DIMS) && s.facing(|dim, size| dim > 1 && size == 0)),
    ("Expand", "a multiple that is no copy", |s| {
        s.is_about(Rule::EXPAND_DIMS) && s.facing(|dim, size| dim > 1 && size > dim && size % dim == 0)
    }),
    ("Expand", "a size that is right in 32 bits", |s| {
        s.is_about(Rule::EXPAND_DIMS) && s.facing(|dim, size| size > MAX32 && size & 0xffff_ffff == dim)
    }),
    ("Expand", "a -1", |s| s.is_about(Rule::EXPAND_MINUS_ONE)),
    ("Expand", "the smallest size", |s| s.any("shape", |size| size == MIN)),
    ("Expand", "elements that are none in 64 bits", |s| s.is_about(Rule::VAST_ANSWER)),
    ("Expand", "vast beside a zero", |s| s.is_valid() && s.any("shape", |size| size > MAX32)),
    ("Tile", "no copies", |s| s.is_valid() && s.any("repeats", |count| count == 0)),
    ("Tile", "one copy of each", |s| s.is_valid() && s.rank() > 1 && s.numbers("repeats").iter().all(|&n| n == 1)),
    ("Tile", "a scalar", |s| s.is_valid() && s.rank() == 0 && s.is_empty("repeats")),
    ("Tile", "copies of nothing", |s| s.is_valid() && s.dims().contains(&0) && s.any("repeats", |n| n > 1)),
    ("Tile", "one count too few", |s| s.has("repeats") && s.numbers("repeats").len() + 1 == s.dims().len()),
    ("Tile", "one count too many", |s| s.numbers("repeats").len() == s.dims().len() + 1),
    ("Tile", "a negative count over a dim of 0", |s| s.is_about(Rule::TILE_NEGATIVE_OVER_ZERO)),
    ("Tile", "a negative count beside a dim of 0", |s| {
        s.is_about(Rule::TILE_NEGATIVE_REPEATS) && s.dims().contains(&0)
    }),
    ("Tile", "a negative count beside no copies", |s| {
        s.is_about(Rule::TILE_NEGATIVE_REPEATS) && s.any("repeats", |count| count == 0)
    }),
    ("Tile", "a dim past 63 bits", |s| s.is_about(Rule::TILE_DIM_SIZE)),
    ("Tile", "a count that is 0 in 32 bits", |s| s.is_cut("repeats", |count| count == 0)),
    ("Tile", "copies of nothing that pass 32 bits", |s| s.is_valid() && s.any("repeats", |count| count > MAX32)),
    ("Tile", "the smallest count", |s| s.any("repeats", |count| count == MIN)),
    ("Tile", "the largest count", |s| s.any("repeats", |count| count == MAX)),
    ("ConstantOfShape", "an empty shape", |s| s.is_valid() && s.is_empty("input")),
    ("ConstantOfShape", "a size of 0", |s| s.is_valid() && s.any("input", |size| size == 0)),
    ("ConstantOfShape", "a -1 beside a 0", |s| s.any("input", |n| n == 0) && s.any("input", |n| n == -1)),
    ("ConstantOfShape", "the smallest size", |s| s.any("input", |size| size == MIN)),
    ("ConstantOfShape", "a negative size that is 0 in 32 bits", |s| {
        s.is_about(Rule::CONSTANT_OF_SHAPE_NEGATIVE_DIM) && s.is_cut("input", |size| size == 0)
    }),
    ("ConstantOfShape", "no value", |s| s.is_valid() && s.call.attribute("value").is_none()),
    ("ConstantOfShape", "a value of 4 bits for an odd count", |s| {
        s.is_valid() && s.outputs()[0].element_type() == ElementType::Int4 && s.outputs()[0].len() % 2 == 1
    }),
    ("ConstantOfShape", "a scalar value", |s| s.is_about(Rule::CONSTANT_OF_SHAPE_VALUE_RANK)),
    ("ConstantOfShape", "a value without elements", |s| s.value_len() == Some(0)),
    ("ConstantOfShape", "a value of two elements", |s| s.value_len() == Some(2)),
    ("ConstantOfShape", "elements that are none in 64 bits", |s| s.is_about(Rule::VAST_ANSWER)),
    ("ConstantOfShape", "vast beside a zero", |s| s.is_about(Rule::VAST_DIMS)),
    ("Concat", "one input", |s| s.is_valid() && s.call.operands.len() == 1),
    ("Concat", "four inputs and more", |s| s.is_valid() && s.call.operands.len() > 3),
    ("Concat", "an input adds nothing", |s| s.is_valid() && s.size_at_axis() == Some(0) && !s.outputs()[0].is_empty()),
    ("Concat", "no input has elements", |s| s.is_valid() && s.call.operands.len() > 1 && s.outputs()[0].is_empty()),
    ("Concat", "an axis of -r", |s| s.is_valid() && s.any("axis", |axis| axis == -s.rank())),
    ("Concat", "an axis of r", |s| s.any("axis", |axis| axis == s.rank())),
    ("Concat", "an axis of -r - 1", |s| s.any("axis", |axis| axis == -s.rank() - 1)),
    ("Concat", "an axis that is right in 32 bits", |s| s.is_cut("axis", |axis| (0..s.rank()).contains(&axis))),
    ("Concat", "what does not fit has no elements", |s| s.is_about(Rule::CONCAT_EMPTY_MISFIT)),
    ("Concat", "dims that add up past 63 bits", |s| s.is_about(Rule::CONCAT_DIM_RANGE)),
    ("Concat", "a vast dim is counted beyond 53 bits", |s| {
        s.is_valid() && s.outputs()[0].dims().iter().any(|&dim| dim > 1 << 53)
    }),
    ("Split", "a part of length 0", |s| s.is_valid() && s.any("split", |length| length == 0)),
    ("Split", "one part", |s| s.is_valid() && s.call.outputs == 1),
    ("Split", "a dim of 0", |s| s.is_valid() && s.size_at_axis() == Some(0)),
    ("Split", "the last part is shorter", |s| {
        s.has("num_outputs") && s.last_part(|last, first| 0 < last && last < first)
    }),
    ("Split", "the last part is empty", |s| s.has("num_outputs") && s.last_part(|last, first| last == 0 && first > 0)),
    ("Split", "parts that cannot be equal", |s| s.is_about(Rule::SPLIT_UNEQUAL_PARTS)),
    ("Split", "more parts than elements", |s| {
        s.is_about(Rule::SPLIT_UNEQUAL_PARTS)
            && s.size_at_axis().is_some_and(|size| s.any("num_outputs", |count| count > size))
    }),
    ("Split", "no parts", |s| s.any("num_outputs", |count| count == 0)),
    ("Split", "a negative count of parts", |s| s.any("num_outputs", |count| count < 0)),
    ("Split", "lengths that are one too short", |s| s.is_about(Rule::SPLIT_LENGTH_SUM) && s.sum_is_off_by(-1)),
    ("Split", "lengths that are one too long", |s| s.is_about(Rule::SPLIT_LENGTH_SUM) && s.sum_is_off_by(1)),
    ("Split", "lengths that add up in 64 bits", |s| s.is_about(Rule::SPLIT_LENGTH_SUM) && s.lengths_wrap()),
    ("Split", "a negative length that makes the sum right", |s| {
        s.is_about(Rule::SPLIT_NEGATIVE_LENGTH) && s.sum_is_off_by(0)
    }),
    ("Split", "fewer outputs than lengths", |s| s.numbers("split").len() > s.call.outputs),
    ("Split", "an axis of -r", |s| s.is_valid() && s.any("axis", |axis| axis == -s.rank())),
    ("Split", "an axis of r", |s| s.any("axis", |axis| axis == s.rank())),
    ("Split", "an axis that is right in 32 bits", |s| s.is_cut("axis", |axis| (0..s.rank()).contains(&axis))),
    ("Slice", "a start at the end", |s| s.is_valid() && s.bound("starts", |start, size| size > 0 && start == size)),
    ("Slice", "a start at the last element", |s| s.is_valid() && s.bound("starts", |start, size| start == size - 1)),
    ("Slice", "a start at the front from the back", |s| s.is_valid() && s.bound("starts", |n, size| n == -size)),
    ("Slice", "a start before the front", |s| s.is_valid() && s.bound("starts", |start, size| start == -size - 1)),
    ("Slice", "an end past the end", |s| s.is_valid() && s.bound("ends", |end, size| end == size + 1)),
    ("Slice", "the smallest start", |s| s.is_valid() && s.any("starts", |start| start == MIN)),
    ("Slice", "the largest start", |s| s.is_valid() && s.any("starts", |start| start == MAX)),
    ("Slice", "INT_MAX of 32 bits as an end", |s| s.is_valid() && s.any("ends", |end| end == MAX32)),
    ("Slice", "INT_MAX of 64 bits as an end", |s| s.is_valid() && s.any("ends", |end| end == MAX)),
    ("Slice", "INT_MIN of 32 bits as the end of a step back", |s| {
        s.is_valid() && s.any("ends", |end| end == MIN32) && s.any("steps", |step| step < 0)
    }),
    ("Slice", "INT_MIN of 64 bits as the end of a step back", |s| {
        s.is_valid() && s.any("ends", |end| end == MIN) && s.any("steps", |step| step < 0)
    }),
    ("Slice", "INT_MAX as the end of a step back", |s| {
        s.is_valid() && s.any("ends", |end| end == MAX) && s.any("steps", |step| step < 0)
    }),
    ("Slice", "nothing between start and end", |s| {
        s.is_valid() && !s.call.data().is_some_and(|data| data.dims.contains(&0)) && s.outputs()[0].is_empty()
    }),
    ("Slice", "a step past the size", |s| s.is_valid() && s.bound("steps", |step, size| size > 1 && step > size)),
    ("Slice", "a step of 2 that does not come out even", |s| {
        s.is_valid() && s.bound("steps", |step, size| step == 2 && size % 2 == 1)
    }),
    ("Slice", "the smallest step", |s| s.is_valid() && s.any("steps", |step| step == MIN)),
    ("Slice", "the largest step", |s| s.is_valid() && s.any("steps", |step| step == MAX)),
    ("Slice", "a step that is 0 in 32 bits", |s| s.is_cut("steps", |step| step == 0)),
    ("Slice", "a step of 0 over a dim of 0", |s| s.is_about(Rule::SLICE_STEP_ZERO) && s.dims().contains(&0)),
    ("Slice", "a step back over a dim of 0", |s| s.is_valid() && s.bound("steps", |step, size| step < 0 && size == 0)),
    ("Slice", "indices of 32 bits", |s| {
        s.is_valid() && s.since() >= 10 && s.index_type("starts") == Some(ElementType::Int32)
    }),
    ("Slice", "an axis of -r", |s| s.is_valid() && s.any("axes", |axis| axis == -s.rank())),
    ("Slice", "an axis of r", |s| s.any("axes", |axis| axis == s.rank())),
    ("Slice", "an axis that is right in 32 bits", |s| s.is_cut("axes", |axis| (0..s.rank()).contains(&axis))),
    ("Slice", "axes that are not in order", |s| s.is_valid() && !s.numbers("axes").is_sorted()),
    ("Slice", "nothing is sliced", |s| s.is_valid() && s.is_empty("starts")),
    ("Slice", "axes left out and steps given", |s| s.is_valid() && s.since() >= 10 && !s.has("axes") && s.has("steps")),
    ("Slice", "a vast dim is counted beyond 53 bits", |s| {
        s.is_valid() && s.outputs()[0].dims().iter().any(|&d| d > 1 << 53)
    }),
    ("Gather", "a scalar index", |s| s.is_valid() && s.rank_of("indices") == Some(0)),
    ("Gather", "indices of rank 2", |s| s.is_valid() && s.rank_of("indices") == Some(2)),
    ("Gather", "no indices", |s| s.is_valid() && s.is_empty("indices")),
    ("Gather", "no indices into no elements", |s| s.is_valid() && s.is_empty("indices") && s.size_at_axis() == Some(0)),
    ("Gather", "the last element", |s| s.is_valid() && s.index(|index, size| size > 1 && index == size - 1)),
    ("Gather", "the first element from the back", |s| s.is_valid() && s.index(|index, size| index == -size)),
    ("Gather", "an index of the size", |s| {
        s.is_about(Rule::GATHER_INDEX_RANGE) && s.index(|index, size| index == size)
    }),
    ("Gather", "an index of -size - 1", |s| s.index(|index, size| index == -size - 1)),
    ("Gather", "an index into no elements", |s| s.is_about(Rule::GATHER_INDEX_RANGE) && s.size_at_axis() == Some(0)),
    ("Gather", "a wrong index that takes no elements", |s| {
        s.is_about(Rule::GATHER_INDEX_RANGE) && s.size_at_axis() != Some(0) && s.dims().contains(&0)
    }),
    ("Gather", "an index that is right in 32 bits", |s| {
        s.size_at_axis().is_some_and(|size| s.is_cut("indices", |index| (0..size).contains(&index)))
    }),
    ("Gather", "the smallest index", |s| s.any("indices", |index| index == MIN)),
    ("Gather", "the largest index", |s| s.any("indices", |index| index == MAX)),
    ("Gather", "an axis of -r", |s| s.is_valid() && s.any("axis", |axis| axis == -s.rank())),
    ("Gather", "an axis of r", |s| s.any("axis", |axis| axis == s.rank())),
    ("Gather", "an axis that is right in 32 bits", |s| s.is_cut("axis", |axis| (0..s.rank()).contains(&axis))),
    ("Gather", "indices of 32 bits", |s| s.is_valid() && s.index_type("indices") == Some(ElementType::Int32)),
    ("Cast", "a bool", |s| s.is_valid() && s.is(ElementType::Bool)),
    ("Cast", "255 of 8 bits", |s| s.is_valid() && s.is(ElementType::Uint8) && s.element(255)),
    ("Cast", "-128 of 8 bits", |s| s.is_valid() && s.is(ElementType::Int8) && s.element(-128)),
    ("Cast", "the smallest int32", |s| s.is_valid() && s.is(ElementType::Int32) && s.element(MIN32)),
    ("Cast", "the largest int32 of 64 bits", |s| s.is_valid() && s.is(ElementType::Int64) && s.element(MAX32)),
    ("Cast", "one more than the largest int32", |s| s.is_valid() && s.narrows() && s.element(MAX32 + 1)),
    ("Cast", "one less than the smallest int32", |s| s.is_valid() && s.narrows() && s.element(MIN32 - 1)),
    ("Cast", "the smallest int64", |s| s.is_valid() && s.narrows() && s.element(MIN)),
    ("Cast", "an integer that no double has", |s| s.is_valid() && s.is(ElementType::Int64) && s.element((1 << 53) + 1)),
    ("Cast", "no element", |s| s.is_valid() && s.dims().contains(&0)),
    ("Pad", "nothing is added", |s| s.is_valid() && s.rank() > 0 && s.pads().iter().all(|&(p, q, _)| p == 0 && q == 0)),
    ("Pad", "reflect by the size less one", |s| {
        s.is_valid() && s.pads_of("reflect", |p, _, size| size > 1 && p == size - 1)
    }),
    ("Pad", "reflect by the size", |s| {
        s.is_about(Rule::PAD_REFLECT_WIDTH) && s.pads_of("reflect", |p, _, size| p == size)
    }),
    ("Pad", "reflect of one element", |s| {
        s.is_about(Rule::PAD_REFLECT_WIDTH) && s.pads_of("reflect", |_, _, d| d == 1)
    }),
    ("Pad", "edge", |s| s.is_valid() && s.pads_of("edge", |p, q, size| p > 0 && q > 0 && size > 1)),
    ("Pad", "wrap by more than the size", |s| s.is_valid() && s.pads_of("wrap", |p, _, size| size > 0 && p > size)),
    ("Pad", "elements are removed", |s| s.is_valid() && s.pads().iter().any(|&(p, q, _)| p < 0 && q <= 0)),
    ("Pad", "all elements are removed", |s| {
        s.is_valid() && s.pads().iter().any(|&(p, q, d)| d > 0 && p.saturating_add(q) == -d)
    }),
    ("Pad", "one more is removed than there is", |s| {
        s.is_about(Rule::PAD_NEGATIVE_DIM)
            && s.pads().iter().any(|&(p, q, d)| i128::from(p) + i128::from(q) == -i128::from(d) - 1)
    }),
    ("Pad", "constant around no elements", |s| s.is_valid() && s.pads_of("constant", |p, _, size| p > 0 && size == 0)),
    ("Pad", "nothing to repeat", |s| s.is_about(Rule::PAD_NOTHING_TO_REPEAT)),
    ("Pad", "more is removed at one end than there is", |s| s.is_about(Rule::PAD_EXCESS_REMOVAL)),
    ("Pad", "added at one end, removed at the other", |s| s.is_about(Rule::PAD_ORDER)),
    ("Pad", "the smallest number", |s| s.pads().iter().any(|&(p, q, _)| p == MIN || q == MIN)),
    ("Pad", "a dim past 63 bits", |s| s.is_about(Rule::PAD_DIM_RANGE)),
    ("Pad", "an axis from the back", |s| s.is_valid() && s.any("axes", |axis| axis < 0)),
    ("Pad", "no axes are padded", |s| s.is_valid() && s.is_empty("axes")),
    ("Pad", "an axis of r", |s| s.is_about(Rule::PAD_AXIS_RANGE) && s.any("axes", |axis| axis == s.rank())),
    ("Pad", "a default fill of a type without 0", |s| s.is_about(Rule::PAD_DEFAULT_FILL)),
    ("GatherElements", "the last element", |s| s.is_valid() && s.index(|index, size| size > 1 && index == size - 1)),
    ("GatherElements", "the first element from the back", |s| s.is_valid() && s.index(|index, size| index == -size)),
    ("GatherElements", "an index of the size", |s| s.index(|index, size| index == size)),
    ("GatherElements", "an index of -size - 1", |s| s.index(|index, size| index == -size - 1)),
    ("GatherElements", "the smallest index", |s| s.any("indices", |index| index == MIN)),
    ("GatherElements", "an index that is right in 32 bits", |s| {
        s.size_at_axis().is_some_and(|size| s.is_cut("indices", |index| (0..size).contains(&index)))
    }),
    ("GatherElements", "no indices", |s| s.is_valid() && s.is_empty("indices")),
    ("GatherElements", "indices that are smaller off the axis", |s| {
        s.is_valid() && s.rank() > 1 && s.numbers("indices").len() > 1 && s.outputs()[0].len() < s.elements()
    }),
    ("GatherElements", "indices that are larger off the axis", |s| s.is_about(Rule::GATHER_ELEMENTS_OTHER_DIMS)),
    ("GatherElements", "such indices without entries", |s| s.is_about(Rule::GATHER_ELEMENTS_EMPTY_INDICES)),
    ("GatherElements", "an axis of -r", |s| s.is_valid() && s.any("axis", |axis| axis == -s.rank())),
    ("GatherND", "a whole tuple", |s| s.is_valid() && s.tuple() == Some(s.rank() - s.batches()) && s.rank() > 1),
    ("GatherND", "a tuple of one", |s| s.is_valid() && s.tuple() == Some(1) && s.rank() > 1),
    ("GatherND", "a tuple that is one too long", |s| {
        s.tuple().is_some_and(|length| s.rank().checked_sub(s.batches()) == Some(length - 1))
    }),
    ("GatherND", "an empty tuple", |s| s.is_about(Rule::GATHER_ND_EMPTY_TUPLE)),
    ("GatherND", "one index", |s| s.is_valid() && s.rank_of("indices") == Some(1)),
    ("GatherND", "no indices", |s| s.is_valid() && s.is_empty("indices")),
    ("GatherND", "the first element from the back", |s| s.is_valid() && s.any("indices", |index| index < 0)),
    ("GatherND", "one past the end", |s| {
        s.is_about(Rule::GATHER_ND_INDEX_RANGE) && s.dims().iter().any(|&dim| s.any("indices", |index| index == dim))
    }),
    ("GatherND", "one before the front", |s| {
        s.is_about(Rule::GATHER_ND_INDEX_RANGE)
            && s.dims().iter().any(|&dim| s.any("indices", |index| index == -dim - 1))
    }),
    ("GatherND", "an index that is right in 32 bits", |s| s.is_cut("indices", |index| index == 0)),
    ("GatherND", "batches", |s| s.is_valid() && s.batches() == 1),
    ("GatherND", "two dims of batches", |s| s.is_valid() && s.batches() == 2),
    ("GatherND", "no data in each batch", |s| s.is_valid() && s.batches() > 0 && s.dims().contains(&0)),
    ("GatherND", "as many batch dims as there are dims", |s| {
        s.is_about(Rule::GATHER_ND_BATCH_RANGE) && s.rank() > 0 && s.batches() == s.rank()
    }),
    ("GatherND", "a negative number of batch dims", |s| s.batches() == -1),
    ("GatherND", "batches that differ", |s| s.is_about(Rule::GATHER_ND_BATCH_DIMS)),
    ("DepthToSpace", "DCR", |s| s.is_valid() && s.text("mode") == "DCR" && s.any("blocksize", |block| block > 1)),
    ("DepthToSpace", "CRD", |s| s.is_valid() && s.text("mode") == "CRD" && s.any("blocksize", |block| block > 1)),
    ("DepthToSpace", "another mode", |s| s.is_about(Rule::DEPTH_TO_SPACE_MODE)),
    ("DepthToSpace", "no elements", |s| s.is_valid() && s.dims().contains(&0)),
    ("DepthToSpace", "a block of 1", |s| s.is_valid() && s.any("blocksize", |block| block == 1)),
    ("DepthToSpace", "a block of 0", |s| s.any("blocksize", |block| block == 0)),
    ("DepthToSpace", "a block whose square is 0 in 32 bits", |s| {
        s.any("blocksize", |block| block == 1 << 16 || block == 1 << 31)
    }),
    ("DepthToSpace", "the smallest block", |s| s.any("blocksize", |block| block == MIN)),
    ("DepthToSpace", "blocks that do not divide", |s| s.is_about(Rule::DEPTH_TO_SPACE_DIVISION)),
    ("DepthToSpace", "blocks that do not divide nothing", |s| s.is_about(Rule::DEPTH_TO_SPACE_ROUNDING)),
    ("DepthToSpace", "rank 3", |s| s.is_about(Rule::DEPTH_TO_SPACE_RANK) && s.rank() == 3),
    ("DepthToSpace", "rank 5", |s| s.is_about(Rule::DEPTH_TO_SPACE_RANK) && s.rank() == 5),
    ("SpaceToDepth", "DCR", |s| s.is_valid() && s.text("mode") == "DCR" && s.any("blocksize", |block| block > 1)),
    ("SpaceToDepth", "CRD", |s| s.is_valid() && s.text("mode") == "CRD" && s.any("blocksize", |block| block > 1)),
    ("SpaceToDepth", "another mode", |s| s.is_about(Rule::SPACE_TO_DEPTH_MODE)),
    ("SpaceToDepth", "no elements", |s| s.is_valid() && s.dims().contains(&0)),
    ("SpaceToDepth", "a block of 1", |s| s.is_valid() && s.any("blocksize", |block| block == 1)),
    ("SpaceToDepth", "a block of 0", |s| s.any("blocksize", |block| block == 0)),
    ("SpaceToDepth", "the smallest block", |s| s.any("blocksize", |block| block == MIN)),
    ("SpaceToDepth", "only one side is divided", |s| {
        let divides =
            |place: usize| s.any("blocksize", |block| block > 1 && s.dims().get(place).is_some_and(|d| d % block == 0));
        s.is_about(Rule::SPACE_TO_DEPTH_DIVISION) && divides(2) != divides(3)
    }),
    ("SpaceToDepth", "blocks that do not divide nothing", |s| s.is_about(Rule::SPACE_TO_DEPTH_ROUNDING)),
    ("SpaceToDepth", "rank 3", |s| s.is_about(Rule::SPACE_TO_DEPTH_RANK) && s.rank() == 3),
    ("Trilu", "the diagonal is given as 0", |s| s.is_valid() && s.any("k", |k| k == 0)),
    ("Trilu", "no diagonal is given", |s| s.is_valid() && !s.has("k")),
    ("Trilu", "the first diagonal without elements", |s| s.is_valid() && s.any("k", |k| k == s.columns())),
    ("Trilu", "the last diagonal with elements", |s| {
        s.is_valid() && s.columns() > 1 && s.any("k", |k| k == s.columns() - 1)
    }),
    ("Trilu", "a diagonal below all rows", |s| s.is_valid() && s.any("k", |k| k == -s.rows())),
    ("Trilu", "the smallest diagonal", |s| s.is_valid() && s.any("k", |k| k == MIN)),
    ("Trilu", "the largest diagonal", |s| s.is_valid() && s.any("k", |k| k == MAX)),
    ("Trilu", "a diagonal that is 0 in 32 bits", |s| s.is_valid() && s.is_cut("k", |k| k == 0)),
    ("Trilu", "the lower part", |s| s.is_valid() && s.any("upper", |upper| upper == 0)),
    ("Trilu", "another flag", |s| s.is_about(Rule::TRILU_UPPER)),
    ("Trilu", "no rows", |s| s.is_valid() && s.rows() == 0 && s.columns() > 0),
    ("Trilu", "no columns", |s| s.is_valid() && s.columns() == 0 && s.rows() > 0),
    ("Trilu", "several matrices", |s| s.is_valid() && s.rank() > 2 && s.dims().first().is_some_and(|&first| first > 1)),
    ("Trilu", "rank 1", |s| s.is_about(Rule::TRILU_RANK) && s.rank() == 1),
];

impl DrawnCall {
    /// The sizes of the axes in `axes`.
    fn with_axes(&self) -> impl Iterator<Item = i64> {
        self.with_sizes("axes").into_iter().map(|(_, size)| size)
    }

    /// The rank of the output of an Unsqueeze.
    fn unsqueezed(&self) -> i64 {
        self.rank() + crate::operator::rank(&self.numbers("axes"))
    }

    fn shape_is(&self, holds: impl Fn(&[i64], &[i64]) -> bool) -> bool {
        self.has("shape") && holds(&self.numbers("shape"), self.dims())
    }

    /// Whether a dim of the data and the size at its place in the shape meet a condition. The places count from the back.
    fn facing(&self, holds: impl Fn(i64, i64) -> bool) -> bool {
        let shape = self.numbers("shape");
        self.dims().iter().rev().zip(shape.iter().rev()).any(|(&dim, &size)| holds(dim, size))
    }

    fn value_len(&self) -> Option<usize> {
        match self.call.attribute("value") {
            Some(AttributeValue::Tensor(tensor)) => Some(tensor.len()),
            _ => None,
        }
    }

    /// Whether the lengths of the last part and of the first part meet a condition.
    fn last_part(&self, holds: impl Fn(i64, i64) -> bool) -> bool {
        let lengths: Vec<i64> = self.outputs().iter().filter_map(|part| self.length_of(part)).collect();
        self.is_valid() && lengths.len() > 1 && holds(lengths[lengths.len() - 1], lengths[0])
    }

    /// The size of a part along the axis that is split.
    fn length_of(&self, part: &Tensor) -> Option<i64> {
        let axis = self.numbers("axis").first().copied().unwrap_or(0);
        let axis = if axis < 0 { axis.saturating_add(self.rank()) } else { axis };
        part.dims().get(usize::try_from(axis).ok()?).copied()
    }

    /// Whether the sum of the lengths of a Split exceeds the size by `off`.
    fn sum_is_off_by(&self, off: i64) -> bool {
        let sum = self.numbers("split").into_iter().map(i128::from).sum::<i128>();
        self.size_at_axis().is_some_and(|size| sum == i128::from(size) + i128::from(off))
    }

    fn lengths_wrap(&self) -> bool {
        let sum = self.numbers("split").into_iter().fold(0, i64::wrapping_add);
        self.size_at_axis() == Some(sum)
    }

    /// Whether a number of a list and the size of its axis meet a condition.
    fn bound(&self, name: &str, holds: impl Fn(i64, i64) -> bool) -> bool {
        self.with_sizes(name).into_iter().any(|(number, size)| holds(number, size))
    }

    fn index_type(&self, name: &str) -> Option<ElementType> {
        Some(self.call.operand(name)?.element_type)
    }

    fn rank_of(&self, name: &str) -> Option<usize> {
        Some(self.call.operand(name)?.dims.len())
    }

    /// Whether an element of the data is this integer.
    fn element(&self, integer: i64) -> bool {
        let Some(Some(data)) = self.call.tensors().into_iter().next() else { return false };
        let bits = u128::from(integer.cast_unsigned()) & crate::tensor::mask(data.element_type().bits());
        (0..data.len()).any(|place| data.element_bits(place) == bits)
    }

    /// Whether the call casts int64 to int32.
    fn narrows(&self) -> bool {
        self.is(ElementType::Int64) && self.outputs().iter().all(|output| output.element_type() == ElementType::Int32)
    }

    /// The number of elements of the data.
    fn elements(&self) -> usize {
        self.dims().iter().map(|&dim| usize::try_from(dim).unwrap_or(0)).product()
    }

    /// The last dim of the indices of a `GatherND`.
    fn tuple(&self) -> Option<i64> {
        self.call.operand("indices")?.dims.last().copied()
    }

    fn batches(&self) -> i64 {
        self.numbers("batch_dims").first().copied().unwrap_or(0)
    }

    fn columns(&self) -> i64 {
        self.dims().last().copied().unwrap_or(-1)
    }

    fn rows(&self) -> i64 {
        self.dims().iter().rev().nth(1).copied().unwrap_or(-1)
    }
}

#[test]
fn every_boundary_of_every_operator_is_reached() {
    let named: BTreeSet<&str> = BOUNDARIES.iter().map(|(operator, ..)| *operator).collect();
    let mut missed = Vec::new();
    for &operator in OPERATORS.iter().filter(|operator| named.contains(operator.name)) {
        let own: Vec<&Boundary> = BOUNDARIES.iter().filter(|(name, ..)| *name == operator.name).collect();
        let mut reached = vec![0_u32; own.len()];
        let generator = Generator::new(vec![operator]);
        for seen in (0..CASES).filter_map(|index| DrawnCall::new(generator.case(SEED, index))) {
            for (count, (.., is_at)) in reached.iter_mut().zip(&own) {
                *count += u32::from(is_at(&seen));
            }
        }
        let rows = own.iter().zip(reached).filter(|(_, count)| *count < LEAST);
        missed.extend(rows.map(|((name, what, _), count)| format!("{name}: {what}: {count}")));
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// The boundaries of the other four operators are in `tests`.
#[test]
fn each_operator_has_boundaries() {
    let others = ["Shape", "Flatten", "Reshape", "Size"];
    for operator in OPERATORS.iter().filter(|operator| !others.contains(&operator.name)) {
        assert!(BOUNDARIES.iter().any(|(name, ..)| *name == operator.name), "{operator} has none");
    }
}
