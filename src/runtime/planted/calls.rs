//! Planted faults of one operator: each takes a wrong result of some calls for right.

use super::{Aspect, with_bits, wrong_last};
use crate::case::has_twice;
use crate::operator::cast::CAST;
use crate::operator::concat::CONCAT;
use crate::operator::constant_of_shape::CONSTANT_OF_SHAPE;
use crate::operator::depth_to_space::DEPTH_TO_SPACE;
use crate::operator::expand::EXPAND;
use crate::operator::flatten::FLATTEN;
use crate::operator::gather::GATHER;
use crate::operator::gather_elements::GATHER_ELEMENTS;
use crate::operator::gather_nd::GATHER_ND;
use crate::operator::identity::IDENTITY;
use crate::operator::pad::PAD;
use crate::operator::reshape::RESHAPE;
use crate::operator::shape::SHAPE;
use crate::operator::size::SIZE;
use crate::operator::slice::SLICE;
use crate::operator::space_to_depth::SPACE_TO_DEPTH;
use crate::operator::split::SPLIT;
use crate::operator::squeeze::SQUEEZE;
use crate::operator::tile::TILE;
use crate::operator::transpose::TRANSPOSE;
use crate::operator::trilu::TRILU;
use crate::operator::unsqueeze::UNSQUEEZE;
use crate::operator::{Attribute, AttributeValue, Expectation, Operator, Rule};
use crate::tensor::{ElementType, Elements, Tensor, product};

/// A planted fault of an operator.
pub(crate) struct CallFault {
    /// The name of its row.
    pub name: &'static str,
    pub aspect: Aspect,
    pub operator: &'static Operator,
    /// The result that the runtime takes for right.
    pub takes_for_right: fn(SeenCall) -> Expectation,
}

