"""onnx.checker with all that it has, but for what its shape inference misreads."""

from onnx import TensorProto, checker, helper, shape_inference


def is_misread(model):
    """Whether shape inference takes a valid model for another."""
    return squeezes_out_of_order(model) or pads_axes_of_32_bits(model)


def squeezes_out_of_order(model):
    """That of Squeeze before version 13 goes through the dims and the axes side by side, so it does not meet an axis that comes
    behind a higher one."""
    if model.opset_import[0].version >= 13:
        return False
    squeezes = [node for node in model.graph.node if node.op_type == "Squeeze"]
    axes = [helper.get_attribute_value(attribute) for node in squeezes for attribute in node.attribute]
    return any(list(some) != sorted(some) for some in axes)


def pads_axes_of_32_bits(model):
    """That of Pad reads axes that are part of the model as int64 only, where int32 is allowed as well."""
    values = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute:
            values[node.output[0]] = node.attribute[0].t.data_type
    pads = [node for node in model.graph.node if node.op_type == "Pad" and len(node.input) > 3]
    return any(values.get(node.input[3]) == TensorProto.INT32 for node in pads)


def full_check(model):
    """Whether a model was checked; raises what the package says of one that is not valid."""
    try:
        checker.check_model(model, full_check=True)
        return True
    except shape_inference.InferenceError:
        if not is_misread(model):
            raise
        return False
