//! How operators draw calls: valid ones, those that break one rule, and wild ones.
//!
//! An operator decides which attributes, dims and values a call has. It does not decide how its tensors reach the node, or which
//! elements its data has.

use arbitrary::{Result, Unstructured};

use super::{Arity, Attribute, AttributeKind, AttributeValue, INDEX_TYPES, Role, Rule, TOO_MANY, Types, Version};
use crate::tensor::{ElementType, Strings, Tensor, mask, product};

/// The purpose of a drawn call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// A call with exactly one right answer.
    Valid,
    /// A call that breaks this rule and no other, or is left unspecified by it.
    Break(Rule),
    /// A call of arbitrary boundary values.
    Wild,
}

/// The element type and dims of data. Its elements do not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    pub element_type: ElementType,
    pub dims: Vec<i64>,
}

/// An input of a drawn call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    Data(Data),
    /// A tensor whose values control the output.
    Values(Tensor),
}

/// A drawn call. `None` is an input that is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    pub attributes: Vec<Attribute>,
    pub inputs: Vec<Option<Given>>,
    pub outputs: usize,
}

/// A call that is being drawn. An operator draws its attributes, and then its inputs in their order.
pub struct Drawing<'d, 'u> {
    pub u: &'d mut Unstructured<'u>,
    pub version: &'static Version,
    pub aim: Aim,
    /// The element type and dims of the data. An operator may change them if it cannot use them.
    pub element_type: ElementType,
    pub dims: Vec<i64>,
    /// Whether the data is drawn for this call alone, so that it may be changed freely.
    pub is_free: bool,
    /// The number of entries that the first parameter is to have, if possible.
    pub length: Option<usize>,
    /// Attributes that are given instead of drawn.
    given: Vec<Attribute>,
    /// Whether no attributes are drawn besides the given ones.
    is_fixed: bool,
    drawn: Drawn,
}

impl<'d, 'u> Drawing<'d, 'u> {
    pub(super) fn new(
        u: &'d mut Unstructured<'u>,
        version: &'static Version,
        aim: Aim,
        data: Option<Data>,
    ) -> Result<Drawing<'d, 'u>> {
        let is_free = data.is_none();
        let mut data = match data {
            Some(data) => data,
            None => Data { dims: dims(u)?, element_type: *u.choose(version.element_types)? },
        };
        match aim {
            Aim::Break(Rule::VAST_DIMS) => data.dims = vast_dims(u)?,
            Aim::Break(Rule::ELEMENT_TYPE) => {
                let is_outside = |element_type: &ElementType| !version.element_types.contains(element_type);
                let outside: Vec<ElementType> = ElementType::ALL.into_iter().filter(is_outside).collect();
                if !outside.is_empty() {
                    data.element_type = *u.choose(&outside)?;
                }
            }
            _ => {}
        }
        let Data { element_type, dims } = data;
        let drawn = Drawn { attributes: vec![], inputs: vec![], outputs: 1 };
        Ok(Drawing {
            u,
            version,
            aim,
            element_type,
            dims,
            is_free,
            length: None,
            given: vec![],
            is_fixed: false,
            drawn,
        })
    }

    /// Sets some attributes as given.
    pub(super) fn give(&mut self, attributes: &[Attribute]) {
        self.given = attributes.to_vec();
    }

    /// Sets all attributes as given, and optionally the length of the first parameter.
    pub(super) fn fix(&mut self, attributes: &[Attribute], length: Option<usize>) {
        self.give(attributes);
        self.is_fixed = true;
        self.length = length;
    }

    /// The finished call. If the aim is a rule on the form of a node, the call is changed to break it.
    pub(super) fn finish(mut self) -> Result<Drawn> {
        if let Aim::Break(rule) = self.aim {
            self.bend(rule)?;
        }
        Ok(self.drawn)
    }

    /// Whether the attributes are given instead of drawn.
    pub fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    /// The opset that introduced the version of the operator.
    pub fn since(&self) -> u8 {
        self.version.since
    }

    /// The rank of the data, as an i64 like the values of attributes.
    pub fn rank(&self) -> i64 {
        rank(&self.dims)
    }

    pub fn breaks(&self, rule: Rule) -> bool {
        self.aim == Aim::Break(rule)
    }

    pub fn is_wild(&self) -> bool {
        self.aim == Aim::Wild
    }

