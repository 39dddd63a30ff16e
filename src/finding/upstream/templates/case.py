

HERE = Path(__file__).resolve().parent
CASE = json.loads((HERE / "case.json").read_text(encoding="utf-8"))


class Task:
    """A model in a setup, with its feeds by the name of the input."""

    def __init__(self, folder, names, setup):
        self.label = f"{folder}model.onnx, {setup}"
        self.setup, self.output, self.model = setup, CASE["output"], HERE / folder / "model.onnx"
        feeds = lambda data: fed({name: load(f"{folder}{data}/input_{place}.pb") for place, name in enumerate(names)})
        self.before, self.feeds = [feeds(data) for data in CASE["before"]], feeds("test_data_set_0")


# A tensor is the number of its element type in TensorProto.DataType, its shape, and its elements as bytes or strings.


def load(path):
    return of_proto(onnx.load_tensor(HERE / path))


def of_proto(tensor):
    is_text = tensor.data_type == onnx.TensorProto.STRING
    return tensor.data_type, list(tensor.dims), [text.decode() for text in tensor.string_data] if is_text else tensor.raw_data


def array(tensor):
    data_type, shape, elements = tensor
    if data_type == onnx.TensorProto.STRING:
        return numpy.array(elements, dtype=object).reshape(shape)
    return numpy_helper.to_array(onnx.TensorProto(data_type=data_type, dims=shape, raw_data=elements))


def of_array(array):
    return of_proto(numpy_helper.from_array(array))


def declared_in(model, output):
    return [dim.dim_value or None for dim in model.graph.output[output].type.tensor_type.shape.dim]


def outcome(task):
    """The output, or the error that is raised, and the declared shape if it is asked for."""
    try:
        output, declared = run(task)
        declared = declared() if CASE["check"] == "declared" else None
    except Exception as error:
        return error, None
    return read(output), declared


def show(result, declared):
    if isinstance(result, Exception):
        return "gives the error: " + " ".join(str(result).split())[:300]
    said = "gives" if declared is None else f"declares the shape {declared} and gives"
    data_type, shape, elements = result
    if data_type > onnx.TensorProto.UINT64:
        return f"{said} {onnx.TensorProto.DataType.Name(data_type)} of shape {shape}: {elements!r}"
    # A list of no elements has as many lists in it as its dims say, which may be more than fit in memory.
    element_type = onnx.helper.tensor_dtype_to_np_dtype(data_type)
    return f"{said} {element_type} of shape {shape}: {array(result).tolist() if elements else []}"


def same(one, other):
    """Whether two results are both an error, or the same to the bit."""
    errors = [isinstance(result, Exception) for result in (one, other)]
    return all(errors) if any(errors) else one == other


def is_right(result, declared):
    if isinstance(result, Exception):
        return CASE["check"] == "answer" and CASE["error_is_right"]
    if CASE["check"] == "declared":
        shape = result[1]
        return len(shape) == len(declared) and all(not isinstance(dim, int) or dim == own for dim, own in zip(declared, shape))
    return any(same(result, load(path)) for path in CASE["acceptable"])


def main():
    tasks = [Task(model["folder"], model["names"], setup) for model in CASE["models"] for setup in CASE["setups"]]
    expected, first = CASE["expected"], None
    for task in tasks:
        result, declared = outcome(task)
        if isinstance(result, Exception) and any(words in str(result) for words in TOO_NEW):
            print(f"NOT RUN: {task.label}: the opset of the model, or its IR version, is too new for {NAME}")
            return 125  # `git bisect run` skips it.
        if CASE["check"] == "same":
            first = first or (task, result)
            if not same(first[1], result):
                one, other = f"{show(first[1], None)} ({first[0].label})", f"{show(result, None)} ({task.label})"
                print(f"WRONG: {NAME} {one}, but {other}; expected is {expected}")
                return 1
        elif not is_right(result, declared):
            print(f"WRONG: {NAME} {show(result, declared)} ({task.setup}); expected is {expected}")
            return 1
    print(f"RIGHT: {NAME} {show(result, declared)}; expected is {expected}")
    return 0


if __name__ == "__main__":
    sys.exit(apart(NAME, CASE["expected"], 5) if CASE["apart"] and sys.argv[1:] != ["here"] else main())
