//! The features of a case: special properties, apart from its exact values, that could make a runtime go wrong.
//!
//! The features of a *minimized* case are the trigger of a defect, since nothing more could be removed from it. A case with all of
//! these features, and perhaps more, shows the same defect for the same reason.

use std::cmp::Ordering;
use std::fmt;
use std::mem;

use super::{
    Case, Contents, Declared, Declares, Edge, Encoding, Fed, Generated, Operand, Shown, Single, Value, Wiring,
    has_twice,
};
use crate::operator::{AttributeKind, AttributeValue, OPERATORS, OperatorName, Role, Version};
use crate::tensor::{ElementType, Tensor};

/// The features of a case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Features {
    /// Sorted, each once.
    tags: Vec<Tag>,
    /// The rank of the data or the length of the target shape, whichever is higher, at least 1. It is exact up to 3. From 4 on, it
    /// is the lowest rank of a range: 4, 9 (above 8) or 33 (above 32).
    rank: u8,
    /// The operator version; the opset of a graph.
    version: u8,
    /// Features that must be absent, sorted. If one of them is added to the minimized case, the defect does not show.
    without: Vec<Tag>,
    /// Whether the version is a feature. It is one only in a minimized case whose defect does not show in later versions.
    up_to_version: bool,
    /// The features and edges of the nodes, if the case is not a single call. `tags` then holds only the earlier runs.
    graph: Option<Box<Graph>>,
}

/// The features of a case that is not a single call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Graph {
    nodes: Vec<Vertex>,
    edges: Vec<Edge>,
}

/// The features of a node, without those of inputs that other nodes compute.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Vertex {
    /// `None` if the defect shows with any operator.
    operator: Option<OperatorName>,
    features: Features,
}

/// One feature. Plain properties have none: float data, a graph input of static dims, sizes of 1 and more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tag {
    /// The type of data that is not float, by the place of the operand.
    Type(u8, ElementType),
    /// An operand other than the data is not int64.
    OtherType(u8),
    /// A trait of the wiring of an operand. A defect has the same effect on all wirings with that trait.
    Wired(u8, Trait),
    /// An operand has a dim of this kind.
    Dim(u8, Size),
    /// The output has a dim of zero where the data has none.
    ZeroMoved,
    /// The data is a scalar.
    Scalar,
    /// The rank of an operand other than the data is not 1.
    OperandRank(u8),
    /// The contents of the data are special values, random bits or explicit elements.
    Contents(u8),
    /// An operand is left out.
    Gap(u8),
    /// There are more operands than the version declares.
    MoreOperands,
    /// There are more operands than the version declares, and all further ones are left out.
    MoreGaps,
    /// There are fewer operands than the version requires.
    FewerOperands,
    /// An attribute by its kind: a list of numbers, or an attribute that no other tag describes, such as an undeclared one.
    Attribute(&'static str, AttributeKind),
    /// Some attribute is given twice.
    Doubled,
    /// The value of an attribute, or a value in its list.
    Value(&'static str, Size),
    /// The text of an attribute.
    Choice(&'static str, &'static str),
    /// An entry of an operand other than the data and the target shape.
    Entry(u8, Size),
    /// Sizes in such an operand multiply to 2^40 and more, though none of them is vast.
    VastProduct(u8),
    /// Such an operand is empty.
    NoEntries(u8),
    /// A list of axes contains a number twice.
    AxisTwice,
    /// The node names several outputs.
    Outputs,
    /// An entry of the target shape.
    Target(Size),
    /// The target shape has a -1 beside sizes that multiply to more than 1, so that a division is needed.
    Divided,
    /// The target shape is empty.
    EmptyTarget,
    /// The output of a node is shown although other nodes use it, or it is declared with more than symbols.
    Shown(Shown),
    /// A graph input or initializer is also a graph output.
    Passed(u8),
    /// Another node is the same call of the same operator.
    Twin,
    /// The session had at least this many earlier runs.
    Before(usize),
}

/// A property that several wirings share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trait {
    /// The contents are in the model.
    InModel,
    /// The operand is the output of a Constant node.
    Constant,
    /// The contents are in the field of their type instead of `raw_data`.
    Typed,
    /// The dims are not known at load.
    UnknownDims,
    /// Equal dims have the same symbol.
    Shared,
    /// Not even the rank is known at load.
    UnknownRank,
    /// The operand is a graph input with a default.
    Default,
    /// A fed tensor overrides the default.
    Overridden,
}

