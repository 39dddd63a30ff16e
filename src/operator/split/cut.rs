//! The expectation for each way to ask for parts.

use std::cmp::Ordering;

use crate::operator::{Answer, Expectation, Rule};
use crate::tensor::{Tensor, element_count};

/// The data to cut, and the number of outputs.
pub(super) struct Cut<'a> {
    pub data: &'a Tensor,
    pub axis: usize,
    /// The size of the data along the axis.
    pub size: i64,
    pub outputs: usize,
}

impl Cut<'_> {
    pub fn own_count(&self) -> i64 {
        i64::try_from(self.outputs).unwrap_or(i64::MAX)
    }

    pub fn by_lengths(&self, lengths: &[i64]) -> Expectation {
        if lengths.iter().any(|&length| length < 0) {
            return Expectation::reject(Rule::SPLIT_NEGATIVE_LENGTH);
        }
        if lengths.iter().copied().map(i128::from).sum::<i128>() != i128::from(self.size) {
            return Expectation::reject(Rule::SPLIT_LENGTH_SUM);
        }
        self.counted(lengths.len(), lengths)
    }

    pub fn by_lengths_and_count(&self, lengths: &[i64], count: i64) -> Expectation {
        let lenient = match self.by_lengths(lengths) {
            Expectation::Defined(parts) if count == self.own_count() => Some(parts),
            _ => None,
        };
        Expectation::Reject { rule: Rule::SPLIT_LENGTHS_AND_COUNT, lenient }
    }

    pub fn by_count(&self, count: i64) -> Expectation {
        if count < 1 {
            return Expectation::reject(Rule::SPLIT_PART_COUNT);
        }
        let is_own = usize::try_from(count) == Ok(self.outputs);
        if !is_own || i128::from(count - 1) * i128::from(self.chunk(count)) <= i128::from(self.size) {
            return self.counted(usize::try_from(count).unwrap_or(usize::MAX), &self.chunks(count));
        }
        // A refusal, chunks until nothing is left, or parts whose sizes differ by at most 1.
        let (least, longer) = (self.size / count, self.size % count);
        let balanced = (0..count).map(|part| least + i64::from(part < longer)).collect();
        let answers = [self.chunks(count), balanced].map(|lengths| Answer::Outputs(self.parts(&lengths)));
        Expectation::unspecified(Rule::SPLIT_UNEQUAL_PARTS, [Answer::Refusal].into_iter().chain(answers))
    }

    /// Equal parts, or a refusal.
    pub fn evenly(&self) -> Expectation {
        let count = self.own_count();
        let parts = self.parts(&self.chunks(count));
        if self.size % count == 0 {
            Expectation::Defined(parts)
        } else {
            Expectation::Reject { rule: Rule::SPLIT_UNEVEN, lenient: Some(parts) }
        }
    }

    /// The size of each of `count` parts except the last.
    fn chunk(&self, count: i64) -> i64 {
        self.size / count + i64::from(self.size % count != 0)
    }

    /// The lengths of the first of `count` parts, as many as there are outputs. Each part takes a chunk, or what is left.
    fn chunks(&self, count: i64) -> Vec<i64> {
        let mut rest = self.size;
        let mut take = || {
            let length = rest.min(self.chunk(count));
            rest -= length;
            length
        };
        (0..self.outputs).map(|_| take()).collect()
    }

    /// The expectation of a call that asks for `count` parts, of which these are the first. A call with fewer outputs than parts is
    /// to be refused, but giving the first parts is lenient.
    fn counted(&self, count: usize, lengths: &[i64]) -> Expectation {
        match count.cmp(&self.outputs) {
            Ordering::Less => Expectation::reject(Rule::SPLIT_OUTPUT_COUNT),
            Ordering::Equal => Expectation::Defined(self.parts(lengths)),
            Ordering::Greater => {
                let lenient = Some(self.parts(&lengths[..self.outputs]));
                Expectation::Reject { rule: Rule::SPLIT_OUTPUT_COUNT, lenient }
            }
        }
    }

    /// Parts of these lengths, whose sum is at most the size of the data along the axis.
    fn parts(&self, lengths: &[i64]) -> Vec<Tensor> {
        let mut from = 0;
        let part = |&length: &i64| {
            from += length;
            self.part(from - length, length)
        };
        lengths.iter().map(part).collect()
    }

    /// A part of the data: one run of elements for every index of the axes before the axis.
    fn part(&self, from: i64, length: i64) -> Tensor {
        let Cut { data, axis, size, .. } = *self;
        if length == size {
            return data.clone();
        }
        let mut dims = data.dims().to_vec();
        dims[axis] = length;
        let count = |dims: &[i64]| element_count(dims).unwrap_or(0);
        // For a part without elements, the numbers here may be too large to count.
        let runs = if dims.contains(&0) { 0 } else { count(&dims[..axis]) };
        let (start, run) = (count(&[&[from], &dims[axis + 1..]].concat()), count(&dims[axis..]));
        let whole = count(&data.dims()[axis..]);
        let elements = (0..runs).flat_map(|at| at * whole + start..at * whole + start + run).map(|place| (data, place));
        Tensor::assembled(data.element_type(), dims, elements).expect("a part has as many elements as its dims hold")
    }
}
