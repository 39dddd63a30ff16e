//! The table of laws.
//!
//! Each law says which two graphs are equal, and when. x is the data of the call, d its dims and r its rank, S = `Shape(x)`; y is
//! the output of the call.

use std::iter::repeat_n;
use std::rc::Rc;

use super::{Law, Parameter, Sides, StartCall, Step, Term};
use crate::case::{Contents, Operand, has_twice};
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
use crate::operator::{AttributeValue, Operator};
use crate::tensor::{ElementType, Tensor, element_count};

/// Every law.
pub static LAWS: &[Law] = &[
    // Squeeze and Unsqueeze.
    Law {
        id: "squeeze-of-unsqueeze",
        says: "Squeeze(Unsqueeze(x, a), a) = x, a not empty",
        of: &[&UNSQUEEZE],
        sides: |given| equal(squeeze(given.y(), non_empty(given.numbers("axes")?)?), given.x()?),
    },
    Law {
        id: "unsqueeze-of-squeeze",
        says: "Unsqueeze(Squeeze(x, a), a) = x, a not empty and without repeats",
        of: &[&SQUEEZE],
        sides: |given| equal(unsqueeze(given.y(), non_empty(squeezed(given)?)?), given.x()?),
    },
    Law {
        id: "squeeze-as-reshape",
        says: "Squeeze(x, a) = Reshape(x, d without those of a)",
        of: &[&SQUEEZE],
        sides: |given| equal(given.y(), reshape(given.x()?, pick(given.dims()?, &others(given)?))),
    },
    Law {
        id: "squeeze-of-all-ones",
        says: "Squeeze(x) = Squeeze(x, all i with d[i] = 1)",
        of: &[&SQUEEZE],
        sides: |given| equal(node(&SQUEEZE, [given.x()?], []), squeeze(given.x()?, non_empty(ones(given.dims()?))?)),
    },
    Law {
        id: "shape-of-squeeze",
        says: "Shape(Squeeze(x, a)) = Gather(S, the other axes)",
        of: &[&SQUEEZE],
        sides: |given| equal(shape(given.y()), gather(shape(given.x()?), vector(others(given)?), 0)),
    },
    Law {
        id: "unsqueeze-as-reshape",
        says: "Unsqueeze(x, a) = Reshape(x, d with 1 at the places of a)",
        of: &[&UNSQUEEZE],
        sides: |given| equal(given.y(), reshape(given.x()?, unsqueezed(given)?)),
    },
    Law {
        id: "leading-unsqueeze-as-expand",
        says: "Unsqueeze(x, [0..k-1]) = Expand(x, Concat([1] * k, S))",
        of: &[&UNSQUEEZE],
        sides: |given| {
            let count = non_empty(given.numbers("axes")?)?.len();
            let target = concat(vec![vector(vec![1; count]), shape(given.x()?)], 0);
            equal(unsqueeze(given.x()?, first_axes(count)), expand(given.x()?, target))
        },
    },
    Law {
        id: "shape-of-unsqueeze",
        says: "Shape(Unsqueeze(x, a)) = d with 1 at the places of a",
        of: &[&UNSQUEEZE],
        sides: |given| equal(shape(given.y()), vector(unsqueezed(given)?)),
    },
    Law {
        id: "unsqueeze-by-shapes",
        says: "Unsqueeze(x, [a]) = Reshape(x, Concat(Shape(x, end=a), [1], Shape(x, start=a)))",
        of: &[&UNSQUEEZE],
        sides: |given| {
            let [axis] = given.numbers("axes")?[..] else { return None };
            let dims = given.dims()?;
            let axis = back(axis, dims.len() + 1)?;
            let parts =
                [part_of_shape(given.x()?, 0, axis), vector(vec![1]), part_of_shape(given.x()?, axis, dims.len())];
            equal(given.y(), reshape_to(given.x()?, concat(parts.to_vec(), 0), dims.contains(&0)))
        },
    },
    Law {
        id: "gather-of-stack",
        says: "Gather(Concat(Unsqueeze(x, 0), Unsqueeze(w, 0)), 0 and -1) = x and w, w of the dims of x",
        of: &[&UNSQUEEZE],
        sides: |given| {
            let (x, w) = (given.x()?, Term::Source(other(given.call.data()?)));
            has_negative_indices(given)?;
            let stack = concat([x.clone(), w.clone()].map(|part| unsqueeze(part, vec![0])).to_vec(), 0);
            let at = |index: i64| gather(stack.clone(), scalar(index), 0);
            Some((vec![at(0), at(-1)], vec![x, w]))
        },
    },
    Law {
        id: "gather-of-ones",
        says: "Gather(Unsqueeze(x, a), [0] * 3, axis=a) = Expand(Unsqueeze(x, a), its dims with 3 at a)",
        of: &[&UNSQUEEZE],
        sides: |given| {
            let mut dims = unsqueezed(given)?;
            let axis = back(*given.numbers("axes")?.first()?, dims.len())?;
            dims[axis] = 3;
            equal(gather(given.y(), vector(vec![0; 3]), axis), expand(given.y(), vector(dims)))
        },
    },
    // Flatten, Reshape and Size.
    Law {
        id: "flatten-as-reshape",
        says: "Flatten(x, a) = Reshape(x, [product of d[..a], product of d[a..]])",
        of: &[&FLATTEN],
        sides: |given| {
            let dims = given.dims()?;
            let axis = given.number("axis").unwrap_or(1);
            let is_last = usize::try_from(axis) == Ok(dims.len());
            let axis = if is_last { dims.len() } else { back(axis, dims.len())? };
            equal(given.y(), reshape(given.x()?, vec![size_of(dims.get(..axis)?)?, size_of(&dims[axis..])?]))
        },
    },
    Law {
        id: "reshape-of-flatten",
        says: "Reshape(Flatten(x, a), S) = x",
        of: &[&FLATTEN],
        sides: |given| equal(reshape_to(given.y(), shape(given.x()?), given.dims()?.contains(&0)), given.x()?),
    },
    Law {
        id: "flatten-by-shape",
        says: "Flatten(x, 1) = Reshape(x, Concat(Gather(S, [0]), [-1])), d[0] != 0",
        of: &[&FLATTEN],
        sides: |given| {
            given.dims()?.first().filter(|&&dim| dim != 0)?;
            let target = concat(vec![gather(shape(given.x()?), vector(vec![0]), 0), vector(vec![-1])], 0);
            equal(node(&FLATTEN, [given.x()?], [("axis", 1.into())]), reshape_to(given.x()?, target, false))
        },
    },
    Law {
        id: "reshape-to-own-shape",
        says: "Reshape(x, S) = x: with allowzero = 0 a 0 copies the same 0",
        of: &[&RESHAPE],
        sides: |given| equal(reshape_to(given.x()?, shape(given.x()?), false), given.x()?),
    },
    Law {
        id: "size-is-the-same",
        says: "Size(y) = Size(x)",
        of: &[&IDENTITY, &SQUEEZE, &UNSQUEEZE, &TRANSPOSE, &FLATTEN, &RESHAPE, &DEPTH_TO_SPACE, &SPACE_TO_DEPTH],
        sides: |given| equal(size(given.y()), size(given.x()?)),
    },
    // Transpose.
    Law {
        id: "transpose-inverse",
        says: "Transpose(Transpose(x, p), q) = x, q[p[i]] = i",
        of: &[&TRANSPOSE],
        sides: |given| {
            let perm = perm(given)?;
            let inverse =
                (0..perm.len()).map(|axis| perm.iter().position(|&from| from == axis)).collect::<Option<_>>()?;
            equal(transpose(given.y(), inverse), given.x()?)
        },
    },
    Law {
        id: "transpose-of-transpose",
        says: "Transpose(Transpose(x, p), q) = Transpose(x, [p[q[0]], p[q[1]], ..])",
        of: &[&TRANSPOSE],
        sides: |given| {
            let perm = perm(given)?;
            let then = rotated(perm.len());
            let both = then.iter().map(|&axis| perm[axis]).collect();
            equal(transpose(given.y(), then), transpose(given.x()?, both))
        },
    },
    Law {
        id: "transpose-default",
        says: "Transpose(x) = Transpose(x, [r-1, .., 0])",
        of: &[&TRANSPOSE],
        sides: |given| {
            equal(node(&TRANSPOSE, [given.x()?], []), transpose(given.x()?, (0..given.rank()?).rev().collect()))
        },
    },
    Law {
        id: "transpose-in-order",
        says: "Transpose(x, [0, .., r-1]) = x",
        of: &[&TRANSPOSE],
        sides: |given| equal(transpose(given.x()?, (0..given.rank()?).collect()), given.x()?),
    },
    Law {
        id: "transpose-as-reshape",
        says: "Transpose(x, p) = Reshape(x, d in the order of p), where p keeps the order of the dims other than 1, or a dim is 0",
        of: &[&TRANSPOSE],
        sides: |given| {
            let (perm, dims) = (perm(given)?, given.dims()?);
            let moved = perm.iter().filter(|&&axis| dims[axis] != 1);
            let keeps = dims.contains(&0) || moved.is_sorted();
            keeps.then_some(())?;
            equal(given.y(), reshape(given.x()?, perm.iter().map(|&axis| dims[axis]).collect()))
        },
    },
    Law {
        id: "shape-of-transpose",
        says: "Shape(Transpose(x, p)) = Gather(S, p)",
        of: &[&TRANSPOSE],
        sides: |given| equal(shape(given.y()), gather(shape(given.x()?), vector(signed(perm(given)?)), 0)),
    },
    // Expand, Tile, ConstantOfShape.
    Law {
        id: "expand-to-own-shape",
        says: "Expand(x, S) = x",
        of: &[&EXPAND],
        sides: |given| equal(expand(given.x()?, shape(given.x()?)), given.x()?),
    },
    Law {
        id: "expand-to-ones",
        says: "Expand(x, [1] * k) = x, k <= r",
        of: &[&EXPAND],
        sides: |given| {
            let count = given.numbers("shape")?.len().min(given.rank()?);
            equal(expand(given.x()?, vector(vec![1; count])), given.x()?)
        },
    },
    Law {
        id: "expand-of-expand",
        says: "Expand(Expand(x, s), t) = Expand(x, broadcast(s, t))",
        of: &[&EXPAND],
        sides: |given| {
            let mut target = vec![2];
            target.extend(expanded(given)?);
            equal(expand(given.y(), vector(target.clone())), expand(given.x()?, vector(target)))
        },
    },
    Law {
        id: "expand-as-tile",
        says: "Expand(x, s) = Tile(x unsqueezed on the left to the rank of the output, m), m[i] = 1 where its dim is that of the output, else that",
        of: &[&EXPAND],
        sides: |given| {
            let (dims, target) = (given.dims()?, expanded(given)?);
            let missing = target.len() - dims.len();
            let own = repeat_n(1, missing).chain(dims.iter().copied());
            let repeats = own.zip(&target).map(|(own, &dim)| if own == dim { 1 } else { dim }).collect();
            let x = if missing > 0 { unsqueeze(given.x()?, first_axes(missing)) } else { given.x()? };
            equal(given.y(), tile(x, repeats))
        },
    },
    Law {
        id: "transpose-of-expand",
        says: "Transpose(Expand(x, s), p) = Expand(Transpose(x, p), s in the order of p), s of length r",
        of: &[&EXPAND],
        sides: |given| {
            let target = given.numbers("shape")?;
            let perm = rotated(target.len());
            (target.len() == given.rank()?).then_some(())?;
            let moved = perm.iter().map(|&axis| target[axis]).collect();
            equal(transpose(given.y(), perm.clone()), expand(transpose(given.x()?, perm), vector(moved)))
        },
    },
    Law {
        id: "tile-by-ones",
        says: "Tile(x, [1] * r) = x",
        of: &[&TILE],
        sides: |given| equal(tile(given.x()?, vec![1; given.rank()?]), given.x()?),
    },
    Law {
        id: "tile-as-concat",
        says: "Tile(x, m) = Concat of m[k] times x on axis k, m is 1 but at k",
        of: &[&TILE],
        sides: |given| {
            let repeats = repeats(given)?;
            let (axis, &count) = repeats.iter().enumerate().find(|(_, count)| (2..=16).contains(*count))?;
            let mut one = vec![1; repeats.len()];
            one[axis] = count;
            let parts = repeat_n(given.x()?, usize::try_from(count).ok()?).collect();
            equal(tile(given.x()?, one), concat(parts, axis))
        },
    },
    Law {
        id: "tile-of-tile",
        says: "Tile(Tile(x, m), n) = Tile(x, m * n)",
        of: &[&TILE],
        sides: |given| {
            let repeats = repeats(given)?;
            let then: Vec<i64> = repeats.iter().rev().copied().collect();
            let both: Vec<i64> = repeats.iter().zip(&then).map(|(a, b)| a.checked_mul(*b)).collect::<Option<_>>()?;
            given.dims()?.iter().zip(&both).try_for_each(|(dim, count)| dim.checked_mul(*count).map(|_| ()))?;
            equal(tile(given.y(), then), tile(given.x()?, both))
        },
    },
    Law {
        id: "shape-of-tile",
        says: "Shape(Tile(x, m)) = d * m",
        of: &[&TILE],
        sides: |given| equal(shape(given.y()), vector(tiled(given)?)),
    },
    Law {
        id: "size-of-tile",
        says: "Size(Tile(x, m)) = the product of d * m",
        of: &[&TILE],
        sides: |given| equal(size(given.y()), scalar(size_of(&tiled(given)?)?)),
    },
    Law {
        id: "transpose-of-tile",
        says: "Transpose(Tile(x, m), p) = Tile(Transpose(x, p), m in the order of p)",
        of: &[&TILE],
        sides: |given| {
            let repeats = repeats(given)?;
            let perm = rotated(repeats.len());
            let moved = perm.iter().map(|&axis| repeats[axis]).collect();
            equal(transpose(given.y(), perm.clone()), tile(transpose(given.x()?, perm), moved))
        },
    },
    Law {
        id: "shape-of-constant-of-shape",
        says: "Shape(ConstantOfShape(s, v)) = s",
        of: &[&CONSTANT_OF_SHAPE],
        sides: |given| equal(shape(given.y()), Term::Source(given.operand("input")?.clone())),
    },
    Law {
        id: "constant-of-shape-as-expand",
        says: "ConstantOfShape(s, v) = Expand(v as rank 0, s)",
        of: &[&CONSTANT_OF_SHAPE],
        sides: |given| {
            let value = match given.attribute("value") {
                Some(AttributeValue::Tensor(value)) => value.with_dims(vec![]).ok()?,
                _ => Tensor::zero(ElementType::Float),
            };
            let value = Term::Source(Operand::of(&value, given.wiring()));
            equal(given.y(), expand(value, Term::Source(given.operand("input")?.clone())))
        },
    },
    // Trilu and the blocks.
    Law {
        id: "trilu-of-trilu",
        says: "Trilu(Trilu(x, k), k) = Trilu(x, k)",
        of: &[&TRILU],
        sides: |given| {
            let mut again = given.step();
            again.inputs[0] = given.y();
            equal(output(again), given.y())
        },
    },
    Law {
        id: "trilu-of-all",
        says: "Trilu(x, 1 - rows, upper=1) = x = Trilu(x, columns - 1, upper=0)",
        of: &[&TRILU],
        sides: |given| {
            let [.., rows, columns] = given.dims()? else { return None };
            let all = if given.number("upper").unwrap_or(1) == 0 {
                trilu(given.x()?, columns - 1, 0)
            } else {
                trilu(given.x()?, 1 - rows, 1)
            };
            equal(all, given.x()?)
        },
    },
    Law {
        id: "trilu-of-nothing",
        says: "Trilu(Trilu(x, k, upper=1), k-1, upper=0) = zeros, no strings",
        of: &[&TRILU],
        sides: |given| {
            let element_type = given.call.data().map(|data| data.element_type).filter(|t| *t != ElementType::String)?;
            let k = given.number("k").unwrap_or(0);
            let zero = AttributeValue::Tensor(Tensor::zero(element_type).with_dims(vec![1]).ok()?);
            let zeros = node(&CONSTANT_OF_SHAPE, [shape(given.x()?)], [("value", Parameter::Attribute(zero))]);
            equal(trilu(trilu(given.x()?, k, 1), k.checked_sub(1)?, 0), zeros)
        },
    },
    Law {
        id: "trilu-of-transpose",
        says: "Transpose(Trilu(x, k, upper=1)) = Trilu(Transpose(x), -k, upper=0), Transpose of the last two axes, no strings",
        of: &[&TRILU],
        sides: |given| {
            given.call.data().filter(|data| data.element_type != ElementType::String)?;
            let k = given.number("k").unwrap_or(0);
            let mut perm: Vec<usize> = (0..given.rank()?).collect();
            let last = perm.len().checked_sub(1)?;
            perm.swap(last, last.checked_sub(1)?);
            let upper = transpose(trilu(given.x()?, k, 1), perm.clone());
            equal(upper, trilu(transpose(given.x()?, perm), k.checked_neg()?, 0))
        },
    },
    Law {
        id: "depth-of-space",
        says: "DepthToSpace(SpaceToDepth(x, b, mode), b, mode) = x",
        of: &[&SPACE_TO_DEPTH],
        sides: |given| equal(blocks(&DEPTH_TO_SPACE, given.y(), given)?, given.x()?),
    },
    Law {
        id: "space-of-depth",
        says: "SpaceToDepth(DepthToSpace(x, b, mode), b, mode) = x",
        of: &[&DEPTH_TO_SPACE],
        sides: |given| equal(blocks(&SPACE_TO_DEPTH, given.y(), given)?, given.x()?),
    },
    Law {
        id: "depth-to-space-as-transpose",
        says: "DepthToSpace(x, b) = Reshape, Transpose, Reshape: [n, b, b, C, h, w] by [0, 3, 4, 1, 5, 2], or with mode CRD [n, C, b, b, h, w] by [0, 1, 4, 2, 5, 3]",
        of: &[&DEPTH_TO_SPACE],
        sides: |given| {
            let [n, c, h, w] = *given.dims()? else { return None };
            let b = given.number("blocksize")?;
            let depth = c / (b * b);
            let (parts, perm) = match given.text("mode") {
                Some("CRD") => ([n, depth, b, b, h, w], [0, 1, 4, 2, 5, 3]),
                _ => ([n, b, b, depth, h, w], [0, 3, 4, 1, 5, 2]),
            };
            let moved = transpose(reshape(given.x()?, parts.to_vec()), perm.to_vec());
            equal(given.y(), reshape(moved, vec![n, depth, h * b, w * b]))
        },
    },
    Law {
        id: "space-to-depth-as-transpose",
        says: "SpaceToDepth(x, b) = Reshape, Transpose, Reshape: [n, c, h/b, b, w/b, b] by [0, 3, 5, 1, 2, 4], or with mode CRD by [0, 1, 3, 5, 2, 4]",
        of: &[&SPACE_TO_DEPTH],
        sides: |given| {
            let [n, c, h, w] = *given.dims()? else { return None };
            let b = given.number("blocksize")?;
            let perm = if given.text("mode") == Some("CRD") { [0, 1, 3, 5, 2, 4] } else { [0, 3, 5, 1, 2, 4] };
            let moved = transpose(reshape(given.x()?, vec![n, c, h / b, b, w / b, b]), perm.to_vec());
            equal(given.y(), reshape(moved, vec![n, c * b * b, h / b, w / b]))
        },
    },
    // Concat and Split.
    Law {
        id: "concat-of-split",
        says: "Concat(Split(x, a, lengths), a) = x",
        of: &[&SPLIT],
        sides: |given| equal(concat(given.ys(), axis(given, given.rank()?)?), given.x()?),
    },
    Law {
        id: "part-as-slice",
        says: "part j of Split(x, lengths) = Slice(x, o : o + lengths[j]), o the sum of the lengths before",
        of: &[&SPLIT],
        sides: |given| {
            let lengths = given.numbers("split")?;
            let axis = axis(given, given.rank()?)?;
            let place = lengths.len() / 2;
            let start = lengths[..place].iter().try_fold(0_i64, |sum, length| sum.checked_add(*length))?;
            let end = start.checked_add(lengths[place])?;
            equal(given.ys().into_iter().nth(place)?, slice(given.x()?, &[(axis, start, end, 1)]))
        },
    },
    Law {
        id: "split-of-concat",
        says: "Split(Concat(x, w, ..), a, their dims at a) = x, w, ..",
        of: &[&CONCAT],
        sides: |given| {
            let (parts, axis) = concatenated(given)?;
            let lengths: Vec<i64> = parts.iter().map(|part| part.dims[axis]).collect();
            let split = Rc::new(Step {
                outputs: parts.len(),
                ..step(&SPLIT, [given.y()], [("axis", at(axis)), ("split", lengths.into())])
            });
            let outputs = (0..parts.len()).map(|place| Term::Output(Rc::clone(&split), place)).collect();
            Some((outputs, parts.into_iter().map(Term::Source).collect()))
        },
    },
    Law {
        id: "concat-of-one",
        says: "Concat(x) = x",
        of: &[&CONCAT],
        sides: |given| {
            let (parts, axis) = concatenated(given)?;
            let x = Term::Source(parts.first()?.clone());
            equal(concat(vec![x.clone()], axis), x)
        },
    },
    Law {
        id: "concat-of-nothing",
        says: "Concat(x, Slice(x, 0:0)) = x",
        of: &[&CONCAT],
        sides: |given| {
            let (parts, axis) = concatenated(given)?;
            let x = Term::Source(parts.first()?.clone());
            equal(concat(vec![x.clone(), slice(x.clone(), &[(axis, 0, 0, 1)])], axis), x)
        },
    },
    Law {
        id: "concat-from-the-left",
        says: "Concat(Concat(x, ..), w) = Concat(x, .., w)",
        of: &[&CONCAT],
        sides: |given| {
            let (parts, axis) = concatenated(given)?;
            let mut parts: Vec<Term> = parts.into_iter().map(Term::Source).collect();
            let last = parts.pop()?;
            let first = concat(non_empty(parts)?, axis);
            equal(concat(vec![first, last], axis), given.y())
        },
    },
    Law {
        id: "concat-from-the-right",
        says: "Concat(x, Concat(.., w)) = Concat(x, .., w)",
        of: &[&CONCAT],
        sides: |given| {
            let (parts, axis) = concatenated(given)?;
            let mut parts: Vec<Term> = parts.into_iter().map(Term::Source).collect();
            let first = parts.remove(0);
            let last = concat(non_empty(parts)?, axis);
            equal(concat(vec![first, last], axis), given.y())
        },
    },
    Law {
        id: "transpose-of-concat",
        says: "Transpose(Concat(x, w, ..; a), p) = Concat(Transpose(x, p), Transpose(w, p), ..; b), p[b] = a",
        of: &[&CONCAT],
        sides: |given| {
            let (parts, axis) = concatenated(given)?;
            let perm = rotated(parts.first()?.dims.len());
            let to = perm.iter().position(|&from| from == axis)?;
            let moved = parts.into_iter().map(|part| transpose(Term::Source(part), perm.clone())).collect();
            equal(transpose(given.y(), perm), concat(moved, to))
        },
    },
    Law {
        id: "reshape-of-concat",
        says: "Reshape(Concat(x, w, ..; 0), [-1]) = Concat(Reshape(x, [-1]), Reshape(w, [-1]), ..; 0)",
        of: &[&CONCAT],
        sides: |given| {
            let flat = |part: Term| reshape(part, vec![-1]);
            let (parts, axis) = concatenated(given)?;
            (axis == 0).then_some(())?;
            equal(flat(given.y()), concat(parts.into_iter().map(|part| flat(Term::Source(part))).collect(), 0))
        },
    },
    Law {
        id: "flatten-of-concat",
        says: "Flatten(Concat(x, w, ..; 0), 1) = Concat(Flatten(x, 1), Flatten(w, 1), ..; 0)",
        of: &[&CONCAT],
        sides: |given| {
            let flat = |part: Term| node(&FLATTEN, [part], [("axis", 1.into())]);
            let (parts, axis) = concatenated(given)?;
            (axis == 0).then_some(())?;
            equal(flat(given.y()), concat(parts.into_iter().map(|part| flat(Term::Source(part))).collect(), 0))
        },
    },
    // Slice.
    Law {
        id: "slice-of-all",
        says: "Slice(x, lo:hi) = x for lo = 0 or lo <= -d, and hi >= d",
        of: &[&SLICE],
        sides: |given| {
            let ranges: Vec<Range> = ranges(given)?
                .into_iter()
                .map(|(axis, start, ..)| (axis, if start < 0 { i64::MIN } else { 0 }, i64::MAX, 1))
                .collect();
            equal(slice(given.x()?, &ranges), given.x()?)
        },
    },
    Law {
        id: "slice-back-and-forth",
        says: "Slice(Slice(x, -1:MIN:-1), -1:MIN:-1) = x",
        of: &[&SLICE],
        sides: |given| {
            let back: Vec<Range> = ranges(given)?.into_iter().map(|(axis, ..)| (axis, -1, i64::MIN, -1)).collect();
            equal(slice(slice(given.x()?, &back), &back), given.x()?)
        },
    },
    Law {
        id: "concat-of-slices",
        says: "Concat(Slice(x, 0:c), Slice(x, c:MAX); a) = x",
        of: &[&SLICE],
        sides: |given| {
            let ((axis, cut, ..), x) = (*ranges(given)?.first()?, given.x()?);
            let parts = [(axis, 0, cut, 1), (axis, cut, i64::MAX, 1)].map(|range| slice(x.clone(), &[range]));
            equal(concat(parts.to_vec(), axis), x)
        },
    },
    Law {
        id: "transpose-of-slice",
        says: "Transpose(Slice(x, axis a), p) = Slice(Transpose(x, p), axis b), p[b] = a",
        of: &[&SLICE],
        sides: |given| {
            let perm = rotated(given.rank()?);
            let to = |axis: usize| perm.iter().position(|&from| from == axis);
            let moved = ranges(given)?.into_iter().map(|(axis, start, end, step)| Some((to(axis)?, start, end, step)));
            let moved = moved.collect::<Option<Vec<Range>>>()?;
            equal(transpose(given.y(), perm.clone()), slice(transpose(given.x()?, perm), &moved))
        },
    },
    Law {
        id: "slices-one-by-one",
        says: "slices of several axes, one after the other from the last to the first = one Slice with all",
        of: &[&SLICE],
        sides: |given| {
            let ranges = ranges(given)?;
            let each = ranges.iter().rev().fold(given.x()?, |x, range| slice(x, &[*range]));
            equal(each, given.y())
        },
    },
    // Gather and its relatives.
    Law {
        id: "gather-of-all",
        says: "Gather(x, [0 .. d-1]; a) = x",
        of: &[&GATHER],
        sides: |given| {
            let (axis, dim) = gathered(given)?;
            equal(gather(given.x()?, vector((0..few(dim)?).collect()), axis), given.x()?)
        },
    },
    Law {
        id: "gather-from-the-back",
        says: "Gather(x, [-d .. -1]; a) = x",
        of: &[&GATHER],
        sides: |given| {
            let (axis, dim) = gathered(given)?;
            has_negative_indices(given)?;
            equal(gather(given.x()?, vector((-few(dim)?..0).collect()), axis), given.x()?)
        },
    },
    Law {
        id: "gather-as-slice",
        says: "Gather(x, scalar i; a) = Squeeze(Slice(x, i:i+1), a)",
        of: &[&GATHER],
        sides: |given| {
            let ((axis, _), index) = (gathered(given)?, index(given)?);
            let part = slice(given.x()?, &[(axis, index, index + 1, 1)]);
            equal(gather(given.x()?, scalar(index), axis), squeeze(part, vec![i64::try_from(axis).ok()?]))
        },
    },
    Law {
        id: "gather-negative",
        says: "Gather(x, scalar i; a) = Gather(x, scalar i - d; a)",
        of: &[&GATHER],
        sides: |given| {
            let ((axis, dim), index) = (gathered(given)?, index(given)?);
            has_negative_indices(given)?;
            equal(gather(given.x()?, scalar(index), axis), gather(given.x()?, scalar(index - dim), axis))
        },
    },
    Law {
        id: "gather-as-split",
        says: "Gather(x, scalar i; a) = Squeeze(part i of Split(x, [1, 1, ..]; a), a)",
        of: &[&GATHER],
        sides: |given| {
            let ((axis, dim), index) = (gathered(given)?, index(given)?);
            let count = usize::try_from(few(dim)?).ok()?;
            let lengths = Parameter::from(vec![1; count]);
            let split = Step { outputs: count, ..step(&SPLIT, [given.x()?], [("axis", at(axis)), ("split", lengths)]) };
            let part = Term::Output(Rc::new(split), usize::try_from(index).ok()?);
            equal(gather(given.x()?, scalar(index), axis), squeeze(part, vec![i64::try_from(axis).ok()?]))
        },
    },
    Law {
        id: "gather-as-concat",
        says: "Gather(x, [i, j, ..]; a) = Concat(Slice(x, i:i+1), Slice(x, j:j+1), ..; a)",
        of: &[&GATHER],
        sides: |given| {
            let (axis, dim) = gathered(given)?;
            let indices: Vec<i64> = given
                .numbers("indices")?
                .into_iter()
                .take(4)
                .map(|index| if index < 0 { index + dim } else { index })
                .collect();
            let x = given.x()?;
            let parts =
                non_empty(indices.clone())?.into_iter().map(|index| slice(x.clone(), &[(axis, index, index + 1, 1)]));
            equal(gather(x.clone(), vector(indices), axis), concat(parts.collect(), axis))
        },
    },
    Law {
        id: "gather-by-flat-indices",
        says: "Gather(x, m; a) = Reshape(Gather(x, Reshape(m, [-1]); a), d[..a] ++ dims of m ++ d[a+1..])",
        of: &[&GATHER],
        sides: |given| {
            let ((axis, _), indices, dims) = (gathered(given)?, given.operand("indices")?, given.dims()?);
            let flat = gather(given.x()?, reshape(Term::Source(indices.clone()), vec![-1]), axis);
            equal(given.y(), reshape(flat, [&dims[..axis], &indices.dims, &dims[axis + 1..]].concat()))
        },
    },
    Law {
        id: "shape-of-gather",
        says: "Shape(Gather(x, m; a)) = Concat(Shape(x, end=a), Shape(m), Shape(x, start=a+1))",
        of: &[&GATHER],
        sides: |given| {
            let ((axis, _), rank) = (gathered(given)?, given.rank()?);
            let indices = Term::Source(given.operand("indices")?.clone());
            let parts = [part_of_shape(given.x()?, 0, axis), shape(indices), part_of_shape(given.x()?, axis + 1, rank)];
            equal(shape(given.y()), concat(parts.to_vec(), 0))
        },
    },
    Law {
        id: "dim-by-slice",
        says: "Gather(S, [i]) = Slice(S, i:i+1)",
        of: &[&SHAPE],
        sides: |given| {
            let dim = i64::try_from(any_axis(given)?).ok()?;
            equal(gather(shape(given.x()?), vector(vec![dim]), 0), slice(shape(given.x()?), &[(0, dim, dim + 1, 1)]))
        },
    },
    Law {
        id: "dim-by-bounds",
        says: "Gather(S, [i]) = Shape(x, start=i, end=i+1)",
        of: &[&SHAPE],
        sides: |given| {
            let axis = any_axis(given)?;
            equal(gather(shape(given.x()?), vector(signed(vec![axis])), 0), part_of_shape(given.x()?, axis, axis + 1))
        },
    },
    Law {
        id: "dim-from-the-back",
        says: "Gather(S, [i]) = Gather(S, [i-r])",
        of: &[&SHAPE],
        sides: |given| {
            let (axis, rank) = (i64::try_from(any_axis(given)?).ok()?, i64::try_from(given.rank()?).ok()?);
            has_negative_indices(given)?;
            let dims = shape(given.x()?);
            let dim = |index: i64| gather(dims.clone(), vector(vec![index]), 0);
            equal(dim(axis), dim(axis - rank))
        },
    },
    Law {
        id: "dims-joined",
        says: "Concat(Shape(x, start=0, end=1), Shape(x, start=1, end=2), ..) = S",
        of: &[&SHAPE],
        sides: |given| {
            let x = given.x()?;
            let dims = (0..given.rank()?).map(|axis| part_of_shape(x.clone(), axis, axis + 1)).collect();
            equal(concat(non_empty(dims)?, 0), shape(x))
        },
    },
    Law {
        id: "gather-elements-as-gather",
        says: "GatherElements(x, Expand of an index vector over the other dims; a) = Gather(x, the vector; a)",
        of: &[&GATHER_ELEMENTS],
        sides: |given| {
            let (dims, rank) = (given.dims()?, given.rank()?);
            let axis = axis(given, rank)?;
            let indices: Vec<i64> = non_empty(given.numbers("indices")?.into_iter().take(8).collect())?;
            let count = i64::try_from(indices.len()).ok()?;
            let (mut along, mut over) = (vec![1; rank], dims.to_vec());
            along[axis] = count;
            over[axis] = count;
            let spread = expand(Term::Integers(along, indices.clone()), vector(over));
            let elements = node(&GATHER_ELEMENTS, [given.x()?, spread], [("axis", at(axis))]);
            equal(elements, gather(given.x()?, vector(indices), axis))
        },
    },
    Law {
        id: "gather-nd-as-gather",
        says: "GatherND(x, indices of dims [k, 1]) = Gather(x, indices of dims [k]; 0)",
        of: &[&GATHER_ND],
        sides: |given| {
            let dim = *given.dims()?.first()?;
            let indices: Vec<i64> =
                given.numbers("indices")?.into_iter().take(8).filter(|index| (0..dim).contains(index)).collect();
            let count = i64::try_from(indices.len()).ok()?;
            let tuples = node(&GATHER_ND, [given.x()?, Term::Integers(vec![count, 1], indices.clone())], []);
            equal(tuples, gather(given.x()?, vector(indices), 0))
        },
    },
    // Pad.
    Law {
        id: "slice-of-pad",
        says: "Slice(Pad(x, p, q), p : p + d) = x in every mode, d >= 1 but for a constant; reflect: p, q <= d - 1",
        of: &[&PAD],
        sides: |given| {
            let (axis, before, after) = padded(given)?;
            let dim = given.dims()?[axis];
            let most = match given.text("mode") {
                None | Some("constant") => i64::MAX,
                Some("reflect") => dim - 1,
                Some(_) if dim == 0 => 0,
                Some(_) => i64::MAX,
            };
            (before.max(after) <= most).then_some(())?;
            let padded = pad(given, axis, before, after)?;
            equal(slice(padded, &[(axis, before, before + dim, 1)]), given.x()?)
        },
    },
    Law {
        id: "pad-as-slice",
        says: "Pad(x, -p, -q) = Slice(x, p : d - q) in every mode, p + q <= d",
        of: &[&PAD],
        sides: |given| {
            let (axis, before, after) = padded(given)?;
            let dim = given.dims()?[axis];
            (before + after <= dim).then_some(())?;
            equal(pad(given, axis, -before, -after)?, slice(given.x()?, &[(axis, before, dim - after, 1)]))
        },
    },
    Law {
        id: "pad-as-concat",
        says: "Pad(x, p, q) with a constant = Concat(fill of p, x, fill of q; a)",
        of: &[&PAD],
        sides: |given| {
            let is_constant = given.text("mode").is_none_or(|mode| mode == "constant");
            let (axis, before, after) = padded(given).filter(|_| is_constant)?;
            let fill = |count: i64| {
                let mut dims = given.dims()?.to_vec();
                dims[axis] = count;
                Some(expand(fill(given)?, vector(dims)))
            };
            equal(pad(given, axis, before, after)?, concat(vec![fill(before)?, given.x()?, fill(after)?], axis))
        },
    },
    Law {
        id: "pad-as-gather",
        says: "Pad edge, wrap or reflect = Gather(x, [clamp, mod or mirror of i - p]; a), d >= 1; reflect: p, q <= d - 1",
        of: &[&PAD],
        sides: |given| {
            let (axis, before, after) = padded(given)?;
            let dim = Some(given.dims()?[axis]).filter(|&dim| dim >= 1)?;
            let from = |place: i64| match given.text("mode")? {
                "edge" => Some(place.clamp(0, dim - 1)),
                "wrap" => Some(place.rem_euclid(dim)),
                "reflect" if before.max(after) < dim => Some((dim - 1) - ((dim - 1) - place.abs()).abs()),
                _ => None,
            };
            let places = (-before..dim + after).map(from).collect::<Option<Vec<i64>>>()?;
            equal(pad(given, axis, before, after)?, gather(given.x()?, vector(places), axis))
        },
    },
    // Cast, and the type of indices.
    Law {
        id: "cast-and-back",
        says: "Cast(Cast(v to int64) to int32) = v, v int32; Cast(Cast(v to int32) to int64) = v, v int64 within int32",
        of: &[&CAST],
        sides: |given| {
            let data = given.call.data()?;
            let (there, back) = match data.element_type {
                ElementType::Int32 => (ElementType::Int64, ElementType::Int32),
                ElementType::Int64 if data.tensor().int64s()?.iter().all(|&v| i32::try_from(v).is_ok()) => {
                    (ElementType::Int32, ElementType::Int64)
                }
                _ => return None,
            };
            let cast = |x: Term, to: ElementType| {
                let to = match given.attribute("to")? {
                    AttributeValue::Int(_) => Parameter::from(i64::from(to.data_type())),
                    _ => Parameter::from(to.name().to_uppercase().as_str()),
                };
                Some(node(&CAST, [x], [("to", to)]))
            };
            equal(cast(cast(given.x()?, there)?, back)?, given.x()?)
        },
    },
    Law {
        id: "index-types",
        says: "indices as int32 = indices as int64, within int32",
        of: &[&SLICE, &GATHER, &GATHER_ELEMENTS],
        sides: |given| {
            let mut call = given.call.clone();
            let (_, parameters) = call.operands.split_first_mut().filter(|(_, rest)| !rest.is_empty())?;
            for operand in parameters.iter_mut().flatten() {
                let is_short = operand.element_type == ElementType::Int32;
                let is_within = operand.numbers()?.iter().all(|&number| i32::try_from(number).is_ok());
                is_within.then(|| {
                    operand.retype_numbers(if is_short { ElementType::Int64 } else { ElementType::Int32 });
                })?;
            }
            equal(given.y(), StartCall { call: &call }.y())
        },
    },
];