impl Trait {
    /// The traits of a wiring, for an operand of this rank. An operand without dims has no unknown dims, unless its rank is
    /// unknown.
    const fn of(wiring: Wiring, rank: usize) -> &'static [Trait] {
        match wiring {
            Wiring::Input(Declared::Static) => &[],
            Wiring::Input(Declared::Symbolic | Declared::Shared) if rank == 0 => &[],
            Wiring::Input(Declared::Symbolic) => &[Trait::UnknownDims],
            Wiring::Input(Declared::Shared) => &[Trait::UnknownDims, Trait::Shared],
            Wiring::Input(Declared::Unranked) => &[Trait::UnknownDims, Trait::UnknownRank],
            Wiring::Initializer(Encoding::Raw) => &[Trait::InModel],
            Wiring::Initializer(Encoding::Typed) => &[Trait::InModel, Trait::Typed],
            Wiring::Constant(Encoding::Raw) => &[Trait::InModel, Trait::Constant],
            Wiring::Constant(Encoding::Typed) => &[Trait::InModel, Trait::Constant, Trait::Typed],
            Wiring::Default(Fed::Nothing) => &[Trait::InModel, Trait::Default],
            Wiring::Default(Fed::Operand) => &[Trait::Default, Trait::Overridden],
        }
    }
}

/// The kind of a number. A number that counts axes is compared with the rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Size {
    /// -2^31 and below.
    VeryNegative,
    /// An axis before the front, or a number below -1.
    BelowFront,
    /// An axis counted from the back, or -1.
    Negative,
    Zero,
    One,
    /// An axis within the dims, or any number above 1.
    Many,
    /// An axis equal to the rank.
    Rank,
    /// An axis past the rank.
    PastRank,
    /// 2^31 and above.
    Vast,
}

impl Size {
    pub fn of(value: i64) -> Size {
        match value {
            i64::MIN..=-0x8000_0000 => Size::VeryNegative,
            -0x7fff_ffff..=-2 => Size::BelowFront,
            -1 => Size::Negative,
            0 => Size::Zero,
            1 => Size::One,
            2..=0x7fff_ffff => Size::Many,
            _ => Size::Vast,
        }
    }

    fn of_axis(value: i64, rank: i64) -> Size {
        match Size::of(value) {
            extreme @ (Size::VeryNegative | Size::Vast | Size::Zero) => extreme,
            _ if value < -rank => Size::BelowFront,
            _ if value < 0 => Size::Negative,
            _ if value > rank => Size::PastRank,
            _ if value == rank => Size::Rank,
            _ => Size::Many,
        }
    }
}

impl Features {
    /// The features of a case.
    pub fn of(case: &Case) -> Features {
        match case.single() {
            Some(single) => Features::of_single(&single),
            None => Features::of_graph(case, &case.used_values(&case.tensors())),
        }
    }

    /// The features of a case that has its values already.
    pub fn of_generated(generated: &Generated) -> Features {
        match generated.case.single() {
            Some(single) => Features::of_single(&single),
            None => Features::of_graph(&generated.case, generated.values()),
        }
    }

    fn of_graph(case: &Case, values: &[Vec<Tensor>]) -> Features {
        let mut nodes = Vec::new();
        for (place, node) in case.nodes.iter().enumerate() {
            let plain = Wiring::Input(Declared::Static);
            let mut own = case.alone(place, values, plain).map_or_else(Features::default, |s| Features::of_single(&s));
            let target = case.version(place).and_then(Version::target_input);
            // A computed input has no feature but its edge. In a graph, int64 is plain, since shapes are computed, and the contents
            // of a source are no feature.
            own.tags.retain(|tag| {
                !matches!(tag, Tag::Type(_, ElementType::Int64) | Tag::Contents(_))
                    && tag.input(target).is_none_or(|input| !node.is_computed(input))
            });
            if node.data_input(case.opset).is_some_and(|input| node.is_computed(input)) {
                own.rank = 1;
            }
            let is_taken = case.is_taken(place);
            let usual = if is_taken { Shown::Hidden } else { Shown::Output(Declares::Symbolic) };
            if node.shown != usual {
                own.tags.push(Tag::Shown(node.shown));
            }
            if case.twins(place).len() > 1 {
                own.tags.push(Tag::Twin);
            }
            for (index, input) in (0..).zip(&node.inputs) {
                if matches!(input, Some(Value::Source(source)) if case.passed.contains(source)) {
                    own.tags.push(Tag::Passed(index));
                }
            }
            own.tags.sort_unstable();
            nodes.push(Vertex { operator: Some(node.operator.name), features: own });
        }
        let graph = Some(Box::new(Graph { nodes, edges: case.edges().collect() }));
        let tags = (1..=case.before.len()).map(Tag::Before).collect();
        Features { tags, version: case.opset, graph, ..Features::default() }
    }

