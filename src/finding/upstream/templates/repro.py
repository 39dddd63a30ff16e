"""{{ title }}

Exits with 0 when {{ runtime }} does what is expected of it, and with 1 while it does not. To run it:

{% for command in commands %}
    {{ command }}
{% endfor %}
"""

{% if foreign %}
import ctypes
{% endif %}
{% if package == "onnxruntime" %}
import os
{% endif %}
{% if apart %}
import subprocess
{% endif %}
import sys
from pathlib import Path

{% if package == "onnxruntime" %}
# Before it is loaded: without this onnxruntime writes a device id and events to the disk.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

{% endif %}
{% if foreign %}
import numpy
{% endif %}
import onnx
{% if package == "onnxruntime" %}
import onnxruntime
{% if not foreign %}
from onnx import numpy_helper
{% endif %}
{% elif package == "openvino" %}
import openvino
from onnx import numpy_helper
{% else %}
from onnx import checker, numpy_helper
from onnx.reference import ReferenceEvaluator
{% endif %}

HERE = Path(__file__).resolve().parent
EXPECTED = {{ expected|python }}
{% if package == "onnxruntime" %}
VERSION = f"onnxruntime {onnxruntime.__version__}"
{% elif package == "openvino" %}
VERSION = f"OpenVINO {openvino.__version__}"
# As in onnx-crosscheck: how many threads there are decides which of its code runs.
{{ settings }}
{% else %}
VERSION = f"onnx.reference {onnx.__version__}"
{% endif %}

# What each model is fed, in the order of test_data_set_0/input_K.pb.
FEEDS = {
{% for model in models %}
    {{ model.folder|python }}: [{% for name in model.names %}{{ name|python }}{{ ", " if not loop.last }}{% endfor %}],
{% endfor %}
}
# Each model, and the level of optimization.
RUNS = [
{% for model in models %}
{% if package == "onnxruntime" %}
{% for level in levels %}
    ({{ model.folder|python }}, "{{ level }}"),
{% endfor %}
{% else %}
    ({{ model.folder|python }}, "{{ "CPU" if package == "openvino" else "ReferenceEvaluator" }}"),
{% endif %}
{% endfor %}
]


{% if foreign %}
def load(path):
    """A tensor: the number of its element type in TensorProto.DataType, its shape, and its elements as bytes or strings."""
    tensor = onnx.load_tensor(HERE / path)
    elements = [text.decode() for text in tensor.string_data] or tensor.raw_data
    return tensor.data_type, list(tensor.dims), elements


def fed(tensor):
    """The tensor for onnxruntime. numpy lacks its type, so the bytes are copied."""
    data_type, shape, elements = tensor
    if data_type == onnx.TensorProto.STRING:
        array = numpy.array(list(elements), dtype=object).reshape(shape)
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    value = onnxruntime.OrtValue.ortvalue_from_shape_and_type(shape, data_type)
    ctypes.memmove(value.data_ptr(), elements, len(elements))
    return value


def read(value):
    """The tensor that onnxruntime gave."""
    if value.element_type() == onnx.TensorProto.STRING:
        array = value.numpy()
        return value.element_type(), list(array.shape), array.ravel().tolist()
    size = value.tensor_size_in_bytes()
    elements = ctypes.string_at(value.data_ptr(), size) if size else b""
    return value.element_type(), list(value.shape()), elements


{% else %}
def load(path):
    tensor = onnx.load_tensor(HERE / path)
    array = numpy_helper.to_array(tensor)
    if tensor.data_type == onnx.TensorProto.STRING:
        # One of numpy's own strings has no NUL at its end.
        array = array.astype(object)
        for place, text in enumerate(tensor.string_data):
            array.flat[place] = text.decode()
    return array