    /// One of several values.
    pub fn choose<T: Copy>(&mut self, among: &[T]) -> Result<T> {
        self.u.choose(among).copied()
    }

    /// True in `part` of `whole` draws.
    pub fn ratio(&mut self, part: u8, whole: u8) -> Result<bool> {
        self.u.ratio(part, whole)
    }

    /// A number from `least` to `most`.
    pub fn between(&mut self, least: i64, most: i64) -> Result<i64> {
        self.u.int_in_range(least..=most.max(least))
    }

    /// Adds an attribute with the value from `draw`, if any. A given attribute keeps its value; a fixed call gets no others.
    ///
    /// # Errors
    /// The errors of `draw`.
    pub fn attribute(
        &mut self,
        name: &str,
        draw: impl FnOnce(&mut Self) -> Result<Option<AttributeValue>>,
    ) -> Result<Option<AttributeValue>> {
        let given = self.given.iter().find(|attribute| attribute.name == name);
        let value = match given.map(|attribute| attribute.value.clone()) {
            None if !self.is_fixed => draw(self)?,
            given => given,
        };
        if let Some(value) = value.clone() {
            self.drawn.attributes.push(Attribute { name: name.to_owned(), value });
        }
        Ok(value)
    }

    /// As `attribute`, for an INT attribute.
    ///
    /// # Errors
    /// The errors of `draw`.
    pub fn int(&mut self, name: &str, draw: impl FnOnce(&mut Self) -> Result<Option<i64>>) -> Result<Option<i64>> {
        match self.attribute(name, |d| Ok(draw(d)?.map(AttributeValue::Int)))? {
            Some(AttributeValue::Int(value)) => Ok(Some(value)),
            _ => Ok(None),
        }
    }

    /// As `attribute`, for an INTS attribute.
    ///
    /// # Errors
    /// The errors of `draw`.
    pub fn ints(
        &mut self,
        name: &str,
        draw: impl FnOnce(&mut Self) -> Result<Option<Vec<i64>>>,
    ) -> Result<Option<Vec<i64>>> {
        match self.attribute(name, |d| Ok(draw(d)?.map(AttributeValue::Ints)))? {
            Some(AttributeValue::Ints(values)) => Ok(Some(values)),
            _ => Ok(None),
        }
    }

    /// Adds the data as the next input.
    pub fn data(&mut self) {
        let Drawing { element_type, ref dims, .. } = *self;
        self.other_data(element_type, dims.clone());
    }

    /// Adds data of this type and these dims as the next input.
    pub fn other_data(&mut self, element_type: ElementType, dims: Vec<i64>) {
        self.drawn.inputs.push(Some(Given::Data(Data { element_type, dims })));
    }

    /// Adds a tensor whose values control the output.
    pub fn values(&mut self, values: Tensor) {
        self.drawn.inputs.push(Some(Given::Values(values)));
    }

    /// Adds an int64 vector whose values control the output.
    pub fn vector(&mut self, values: &[i64]) {
        self.values(Tensor::vector(values));
    }

    /// Adds an int64 tensor of these values whose rank is not 1.
    pub fn vector_of_other_rank(&mut self, values: &[i64]) -> Result<()> {
        let vector = self.of_other_rank(&Tensor::vector(values))?;
        self.values(vector);
        Ok(())
    }

    /// The elements of a vector in a tensor whose rank is not 1.
    pub fn of_other_rank(&mut self, vector: &Tensor) -> Result<Tensor> {
        let length = i64::try_from(vector.len()).unwrap_or(i64::MAX);
        let dims = match (length, self.between(0, 2)?) {
            (1, 0) => vec![],
            (_, 1) => vec![1, length],
            _ => vec![length, 1],
        };
        Ok(vector.with_dims(dims).unwrap_or_else(|_| vector.clone()))
    }

    /// Leaves the next input out.
    pub fn skip(&mut self) {
        self.drawn.inputs.push(None);
    }

    /// In half of the calls, removes the inputs at the end that were skipped. At the end, no name is the same as the empty name.
    pub fn trim(&mut self) -> Result<()> {
        if self.ratio(1, 2)? {
            while self.drawn.inputs.last() == Some(&None) {
                self.drawn.inputs.pop();
            }
        }
        Ok(())
    }

    /// Sets the number of outputs that the node names, at least 1.
    pub fn outputs(&mut self, count: usize) {
        self.drawn.outputs = count.max(1);
    }