pub(crate) const CALLS: &[CallFault] = &[
    row("shape-loses-last-of-4-dims", Aspect::Value, &SHAPE, |call| {
        call.altered(|t| (t.len() == 4).then(|| cut(t, 3)))
    }),
    row("reshape-0-is-a-size", Aspect::Value, &RESHAPE, |call| {
        call.with_attribute("allowzero", AttributeValue::Int(1)).right()
    }),
    row("flatten-negative-axis-too-low", Aspect::Value, &FLATTEN, |call| {
        call.with_numbers("axis", |a| if a < 0 { a.saturating_sub(1) } else { a }).right()
    }),
    row("size-without-dims-of-zero", Aspect::ZeroSize, &SIZE, |mut call| {
        call.fill_empty();
        call.right()
    }),
    row("identity-loses-half-bytes", Aspect::ElementType, &IDENTITY, |call| call.altered(without_odd_nibbles)),
    row("identity-cuts-long-strings", Aspect::Element, &IDENTITY, |call| {
        call.altered(|t| strings(t, |s| if s.len() > 16 { &s[..16] } else { s }))
    }),
    row("squeeze-duplicate-axis-takes-two", Aspect::Validity, &SQUEEZE, |call| {
        if call.has_repeat("axes") {
            call.altered(|t| t.dims().iter().position(|&dim| dim == 1).and_then(|axis| without_dim(t, axis)))
        } else {
            call.right()
        }
    }),
    row("squeeze-takes-dim-of-zero", Aspect::Validity, &SQUEEZE, |call| {
        if call.data().is_some_and(Tensor::is_empty) {
            call.altered(|t| t.dims().iter().position(|&dim| dim == 0).and_then(|axis| without_dim(t, axis)))
        } else {
            call.right()
        }
    }),
    row("unsqueeze-unsorted-axes", Aspect::Value, &UNSQUEEZE, |call| {
        let is_in_order = call.numbers("axes").is_none_or(|axes| axes.is_sorted());
        if is_in_order {
            call.right()
        } else {
            call.altered(|t| t.with_dims(t.dims().iter().rev().copied().collect()).ok())
        }
    }),
    row("unsqueeze-duplicate-axis-once", Aspect::Validity, &UNSQUEEZE, |mut call| {
        if call.has_repeat("axes") {
            call.set_numbers("axes", Vec::dedup);
        }
        call.right()
    }),
    row("transpose-leaves-strings", Aspect::ElementType, &TRANSPOSE, |call| {
        let data = call.data().filter(|data| data.element_type() == ElementType::String).cloned();
        call.altered(|t| data.as_ref()?.with_dims(t.dims().to_vec()).ok())
    }),
    row("transpose-moves-bytes", Aspect::ElementType, &TRANSPOSE, |call| call.altered(swapped_nibbles)),
    row("expand-0-is-1", Aspect::ZeroSize, &EXPAND, |call| {
        call.with_numbers("shape", |dim| if dim == 0 { 1 } else { dim }).right()
    }),
    row("expand-refuses-short-shape", Aspect::Value, &EXPAND, |call| {
        let rank = call.data().map_or(0, Tensor::rank);
        if call.numbers("shape").is_some_and(|dims| dims.len() < rank) { refused() } else { call.right() }
    }),
    row("tile-0-is-1", Aspect::ZeroSize, &TILE, |call| call.with_numbers("repeats", |count| count.max(1)).right()),
    row("constant-of-empty-shape", Aspect::Value, &CONSTANT_OF_SHAPE, |call| {
        call.altered(|t| (t.rank() == 0).then(|| cut(t, 0)))
    }),
    row("constant-keeps-32-bits", Aspect::Element, &CONSTANT_OF_SHAPE, |call| {
        call.altered(|t| with_bits(t, |_, bits| bits & 0xffff_ffff))
    }),
    row("concat-skips-empty", Aspect::ZeroSize, &CONCAT, |mut call| {
        let full: Vec<Option<Tensor>> =
            call.inputs.iter().filter(|t| t.as_ref().is_none_or(|t| !t.is_empty())).cloned().collect();
        if !full.is_empty() {
            call.inputs = full;
        }
        call.right()
    }),
    row("concat-negative-axis-too-low", Aspect::Value, &CONCAT, |call| {
        call.with_numbers("axis", |a| if a < 0 { a.saturating_sub(1) } else { a }).right()
    }),
    row("split-uneven-last-part", Aspect::Value, &SPLIT, |call| {
        let is_counted = call.numbers("split").is_none() && call.outputs > 1;
        match call.right() {
            Expectation::Defined(parts)
                if is_counted && parts.last().map(Tensor::dims) != parts.first().map(Tensor::dims) =>
            {
                let mut parts = parts;
                let last = parts.len() - 1;
                parts[last] = parts[0].clone();
                Expectation::Defined(parts)
            }
            right => right,
        }
    }),
    row("split-refuses-0", Aspect::ZeroSize, &SPLIT, |call| {
        if call.numbers("split").is_some_and(|lengths| lengths.contains(&0)) { refused() } else { call.right() }
    }),
    row("slice-end-too-low", Aspect::Value, &SLICE, |call| {
        call.with_numbers("ends", |end| if end > 0 && end < 1 << 40 { end - 1 } else { end }).right()
    }),
    row("slice-negative-step-forward", Aspect::Value, &SLICE, |call| {
        call.with_numbers("steps", i64::saturating_abs).right()
    }),
    row("slice-greatest-end-is-an-element", Aspect::Value, &SLICE, |call| {
        call.with_numbers("ends", |end| if end == i64::MAX { -1 } else { end }).right()
    }),
    row("gather-last-is-first", Aspect::Value, &GATHER, |call| {
        let axis = call.numbers("axis").and_then(|axis| axis.first().copied()).unwrap_or(0);
        let dims = call.data().map(Tensor::dims).unwrap_or_default();
        let place = if axis < 0 { axis.saturating_add(i64::try_from(dims.len()).unwrap_or(0)) } else { axis };
        let dim = usize::try_from(place).ok().and_then(|place| dims.get(place).copied()).unwrap_or(0);
        call.with_numbers("indices", |index| if index > 0 && index == dim - 1 { 0 } else { index }).right()
    }),
    row("gather-accepts-index-at-end", Aspect::Validity, &GATHER, |call| {
        let axis = call.numbers("axis").and_then(|axis| axis.first().copied()).unwrap_or(0);
        let dim = usize::try_from(axis).ok().and_then(|place| call.data()?.dims().get(place).copied()).unwrap_or(0);
        call.with_numbers("indices", |index| if index == dim { index - 1 } else { index }).right()
    }),
    row("cast-saturates", Aspect::Element, &CAST, |call| {
        let is_narrowed = call.data().is_some_and(|data| data.element_type() == ElementType::Int64);
        let data = call.data().cloned();
        call.altered(|t| {
            let numbers = data.as_ref().filter(|_| is_narrowed && t.element_type() == ElementType::Int32)?.int64s()?;
            let near = |number: &i64| i32::try_from(*number).unwrap_or(if *number < 0 { i32::MIN } else { i32::MAX });
            let near = |number: &i64| u128::from(near(number).cast_unsigned());
            Tensor::from_element_bits(ElementType::Int32, t.dims().to_vec(), numbers.iter().map(near)).ok()
        })
    }),
    row("cast-true-is-255", Aspect::ElementType, &CAST, |call| {
        let is_bool = call.data().is_some_and(|data| data.element_type() == ElementType::Bool);
        call.altered(|t| is_bool.then(|| with_bits(t, |_, bits| bits * 255))?)
    }),
    row("pad-reflect-is-edge", Aspect::Value, &PAD, |call| {
        if call.text("mode") == Some("reflect") {
            call.with_attribute("mode", AttributeValue::String("edge".to_owned())).right()
        } else {
            call.right()
        }
    }),
    row("pad-ignores-negative-pads", Aspect::Value, &PAD, |call| call.with_numbers("pads", |pad| pad.max(0)).right()),
    row("gather-elements-negative-is-first", Aspect::Value, &GATHER_ELEMENTS, |call| {
        call.with_numbers("indices", |index| index.max(0)).right()
    }),
    row("gather-nd-without-batches", Aspect::Value, &GATHER_ND, |call| {
        call.with_attribute("batch_dims", AttributeValue::Int(0)).right()
    }),
    row("gather-nd-negative-is-first", Aspect::Value, &GATHER_ND, |call| {
        call.with_numbers("indices", |index| index.max(0)).right()
    }),
    row("depth-to-space-crd-is-dcr", Aspect::Value, &DEPTH_TO_SPACE, |call| {
        if call.text("mode") == Some("CRD") {
            call.with_attribute("mode", AttributeValue::String("DCR".to_owned())).right()
        } else {
            call.right()
        }
    }),
    row("space-to-depth-loses-last", Aspect::Element, &SPACE_TO_DEPTH, |call| {
        call.altered(|t| with_bits(t, |place, bits| if place + 1 == t.len() { 0 } else { bits }))
    }),
    row("trilu-lower-one-more", Aspect::Value, &TRILU, |call| {
        if call.numbers("upper") == Some(vec![0]) {
            call.with_numbers("k", |k| k.saturating_add(1)).right()
        } else {
            call.right()
        }
    }),
    row("trilu-k-keeps-32-bits", Aspect::Value, &TRILU, |call| call.with_numbers("k", |k| k << 32 >> 32).right()),
    // One version.
    row("shape-19-loses-last-dim", Aspect::Version, &SHAPE, |call| {
        let is_faulty = call.version() == 19;
        call.altered(|t| (is_faulty && t.len() > 1).then(|| cut(t, t.len() - 1)))
    }),
    row("flatten-9-drops-axis", Aspect::Version, &FLATTEN, |call| {
        if call.version() == 9 { call.with_attribute("axis", AttributeValue::Int(1)).right() } else { call.right() }
    }),
    row("reshape-21-without-allowzero", Aspect::Version, &RESHAPE, |call| {
        if call.version() == 21 {
            call.with_attribute("allowzero", AttributeValue::Int(0)).right()
        } else {
            call.right()
        }
    }),
    row("unsqueeze-11-negative-is-first", Aspect::Version, &UNSQUEEZE, |call| {
        if call.version() == 11 { call.with_numbers("axes", |axis| axis.max(0)).right() } else { call.right() }
    }),
    row("slice-10-without-steps", Aspect::Version, &SLICE, |call| {
        if call.version() == 10 { call.with_numbers("steps", i64::signum).right() } else { call.right() }
    }),
    row("pad-18-axes-in-order", Aspect::Version, &PAD, |mut call| {
        if call.version() == 18 {
            call.set_numbers("axes", |axes| axes.sort_unstable());
        }
        call.right()
    }),
    row("gather-11-negative-is-first", Aspect::Version, &GATHER, |call| {
        if call.version() == 11 { call.with_numbers("indices", |index| index.max(0)).right() } else { call.right() }
    }),
    row("concat-4-axis-is-0", Aspect::Version, &CONCAT, |call| {
        if call.version() == 4 { call.with_attribute("axis", AttributeValue::Int(0)).right() } else { call.right() }
    }),
    // One element type.
    row("flatten-of-complex128", Aspect::ElementType, &FLATTEN, |call| wrong_of(&call, ElementType::Complex128)),
    row("reshape-of-float8e5m2", Aspect::ElementType, &RESHAPE, |call| wrong_of(&call, ElementType::Float8e5m2)),
    row("slice-of-uint16", Aspect::ElementType, &SLICE, |call| wrong_of(&call, ElementType::Uint16)),
    row("gather-of-float16", Aspect::ElementType, &GATHER, |call| wrong_of(&call, ElementType::Float16)),
    row("tile-of-bool", Aspect::ElementType, &TILE, |call| wrong_of(&call, ElementType::Bool)),
    row("concat-of-bfloat16", Aspect::ElementType, &CONCAT, |call| wrong_of(&call, ElementType::Bfloat16)),
    row("trilu-of-int8", Aspect::ElementType, &TRILU, |call| wrong_of(&call, ElementType::Int8)),
    row("cast-of-int8", Aspect::ElementType, &CAST, |call| wrong_of(&call, ElementType::Int8)),
    // Single elements.
    row("identity-loses-negative-zero", Aspect::Element, &IDENTITY, |call| {
        call.altered(|t| bits_of(t, ElementType::Float, |bits| if bits == 0x8000_0000 { 0 } else { bits }))
    }),
    row("transpose-flushes-subnormals", Aspect::Element, &TRANSPOSE, |call| {
        call.altered(|t| bits_of(t, ElementType::Double, |bits| if bits << 65 >> 117 == 0 { 0 } else { bits }))
    }),
    row("expand-through-doubles", Aspect::Element, &EXPAND, |call| {
        call.altered(|t| bits_of(t, ElementType::Int64, through_double))
    }),
    row("gather-elements-through-doubles", Aspect::Element, &GATHER_ELEMENTS, |call| {
        call.altered(|t| bits_of(t, ElementType::Int64, through_double))
    }),
    row("concat-loses-empty-strings", Aspect::Element, &CONCAT, |call| {
        call.altered(|t| strings(t, |s| if s.is_empty() { b" " } else { s }))
    }),
    // Attributes, bounds and axes.
    row("shape-end-0-is-none", Aspect::Value, &SHAPE, |mut call| {
        if call.numbers("end") == Some(vec![0]) {
            call.attributes.retain(|attribute| attribute.name != "end");
        }
        call.right()
    }),
    row("shape-does-not-clamp-start", Aspect::Value, &SHAPE, |call| {
        let rank = call.rank();
        if call.any("start", |start| start < -rank) { refused() } else { call.right() }
    }),
    row("shape-least-start-is-the-end", Aspect::Value, &SHAPE, |call| {
        let is_least = call.numbers("start") == Some(vec![i64::MIN]);
        call.altered(|t| is_least.then(|| cut(t, 0)))
    }),
    row("shape-bounds-keep-32-bits", Aspect::Value, &SHAPE, |call| {
        call.with_numbers("start", low_32_bits).with_numbers("end", low_32_bits).right()
    }),
    row("reshape-keeps-32-bits", Aspect::Value, &RESHAPE, |call| call.with_numbers("shape", low_32_bits).right()),
    row("reshape-to-scalar-is-a-vector", Aspect::Value, &RESHAPE, |call| {
        call.altered(|t| (t.rank() == 0).then(|| t.with_dims(vec![1]).ok())?)
    }),
    row("reshape-infers-1-for-nothing", Aspect::ZeroSize, &RESHAPE, |call| {
        let place = call.numbers("shape").and_then(|dims| dims.iter().position(|&dim| dim == -1));
        call.altered(|t| {
            let mut dims = t.dims().to_vec();
            let inferred = dims.get_mut(place?).filter(|dim| **dim == 0)?;
            *inferred = 1;
            let zeros = std::iter::repeat_n(
                0,
                usize::try_from(product(dims.iter().copied())?).ok().filter(|count| *count < 1 << 16)?,
            );
            Tensor::from_element_bits(t.element_type(), dims.clone(), zeros).ok()
        })
    }),
    row("reshape-accepts-0-and-minus-1", Aspect::Validity, &RESHAPE, |call| {
        let is_mixed = call.numbers("shape").is_some_and(|dims| dims.contains(&0) && dims.contains(&-1));
        if is_mixed { call.with_attribute("allowzero", AttributeValue::Int(0)).right() } else { call.right() }
    }),
    row("reshape-refuses-rank-above-5", Aspect::Value, &RESHAPE, |call| {
        if call.numbers("shape").is_some_and(|dims| dims.len() > 5) { refused() } else { call.right() }
    }),
    row("flatten-at-rank-is-a-row", Aspect::Value, &FLATTEN, |call| {
        let is_at_rank = call.numbers("axis") == Some(vec![call.rank()]);
        call.altered(|t| is_at_rank.then(|| t.with_dims(t.dims().iter().rev().copied().collect()).ok())?)
    }),
    row("flatten-accepts-axis-past-rank", Aspect::Validity, &FLATTEN, |call| {
        let rank = call.rank();
        call.with_numbers("axis", |axis| axis.min(rank)).right()
    }),
    row("flatten-of-scalar-is-a-vector", Aspect::Value, &FLATTEN, |call| {
        let is_scalar = call.rank() == 0;
        call.altered(|t| is_scalar.then(|| t.with_dims(vec![1]).ok())?)
    }),
    row("size-counts-bytes-of-half-bytes", Aspect::ElementType, &SIZE, |call| {
        let is_packed = call.data().is_some_and(is_nibble);
        call.altered(|t| is_packed.then(|| with_bits(t, |_, bits| bits.div_ceil(2)))?)
    }),
    row("squeeze-without-axes-leaves-all", Aspect::Value, &SQUEEZE, |call| {
        let all = call.numbers("axes").is_none().then(|| call.data().cloned()).flatten();
        call.altered(|_| all.clone())
    }),
    row("unsqueeze-counts-from-own-rank", Aspect::Value, &UNSQUEEZE, |call| {
        let rank = call.rank();
        call.with_numbers("axes", |axis| if axis < 0 { axis.saturating_add(rank) } else { axis }).right()
    }),
    row("transpose-above-rank-6", Aspect::Value, &TRANSPOSE, |call| {
        let data = call.data().filter(|data| data.rank() > 6).cloned();
        call.altered(|t| data.as_ref()?.with_dims(t.dims().to_vec()).ok())
    }),
    row("tile-accepts-negative-repeats", Aspect::Validity, &TILE, |call| {
        call.with_numbers("repeats", |count| count.max(0)).right()
    }),
    row("concat-of-five-loses-the-last", Aspect::Value, &CONCAT, |mut call| {
        if call.inputs.len() > 4 {
            call.inputs.pop();
        }
        call.right()
    }),
    row("split-accepts-a-sum-too-low", Aspect::Validity, &SPLIT, |call| {
        let right = call.right();
        let lengths = call.numbers("split").filter(|_| right.rule().is_some_and(|rule| rule == Rule::SPLIT_LENGTH_SUM));
        match (lengths, call.data()) {
            (Some(_), Some(data)) => Expectation::Defined(vec![data.clone(); call.outputs]),
            _ => right,
        }
    }),
    row("slice-step-beyond-dim-refused", Aspect::Value, &SLICE, |call| {
        let greatest = call.data().and_then(|data| data.dims().iter().copied().max()).unwrap_or(0);
        let is_beyond = |step: i64| step.unsigned_abs() > greatest.unsigned_abs();
        if call.any("steps", is_beyond) { refused() } else { call.right() }
    }),
    row("slice-least-start-goes-on", Aspect::Value, &SLICE, |call| {
        call.with_numbers("starts", |start| if start == i64::MIN { i64::MAX } else { start }).right()
    }),
    row("gather-scalar-index-keeps-its-dim", Aspect::Value, &GATHER, |mut call| {
        if let Some(Some(indices)) = call.inputs.get_mut(1).filter(|t| t.as_ref().is_some_and(|t| t.rank() == 0))
            && let Ok(vector) = indices.with_dims(vec![1])
        {
            *indices = vector;
        }
        call.right()
    }),
    row("pad-accepts-axes-past-rank", Aspect::Validity, &PAD, |call| {
        let last = call.rank() - 1;
        call.with_numbers("axes", |axis| axis.min(last)).right()
    }),
    row("trilu-of-a-batch-does-the-first", Aspect::Value, &TRILU, |call| {
        let data = call.data().filter(|data| data.rank() > 2).cloned();
        call.altered(|t| {
            let matrix = t.dims().last_chunk::<2>()?;
            let first = usize::try_from(matrix[0].checked_mul(matrix[1])?).ok()?;
            data.as_ref().and_then(|data| {
                with_bits(t, |place, bits| if place < first { bits } else { data.element_bits(place) })
            })
        })
    }),
    row("space-to-depth-of-one-block", Aspect::Value, &SPACE_TO_DEPTH, |call| {
        let is_one = call.numbers("blocksize") == Some(vec![1]);
        call.altered(|t| is_one.then(|| with_bits(t, |place, _| t.element_bits(t.len() - 1 - place)))?)
    }),
    // Several conditions at once.
    row("slice-strings-backwards-past-the-start", Aspect::Several, &SLICE, |call| {
        let is_backwards = call.any("steps", |step| step < 0);
        let is_past = call.any("ends", |end| end < -20);
        call.altered(|t| (is_backwards && is_past).then(|| strings(t, |_| b""))?)
    }),
    row("reshape-half-bytes-to-inferred-dim", Aspect::Several, &RESHAPE, |call| {
        let is_inferred = call.numbers("shape").is_some_and(|dims| dims.contains(&-1) && dims.len() > 2);
        call.altered(|t| (is_inferred && is_nibble(t)).then(|| wrong_last(t))?)
    }),
    row("transpose-half-bytes-of-odd-rows", Aspect::Several, &TRANSPOSE, |call| {
        let is_odd =
            call.data().is_some_and(|data| data.rank() > 2 && data.dims().last().is_some_and(|dim| dim % 2 == 1));
        call.altered(|t| (is_odd && is_nibble(t)).then(|| wrong_last(t))?)
    }),
    row("gather-bools-at-negative-axis-by-int32", Aspect::Several, &GATHER, |call| {
        let is_negative = call.any("axis", |axis| axis < 0);
        let is_int32 =
            call.inputs.get(1).and_then(Option::as_ref).is_some_and(|t| t.element_type() == ElementType::Int32);
        call.altered(|t| (is_negative && is_int32 && t.element_type() == ElementType::Bool).then(|| wrong_last(t))?)
    }),
    row("concat-of-many-with-an-empty-at-negative-axis", Aspect::Several, &CONCAT, |call| {
        let is_negative = call.any("axis", |axis| axis < 0);
        let empty = call.inputs.iter().flatten().filter(|t| t.is_empty()).count();
        let is_faulty = is_negative && empty > 0 && call.inputs.len() > 2;
        call.altered(|t| is_faulty.then(|| wrong_last(t))?)
    }),
    row("pad-wrap-that-also-removes", Aspect::Several, &PAD, |call| {
        let is_mixed = call.any("pads", |pad| pad < 0) && call.any("pads", |pad| pad > 0);
        let is_wrap = call.text("mode") == Some("wrap");
        call.altered(|t| (is_mixed && is_wrap).then(|| wrong_last(t))?)
    }),
    row("expand-complex-to-higher-rank", Aspect::Several, &EXPAND, |call| {
        let rank = call.data().map_or(0, Tensor::rank);
        call.altered(|t| (t.element_type() == ElementType::Complex64 && t.rank() > rank + 1).then(|| wrong_last(t))?)
    }),
    row("shape-24-from-negative-to-beyond", Aspect::Several, &SHAPE, |call| {
        let rank = call.rank();
        let is_negative = call.any("start", |start| start < 0);
        let is_beyond = call.any("end", |end| end > rank);
        let is_faulty = call.version() == 24 && is_negative && is_beyond;
        call.altered(|t| is_faulty.then(|| wrong_last(t))?)
    }),
    row("squeeze-13-of-two-negative-axes", Aspect::Several, &SQUEEZE, |call| {
        let is_negative = call.numbers("axes").is_some_and(|axes| axes.len() > 1 && axes.iter().all(|&axis| axis < 0));
        let is_faulty = call.version() == 13 && is_negative;
        call.altered(|t| is_faulty.then(|| wrong_last(t))?)
    }),
    row("split-18-in-three-at-negative-axis", Aspect::Several, &SPLIT, |call| {
        let is_negative = call.any("axis", |axis| axis < 0);
        let is_faulty = call.version() == 18 && is_negative && call.numbers("split").is_none() && call.outputs > 2;
        call.altered(|t| is_faulty.then(|| wrong_last(t))?)
    }),
    row("tile-of-float16-by-one-and-many", Aspect::Several, &TILE, |call| {
        let is_mixed = call.any("repeats", |count| count == 1) && call.any("repeats", |count| count > 2);
        call.altered(|t| (is_mixed && t.element_type() == ElementType::Float16).then(|| wrong_last(t))?)
    }),
    row("trilu-of-a-batch-with-k-past-its-columns", Aspect::Several, &TRILU, |call| {
        let columns = call.data().and_then(|data| data.dims().last().copied()).unwrap_or(0);
        let is_faulty = call.rank() > 2 && call.any("k", |k| k > columns);
        call.altered(|t| is_faulty.then(|| wrong_last(t))?)
    }),
];