/// A sliced axis with its start, end and step.
type Range = (usize, i64, i64, i64);

#[expect(clippy::unnecessary_wraps, reason = "every law may have no sides")]
fn equal(left: Term, right: Term) -> Option<Sides> {
    Some((vec![left], vec![right]))
}

// The outputs of calls.

fn step<const I: usize, const N: usize>(
    operator: &'static Operator,
    inputs: [Term; I],
    named: [(&str, Parameter); N],
) -> Step {
    let named = named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Step { operator, inputs: Vec::from(inputs), named, outputs: 1 }
}

fn output(step: Step) -> Term {
    Term::Output(Rc::new(step), 0)
}

fn node<const I: usize, const N: usize>(
    operator: &'static Operator,
    inputs: [Term; I],
    named: [(&str, Parameter); N],
) -> Term {
    output(step(operator, inputs, named))
}

pub(super) fn vector(numbers: Vec<i64>) -> Term {
    Term::Integers(vec![i64::try_from(numbers.len()).unwrap_or(i64::MAX)], numbers)
}

fn scalar(number: i64) -> Term {
    Term::Integers(vec![], vec![number])
}

pub(super) fn identity(x: Term) -> Term {
    node(&IDENTITY, [x], [])
}

fn shape(x: Term) -> Term {
    node(&SHAPE, [x], [])
}

