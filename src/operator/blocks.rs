//! What `DepthToSpace` and `SpaceToDepth` share: both move blocks of elements between the depth and the two spatial dims.

use arbitrary::Result;

use super::{
    Aim, Answer, AttributeKind, AttributeSpec, AttributeValue, Call, Drawing, Expectation, InputSpec, MAX_DRAWN, Role,
    Rule, Version, boundary_sizes, is_vast,
};
use crate::tensor::{ElementType, Tensor, product};

pub(super) const BLOCKSIZE: AttributeSpec = AttributeSpec::new("blocksize", AttributeKind::Int, Role::Sizes).required();
pub(super) const MODE: AttributeSpec = AttributeSpec::new("mode", AttributeKind::String, Role::Choice);

/// The rank of data and output: batch, channels, height, width.
pub(super) const RANK: usize = 4;

/// One of the two operators, described by how it differs from the other.
pub(super) struct Mover {
    /// The numbers that the dims of the data must be multiples of, for a block size.
    pub units: fn(i128) -> [i128; RANK],
    /// The dims of the output, for the dims of the data and a block size. A dim that overflows is past 64 bits.
    pub dims: fn([i128; RANK], i128) -> [i128; RANK],
    /// The place in the data of an element of the output.
    pub source: fn(&Blocks, [usize; RANK]) -> [usize; RANK],
    /// Changes the dims so that the output has a dim past 64 bits for each block size in `sizes_beyond`.
    pub beyond: fn([i64; RANK]) -> [i64; RANK],
    pub sizes_beyond: &'static [i64],
    pub rules: Rules,
}

/// The rules that calls of one of the operators can break, or be left unspecified by.
pub(super) struct Rules {
    /// The data has four dims.
    pub rank: Rule,
    /// Blocks have a size of at least 1.
    pub size: Rule,
    pub mode: Rule,
    /// Blocks divide the data.
    pub division: Rule,
    /// Blocks divide the data, if the data has no elements.
    pub rounding: Rule,
    /// No dim of the output is past 64 bits.
    pub beyond: Rule,
}

/// How the depth is divided into channels and places in a block.
pub(super) struct Blocks {
    pub size: usize,
    /// The number of channels on the side that has spatial blocks.
    channels: usize,
    order: Order,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// The place in the block comes first, then the channel.
    DepthColumnRow,
    /// The channel comes first, then the place in the block.
    ColumnRowDepth,
}

impl Blocks {
    /// The depth of an element by its channel and its place in the block.
    pub fn depth(&self, channel: usize, place: usize) -> usize {
        match self.order {
            Order::DepthColumnRow => place * self.channels + channel,
            Order::ColumnRowDepth => channel * self.size * self.size + place,
        }
    }

    /// The channel of an element and its place in the block by its depth.
    pub fn at(&self, depth: usize) -> (usize, usize) {
        match self.order {
            Order::DepthColumnRow => (depth % self.channels, depth / self.channels),
            Order::ColumnRowDepth => {
                let places = self.size * self.size;
                (depth / places, depth % places)
            }
        }
    }
}

/// The order that a mode names. Without a mode it is the default of later versions.
fn order(mode: Option<&str>) -> Option<Order> {
    match mode {
        None | Some("DCR") => Some(Order::DepthColumnRow),
        Some("CRD") => Some(Order::ColumnRowDepth),
        Some(_) => None,
    }
}

pub(super) const fn version(since: u8, last: ElementType, attributes: &'static [AttributeSpec]) -> Version {
    const INPUTS: &[InputSpec] = &[InputSpec::data("input")];
    Version::new(since, ElementType::up_to(last), attributes, INPUTS)
}