    /// The features of a minimized graph that shows its defect with any operator in the place of these nodes. Such a node keeps
    /// only the features of its first input and of its output.
    #[must_use]
    pub fn with_any_operator(mut self, nodes: &[usize]) -> Features {
        for (place, vertex) in self.graph.iter_mut().flat_map(|graph| graph.nodes.iter_mut().enumerate()) {
            if nodes.contains(&place) {
                vertex.operator = None;
                let of_any = |tag: &Tag| matches!(tag, Tag::Shown(_) | Tag::Twin) || tag.input(None) == Some(0);
                vertex.features.tags.retain(of_any);
            }
        }
        self
    }

    fn of_single(case: &Single) -> Features {
        let version = case.version();
        let mut tags = Vec::new();
        let data = case.data();
        let rank = data.map_or(0, |operand| operand.dims.len());
        let declared = version.map_or(0, |version| version.inputs.len());
        // Of operands beyond the declared ones, only the presence matters.
        let is_variadic = version.is_some_and(|version| version.input_counts().1 == usize::MAX);
        let declared = if is_variadic { declared.max(case.operands.len()) } else { declared };
        let least = version.map_or(0, |version| version.input_counts().0);
        // The place of an input in a variadic list does not matter.
        let last_spec = version.map_or(0, |version| version.inputs.len().saturating_sub(1));
        for (place, operand) in case.operands.iter().enumerate().take(declared) {
            let place = u8::try_from(if is_variadic { place.min(last_spec) } else { place }).unwrap_or(u8::MAX);
            match operand {
                Some(operand) => operand_tags(&mut tags, place, case.is_data(place.into()), operand),
                None => tags.push(Tag::Gap(place)),
            }
        }
        match case.operands.len().cmp(&declared) {
            Ordering::Less if case.operands.len() < least => tags.push(Tag::FewerOperands),
            Ordering::Less | Ordering::Equal => {}
            Ordering::Greater if case.operands[declared..].iter().all(Option::is_none) => tags.push(Tag::MoreGaps),
            Ordering::Greater => tags.push(Tag::MoreOperands),
        }
        for attribute in &case.attributes {
            let spec = version.and_then(|v| v.attributes.iter().find(|spec| spec.name == attribute.name));
            // The name of an undeclared attribute does not matter, and neither does the value of a doubled one.
            let name = if spec.is_some() { known_name(&attribute.name) } else { "other" };
            if case.attributes.iter().filter(|other| other.name == attribute.name).count() > 1 {
                tags.push(Tag::Doubled);
                continue;
            }
            match (spec.map(|spec| (spec.role, spec.kind)), &attribute.value) {
                (Some((Role::Axis, _)), AttributeValue::Int(value)) => {
                    let rank = i64::try_from(rank).unwrap_or(i64::MAX);
                    // If an axis is required, any axis of the data is plain.
                    let is_plain = spec.is_some_and(|spec| spec.is_required) && (0..rank).contains(value);
                    if !is_plain {
                        tags.push(Tag::Value(name, Size::of_axis(*value, rank)));
                    }
                }
                (Some((Role::Axis, _)), AttributeValue::Ints(values)) => {
                    let rank = i64::try_from(rank).unwrap_or(i64::MAX);
                    tags.push(Tag::Attribute(name, AttributeKind::Ints));
                    tags.extend(values.iter().map(|&value| Tag::Value(name, Size::of_axis(value, rank))));
                    if has_twice(values) {
                        tags.push(Tag::AxisTwice);
                    }
                }
                (Some((Role::Flag | Role::Sizes | Role::Bound | Role::Choice, _)), AttributeValue::Int(value)) => {
                    tags.push(Tag::Value(name, Size::of(*value)));
                }
                (Some((Role::Sizes | Role::Bound, _)), AttributeValue::Ints(values)) => {
                    tags.push(Tag::Attribute(name, AttributeKind::Ints));
                    tags.extend(values.iter().map(|&value| Tag::Value(name, Size::of(value))));
                }
                (Some((Role::Choice, _)), AttributeValue::String(text)) => tags.push(Tag::Choice(name, choice(text))),
                (Some((Role::TargetShape, _)), AttributeValue::Ints(target)) => target_tags(&mut tags, target),
                (Some((Role::Ignored, _)), AttributeValue::Ints(_)) => {}
                (_, value) => tags.push(Tag::Attribute(name, value.kind())),
            }
        }
        let specs = version.map_or(&[][..], |version| version.inputs);
        for (spec, operand) in specs.iter().zip(&case.operands) {
            if let (Role::TargetShape, Some(operand)) = (spec.role, operand)
                && let Some(target) = operand.int64s()
            {
                target_tags(&mut tags, &target);
            }
        }
        for (place, operand) in (0_u8..).zip(&case.operands) {
            let is_other = case.is_parameter(place.into()) && case.role(place.into()) != Role::TargetShape;
            let Some(numbers) = operand.as_ref().filter(|_| is_other).and_then(Operand::numbers) else { continue };
            let size = |&number: &i64| match case.role(place.into()) {
                Role::Axis => Size::of_axis(number, i64::try_from(rank).unwrap_or(i64::MAX)),
                _ => Size::of(number),
            };
            let sizes = numbers.iter().map(size).filter(|size| !matches!(size, Size::One | Size::Many));
            tags.extend(sizes.map(|size| Tag::Entry(place, size)));
            if case.role(place.into()) == Role::Sizes && is_vast_product(&numbers) {
                tags.push(Tag::VastProduct(place));
            }
            if numbers.is_empty() {
                tags.push(Tag::NoEntries(place));
            }
            if case.role(place.into()) == Role::Axis && has_twice(&numbers) {
                tags.push(Tag::AxisTwice);
            }
        }
        if case.outputs > 1 {
            tags.push(Tag::Outputs);
        }
        if rank == 0 && data.is_some() {
            tags.push(Tag::Scalar);
        }
        if let Some(data) = data.filter(|data| data.dims.contains(&0))
            && let Some(output) = case.operator.output_dims(&case.attributes, &data.dims)
            && output.iter().enumerate().any(|(axis, &dim)| dim == 0 && data.dims.get(axis) != Some(&0))
        {
            tags.push(Tag::ZeroMoved);
        }
        let width = case.target().map_or(rank, |target| target.len().max(rank));
        tags.sort_unstable();
        tags.dedup();
        let rank = match width {
            0..=3 => u8::try_from(width).unwrap_or(3).max(1),
            4..=8 => 4,
            9..=32 => 9,
            _ => 33,
        };
        Features { tags, rank, version: version.map_or(0, |version| version.since), ..Features::default() }
    }