fn part_of_shape(x: Term, start: usize, end: usize) -> Term {
    node(&SHAPE, [x], [("start", at(start)), ("end", at(end))])
}

fn size(x: Term) -> Term {
    node(&SIZE, [x], [])
}

fn squeeze(x: Term, axes: Vec<i64>) -> Term {
    node(&SQUEEZE, [x], [("axes", axes.into())])
}

fn unsqueeze(x: Term, axes: Vec<i64>) -> Term {
    node(&UNSQUEEZE, [x], [("axes", axes.into())])
}

fn transpose(x: Term, perm: Vec<usize>) -> Term {
    node(&TRANSPOSE, [x], [("perm", signed(perm).into())])
}

/// A Reshape in which a 0 is a size and copies no dim.
fn reshape(x: Term, dims: Vec<i64>) -> Term {
    let has_zero = dims.contains(&0);
    let mut step = step(&RESHAPE, [x], [("shape", dims.into())]);
    allow_zero(&mut step, has_zero);
    output(step)
}

/// A Reshape to dims that a node computes.
fn reshape_to(x: Term, dims: Term, has_zero: bool) -> Term {
    let mut step = step(&RESHAPE, [x], [("shape", dims.into())]);
    allow_zero(&mut step, has_zero);
    output(step)
}