    /// An axis in [-r, r-1], or in [0, r-1] if it may not be negative. The data has at least one axis.
    pub fn axis_in_range(&mut self, may_be_negative: bool) -> Result<i64> {
        let rank = self.rank();
        self.between(if may_be_negative { -rank } else { 0 }, rank - 1)
    }

    /// An axis outside [-r, r-1], near the ends of this range or of 32 and 64 bits. If it may not be negative, it is at least r.
    pub fn axis_out_of_range(&mut self, may_be_negative: bool) -> Result<i64> {
        let rank = self.rank();
        let is_out = |&axis: &i64| axis >= rank || may_be_negative && axis < -rank;
        let axes: Vec<i64> = boundary_axes(rank).into_iter().filter(is_out).collect();
        self.choose(&axes)
    }

    /// A number near any boundary of an axis.
    pub fn any_axis(&mut self) -> Result<i64> {
        let rank = self.rank();
        if self.ratio(1, 2)? { self.between(-rank - 2, rank + 2) } else { self.choose(&boundary_axes(rank)) }
    }

    /// Gives scalar data one dim.
    pub fn need_axis(&mut self) -> Result<()> {
        if self.dims.is_empty() {
            self.dims = vec![self.choose(&[2, 1, 3, 0, 5])?];
        }
        Ok(())
    }

    /// Gives the data elements, but no more than may be drawn. A size that is valid only beside a 0 becomes 1, as the 0 does.
    pub fn need_elements(&mut self) {
        let mut room = MAX_DRAWN;
        for dim in &mut self.dims {
            if !(1..=room).contains(dim) {
                *dim = 1;
            }
            room /= *dim;
        }
    }

    /// Now and then makes one dim vast, and the others 0 or 1. It does so in valid calls only, with data that has no elements and
    /// is drawn for this call alone. The vast dim needs more than 32 bits, or more than the precision of a double.
    pub fn widen(&mut self) -> Result<()> {
        let places: Vec<usize> = (0..self.dims.len()).filter(|&place| self.dims[place] != 0).collect();
        let may_be_vast = self.aim == Aim::Valid && self.is_free && self.dims.contains(&0) && !places.is_empty();
        if may_be_vast && self.ratio(1, 8)? {
            for &place in &places {
                self.dims[place] = 1;
            }
            let place = self.choose(&places)?;
            self.dims[place] = self.choose(&[1 << 31, (1 << 32) + 1, (1 << 53) + 1, (1 << 53) + 2])?;
        }
        Ok(())
    }

    /// How many copies of the data the output may have.
    pub fn copies(&mut self) -> Result<i64> {
        let count = product(self.dims.iter().copied()).and_then(|count| i64::try_from(count).ok()).unwrap_or(MAX_DRAWN);
        Ok(max_drawn(self.u)? / count.max(1))
    }

    /// A size up to a bound, now and then 0.
    pub fn size_within(&mut self, most: i64) -> Result<i64> {
        if self.ratio(1, 20)? {
            return Ok(0);
        }
        let size = self.choose(&[1, 2, 3, 2, 4, 5, 7, 8, 16, 17, 32, 64, 127, 257])?;
        Ok(if size > most { 1 } else { size })
    }

