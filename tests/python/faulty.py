"""onnxruntime without optimization, but for the fault that is named, as a runtime of the kind `command`."""

import base64
import json
import os
import sys

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnx
import onnxruntime
from onnx import helper, numpy_helper


def session(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def one_shape(model, feeds):
    """Relu is a LeakyRelu of images of 7 x 7."""
    relus = [node for node in model.graph.node if node.op_type == "Relu"]
    seen = onnx.ModelProto()
    seen.CopyFrom(model)
    del seen.graph.output[:]
    seen.graph.output.extend(onnx.ValueInfoProto(name=node.output[0]) for node in relus)
    for node, value in zip(relus, session(seen).run(None, feeds) if relus else []):
        if value.shape[2:] == (7, 7):
            node.op_type = "LeakyRelu"
            node.attribute.append(helper.make_attribute("alpha", 0.5))


def of_pairs(model, is_seen):
    """A Sub of a Mul is an Add, unless the product is one that `is_seen`."""
    products = {node.output[0] for node in model.graph.node if node.op_type == "Mul"}
    for node in model.graph.node:
        if node.op_type == "Sub" and node.input[0] in products and not is_seen(node.input[0]):
            node.op_type = "Add"


def pair(model, feeds):
    of_pairs(model, lambda name: False)


def hidden_pair(model, feeds):
    outputs = {info.name for info in model.graph.output}
    of_pairs(model, lambda name: name in outputs)


def run(job, fault):
    try:
        model = onnx.ModelProto.FromString(base64.b64decode(job["model"]))
        tensors = {name: onnx.TensorProto.FromString(base64.b64decode(text)) for name, text in job["feeds"].items()}
        feeds = {name: numpy_helper.to_array(tensor) for name, tensor in tensors.items()}
        fault(model, feeds)
        outputs = session(model).run(None, feeds)
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {error}", "stage": "load"}
    tensors = [numpy_helper.from_array(output).SerializeToString() for output in outputs]
    return {"outputs": [base64.b64encode(tensor).decode() for tensor in tensors]}


FAULTS = {"one-shape": one_shape, "pair": pair, "hidden-pair": hidden_pair}
print(json.dumps({"protocol": 1, "version": onnxruntime.__version__}), flush=True)
for line in sys.stdin:
    print(json.dumps(run(json.loads(line), FAULTS[sys.argv[1]])), flush=True)
