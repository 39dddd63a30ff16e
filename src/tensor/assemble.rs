//! Tensors put together from elements of others.

use super::{ElementType, Elements, Strings, Tensor, TensorError, element_count};

impl Tensor {
    /// A tensor from elements of tensors of its type, each by the tensor and the element's place in it, in row-major order.
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
        Tensor::from_element_bits(element_type, dims, elements.map(|(tensor, place)| tensor.element_bits(place)))
    }

    /// A tensor of other dims whose elements are some of this one's: `place` gives the dimension-wise index of the element in
    /// this tensor for an index in the new one, which it is handed.
    ///
    /// # Errors
    /// As [`Tensor::assembled`].
    ///
    /// # Panics
    /// If an index is not one of this tensor.
    pub fn rearranged(
        &self,
        dims: Vec<i64>,
        mut place: impl FnMut(&[usize], &mut [usize]),
    ) -> Result<Tensor, TensorError> {
        let mut own = vec![0; self.rank()];
        let places = places(&dims, |index| {
            place(index, &mut own);
            self.place(&own)
        });
        Tensor::assembled(self.element_type, dims, places.into_iter().map(|place| (self, place)))
    }

    /// The place of an element in row-major order, by its index in each dim.
    pub fn place(&self, index: &[usize]) -> usize {
        let dims = self.dims.iter().map(|&dim| usize::try_from(dim).unwrap_or(0));
        index.iter().zip(dims).fold(0, |place, (&index, dim)| place * dim + index)
    }
}

/// What a function gives for each index of a tensor of some dims, in row-major order; nothing if they are too many to count.
pub fn places<T>(dims: &[i64], mut of: impl FnMut(&[usize]) -> T) -> Vec<T> {
    let count = element_count(dims).unwrap_or(0);
    let mut index = vec![0; dims.len()];
    let mut found = Vec::with_capacity(count);
    for _ in 0..count {
        found.push(of(&index));
        // The next index: the last dim runs fastest.
        for (at, &dim) in index.iter_mut().zip(dims).rev() {
            *at += 1;
            if *at < usize::try_from(dim).unwrap_or(0) {
                break;
            }
            *at = 0;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_run_in_row_major_order() {
        assert_eq!(places(&[2, 2], <[usize]>::to_vec), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(places(&[], <[usize]>::to_vec), [[0; 0]]);
        assert_eq!(places(&[2, 0], <[usize]>::to_vec), [[0; 0]; 0]);
    }

    #[test]
    fn elements_are_moved_as_they_are() {
        let matrix = Tensor::from_element_bits(ElementType::Int4, vec![2, 3], [1, 2, 3, 4, 5, 6]).unwrap();
        let turned = matrix.rearranged(vec![3, 2], |index, own| (own[0], own[1]) = (index[1], index[0])).unwrap();
        assert_eq!((0..6).map(|place| turned.element_bits(place)).collect::<Vec<_>>(), [1, 4, 2, 5, 3, 6]);
        let words = Tensor::from_strings(vec![2], ["a", ""].into_iter().collect()).unwrap();
        let both = Tensor::assembled(ElementType::String, vec![3], [(&words, 1), (&words, 0), (&words, 0)]).unwrap();
        assert_eq!(both, Tensor::from_strings(vec![3], ["", "a", "a"].into_iter().collect()).unwrap());
        assert!(Tensor::assembled(ElementType::Int4, vec![3], [(&matrix, 0)]).is_err());
    }
}