pub(super) fn execute(call: &Call, mover: &Mover) -> Expectation {
    let (data, rules) = (call.data(), &mover.rules);
    let Ok(dims) = <[i64; RANK]>::try_from(data.dims()) else {
        return Expectation::reject(rules.rank);
    };
    let Some(size) = call.int(BLOCKSIZE.name).filter(|&size| size >= 1) else {
        return Expectation::reject(rules.size);
    };
    let Some(order) = order(call.string(MODE.name)) else {
        return Expectation::reject(rules.mode);
    };
    let divides = mover.divides(dims, size);
    if !divides && !data.is_empty() {
        return Expectation::reject(rules.division);
    }
    match (mover.moved(data, dims, size, order), divides) {
        (None, _) => Expectation::reject(rules.beyond),
        (Some(answer), true) => Expectation::Defined(vec![answer]),
        (Some(answer), false) => {
            Expectation::unspecified(rules.rounding, [Answer::Outputs(vec![answer]), Answer::Refusal])
        }
    }
}

impl Mover {
    /// Whether blocks of a size divide data of these dims.
    fn divides(&self, dims: [i64; RANK], size: i64) -> bool {
        let units = (self.units)(i128::from(size));
        dims.into_iter().zip(units).all(|(dim, unit)| i128::from(dim) % unit == 0)
    }

    /// The dims of the output, if each of them fits in an i64.
    fn output(&self, dims: [i64; RANK], size: i64) -> Option<Vec<i64>> {
        let output = (self.dims)(dims.map(i128::from), i128::from(size));
        output.into_iter().map(|dim| i64::try_from(dim).ok()).collect()
    }

    /// The output, if its dims fit in an i64.
    fn moved(&self, data: &Tensor, dims: [i64; RANK], size: i64, order: Order) -> Option<Tensor> {
        let output = self.output(dims, size)?;
        let blocks = Blocks {
            size: usize::try_from(size).ok()?,
            // The depth has this many channels for each place in a block.
            channels: usize::try_from(dims[1].min(output[1])).ok()?,
            order,
        };
        // The source of an index is the sum of those of its parts.
        let moved = data.rearranged(&output, |axis, index, own| {
            let mut part = [0; RANK];
            part[axis] = index;
            own.copy_from_slice(&(self.source)(&blocks, part));
        });
        moved.ok()
    }
}

/// Block sizes that divide data with few elements.
const SMALL_SIZES: [i64; 7] = [2, 3, 1, 4, 5, 7, 8];

/// Block sizes that rarely divide data, except data without elements.
const SIZES: [i64; 16] = [2, 1, 3, 4, 5, 6, 7, 8, 11, 16, 17, 64, 255, 256, 1 << 16, 1 << 20];

/// Invalid block sizes. Truncated or without a sign, many are 1 or 2.
const NO_SIZES: [i64; 9] = [0, -1, -2, -3, -(1 << 31), 2 - (1 << 32), -(1 << 32), i64::MIN + 1, i64::MIN];

/// Block sizes that rarely divide small data. Some are 0, 1 or 2 when truncated to, or squared in, 32 or 64 bits.
const SIZES_THAT_MISFIT: [i64; 16] = [
    2,
    3,
    4,
    5,
    7,
    8,
    1 << 16,
    (1 << 16) + 1,
    1 << 31,
    (1 << 31) + 1,
    1 << 32,
    (1 << 32) + 1,
    (1 << 32) + 2,
    3_037_000_500,
    1 << 62,
    i64::MAX,
];

const MODES: [Option<&str>; 3] = [Some("CRD"), Some("DCR"), None];
const NO_MODES: [&str; 8] = ["", "dcr", "crd", "Dcr", "DRC", "RCD", "DCR ", "DCRD"];

/// Draws a call of one of the operators.
pub(super) fn draw(d: &mut Drawing, mover: &Mover) -> Result<()> {
    if d.breaks(mover.rules.rank) {
        leave_four_dims(d)?;
    } else if !d.is_wild() || d.ratio(3, 4)? {
        take_four_dims(d)?;
    }
    if d.breaks(mover.rules.division) || d.breaks(mover.rules.rounding) {
        d.need_elements();
    }
    let size = d.int(BLOCKSIZE.name, |d| size(d, mover).map(Some))?;
    if d.version.attributes.contains(&MODE) {
        d.attribute(MODE.name, |d| {
            let mode = mode(d, mover.rules.mode)?;
            Ok(mode.map(|mode| AttributeValue::String(mode.to_owned())))
        })?;
    }
    fit_dims(d, mover, size.unwrap_or(1))?;
    d.data();
    Ok(())
}