    /// Breaks a rule on the form of a node. The operator itself breaks any other rule.
    fn bend(&mut self, rule: Rule) -> Result<()> {
        let (specs, count) = (self.version.inputs, self.drawn.inputs.len());
        let inputs = &mut self.drawn.inputs;
        let attributes = &mut self.drawn.attributes;
        match rule {
            Rule::INPUT_COUNT => {
                let (least, most) = self.version.input_counts();
                if most == usize::MAX || (least > 0 && self.u.ratio(1, 2)?) {
                    inputs.truncate(least.saturating_sub(1));
                } else {
                    inputs.resize(most, None);
                    inputs.push(Some(Given::Data(Data { element_type: ElementType::Int64, dims: vec![1] })));
                }
            }
            Rule::EMPTY_INPUT => {
                let required: Vec<usize> = (0..specs.len()).filter(|&place| specs[place].arity == Arity::One).collect();
                inputs[*self.u.choose(&required)?] = None;
            }
            Rule::UNDECLARED_ATTRIBUTE => {
                let declared = self.version.attributes;
                let names = ["start", "end", "axis", "allowzero", "shape", "axes", "perm", "Axis"];
                let foreign: Vec<_> = names.into_iter().filter(|n| declared.iter().all(|a| a.name != *n)).collect();
                let value = AttributeValue::Int(*self.u.choose(&[0, 1, -1])?);
                attributes.push(Attribute { name: (*self.u.choose(&foreign)?).to_owned(), value });
            }
            Rule::ATTRIBUTE_KIND => {
                let spec = self.u.choose(self.version.attributes)?;
                let kinds = [AttributeKind::Int, AttributeKind::Ints, AttributeKind::Float, AttributeKind::String];
                let others: Vec<_> = kinds.into_iter().filter(|&kind| kind != spec.kind).collect();
                let value = match *self.u.choose(&others)? {
                    AttributeKind::Ints => AttributeValue::Ints(vec![1]),
                    AttributeKind::Float => AttributeValue::Float(1_f32.to_bits()),
                    AttributeKind::String => AttributeValue::String("1".to_owned()),
                    _ => AttributeValue::Int(1),
                };
                attributes.retain(|a| a.name != spec.name);
                attributes.push(Attribute { name: spec.name.to_owned(), value });
            }
            Rule::DUPLICATE_ATTRIBUTE => {
                if attributes.is_empty() {
                    let spec = self.u.choose(self.version.attributes)?;
                    let value = match spec.kind {
                        AttributeKind::Ints => AttributeValue::Ints(vec![]),
                        AttributeKind::Float => AttributeValue::Float(0),
                        AttributeKind::String => AttributeValue::String(String::new()),
                        AttributeKind::Tensor => AttributeValue::Tensor(Tensor::vector(&[0])),
                        AttributeKind::Int => AttributeValue::Int(0),
                    };
                    attributes.push(Attribute { name: spec.name.to_owned(), value });
                }
                let again = self.u.choose(attributes)?.clone();
                attributes.push(again);
            }
            Rule::MISSING_ATTRIBUTE => {
                let required: Vec<_> = self.version.attributes.iter().filter(|spec| spec.is_required).collect();
                let name = self.u.choose(&required)?.name;
                attributes.retain(|attribute| attribute.name != name);
            }
            Rule::PARAMETER_TYPE => {
                let is_such = |place: &usize| {
                    let types = self.version.input(*place).map(|spec| spec.types);
                    matches!(types, Some(Types::Index | Types::Int64(Rule::PARAMETER_TYPE)))
                };
                let places: Vec<usize> = (0..count).filter(is_such).filter(|&place| inputs[place].is_some()).collect();
                if !places.is_empty() {
                    let place = *self.u.choose(&places)?;
                    let is_index = specs[place].types == Types::Index;
                    let is_other = |t: &ElementType| !(*t == ElementType::Int64 || is_index && INDEX_TYPES.contains(t));
                    let types: Vec<ElementType> = ElementType::ALL.into_iter().filter(is_other).collect();
                    // Inputs of the type variable Tind all change together, because they must have one type.
                    let element_type = *self.u.choose(&types)?;
                    let alike = |other: &usize| *other == place || is_index && specs[*other].types == Types::Index;
                    for place in places.into_iter().filter(alike) {
                        retype(&mut inputs[place], element_type);
                    }
                }
            }
            Rule::MIXED_TYPES => {
                let is_tied = |place: &usize| {
                    let types = self.version.input(*place).map(|spec| spec.types);
                    inputs[*place].is_some() && matches!(types, Some(Types::T | Types::Index))
                };
                let types_of = |place: usize| self.version.input(place).map(|spec| spec.types);
                let tied: Vec<usize> = (0..count).filter(is_tied).collect();
                let followers: Vec<usize> = tied
                    .iter()
                    .copied()
                    .filter(|&place| tied.iter().any(|&first| first < place && types_of(first) == types_of(place)))
                    .collect();
                if !followers.is_empty() {
                    let place = *self.u.choose(&followers)?;
                    let own = inputs[place].as_ref().map(Given::element_type);
                    let among =
                        if types_of(place) == Some(Types::T) { self.version.element_types } else { &INDEX_TYPES };
                    let others: Vec<ElementType> = among.iter().copied().filter(|t| Some(*t) != own).collect();
                    let element_type = *self.u.choose(&others)?;
                    retype(&mut inputs[place], element_type);
                }
            }
            Rule::SHAPE_TYPE => {
                let types: Vec<_> = ElementType::ALL.into_iter().filter(|&t| t != ElementType::Int64).collect();
                let element_type = *self.u.choose(&types)?;
                if let Some(input) = inputs.get_mut(1) {
                    retype(input, element_type);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Drawn {
    /// Sets the target shape of a call, whether it is an attribute or an input.
    pub fn set_target(&mut self, version: &Version, target: &[i64]) {
        let is_target = |attribute: &&mut Attribute| {
            version.attributes.iter().any(|spec| spec.role == Role::TargetShape && spec.name == attribute.name)
        };
        for attribute in self.attributes.iter_mut().filter(is_target) {
            attribute.value = AttributeValue::Ints(target.to_vec());
        }
        if let Some(input) = version.target_input().and_then(|place| self.inputs.get_mut(place)) {
            *input = Some(Given::Values(Tensor::vector(target)));
        }
    }
}

impl Given {
    pub fn element_type(&self) -> ElementType {
        match self {
            Given::Data(data) => data.element_type,
            Given::Values(tensor) => tensor.element_type(),
        }
    }

    pub fn dims(&self) -> &[i64] {
        match self {
            Given::Data(data) => &data.dims,
            Given::Values(tensor) => tensor.dims(),
        }
    }
}

/// Gives an input another type. Its numbers keep their low bits.
fn retype(input: &mut Option<Given>, element_type: ElementType) {
    match input {
        Some(Given::Data(data)) => data.element_type = element_type,
        Some(Given::Values(tensor)) => *tensor = retyped(tensor, element_type),
        None => {}
    }
}

fn retyped(tensor: &Tensor, element_type: ElementType) -> Tensor {
    let numbers = tensor.integers().unwrap_or_else(|| vec![0; tensor.len()]);
    let dims = tensor.dims().to_vec();
    let made = if element_type == ElementType::String {
        Tensor::from_strings(dims, numbers.iter().map(ToString::to_string).collect::<Strings>())
    } else {
        let own = if element_type == ElementType::Bool { 1 } else { mask(element_type.bits()) };
        Tensor::from_element_bits(element_type, dims, numbers.iter().map(|number| number.cast_unsigned() & own))
    };
    made.unwrap_or_else(|_| tensor.clone())
}

/// Values to draw for a flag that are neither 0 nor 1. Truncated, most are 0 or 1.
pub(super) const OTHER_FLAGS: [i64; 8] = [2, -1, 256, 1 << 31, 1 << 32, (1 << 32) + 1, i64::MIN, i64::MAX];

/// Whether an output of these dims has too many elements to be asked for often, but too few for every runtime to refuse it.
pub(super) fn is_laborious(dims: &[i64]) -> bool {
    product(dims.iter().copied()).is_some_and(|count| (1 << 16..i128::from(TOO_MANY)).contains(&count))
}

/// The most elements that drawn data may have.
pub(crate) const MAX_DRAWN: i64 = 4096;

/// The most elements that most drawn data has. Time goes into each element, but few defects need more elements.
const USUAL_MAX: i64 = 512;

/// How many elements one draw of data may have.
pub(crate) fn max_drawn(u: &mut Unstructured) -> Result<i64> {
    Ok(if u.ratio(1, 8)? { MAX_DRAWN } else { USUAL_MAX })
}

/// Dims of data. The ranks are 0 to 12, seldom 33 or 64, where one case may take a runtime as long as a thousand others. The sizes
/// are 0, 1, primes and powers of two. About 4 % of the dims have another factor: up to 128, or one of some beyond. Of the dims
/// with a 0, 6 % have a size above 2^16 beside it.
pub(crate) fn dims(u: &mut Unstructured) -> Result<Vec<i64>> {
    let rank = match u.int_in_range(0_u16..=9999)? {
        0..=999 => 0,
        1000..=2799 => 1,
        2800..=4999 => 2,
        5000..=6999 => 3,
        7000..=9599 => u.int_in_range(4_u8..=8)?,
        9600..=9993 => u.int_in_range(9_u8..=12)?,
        9994..=9997 => 33,
        _ => 64,
    };
    let most = max_drawn(u)?;
    dims_of_rank(u, rank, most)
}

/// As `dims`, for one rank and at most `most` elements.
pub(crate) fn dims_of_rank(u: &mut Unstructured, rank: u8, most: i64) -> Result<Vec<i64>> {
    let mut dims = Vec::with_capacity(usize::from(rank));
    let mut count = 1;
    for _ in 0..rank {
        let size = *u.choose(&[1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 11, 13, 16, 17, 31, 32, 64, 127, 128, 257])?;
        let size = if count * size > most || (rank > 8 && dims.len() > 4) { 1 } else { size };
        count *= size;
        dims.push(size);
    }
    if rank > 0 && u.ratio(1, 25)? {
        let (place, divisor) = (u.choose_index(dims.len())?, divisor(u)?);
        if count / dims[place] * divisor <= most {
            dims[place] = divisor;
        }
    }
    if rank > 0 && u.ratio(1, 4)? {
        if u.ratio(1, 16)? {
            let place = u.choose_index(dims.len())?;
            dims[place] = *u.choose(&LARGE)?;
            leave_room(&mut dims, place);
        }
        // A zero at the front, in the middle or at the end; then perhaps a second one.
        for _ in 0..=u.int_in_range(0_u8..=1)? {
            let last = dims.len() - 1;
            let position = *u.choose(&[0, last, last / 2])?;
            dims[position] = 0;
        }
    }
    Ok(dims)
}

/// Sets sizes beside a large one to 1 where the product would exceed 2^21. Runtimes iterate over the sizes before a 0 though there
/// is nothing to move. Beyond 2^21, a case is neither quick nor endless, and may take as long as a thousand others.
fn leave_room(dims: &mut [i64], large: usize) {
    let mut room = (1 << 21) / dims[large];
    let (before, rest) = dims.split_at_mut(large);
    for dim in before.iter_mut().chain(&mut rest[1..]) {
        *dim = if *dim > room { 1 } else { *dim };
        room /= *dim;
    }
}

/// Sizes above 16 bits whose product with other sizes stays far below 59 bits. They are used beside a 0 only.
pub(super) const LARGE: [i64; 6] = [65_537, 70_000, 99_991, 131_072, 1 << 20, (1 << 20) - 3];

/// Primes, and products of primes, above 128.
const DIVISORS_BEYOND: [i64; 12] = [129, 131, 191, 251, 255, 257, 509, 521, 1021, 1031, 2039, 4093];

/// A number to divide by: any from 1 to 128, or one of some beyond.
pub(super) fn divisor(u: &mut Unstructured) -> Result<i64> {
    if u.ratio(1, 8)? { Ok(*u.choose(&DIVISORS_BEYOND)?) } else { Ok(i64::from(u.int_in_range(1_u8..=128)?)) }
}

/// Dims with a 0 whose other sizes have a product above 2^59.
fn vast_dims(u: &mut Unstructured) -> Result<Vec<i64>> {
    let (big, root) = (*u.choose(&[1 << 62, i64::MAX, (1 << 61) - 1])?, 1 << 32);
    let mut dims = u.choose(&[vec![big], vec![root, root], vec![root, root, 2], vec![1 << 31, 1 << 31]])?.clone();
    let position = u.int_in_range(0..=dims.len())?;
    dims.insert(position, 0);
    Ok(dims)
}

/// The rank as an i64, like the values of attributes.
pub(crate) fn rank(dims: &[i64]) -> i64 {
    i64::try_from(dims.len()).unwrap_or(i64::MAX)
}

/// Numbers at every boundary of an axis for data of this rank: around 0, the rank and its double, and around the ends of 8 to 64
/// bits, where a truncated axis would be in range again.
pub(crate) fn boundary_axes(rank: i64) -> Vec<i64> {
    let mut axes = Vec::new();
    for center in [0, rank, -rank, 2 * rank, -2 * rank] {
        axes.extend([center, center + 1, center - 1]);
    }
    for bit in [8, 16, 31, 32, 33, 62] {
        for near in [-1, 0, 1, rank, -rank, rank - 1] {
            axes.extend([(1 << bit) + near, -(1 << bit) + near]);
        }
    }
    // The least and the largest numbers are the most likely to go wrong, so they come more often than the others.
    let ends = [i64::MAX, i64::MAX - 1, i64::MAX - rank, i64::MIN, i64::MIN + 1, i64::MIN + rank];
    axes.extend(ends.repeat(4));
    axes.extend([-500, 1000]);
    axes
}

/// Sizes and numbers around the ends of 32 and 64 bits, and a few small ones.
pub(crate) fn boundary_sizes() -> Vec<i64> {
    vec![-1, 0, 0, 1, 2, 3, 6, -2, 1 << 31, 1 << 32, 1 << 62, i64::MAX, i64::MIN]
}