fn allow_zero(step: &mut Step, has_zero: bool) {
    if has_zero {
        step.named.push(("allowzero".to_owned(), 1.into()));
    }
}

fn expand(x: Term, dims: Term) -> Term {
    node(&EXPAND, [x], [("shape", dims.into())])
}

fn tile(x: Term, repeats: Vec<i64>) -> Term {
    node(&TILE, [x], [("repeats", repeats.into())])
}

fn trilu(x: Term, k: i64, upper: i64) -> Term {
    node(&TRILU, [x], [("k", scalar(k).into()), ("upper", upper.into())])
}

fn concat(inputs: Vec<Term>, axis: usize) -> Term {
    output(Step { inputs, ..step(&CONCAT, [], [("axis", at(axis))]) })
}

fn gather(x: Term, indices: Term, axis: usize) -> Term {
    node(&GATHER, [x, indices], [("axis", at(axis))])
}

fn slice(x: Term, ranges: &[Range]) -> Term {
    let starts: Vec<i64> = ranges.iter().map(|range| range.1).collect();
    let ends: Vec<i64> = ranges.iter().map(|range| range.2).collect();
    let axes = signed(ranges.iter().map(|range| range.0).collect());
    let mut step = step(&SLICE, [x], [("starts", starts.into()), ("ends", ends.into()), ("axes", axes.into())]);
    if ranges.iter().any(|range| range.3 != 1) {
        let steps: Vec<i64> = ranges.iter().map(|range| range.3).collect();
        step.named.push(("steps".to_owned(), steps.into()));
    }
    output(step)
}

