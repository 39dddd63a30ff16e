//! Tile-1, whose document contradicts itself. It has one number of tiles, and the axis along which they lie; both have the type of
//! the data.

use half::f16;

use super::{Aim, Answer, Call, Drawing, ElementType, Expectation, Rule, Tensor};
use crate::operator::{axis, is_vast};
use crate::tensor::product;

/// Numbers that cannot be a number of tiles or an axis, or hardly can.
const WILD: [f32; 12] = [
    0.5,
    1.5,
    -0.5,
    -1.0,
    -0.0,
    64.0,
    f32::NAN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    1_099_511_627_776.0,
    4_611_686_018_427_387_904.0,
    9_223_372_036_854_775_808.0,
];

/// No call is valid beyond doubt, so the best calls are those with a possible reading.
pub(super) fn draw(d: &mut Drawing) -> arbitrary::Result<()> {
    if !d.is_wild() || d.ratio(3, 4)? {
        d.need_axis()?;
    }
    d.data();
    let is_unreadable = matches!(d.aim, Aim::Wild | Aim::Break(Rule::TILE_1)) && d.ratio(1, 2)?;
    let axis = if d.dims.is_empty() { 0 } else { d.axis_in_range(true)? };
    let tiles = tiles(d, axis)?;
    let mut numbers = [tiles, axis].map(|number| i16::try_from(number).map_or(1.0, f32::from));
    if is_unreadable {
        let place = d.u.choose_index(numbers.len())?;
        numbers[place] = d.choose(&WILD)?;
    }
    for number in numbers {
        let count = if is_unreadable && d.ratio(1, 6)? { 2 } else { 1 };
        let dims = if count == 1 && d.ratio(1, 2)? { vec![] } else { vec![count] };
        d.values(tensor(d.element_type, dims, number));
    }
    Ok(())
}

/// A number of tiles that is valid for the data.
fn tiles(d: &mut Drawing, along: i64) -> arbitrary::Result<i64> {
    let most = d.copies()?;
    let tiles = d.size_within(most)?;
    let dims = axis(along, d.dims.len()).and_then(|axis| with_tiles(&d.dims, axis, tiles));
    Ok(if dims.is_some_and(|dims| !is_vast(&dims)) { tiles } else { 1 })
}

/// A tensor with this number in each place. If the version does not list the type, it is a float tensor.
fn tensor(element_type: ElementType, dims: Vec<i64>, number: f32) -> Tensor {
    let (element_type, bits) = match element_type {
        ElementType::Float16 => (element_type, u128::from(f16::from_f32(number).to_bits())),
        ElementType::Double => (element_type, u128::from(f64::from(number).to_bits())),
        _ => (ElementType::Float, u128::from(number.to_bits())),
    };
    let count = usize::try_from(product(dims.iter().copied()).unwrap_or(0)).unwrap_or(0);
    let elements = std::iter::repeat_n(bits, count);
    Tensor::from_element_bits(element_type, dims, elements).expect("there is one element for each place of the dims")
}

/// V7: a refusal is right, and so are, for whole tiles along an existing axis, copies of the tensor or of each element.
pub(super) fn execute(call: &Call) -> Expectation {
    let answers = answers(call).into_iter().flatten();
    Expectation::unspecified(Rule::TILE_1, [Answer::Refusal].into_iter().chain(answers))
}

fn answers(call: &Call) -> Option<[Answer; 2]> {
    let data = call.data();
    let (tiles, along) = (whole(call.input(1)?)?, whole(call.input(2)?)?);
    let axis = axis(along, data.rank())?;
    let copies = usize::try_from(tiles).ok()?;
    let size = usize::try_from(data.dims()[axis]).ok()?;
    let dims = with_tiles(data.dims(), axis, tiles).filter(|dims| !call.is_vast_output(dims))?;
    let read = |place: &dyn Fn(usize) -> usize| {
        let read = data.rearranged(&dims, |other, index, own| {
            own[other] = if other == axis { place(index) } else { index };
        });
        Answer::Outputs(vec![read.expect("each element of the output is one of the data")])
    };
    Some([read(&|place| place % size), read(&|place| place / copies)])
}