    /// The features of a minimized case whose defect does not show in later versions.
    pub fn up_to_this_version(self) -> Features {
        Features { up_to_version: true, ..self }
    }

    /// The features of a minimized case whose defect does not show with any of these features added to it.
    pub fn without(self, mut tags: Vec<Tag>) -> Features {
        tags.sort_unstable();
        tags.dedup();
        Features { without: tags, ..self }
    }

    /// The tags of another case that are not among these.
    pub fn added_in<'a>(&self, other: &'a Features) -> impl Iterator<Item = Tag> + use<'a, '_> {
        other.tags.iter().copied().filter(|tag| !self.tags.contains(tag))
    }

    /// The features of the first node of a graph that has all features in `words`, or else these features unchanged. `rank>=1` is
    /// that of every node.
    #[must_use]
    pub fn of_the_node_with(self, words: &[String]) -> Features {
        let node = self.graph.iter().flat_map(|graph| &graph.nodes).map(|node| &node.features);
        let has_all = |features: &&Features| {
            let own = features.words();
            words.iter().all(|word| own.contains(word) || *word == rank_word(1))
        };
        node.into_iter().find(has_all).cloned().unwrap_or(self)
    }

    /// These features without those that `case` has and `words` does not name. Both must have the same nodes; otherwise nothing
    /// changes. If a node of several has features or edges in `case` and `words` names none of them, it may be of any operator.
    #[must_use]
    pub fn as_written(mut self, case: &Features, words: &[String]) -> Features {
        match (&mut self.graph, &case.graph) {
            (None, None) => {}
            (Some(own), Some(other)) if own.nodes.len() == other.nodes.len() => {
                let is_written = |edge: &Edge| words.contains(&other.edge(*edge));
                let is_one = own.nodes.len() == 1;
                own.edges.retain(|edge| !other.edges.contains(edge) || is_written(edge));
                for (place, (node, name)) in own.nodes.iter_mut().zip(other.names()).enumerate() {
                    let of_node = |word: &String| Some(word.strip_prefix(&name)?.strip_prefix('/')?.to_owned());
                    let words: Vec<String> = words.iter().filter_map(of_node).collect();
                    let is_joined = |edges: &[Edge]| edges.iter().any(|edge| edge.from == place || edge.to == place);
                    let is_plain = other.nodes[place].features.words().is_empty() && !is_joined(&other.edges);
                    let is_named = !words.is_empty() || is_joined(&own.edges);
                    node.operator = node.operator.filter(|_| is_one || is_named || is_plain);
                    node.features = mem::take(&mut node.features).as_written(&other.nodes[place].features, &words);
                }
            }
            _ => return self,
        }
        self.tags.retain(|tag| !case.tags.contains(tag) || words.contains(&tag.to_string()));
        if !words.contains(&rank_word(case.rank)) {
            self.rank = 1;
        }
        self
    }

    /// Whether these are the features of a graph in which one node has all the features `own` of a single call.
    pub fn have_node_with(&self, own: &Features) -> bool {
        let nodes = self.graph.iter().flat_map(|graph| &graph.nodes);
        own.graph.is_none() && nodes.into_iter().any(|node| own.are_within(&node.features))
    }

    /// Whether a case with the features `other` has all of these, so that it shows the same defect.
    pub fn are_within(&self, other: &Features) -> bool {
        let is_part = match (&self.graph, &other.graph) {
            (None, None) => true,
            (Some(own), Some(other)) => own.is_within(other, &mut vec![]),
            _ => false,
        };
        is_part
            && self.rank <= other.rank
            && (!self.up_to_version || other.version <= self.version)
            && self.tags.iter().all(|tag| other.tags.binary_search(tag).is_ok())
            && !self.without.iter().any(|tag| other.tags.binary_search(tag).is_ok())
    }

    /// Whether these are the features of a graph with a node of this operator.
    pub fn has_node(&self, operator: OperatorName) -> bool {
        self.graph.as_ref().is_some_and(|graph| graph.nodes.iter().any(|node| node.operator == Some(operator)))
    }

    /// The weight of the features: the number of tags, the rank, and the weights of the nodes.
    pub fn weight(&self) -> usize {
        let of_nodes = self.graph.iter().flat_map(|graph| &graph.nodes).map(|node| NODE + node.features.weight());
        self.tags.len() + usize::from(self.rank) + of_nodes.sum::<usize>()
    }
}