/// The call with pads along one axis only; `None` if its fill value is a float attribute and the data is not float.
fn pad(given: &StartCall, axis: usize, before: i64, after: i64) -> Option<Term> {
    let may_not_have = given.attribute("value").is_some() && given.call.data()?.element_type != ElementType::Float;
    (!may_not_have).then_some(())?;
    let rank = given.rank()?;
    let mut pads = vec![0; rank * 2];
    pads[axis] = before;
    pads[rank + axis] = after;
    let mut step = given.step();
    step.named.retain(|(name, _)| name != "pads" && name != "axes");
    step.named.push(("pads".to_owned(), pads.into()));
    Some(output(step))
}

/// A call of another operator with the same block size and mode.
fn blocks(operator: &'static Operator, x: Term, given: &StartCall) -> Option<Term> {
    let mut step = step(operator, [x], [("blocksize", given.number("blocksize")?.into())]);
    if let Some(mode) = given.text("mode") {
        step.named.push(("mode".to_owned(), mode.into()));
    }
    Some(output(step))
}

// What the call asks for, computed again here. The laws test the operators, so they use no code of the operators.

fn non_empty<T>(list: Vec<T>) -> Option<Vec<T>> {
    Some(list).filter(|list| !list.is_empty())
}

fn at(axis: usize) -> Parameter {
    Parameter::from(i64::try_from(axis).unwrap_or(i64::MAX))
}