/// The dims with one of them multiplied by a number of tiles, if the product fits in an i64.
fn with_tiles(dims: &[i64], axis: usize, tiles: i64) -> Option<Vec<i64>> {
    let mut dims = dims.to_vec();
    dims[axis] = dims[axis].checked_mul(tiles)?;
    Some(dims)
}

/// The whole number that is the only element of a tensor, if it is one.
fn whole(tensor: &Tensor) -> Option<i64> {
    if tensor.len() != 1 {
        return None;
    }
    let number = match tensor.element_type() {
        ElementType::Float16 => f16::from_bits(u16::try_from(tensor.element_bits(0)).ok()?).to_f64(),
        ElementType::Float => f64::from(f32::from_bits(u32::try_from(tensor.element_bits(0)).ok()?)),
        ElementType::Double => f64::from_bits(u64::try_from(tensor.element_bits(0)).ok()?),
        _ => return None,
    };
    // Its absolute value is below 2^63.
    let is_whole = number.fract() == 0.0 && number.abs() < 9_223_372_036_854_775_808.0;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and in the range of an i64")]
    is_whole.then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::super::TILE;
    use super::*;

    fn vector(element_type: ElementType, values: &[f32]) -> Tensor {
        let elements: Vec<u128> =
            values.iter().map(|&value| tensor(element_type, vec![], value).element_bits(0)).collect();
        Tensor::from_element_bits(element_type, vec![values.len().try_into().unwrap()], elements).unwrap()
    }

    fn tiled(element_type: ElementType, tiles: &[f32], axis: &[f32]) -> Expectation {
        let data = vector(element_type, &[0.0, 1.0, 2.0, 3.0]).with_dims(vec![2, 2]).unwrap();
        let inputs = [Some(data), Some(vector(element_type, tiles)), Some(vector(element_type, axis))];
        assert_eq!(TILE.evaluate(1, &[], &inputs, 1), TILE.evaluate(5, &[], &inputs, 1));
        TILE.evaluate(1, &[], &inputs, 1)
    }

    #[test]
    #[expect(clippy::type_complexity, reason = "a table of rows reads best with its type in one place")]
    fn tiles_are_copies_of_the_tensor_or_of_each_element() {
        let rows: [(f32, [i64; 2], [f32; 8], [f32; 8]); 4] = [
            (0.0, [4, 2], [0., 1., 2., 3., 0., 1., 2., 3.], [0., 1., 0., 1., 2., 3., 2., 3.]),
            (-2.0, [4, 2], [0., 1., 2., 3., 0., 1., 2., 3.], [0., 1., 0., 1., 2., 3., 2., 3.]),
            (1.0, [2, 4], [0., 1., 0., 1., 2., 3., 2., 3.], [0., 0., 1., 1., 2., 2., 3., 3.]),
            (-1.0, [2, 4], [0., 1., 0., 1., 2., 3., 2., 3.], [0., 0., 1., 1., 2., 2., 3., 3.]),
        ];
        for element_type in [ElementType::Float16, ElementType::Float, ElementType::Double] {
            for (axis, dims, copies, elements) in rows {
                let answer =
                    |values| Answer::Outputs(vec![vector(element_type, values).with_dims(dims.to_vec()).unwrap()]);
                let tolerated = vec![Answer::Refusal, answer(&copies), answer(&elements)];
                let open = Expectation::Unspecified { rule: Rule::TILE_1, tolerated };
                assert_eq!(tiled(element_type, &[2.0], &[axis]), open);
            }
        }
    }

    #[test]
    fn what_no_reading_makes_sense_of_is_rejected() {
        for number in WILD.into_iter().filter(|number| ![64.0_f32, -0.0].map(f32::to_bits).contains(&number.to_bits()))
        {
            assert_eq!(tiled(ElementType::Float, &[number], &[0.0]), Expectation::reject(Rule::TILE_1), "{number}");
        }
        for axis in [2.0, -3.0, 0.5, f32::NAN] {
            assert_eq!(tiled(ElementType::Double, &[2.0], &[axis]), Expectation::reject(Rule::TILE_1), "{axis}");
        }
        assert_eq!(tiled(ElementType::Float, &[2.0, 2.0], &[0.0]), Expectation::reject(Rule::TILE_1));
        assert_eq!(tiled(ElementType::Float, &[], &[0.0]), Expectation::reject(Rule::TILE_1));
    }
}