/// The weight of a node without its features: one more node weighs more than one more feature.
const NODE: usize = 16;

impl Default for Features {
    /// The features of a plain case.
    fn default() -> Features {
        Features { tags: vec![], rank: 1, version: 0, without: vec![], up_to_version: false, graph: None }
    }
}

impl Graph {
    /// Whether it is a part of another graph: each node matches a node there that has all its features and the same edges. `taken`
    /// are the places there of the nodes that match the first nodes here.
    fn is_within(&self, other: &Graph, taken: &mut Vec<usize>) -> bool {
        let place = taken.len();
        let Some(Vertex { operator, features }) = self.nodes.get(place) else { return true };
        for (candidate, theirs) in other.nodes.iter().enumerate() {
            let is_it = operator.is_none() || *operator == theirs.operator;
            if taken.contains(&candidate) || !is_it || !features.are_within(&theirs.features) {
                continue;
            }
            taken.push(candidate);
            let is_joined = |edge: &Edge| {
                let is_same = |their: &Edge| {
                    (their.from, their.to) == (taken[edge.from], candidate)
                        && (operator.is_none() || their.input == edge.input)
                };
                edge.to != place || other.edges.iter().any(is_same)
            };
            if self.edges.iter().all(is_joined) && self.is_within(other, taken) {
                return true;
            }
            taken.pop();
        }
        false
    }

    /// A name for each node: its operator, or `any`. From the second node with the same name on, a number follows.
    fn names(&self) -> Vec<String> {
        let operator = |place: usize| self.nodes[place].operator.unwrap_or("any");
        let name = |place: usize| match (0..place).filter(|&other| operator(other) == operator(place)).count() {
            0 => operator(place).to_owned(),
            before => format!("{}#{}", operator(place), before + 1),
        };
        (0..self.nodes.len()).map(name).collect()
    }

    /// An edge, such as `Reshape.1<Shape`.
    fn edge(&self, Edge { from, to, input }: Edge) -> String {
        let names = self.names();
        match self.nodes[to].operator {
            Some(_) => format!("{}.{input}<{}", names[to], names[from]),
            None => format!("{}<{}", names[to], names[from]),
        }
    }
}

impl fmt::Display for Graph {
    /// The edges, such as `Reshape.1<Shape`, and the features of each node. An edge to a node of any operator names no input.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names();
        let edges = self.edges.iter().map(|edge| self.edge(*edge));
        let of_nodes = self.nodes.iter().zip(&names).flat_map(|(node, name)| {
            let words = node.features.words();
            words.into_iter().map(move |word| format!("{name}/{word}"))
        });
        f.write_str(&edges.chain(of_nodes).collect::<Vec<_>>().join(" "))
    }
}