fn signed(axes: Vec<usize>) -> Vec<i64> {
    axes.into_iter().map(|axis| i64::try_from(axis).unwrap_or(i64::MAX)).collect()
}

fn first_axes(count: usize) -> Vec<i64> {
    signed((0..count).collect())
}

/// An axis counted from the front.
fn back(axis: i64, rank: usize) -> Option<usize> {
    let from_front = if axis < 0 { axis.checked_add(i64::try_from(rank).ok()?)? } else { axis };
    usize::try_from(from_front).ok().filter(|&axis| axis < rank)
}

/// The attribute `axis`, or 0.
fn axis(given: &StartCall, rank: usize) -> Option<usize> {
    back(given.number("axis").unwrap_or(0), rank)
}

/// `None` if Gather has no negative indices at the opset.
fn has_negative_indices(given: &StartCall) -> Option<()> {
    (given.call.opset >= 11).then_some(())
}

/// The count, if it is small enough for a list to be written out.
fn few(count: i64) -> Option<i64> {
    Some(count).filter(|count| (0..=64).contains(count))
}

fn size_of(dims: &[i64]) -> Option<i64> {
    dims.iter().try_fold(1_i64, |product, &dim| product.checked_mul(dim))
}

fn pick(dims: &[i64], axes: &[i64]) -> Vec<i64> {
    axes.iter().filter_map(|&axis| dims.get(usize::try_from(axis).ok()?).copied()).collect()
}

