"""What the programs beside this file share, which are run behind it: the protocol that docs/command.md describes."""

import base64
import json
import os
import sys

import numpy
import onnx
from onnx import numpy_helper


def model_of(text):
    return onnx.ModelProto.FromString(base64.b64decode(text))


def an_identity():
    """A model of one Identity, from x to y, which are one float each."""
    return onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 13]> g (float[1] x) => (float[1] y) { y = Identity(x) }')


def tensor_of(text):
    return onnx.TensorProto.FromString(base64.b64decode(text))


def text_of(proto):
    return base64.b64encode(proto.SerializeToString()).decode()


def array_of(text):
    tensor = tensor_of(text)
    if tensor.data_type != onnx.TensorProto.STRING:
        return numpy_helper.to_array(tensor)
    # As objects: numpy's own strings lose NULs at their end.
    array = numpy.empty(len(tensor.string_data), dtype=object)
    array[:] = [string.decode() for string in tensor.string_data]
    return array.reshape(tensor.dims)


def text_of_array(output):
    if not isinstance(output, (numpy.ndarray, numpy.generic)):
        raise NotImplementedError(f"an output is a {type(output).__name__}")
    array = numpy.asarray(output)
    if array.dtype.kind == "U":
        array = array.astype(object)
    return text_of(numpy_helper.from_array(array))


def failed(stage, error, gaps):
    """The reply where an error is raised: it lacks something if one of the gaps is in the words, and else it refuses."""
    message = f"{type(error).__name__}: {error}"
    return {"unsupported": message} if any(gap in message for gap in gaps) else {"refused": message, "stage": stage}


def serve(version, run):
    """Answers each question with what `run` makes of it. Whatever else is printed goes to standard error."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    print(json.dumps({"protocol": 1, "version": version}), file=replies, flush=True)
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), file=replies, flush=True)