impl Tag {
    /// The input that the tag describes, if it describes one. `target` is the place of the target shape.
    fn input(self, target: Option<usize>) -> Option<usize> {
        match self {
            Tag::Type(place, _)
            | Tag::OtherType(place)
            | Tag::Wired(place, _)
            | Tag::Dim(place, _)
            | Tag::OperandRank(place)
            | Tag::Contents(place)
            | Tag::Entry(place, _)
            | Tag::VastProduct(place)
            | Tag::NoEntries(place)
            | Tag::Passed(place) => Some(place.into()),
            Tag::Scalar | Tag::ZeroMoved => Some(0),
            Tag::Target(_) | Tag::Divided | Tag::EmptyTarget => target,
            _ => None,
        }
    }
}

fn rank_word(rank: u8) -> String {
    format!("rank>={rank}")
}

fn operand_tags(tags: &mut Vec<Tag>, place: u8, is_data: bool, operand: &Operand) {
    tags.extend(Trait::of(operand.wiring, operand.dims.len()).iter().map(|&one| Tag::Wired(place, one)));
    if is_data {
        if operand.element_type != ElementType::Float {
            tags.push(Tag::Type(place, operand.element_type));
        }
        let sizes = operand.dims.iter().map(|&dim| Size::of(dim));
        tags.extend(sizes.filter(|size| matches!(size, Size::Zero | Size::Vast)).map(|size| Tag::Dim(place, size)));
        if operand.contents != Contents::Count {
            tags.push(Tag::Contents(place));
        }
        return;
    }
    if operand.element_type != ElementType::Int64 {
        tags.push(Tag::OtherType(place));
    }
    if operand.dims.len() != 1 {
        tags.push(Tag::OperandRank(place));
    }
}

/// Whether numbers, none of which is vast, multiply to 2^40 and more.
fn is_vast_product(numbers: &[i64]) -> bool {
    let is_vast = |&number: &i64| matches!(Size::of(number), Size::Vast | Size::VeryNegative);
    let product = numbers.iter().fold(1_u64, |product, number| product.saturating_mul(number.unsigned_abs()));
    !numbers.iter().any(is_vast) && product >= 1 << 40
}

fn target_tags(tags: &mut Vec<Tag>, target: &[i64]) {
    let sizes = target.iter().map(|&entry| Size::of(entry));
    tags.extend(sizes.filter(|size| !matches!(size, Size::One | Size::Many)).map(Tag::Target));
    if target.contains(&-1) && target.iter().any(|&entry| entry > 1) {
        tags.push(Tag::Divided);
    }
    if target.is_empty() {
        tags.push(Tag::EmptyTarget);
    }
}

/// A text that an attribute may have; `other` for all other texts.
fn choice(text: &str) -> &'static str {
    const CHOICES: [&str; 7] = ["constant", "reflect", "edge", "wrap", "DCR", "CRD", "up"];
    CHOICES.into_iter().find(|&known| known == text).unwrap_or("other")
}

/// The name of an attribute that some operator has; `other` for all other names.
fn known_name(name: &str) -> &'static str {
    let versions = OPERATORS.iter().flat_map(|operator| operator.versions);
    let names = versions.flat_map(|version| version.attributes).map(|spec| spec.name);
    names.into_iter().find(|&known| known == name).unwrap_or("other")
}

impl Features {
    /// The tags, and the rank if it is above 1.
    fn words(&self) -> Vec<String> {
        let rank = (self.rank > 1).then(|| rank_word(self.rank));
        self.tags.iter().map(ToString::to_string).chain(rank).collect()
    }
}

impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<String> = self.graph.iter().map(ToString::to_string).collect();
        words.extend(self.words());
        if words.is_empty() {
            words.push(rank_word(self.rank));
        }
        words.extend(self.without.iter().map(|tag| format!("!{tag}")));
        if self.up_to_version {
            words.push(format!("version<={}", self.version));
        }
        f.write_str(&words.join(" "))
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tag::Type(place, element_type) => write!(f, "operand{place}:{element_type}"),
            Tag::OtherType(place) => write!(f, "operand{place}:other-type"),
            Tag::Wired(place, one) => write!(f, "operand{place}:{one}"),
            Tag::Scalar => f.write_str("scalar"),
            Tag::Dim(place, size) => write!(f, "operand{place}:dim-{size}"),
            Tag::OperandRank(place) => write!(f, "operand{place}:rank"),
            Tag::Contents(place) => write!(f, "operand{place}:contents"),
            Tag::Gap(place) => write!(f, "operand{place}:left-out"),
            Tag::MoreOperands => f.write_str("more-operands"),
            Tag::MoreGaps => f.write_str("more-operands:left-out"),
            Tag::ZeroMoved => f.write_str("zero-moved"),
            Tag::FewerOperands => f.write_str("fewer-operands"),
            Tag::Attribute(name, kind) => write!(f, "{name}:{}", format!("{kind:?}").to_lowercase()),
            Tag::Doubled => f.write_str("attribute-twice"),
            Tag::Value(name, size) => write!(f, "{name}:{size}"),
            Tag::Choice(name, text) => write!(f, "{name}:{text}"),
            Tag::Entry(place, size) => write!(f, "operand{place}:entry-{size}"),
            Tag::VastProduct(place) => write!(f, "operand{place}:vast-product"),
            Tag::NoEntries(place) => write!(f, "operand{place}:empty"),
            Tag::AxisTwice => f.write_str("axis-twice"),
            Tag::Outputs => f.write_str("outputs"),
            Tag::Target(size) => write!(f, "target-{size}"),
            Tag::Divided => f.write_str("target-divided"),
            Tag::EmptyTarget => f.write_str("target-empty"),
            Tag::Shown(shown) => write!(f, "{shown}"),
            Tag::Passed(place) => write!(f, "operand{place}:output"),
            Tag::Twin => f.write_str("twin"),
            Tag::Before(runs) => write!(f, "runs>{runs}"),
        }
    }
}

