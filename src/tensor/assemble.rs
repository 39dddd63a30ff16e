//! Tensors assembled from elements of other tensors.

use super::{ElementType, Elements, Strings, Tensor, TensorError, element_count};

impl Tensor {
    /// A tensor from elements of other tensors of its type. Each element is given by a tensor and a place in it; they come in
    /// row-major order.
    ///
    /// # Errors
    /// If a dim is negative, or the number of elements is not that of the dims.
    pub fn assembled<'a>(
        element_type: ElementType,
        dims: Vec<i64>,
        elements: impl IntoIterator<Item = (&'a Tensor, usize)>,
    ) -> Result<Tensor, TensorError> {
        let elements = elements.into_iter();
        if element_type == ElementType::String {
            let string = |(tensor, place): (&'a Tensor, usize)| match &tensor.elements {
                Elements::Strings(strings) => &strings[place],
                Elements::Packed(_) => &[],
            };
            return Tensor::from_strings(dims, elements.map(string).collect::<Strings>());
        }
        let bytes = match element_type.bits() {
            8 => copied::<1>(elements),
            16 => copied::<2>(elements),
            32 => copied::<4>(elements),
            64 => copied::<8>(elements),
            128 => copied::<16>(elements),
            _ => {
                let bits = elements.map(|(tensor, place)| tensor.element_bits(place));
                return Tensor::from_element_bits(element_type, dims, bits);
            }
        };
        Tensor::from_packed(element_type, dims, bytes)
    }

    /// A tensor of other dims whose elements come from this one, each axis by itself. `place` gets an axis of the new tensor and an
    /// index in it, and writes to its third argument, which holds zeros, what that adds to the index in this tensor.
    ///
    /// # Errors
    /// As [`Tensor::assembled`].
    ///
    /// # Panics
    /// If an index is not one of this tensor.
    pub fn rearranged(
        &self,
        dims: &[i64],
        mut place: impl FnMut(usize, usize, &mut [usize]),
    ) -> Result<Tensor, TensorError> {
        // Without elements, a dim may be vast.
        if element_count(dims).unwrap_or(0) == 0 {
            return Tensor::assembled(self.element_type, dims.to_vec(), []);
        }
        let (mut own, own_sizes) = (vec![0; self.rank()], sizes(&self.dims));
        let mut step = |axis, index| {
            own.fill(0);
            place(axis, index, &mut own);
            place_in(&own_sizes, &own)
        };
        // What an index in each axis adds to the place of the element.
        let steps: Vec<Vec<usize>> = sizes(dims)
            .into_iter()
            .enumerate()
            .map(|(axis, size)| (0..size).map(|index| step(axis, index)).collect())
            .collect();
        let (last, outer) = steps.split_last().map_or((&[0][..], &[][..]), |(last, outer)| (last, outer));
        let row = |index: &[usize]| outer.iter().zip(index).map(|(steps, &at)| steps[at]).sum::<usize>();
        let rows = places(&dims[..outer.len()], row);
        let elements = rows.flat_map(|start| last.iter().map(move |step| (self, start + step)));
        Tensor::assembled(self.element_type, dims.to_vec(), elements)
    }

    /// The place of an element in row-major order, by its index in each dim.
    pub fn place(&self, index: &[usize]) -> usize {
        place_in(&sizes(&self.dims), index)
    }
}

/// The dims as sizes; a negative dim is 0.
fn sizes(dims: &[i64]) -> Vec<usize> {
    dims.iter().map(|&dim| usize::try_from(dim).unwrap_or(0)).collect()
}

/// The place of an element in row-major order, by its index in each dim.
fn place_in(sizes: &[usize], index: &[usize]) -> usize {
    index.iter().zip(sizes).fold(0, |place, (&index, &size)| place * size + index)
}

/// The results of a function for each index of a tensor with these dims, in row-major order; none if there are too many to count.
pub fn places<T>(dims: &[i64], mut of: impl FnMut(&[usize]) -> T) -> impl Iterator<Item = T> {
    let sizes = sizes(dims);
    let mut index = vec![0; sizes.len()];
    (0..element_count(dims).unwrap_or(0)).map(move |_| {
        let found = of(&index);
        // The next index: the last dim runs fastest.
        for (at, &size) in index.iter_mut().zip(&sizes).rev() {
            *at += 1;
            if *at < size {
                break;
            }
            *at = 0;
        }
        found
    })
}

/// The bytes of elements of `SIZE` bytes each, given by their tensors and places.
fn copied<'a, const SIZE: usize>(elements: impl Iterator<Item = (&'a Tensor, usize)>) -> Vec<u8> {
    let element = |(tensor, place): (&'a Tensor, usize)| match &tensor.elements {
        Elements::Packed(bytes) => *bytes[place * SIZE..].first_chunk::<SIZE>().expect("the tensor has the element"),
        Elements::Strings(_) => panic!("a string has no fixed size"),
    };
    elements.map(element).collect::<Vec<_>>().into_flattened()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_run_in_row_major_order() {
        let all = |dims: &[i64]| places(dims, <[usize]>::to_vec).collect::<Vec<_>>();
        assert_eq!(all(&[2, 2]), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(all(&[]), [[0; 0]]);
        assert_eq!(all(&[2, 0]), [[0; 0]; 0]);
    }

    #[test]
    fn elements_are_moved_as_they_are() {
        let matrix = Tensor::from_element_bits(ElementType::Int4, vec![2, 3], [1, 2, 3, 4, 5, 6]).unwrap();
        let turned = matrix.rearranged(&[3, 2], |axis, index, own| own[1 - axis] = index).unwrap();
        assert_eq!((0..6).map(|place| turned.element_bits(place)).collect::<Vec<_>>(), [1, 4, 2, 5, 3, 6]);
        let words = Tensor::from_strings(vec![2], ["a", ""].into_iter().collect()).unwrap();
        let both = Tensor::assembled(ElementType::String, vec![3], [(&words, 1), (&words, 0), (&words, 0)]).unwrap();
        assert_eq!(both, Tensor::from_strings(vec![3], ["", "a", "a"].into_iter().collect()).unwrap());
        assert!(Tensor::assembled(ElementType::Int4, vec![3], [(&matrix, 0)]).is_err());
    }
}
