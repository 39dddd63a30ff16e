"""A network of 40 nodes, written to the file that is named: nine blocks of Conv, Mul, Add and Relu, and a classifier.

Only block 5 has images of 7 x 7, and only block 4 has a Sub in place of the Add.
"""

import sys

import numpy
import onnx
from onnx import helper, numpy_helper

CHANNELS = 4

draw = numpy.random.default_rng(1)
nodes, weights = [], []


def weight(name, *dims):
    values = draw.uniform(-1, 1, dims).astype(numpy.float32)
    weights.append(numpy_helper.from_array(values, name))
    return name


def node(op_type, name, *inputs, **attributes):
    nodes.append(helper.make_node(op_type, inputs, [name], name, **attributes))
    return name


value = "image"
for block in range(1, 10):
    # From 8 x 8 to 7 x 7 in block 5, and from there to 6 x 6.
    (kernel, pads) = (2, 0) if block in (5, 6) else (3, 1)
    kernels = weight(f"kernels_{block}", CHANNELS, CHANNELS, kernel, kernel)
    value = node("Conv", f"conv_{block}", value, kernels, kernel_shape=[kernel] * 2, pads=[pads] * 4)
    value = node("Mul", f"mul_{block}", value, weight(f"scale_{block}", CHANNELS, 1, 1))
    shift = "Sub" if block == 4 else "Add"
    value = node(shift, f"{shift.lower()}_{block}", value, weight(f"shift_{block}", CHANNELS, 1, 1))
    value = node("Relu", f"relu_{block}", value)
value = node("GlobalAveragePool", "pool", value)
value = node("Flatten", "features", value)
value = node("MatMul", "scores", value, weight("classes", CHANNELS, 10))
value = node("Softmax", "shares", value)

image = helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, ["batch", CHANNELS, 8, 8])
shares = helper.make_tensor_value_info(value, onnx.TensorProto.FLOAT, ["batch", 10])
graph = helper.make_graph(nodes, "network", [image], [shares], weights)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