fn ones(dims: &[i64]) -> Vec<i64> {
    signed((0..dims.len()).filter(|&axis| dims[axis] == 1).collect())
}

/// The axes that a Squeeze removes, counted from the front; `None` if one of them occurs twice.
fn squeezed(given: &StartCall) -> Option<Vec<i64>> {
    let dims = given.dims()?;
    let Some(axes) = given.numbers("axes") else { return Some(ones(dims)) };
    let axes = axes.into_iter().map(|axis| back(axis, dims.len())).collect::<Option<Vec<usize>>>()?;
    (!has_twice(&axes)).then(|| signed(axes))
}

/// The axes that a Squeeze keeps.
fn others(given: &StartCall) -> Option<Vec<i64>> {
    let gone = squeezed(given)?;
    Some(first_axes(given.rank()?).into_iter().filter(|axis| !gone.contains(axis)).collect())
}

/// The output dims of an Unsqueeze.
fn unsqueezed(given: &StartCall) -> Option<Vec<i64>> {
    let (dims, axes) = (given.dims()?, given.numbers("axes")?);
    let rank = dims.len() + axes.len();
    let new = axes.iter().map(|&axis| back(axis, rank)).collect::<Option<Vec<usize>>>()?;
    let mut own = dims.iter();
    (0..rank).map(|axis| if new.contains(&axis) { Some(1) } else { own.next().copied() }).collect()
}