{% endif %}
def run(folder, level):
    """The result of a model{{ ", and the shape that was declared of it" if check == "declared" }}: an output or the error that is raised."""
    feeds = {name: load(f"{folder}test_data_set_0/input_{k}.pb") for k, name in enumerate(FEEDS[folder])}
{% if package == "onnxruntime" %}
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.log_severity_level = 4
{% endif %}
    try:
{% if package == "onnxruntime" %}
        session = onnxruntime.InferenceSession(str(HERE / folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
{% for before in before %}
        try:
            feeds_before = {name: load(f"{folder}{{ before }}/input_{k}.pb") for k, name in enumerate(FEEDS[folder])}
{% if foreign %}
            session.run_with_ort_values(None, {name: fed(tensor) for name, tensor in feeds_before.items()})
{% else %}
            session.run(None, feeds_before)
{% endif %}
        except Exception:
            pass  # It is the run after it that is looked at.
{% endfor %}
{% if foreign %}
        feeds = {name: fed(tensor) for name, tensor in feeds.items()}
        output = read(session.run_with_ort_values(None, feeds)[{{ output }}])
{% elif check == "declared" %}
        output = session.run(None, feeds)[{{ output }}]
{% else %}
        return session.run(None, feeds)[{{ output }}]
{% endif %}
{% elif package == "openvino" %}
        compiled = openvino.Core().compile_model(HERE / folder / "model.onnx", level, SETTINGS)
        output = compiled(feeds)[{{ output }}]
{% else %}
        model = onnx.load(HERE / folder / "model.onnx")
        checker.check_model(model)
        output = ReferenceEvaluator(model).run(None, feeds)[{{ output }}]
{% endif %}
{% if check == "declared" %}
{% if package == "onnxruntime" %}
        return output, session.get_outputs()[{{ output }}].shape
{% else %}
        return output, [dim.dim_value or None for dim in model.graph.output[{{ output }}].type.tensor_type.shape.dim]
{% endif %}
{% elif foreign or package != "onnxruntime" %}
        return output
{% endif %}
    except Exception as error:
        return error


def show(result):
    if isinstance(result, Exception):
        return "gives the error: " + " ".join(str(result).split())[:300]
{% if check == "declared" %}
    output, declared = result
    said = f"declares the shape {declared} and gives"
{% else %}
    output, said = result, "gives"
{% endif %}
{% if foreign %}
    data_type, shape, elements = output
    return f"{said} {onnx.TensorProto.DataType.Name(data_type)} of shape {shape}: {elements!r}"
{% else %}
    # A list of no elements has as many lists in it as its dims say, which may be more than fit in memory.
    return f"{said} {output.dtype} of shape {list(output.shape)}: {output.tolist() if output.size else []}"
{% endif %}


{% if check == "declared" %}
def is_declared(output, declared):
    shape = list({{ "output[1]" if foreign else "output.shape" }})
    return len(shape) == len(declared) and all(not isinstance(dim, int) or dim == given for dim, given in zip(declared, shape))
{% else %}
def same(one, other):
    """Whether two results are both an error, or the same to the bit."""
    if isinstance(one, Exception) or isinstance(other, Exception):
        return isinstance(one, Exception) and isinstance(other, Exception)
{% if foreign %}
    return one == other
{% else %}
    if one.dtype == object or other.dtype == object:
        return one.dtype == other.dtype and one.shape == other.shape and one.tolist() == other.tolist()
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
{% endif %}
{% endif %}


def main():
{% if check == "same" %}
    results = [run(*each) for each in RUNS]
    for (folder, level), result in zip(RUNS, results):
        if not same(results[0], result):
            first = f"{show(results[0])} ({RUNS[0][0]}model.onnx, {RUNS[0][1]})"
            other = f"{show(result)} ({folder}model.onnx, {level})"
            print(f"WRONG: {VERSION} {first}, but {other}; expected is {EXPECTED}")
            return 1
    print(f"RIGHT: {VERSION} {show(results[0])}; expected is {EXPECTED}")
    return 0
{% else %}
{% if check == "answer" %}
    acceptable = [{% for path in acceptable %}load({{ path|python }}){{ ", " if not loop.last }}{% endfor %}]
{% endif %}
    for folder, level in RUNS:
        result = run(folder, level)
{% if check == "declared" %}
        right = not isinstance(result, Exception) and is_declared(*result)
{% elif error_is_right %}
        right = isinstance(result, Exception) or any(same(result, each) for each in acceptable)
{% else %}
        right = not isinstance(result, Exception) and any(same(result, each) for each in acceptable)
{% endif %}
        if not right:
            print(f"WRONG: {VERSION} {show(result)} ({level}); expected is {EXPECTED}")
            return 1
    print(f"RIGHT: {VERSION} {show(result)}; expected is {EXPECTED}")
    return 0
{% endif %}


{% include "end.py" %}
