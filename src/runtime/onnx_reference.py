"""The reference evaluator of the onnx package as a runtime of the kind `command`; docs/command.md describes the protocol."""

import base64
import json
import sys

import numpy
import onnx
from onnx import checker, numpy_helper
from onnx.reference import ReferenceEvaluator

# What the package says when it lacks something; everything else is a refusal.
# The checker wants the rank of every graph input to be declared.
GAPS = (
    *("NotImplementedError", "ImportError", "RuntimeImplementationError", "RuntimeContextError", "UnicodeDecodeError"),
    *("is higher than the checker's", "No Op registered for", "No implementation for operator"),
    "Field 'shape' of 'type' is required",
)


def feed(text):
    tensor = onnx.TensorProto.FromString(base64.b64decode(text))
    if tensor.data_type != onnx.TensorProto.STRING:
        return numpy_helper.to_array(tensor)
    # As objects: numpy's own strings lose NULs at their end.
    array = numpy.empty(len(tensor.string_data), dtype=object)
    array[:] = [string.decode() for string in tensor.string_data]
    return array.reshape(tensor.dims)


def tensor(output):
    if not isinstance(output, (numpy.ndarray, numpy.generic)):
        raise NotImplementedError(f"an output is a {type(output).__name__}")
    array = numpy.asarray(output)
    if array.dtype.kind == "U":
        array = array.astype(object)
    return base64.b64encode(numpy_helper.from_array(array).SerializeToString()).decode()


def run(job):
    stage = "load"
    try:
        model = onnx.ModelProto.FromString(base64.b64decode(job["model"]))
        checker.check_model(model)
        session = ReferenceEvaluator(model)
        stage = "run"
        feeds = {name: feed(text) for name, text in job["feeds"].items()}
        return {"outputs": [tensor(output) for output in session.run(None, feeds)]}
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        if any(gap in message for gap in GAPS):
            return {"unsupported": message}
        return {"refused": message, "stage": stage}


print(json.dumps({"protocol": 1, "version": onnx.__version__}), flush=True)
for line in sys.stdin:
    print(json.dumps(run(json.loads(line))), flush=True)