impl fmt::Display for Trait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Trait::InModel => "in-model",
            Trait::Constant => "constant",
            Trait::Typed => "typed",
            Trait::UnknownDims => "unknown-dims",
            Trait::Shared => "shared",
            Trait::UnknownRank => "unknown-rank",
            Trait::Default => "default",
            Trait::Overridden => "overridden",
        })
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Size::VeryNegative => "very-negative",
            Size::BelowFront => "below-front",
            Size::Negative => "negative",
            Size::Zero => "zero",
            Size::One => "one",
            Size::Many => "many",
            Size::Rank => "rank",
            Size::PastRank => "past-rank",
            Size::Vast => "vast",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(line: &str) -> Features {
        Features::of(&line.parse().unwrap())
    }

    #[test]
    fn values_that_do_not_matter_are_no_features() {
        assert_eq!(features("Flatten@26 axis=1 float[2,3]"), features("Flatten@25 axis=1 float[7,11]"));
        assert_eq!(features("Reshape@26 float[2,3] int64[1]{6}"), features("Reshape@25 float[5,1] int64[1]{5}"));
        assert_ne!(features("Flatten@26 axis=1 float[2,3]"), features("Flatten@26 axis=-1 float[2,3]"));
        let tile = |repeats: &str| features(&format!("Tile@26 float[1,1] int64[2]{{{repeats}}}")).to_string();
        assert_eq!(tile("2147483647,2147483647"), "operand1:vast-product rank>=2");
        assert_eq!(
            (tile("3,2147483648"), tile("3,2147483647")),
            ("operand1:entry-vast rank>=2".into(), "rank>=2".into())
        );
    }

    #[test]
    fn which_input_of_a_list_it_is_does_not_matter_nor_which_axis_where_one_is_required() {
        let first = features("Concat@28 axis=0 float[1,1]:input(symbolic) float[1,1]");
        assert_eq!(first.to_string(), "operand0:unknown-dims rank>=2");
        assert_eq!(first, features("Concat@28 axis=1 float[1,1] float[1,1] float[1,1]:input(symbolic)"));
        assert_ne!(first, features("Concat@28 axis=-1 float[1,1] float[1,1]:input(symbolic)"));
        assert_ne!(features("Gather@28 axis=1 float[1,1] int64[1]"), features("Gather@28 axis=0 float[1,1] int64[1]"));
    }

    #[test]
    fn a_graph_is_within_those_that_have_its_nodes_joined_in_the_same_way() {
        let trigger = features("x=float[2,3]; a=Shape@28 x; Reshape x a");
        assert_eq!(trigger.to_string(), "Reshape.1<Shape Shape/rank>=2 Reshape/rank>=2");
        let within = |line: &str| trigger.are_within(&features(line));
        assert!(within("x=int8[2,3]:constant; a=Flatten@21 x; a1=Shape x; a2=Reshape x a1; Shape a2"));
        assert!(!within("x=int8[2,3]:constant; a=Flatten@21 x; a1=Shape a; Reshape x a1"), "its shape is of another");
        assert!(!within("x=float[2,3]; a=Shape@28 x; a1=Reshape a int64[2]{2,1}; Flatten x"), "the shape is its data");
        assert!(!within("Reshape@28 float[2,3] int64[2]{2,3}"), "one node");
        assert!(!features("Reshape@28 float[1] int64[1]{1}").are_within(&trigger));
        assert!(trigger.have_node_with(&features("Reshape@28 float[1,1] int64[1]{1}")));
        assert!(!trigger.have_node_with(&features("Reshape@28 int8[1,1] int64[1]{1}")));
        let shown = features("x=float[2,3]; a=Shape@28 x :output; Reshape x a :output(static)");
        assert!(trigger.are_within(&shown) && !shown.are_within(&trigger), "{shown}");
        let twice = features("a=Flatten@28 float[1]; a1=Flatten a; Flatten a1");
        assert_eq!(twice.to_string(), "Flatten#2.0<Flatten Flatten#3.0<Flatten#2");
    }

    #[test]
    fn where_any_operator_will_do_any_is_within() {
        let trigger = features("a=Shape@28 float[2,3] :info; Reshape a int64[1]{2}").with_any_operator(&[1]);
        assert_eq!(trigger.to_string(), "any<Shape Shape/info Shape/rank>=2");
        let within = |line: &str| trigger.are_within(&features(line));
        assert!(within("a=Shape@28 float[2,3] :info; Flatten a"));
        assert!(within("x=float[2,3]; a=Shape@28 x :info; Reshape x a"), "by whichever input");
        assert!(!within("a=Shape@28 float[2,3]; Flatten a"));
        let twins = features("x=float[1]; a=Shape@28 x :output; Shape x").with_any_operator(&[0, 1]);
        assert_eq!(twins.to_string(), "any/twin any#2/twin");
        assert!(twins.are_within(&features("x=int8[1]; a=Size@28 x :output; a1=Size x :output; Flatten x")));
        assert!(!twins.are_within(&features("x=int8[1]; a=Size@28 x :output; Flatten x")));
    }

    #[test]
    fn of_a_graph_only_the_nodes_and_edges_that_are_written_matter() {
        let case = features("x=float[2,3]:input(symbolic); a=Shape@28 x; a1=Reshape x a :output; Flatten a1");
        let written = |words: &str| {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            case.clone().as_written(&case, &words)
        };
        assert_eq!(written(&case.to_string()), case);
        let edge = written("Reshape.1<Shape");
        assert_eq!(edge.to_string(), "Reshape.1<Shape");
        assert!(edge.are_within(&features("a=Shape@28 float[1]; a1=Reshape float[1] a; Size a1")));
        assert!(!edge.are_within(&features("a=Shape@28 float[1]; a1=Reshape float[1] int64[1]{1}; Size a1")));
        let node = written("Reshape/operand0:unknown-dims");
        assert!(
            node.are_within(&features("a=Size@28 float[1]; a1=Reshape int8[1]:input(symbolic) int64[1]{1}; Size a1"))
        );
        assert!(!node.are_within(&features("a=Size@28 float[1]; a1=Reshape int8[1] int64[1]{1}; Size a1")));
    }

    #[test]
    fn a_trigger_is_within_the_cases_that_have_all_of_it() {
        let trigger = features("Flatten@28 axis=2 float[1,0]");
        assert!(trigger.are_within(&features("Flatten@13 axis=3 int8[2,0,4]:constant")));
        assert!(!trigger.are_within(&features("Flatten@13 axis=2 float[2,3]")), "no zero");
        assert!(!trigger.are_within(&features("Flatten@13 axis=1 float[2,0]")), "another kind of axis");
        assert!(!trigger.are_within(&features("Flatten@13 axis=1 float[0]")), "a lower rank");
        let typed = features("Shape@28 uint64[1]:initializer(typed)");
        assert!(typed.are_within(&features("Shape@15 start=1 uint64[2]:initializer(typed)")));
        assert!(typed.are_within(&features("Shape@28 uint64[]:constant(typed)")), "typed and in the model too");
        assert!(!typed.are_within(&features("Shape@28 uint64[1]:initializer")));
        let in_model = features("Shape@28 float[1]:initializer");
        assert!(in_model.are_within(&features("Shape@28 float[1]:default")));
        assert!(!in_model.are_within(&features("Shape@28 float[1]:default(overridden)")), "it is fed");
        let old = features("Flatten@10 axis=-1 float[1]").up_to_this_version();
        assert!(old.are_within(&features("Flatten@1 axis=-1 float[1]")));
        assert!(!old.are_within(&features("Flatten@11 axis=-1 float[1]")));
    }
}