/// Gives data another rank than four.
fn leave_four_dims(d: &mut Drawing) -> Result<()> {
    if d.dims.len() == RANK {
        if d.ratio(1, 2)? { d.dims.push(1) } else { drop_dim(&mut d.dims) }
    }
    Ok(())
}

/// Gives data four dims, but no more elements.
fn take_four_dims(d: &mut Drawing) -> Result<()> {
    while d.dims.len() < RANK {
        let place = d.u.int_in_range(0..=d.dims.len())?;
        d.dims.insert(place, 1);
    }
    while d.dims.len() > RANK {
        drop_dim(&mut d.dims);
    }
    Ok(())
}

/// Removes a dim, but a 0 only if there is no other: without the 0, a size beside it may be too large.
fn drop_dim(dims: &mut Vec<i64>) {
    let place = dims.iter().position(|&dim| dim == 1).or(dims.iter().position(|&dim| dim != 0));
    dims.remove(place.unwrap_or(0));
}

fn size(d: &mut Drawing, mover: &Mover) -> Result<i64> {
    let (aim, rules) = (d.aim, &mover.rules);
    match aim {
        Aim::Wild if d.ratio(1, 2)? => d.between(-1, 4),
        Aim::Wild => d.choose(&boundary_sizes()),
        Aim::Break(rule) if rule == rules.size => d.choose(&NO_SIZES),
        Aim::Break(rule) if rule == rules.division => d.choose(&SIZES_THAT_MISFIT),
        Aim::Break(rule) if rule == rules.rounding => d.choose(&SIZES_THAT_MISFIT[..6]),
        Aim::Break(rule) if rule == rules.beyond => d.choose(mover.sizes_beyond),
        Aim::Valid if d.is_free && d.ratio(2, 3)? => d.choose(&SMALL_SIZES),
        _ => size_that_fits(d, mover),
    }
}

/// A block size that divides the data as it is. If the dims of the data are countable, those of the output are too.
fn size_that_fits(d: &mut Drawing, mover: &Mover) -> Result<i64> {
    let Ok(dims) = <[i64; RANK]>::try_from(&d.dims[..]) else {
        return d.choose(&SMALL_SIZES);
    };
    let is_countable = |output: &Vec<i64>| is_vast(&dims) || !is_vast(output);
    let fits = |&size: &i64| mover.divides(dims, size) && mover.output(dims, size).as_ref().is_some_and(is_countable);
    let sizes: Vec<i64> = SIZES.into_iter().filter(fits).collect();
    d.choose(&sizes)
}

fn mode(d: &mut Drawing, rule: Rule) -> Result<Option<&'static str>> {
    if d.breaks(rule) || d.is_wild() && d.ratio(1, 4)? { d.choose(&NO_MODES).map(Some) } else { d.choose(&MODES) }
}

/// Gives the data dims that suit the block size and the aim.
fn fit_dims(d: &mut Drawing, mover: &Mover, size: i64) -> Result<()> {
    let rules = &mover.rules;
    let Ok(dims) = <[i64; RANK]>::try_from(&d.dims[..]) else { return Ok(()) };
    let fitted = match d.aim {
        Aim::Wild => dims,
        Aim::Break(rule) if rule == rules.beyond => (mover.beyond)(dims),
        Aim::Break(rule) if rule == rules.division => misfit(d, mover, dims, size)?,
        Aim::Break(rule) if rule == rules.rounding => {
            let dims = misfit(d, mover, dims, size)?;
            let emptied = |place: usize| std::array::from_fn(|i| if i == place { 0 } else { dims[i] });
            let still_misfit = |dims: &[i64; RANK]| !mover.divides(*dims, size);
            let emptied: Vec<[i64; RANK]> = (0..RANK).map(emptied).filter(still_misfit).collect();
            d.choose(&emptied)?
        }
        // A runtime may read an invalid size as 1 or 2.
        _ => divisible(dims, (mover.units)(if size < 1 { 2 } else { i128::from(size) })),
    };
    d.dims = fitted.to_vec();
    Ok(())
}