const fn row(
    name: &'static str,
    aspect: Aspect,
    operator: &'static Operator,
    takes_for_right: fn(SeenCall) -> Expectation,
) -> CallFault {
    CallFault { name, aspect, operator, takes_for_right }
}

/// A call as the faulty runtime sees it.
pub(crate) struct SeenCall {
    operator: &'static Operator,
    opset: u8,
    attributes: Vec<Attribute>,
    inputs: Vec<Option<Tensor>>,
    outputs: usize,
}

impl SeenCall {
    pub fn new(
        operator: &'static Operator,
        opset: u8,
        attributes: &[Attribute],
        inputs: &[Option<Tensor>],
        outputs: usize,
    ) -> SeenCall {
        SeenCall { operator, opset, attributes: attributes.to_vec(), inputs: inputs.to_vec(), outputs }
    }

    /// What the specification demands.
    pub fn right(&self) -> Expectation {
        self.operator.evaluate(self.opset, &self.attributes, &self.inputs, self.outputs)
    }

    /// The right outputs, but each is replaced by the tensor that `other` gives for it, if any.
    fn altered(&self, other: impl Fn(&Tensor) -> Option<Tensor>) -> Expectation {
        let right = self.right();
        let altered = |outputs: &[Tensor]| outputs.iter().map(|t| other(t).unwrap_or_else(|| t.clone())).collect();
        right.outputs().map(altered).map_or_else(|| right.clone(), Expectation::Defined)
    }

