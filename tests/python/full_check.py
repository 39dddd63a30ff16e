"""onnx.checker with all that it has, but for the models that its shape inference reads wrong."""

from onnx import TensorProto, checker, helper, numpy_helper, shape_inference


def is_read_wrong(model):
    """Whether shape inference takes a valid model for another."""
    return any(is_it(model) for is_it in (squeezes_out_of_order, pads_axes, splits_past_32_bits))


def squeezes_out_of_order(model):
    """That of Squeeze before version 13 goes through the dims and the axes side by side, so it does not meet an axis that comes
    behind a higher one."""
    if model.opset_import[0].version >= 13:
        return False
    squeezes = [node for node in model.graph.node if node.op_type == "Squeeze"]
    axes = [helper.get_attribute_value(attribute) for node in squeezes for attribute in node.attribute]
    return any(list(some) != sorted(some) for some in axes)


def constants(model):
    """The tensors that are part of the model, by name."""
    nodes = [node for node in model.graph.node if node.op_type == "Constant" and node.attribute]
    tensors = {node.output[0]: node.attribute[0].t for node in nodes}
    return tensors | {tensor.name: tensor for tensor in model.graph.initializer}


def pads_axes(model):
    """That of Pad reads axes that are part of the model as int64 only, where int32 is allowed as well; and it takes axes that
    another node computes for none at all."""
    tensors = constants(model)
    computed = {name for node in model.graph.node for name in node.output} - tensors.keys()
    axes = [node.input[3] for node in model.graph.node if node.op_type == "Pad" and len(node.input) > 3]
    return any(name in computed or name in tensors and tensors[name].data_type == TensorProto.INT32 for name in axes)


def splits_past_32_bits(model):
    """That of Split holds the dim that is split in 32 bits."""
    tensors = constants(model)
    dims = {value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in model.graph.input}
    dims |= {name: list(tensor.dims) for name, tensor in tensors.items()}
    splits = [node for node in model.graph.node if node.op_type == "Split"]
    parts = [numpy_helper.to_array(tensors[name]).tolist() for node in splits for name in node.input[1:] if name in tensors]
    split = [dim for node in splits for dim in dims.get(node.input[0], [])] + [sum(some) for some in parts]
    return any(size >= 2**31 for size in split)


def full_check(model):
    """Whether a model was checked; raises what the package says of one that is not valid."""
    try:
        checker.check_model(model, full_check=True)
        return True
    except shape_inference.InferenceError:
        if not is_read_wrong(model):
            raise
        return False