/// The dims, changed where needed to the nearest multiples of the units, for data no larger than may be drawn.
fn divisible(mut dims: [i64; RANK], units: [i128; RANK]) -> [i64; RANK] {
    let is_large = |dims: &[i64; RANK]| product(*dims).is_none_or(|count| count > i128::from(MAX_DRAWN));
    for (dim, unit) in dims.iter_mut().zip(units) {
        let wide = i128::from(*dim);
        if wide % unit != 0 {
            *dim = i64::try_from((wide / unit).max(1) * unit).unwrap_or(0);
        }
    }
    // Only data without elements is a multiple of a unit that is larger than any drawn data.
    let units = units.map(|unit| i64::try_from(unit).ok().filter(|&unit| unit <= MAX_DRAWN).unwrap_or(0));
    for place in 0..RANK {
        if is_large(&dims) {
            dims[place] = units[place];
        }
    }
    if is_large(&dims) {
        dims[RANK - 1] = 0;
    }
    dims
}

/// The dims of data with elements, or dims close to them, that blocks of this size do not divide. The size is at least 2.
fn misfit(d: &mut Drawing, mover: &Mover, mut dims: [i64; RANK], size: i64) -> Result<[i64; RANK]> {
    let units = (mover.units)(i128::from(size));
    if size < 16 && d.ratio(1, 2)? {
        dims = divisible(dims, units);
    }
    if mover.divides(dims, size) {
        let places: Vec<usize> = (0..RANK).filter(|&place| units[place] != 1).collect();
        let place = d.choose(&places)?;
        let unit = i64::try_from(units[place]).expect("it divides a dim");
        dims[place] += d.choose(&[1, unit - 1, unit / 2])?;
    }
    Ok(dims)
}

/// Calls of one of the operators, and their expectations.
#[cfg(test)]
pub(super) mod calls {
    use super::{AttributeValue, BLOCKSIZE, Expectation, MODE};
    use crate::operator::{Answer, Attribute, Operator, Rule};
    use crate::tensor::{ElementType, Tensor, element_count};

    /// Data that counts up.
    fn data(dims: &[i64]) -> Tensor {
        let count = element_count(dims).unwrap();
        Tensor::from_element_bits(ElementType::Float, dims.to_vec(), 0..count as u128).unwrap()
    }

    pub fn evaluate(operator: &Operator, opset: u8, dims: &[i64], size: i64, mode: Option<&str>) -> Expectation {
        let size = Attribute { name: BLOCKSIZE.name.to_owned(), value: AttributeValue::Int(size) };
        let mode =
            mode.map(|mode| Attribute { name: MODE.name.to_owned(), value: AttributeValue::String(mode.to_owned()) });
        let attributes: Vec<Attribute> = [size].into_iter().chain(mode).collect();
        operator.evaluate(opset, &attributes, &[Some(data(dims))], 1)
    }

    /// The expectation of a tensor with these dims and elements.
    pub fn defined(dims: &[i64], elements: impl IntoIterator<Item = u128>) -> Expectation {
        let tensor = Tensor::from_element_bits(ElementType::Float, dims.to_vec(), elements);
        Expectation::Defined(vec![tensor.unwrap()])
    }

    /// The expectation of a tensor of these dims without elements, or of a refusal.
    pub fn open(rule: Rule, dims: &[i64]) -> Expectation {
        Expectation::Unspecified { rule, tolerated: vec![Answer::Outputs(vec![data(dims)]), Answer::Refusal] }
    }
}