/// The order of axes that a Transpose asks for.
fn perm(given: &StartCall) -> Option<Vec<usize>> {
    match given.numbers("perm") {
        Some(perm) => perm.into_iter().map(|axis| usize::try_from(axis).ok()).collect(),
        None => Some((0..given.rank()?).rev().collect()),
    }
}

/// The axes from the second on, and then the first.
fn rotated(rank: usize) -> Vec<usize> {
    (1..rank).chain(0..rank.min(1)).collect()
}

/// The output dims of an Expand.
fn expanded(given: &StartCall) -> Option<Vec<i64>> {
    let (dims, target) = (given.dims()?, given.numbers("shape")?);
    let rank = dims.len().max(target.len());
    let padded = |dims: &[i64]| [vec![1; rank - dims.len()], dims.to_vec()].concat();
    Some(padded(dims).into_iter().zip(padded(&target)).map(|(own, asked)| if own == 1 { asked } else { own }).collect())
}

fn repeats(given: &StartCall) -> Option<Vec<i64>> {
    let repeats = given.numbers("repeats")?;
    repeats.iter().all(|&count| count >= 0).then_some(repeats)
}

/// The output dims of a Tile.
fn tiled(given: &StartCall) -> Option<Vec<i64>> {
    given.dims()?.iter().zip(repeats(given)?).map(|(dim, count)| dim.checked_mul(count)).collect()
}

/// The inputs of a Concat and its axis; `None` if an input is left out or the ranks differ.
fn concatenated(given: &StartCall) -> Option<(Vec<Operand>, usize)> {
    let parts = given.call.operands.iter().cloned().collect::<Option<Vec<Operand>>>()?;
    let rank = parts.first()?.dims.len();
    let default = i64::from(given.call.since() < 4);
    let axis = back(given.number("axis").unwrap_or(default), rank)?;
    parts.iter().all(|part| part.dims.len() == rank).then_some((parts, axis))
}

/// The ranges of a Slice; `None` if there are none or if an axis occurs twice.
fn ranges(given: &StartCall) -> Option<Vec<Range>> {
    let (starts, ends) = (given.numbers("starts")?, given.numbers("ends")?);
    let axes = given.numbers("axes").unwrap_or_else(|| first_axes(starts.len()));
    let steps = given.numbers("steps").unwrap_or_else(|| vec![1; starts.len()]);
    let axes = axes.into_iter().map(|axis| back(axis, given.rank()?)).collect::<Option<Vec<usize>>>()?;
    let is_repeated = has_twice(&axes);
    let all = axes.into_iter().zip(starts).zip(ends.into_iter().zip(steps));
    let ranges = all.map(|((axis, start), (end, step))| (axis, start, end, step)).collect();
    non_empty(ranges).filter(|_| !is_repeated)
}

/// The axis of a Gather, and the dim there.
fn gathered(given: &StartCall) -> Option<(usize, i64)> {
    let axis = axis(given, given.rank()?)?;
    Some((axis, given.dims()?[axis]))
}

/// The first index of a Gather, counted from the front.
fn index(given: &StartCall) -> Option<i64> {
    let (_, dim) = gathered(given)?;
    let index = given.number("indices")?;
    Some(if index < 0 { index + dim } else { index })
}

/// An axis of the data: the start of a Shape, or the last axis if that start is not an axis.
fn any_axis(given: &StartCall) -> Option<usize> {
    let rank = given.rank()?;
    let last = rank.checked_sub(1)?;
    Some(back(given.number("start").unwrap_or(0), rank).unwrap_or(last))
}

/// The first of the axes with the most padding, and how much is before and after it: absolute values modulo 8.
fn padded(given: &StartCall) -> Option<(usize, i64, i64)> {
    let (rank, pads) = (given.rank()?, given.numbers("pads")?);
    let count = pads.len() / 2;
    let axes = given.numbers("axes").unwrap_or_else(|| first_axes(rank));
    let sizes = (0..count).map(|place| (place, pads[place].unsigned_abs() % 8, pads[count + place].unsigned_abs() % 8));
    let (place, before, after) =
        sizes.max_by_key(|(place, before, after)| (before + after, rank - place.min(&rank)))?;
    let padded = back(*axes.get(place)?, rank)?;
    Some((padded, i64::try_from(before).ok()?, i64::try_from(after).ok()?))
}

/// The fill value of a Pad, with rank 0.
fn fill(given: &StartCall) -> Option<Term> {
    let data = given.call.data()?;
    match given.operand("constant_value") {
        Some(value) => value.dims.is_empty().then(|| Term::Source(value.clone())),
        None if given.attribute("value").is_some() || data.element_type == ElementType::Float8e8m0 => None,
        None => Some(Term::Source(Operand::of(&Tensor::zero(data.element_type), given.wiring()))),
    }
}

/// A tensor of the same type and dims with other elements.
fn other(operand: &Operand) -> Operand {
    let seed = element_count(&operand.dims).unwrap_or(0) as u64;
    Operand { contents: Contents::Random(seed), ..operand.clone() }
}