    /// The version of the operator, as the opset that introduced it.
    fn version(&self) -> u8 {
        self.operator.version_at(self.opset).map_or(0, |version| version.since)
    }

    fn rank(&self) -> i64 {
        self.data().and_then(|data| i64::try_from(data.rank()).ok()).unwrap_or(0)
    }

    fn data(&self) -> Option<&Tensor> {
        self.inputs.first()?.as_ref()
    }

    /// The place of an input by its name.
    fn place(&self, name: &str) -> Option<usize> {
        self.operator.version_at(self.opset)?.inputs.iter().position(|spec| spec.name == name)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|attribute| attribute.name == name).and_then(|attribute| match &attribute.value {
            AttributeValue::String(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The numbers of an attribute or of an input.
    fn numbers(&self, name: &str) -> Option<Vec<i64>> {
        match self.attributes.iter().find(|attribute| attribute.name == name).map(|attribute| &attribute.value) {
            Some(AttributeValue::Int(number)) => Some(vec![*number]),
            Some(AttributeValue::Ints(numbers)) => Some(numbers.clone()),
            Some(_) => None,
            None => integers(self.inputs.get(self.place(name)?)?.as_ref()?),
        }
    }

    /// Whether any number of an attribute or of an input meets a condition.
    fn any(&self, name: &str, holds: impl Fn(i64) -> bool) -> bool {
        self.numbers(name).is_some_and(|numbers| numbers.into_iter().any(holds))
    }

    fn has_repeat(&self, name: &str) -> bool {
        self.numbers(name).is_some_and(|numbers| has_twice(&numbers))
    }

    fn with_numbers(mut self, name: &str, change: impl Fn(i64) -> i64) -> SeenCall {
        self.set_numbers(name, |numbers| numbers.iter_mut().for_each(|number| *number = change(*number)));
        self
    }

    /// Changes the numbers of an attribute or of an input, if there are any.
    fn set_numbers(&mut self, name: &str, change: impl Fn(&mut Vec<i64>)) {
        let place = self.place(name);
        if let Some(attribute) = self.attributes.iter_mut().find(|attribute| attribute.name == name) {
            match &mut attribute.value {
                AttributeValue::Int(number) => {
                    let mut numbers = vec![*number];
                    change(&mut numbers);
                    *number = numbers[0];
                }
                AttributeValue::Ints(numbers) => change(numbers),
                _ => {}
            }
        } else if let Some(Some(tensor)) = place.and_then(|place| self.inputs.get_mut(place))
            && let Some(mut numbers) = integers(tensor)
        {
            change(&mut numbers);
            let mask =
                if tensor.element_type() == ElementType::Int32 { u128::from(u32::MAX) } else { u128::from(u64::MAX) };
            let dims = if numbers.len() == tensor.len() {
                tensor.dims().to_vec()
            } else {
                vec![i64::try_from(numbers.len()).unwrap()]
            };
            let bits = numbers.iter().map(|number| u128::from(number.cast_unsigned()) & mask);
            *tensor = Tensor::from_element_bits(tensor.element_type(), dims, bits).unwrap();
        }
    }

    /// The call with an attribute, if its version has it.
    fn with_attribute(mut self, name: &str, value: AttributeValue) -> SeenCall {
        let version = self.operator.version_at(self.opset);
        if version.is_some_and(|version| version.attributes.iter().any(|spec| spec.name == name)) {
            self.attributes.retain(|attribute| attribute.name != name);
            self.attributes.push(Attribute { name: name.to_owned(), value });
        }
        self
    }

    /// Replaces data without elements by one element.
    fn fill_empty(&mut self) {
        if let Some(Some(data)) = self.inputs.first_mut().filter(|data| data.as_ref().is_some_and(Tensor::is_empty)) {
            *data = Tensor::zero(data.element_type());
        }
    }
}

fn refused() -> Expectation {
    Expectation::Reject { rule: Rule::VAST_DIMS, lenient: None }
}

fn integers(tensor: &Tensor) -> Option<Vec<i64>> {
    let is_index = matches!(tensor.element_type(), ElementType::Int32 | ElementType::Int64);
    let numbers = tensor.integers().filter(|_| is_index)?;
    numbers.into_iter().map(|number| i64::try_from(number).ok()).collect()
}

fn strings(tensor: &Tensor, change: impl Fn(&[u8]) -> &[u8]) -> Option<Tensor> {
    let Elements::Strings(all) = tensor.elements() else { return None };
    let changed = (0..tensor.len()).map(|place| change(&all[place]));
    Tensor::from_strings(tensor.dims().to_vec(), changed.collect()).ok()
}

/// The first few elements, as a vector.
fn cut(tensor: &Tensor, count: usize) -> Tensor {
    let first = (0..count).map(|place| (tensor, place));
    Tensor::assembled(tensor.element_type(), vec![i64::try_from(count).unwrap()], first).unwrap()
}

fn without_dim(tensor: &Tensor, axis: usize) -> Option<Tensor> {
    let mut dims = tensor.dims().to_vec();
    dims.remove(axis);
    Tensor::assembled(tensor.element_type(), dims, (0..tensor.len()).map(|place| (tensor, place))).ok()
}

fn is_nibble(tensor: &Tensor) -> bool {
    matches!(tensor.element_type(), ElementType::Int4 | ElementType::Uint4 | ElementType::Float4e2m1)
}

fn without_odd_nibbles(tensor: &Tensor) -> Option<Tensor> {
    is_nibble(tensor).then(|| with_bits(tensor, |place, bits| if place % 2 == 1 { 0 } else { bits }))?
}

fn swapped_nibbles(tensor: &Tensor) -> Option<Tensor> {
    let is_swapped = is_nibble(tensor) && tensor.rank() > 1 && tensor.len().is_multiple_of(2);
    is_swapped.then(|| with_bits(tensor, |place, _| tensor.element_bits(place ^ 1)))?
}

/// The last element is wrong if the data has an element type.
fn wrong_of(call: &SeenCall, element_type: ElementType) -> Expectation {
    let is_faulty = call.data().is_some_and(|data| data.element_type() == element_type);
    call.altered(|t| is_faulty.then(|| wrong_last(t))?)
}

/// The tensor with other bits in its elements, if they have an element type.
fn bits_of(tensor: &Tensor, element_type: ElementType, change: impl Fn(u128) -> u128) -> Option<Tensor> {
    (tensor.element_type() == element_type).then(|| with_bits(tensor, |_, bits| change(bits)))?
}

/// The bits of an int64 that passes through a double.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "the planted fault")]
fn through_double(bits: u128) -> u128 {
    let number = (bits as u64).cast_signed();
    u128::from((number as f64 as i64).cast_unsigned())
}

/// The low 32 bits of a number, as a number with a sign.
#[expect(clippy::cast_possible_truncation, reason = "the planted fault")]
fn low_32_bits(number: i64) -> i64 {
    i64::from(number as i32)
}
