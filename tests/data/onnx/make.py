#!/usr/bin/env python3
"""Writes the tiny ONNX files of fuzz/corpus/onnx, one trap of the format each; tests/unit/importers read them by name.

    python tests/data/onnx/make.py        # needs the PyPI package onnx
"""

import pathlib

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

OUT = pathlib.Path(__file__).resolve().parents[3] / "fuzz" / "corpus" / "onnx"
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def value(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def array(name, *shape, dtype=np.float32):
    count = int(np.prod(shape))
    return numpy_helper.from_array(np.arange(count, dtype=dtype).reshape(shape), name)


def ints(name, *values):
    return numpy_helper.from_array(np.array(values, dtype=np.int64), name)


def model(nodes, inputs, outputs, initializers=(), opset=17, ir=8, functions=(), opsets=None, **more):
    graph = helper.make_graph(list(nodes), "g", list(inputs), list(outputs), list(initializers), **more)
    made = helper.make_model(graph, opset_imports=opsets or [helper.make_opsetid("", opset)], functions=list(functions))
    made.ir_version = ir
    made.producer_name = "make.py"
    return made


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, **attributes)


def mlp():
    return model([node("Gemm", ["x", "w1", "b1"], ["h"], transB=1, name="/fc1/Gemm"), node("Relu", ["h"], ["r"], name="/act/Relu"),
                  node("Gemm", ["r", "w2", "b2"], ["y"], transB=1, name="/fc2/Gemm")],
                 [value("x", ["batch", 4])], [value("y", ["batch", 3])],
                 [array("w1", 8, 4), array("b1", 8), array("w2", 3, 8), array("b2", 3)])


def conv_bn():
    return model([node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
                  node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"]), node("Relu", ["n"], ["r"]),
                  node("GlobalAveragePool", ["r"], ["p"]), node("Flatten", ["p"], ["y"])],
                 [value("x", [1, 3, 8, 8])], [value("y", [1, 4])],
                 [array("w", 4, 3, 3, 3), array("s", 4), array("b", 4), array("m", 4), array("v", 4)])


def ir3_inputs():
    """IR 3 lists initializers among the inputs."""
    return model([node("MatMul", ["x", "w"], ["y"])], [value("x", [2, 4]), value("w", [4, 3])], [value("y", [2, 3])],
                 [array("w", 4, 3)], opset=8, ir=3)


def weights_only_as_inputs():
    return model([node("MatMul", ["x", "fc.weight"], ["y"])], [value("x", [2, 4]), value("fc.weight", [4, 3])],
                 [value("y", [2, 3])], opset=8, ir=3)


def constant_weights():
    return model([node("Constant", [], ["w"], value=array("", 4, 3)), node("MatMul", ["x", "w"], ["y"])],
                 [value("x", [2, 4])], [value("y", [2, 3])])


def if_weights():
    def branch(name, n):
        return helper.make_graph([node("MatMul", ["x", "w" + name], ["y" + name])], name, [], [value("y" + name, [2, n])],
                                 [array("w" + name, 4, n)])
    return model([node("If", ["c"], ["y"], then_branch=branch("t", 3), else_branch=branch("e", 3))],
                 [value("x", [2, 4]), value("c", [], TensorProto.BOOL)], [value("y", [2, 3])])


def loop():
    body = helper.make_graph([node("Add", ["s", "x"], ["s_out"]), node("Identity", ["c"], ["c_out"])], "body",
                             [value("i", [], INT64), value("c", [], TensorProto.BOOL), value("s", [2, 4])],
                             [value("c_out", [], TensorProto.BOOL), value("s_out", [2, 4])])
    return model([node("Loop", ["n", "", "x"], ["y"], body=body)], [value("x", [2, 4])], [value("y", [2, 4])],
                 [numpy_helper.from_array(np.array(3, dtype=np.int64), "n")])


def duplicate_opset():
    return model([node("Relu", ["x"], ["y"], domain="ai.onnx")], [value("x", [2])], [value("y", [2])],
                 opsets=[helper.make_opsetid("", 9), helper.make_opsetid("ai.onnx", 13), helper.make_opsetid("ai.onnx.ml", 2)])


def odd_names():
    return model([node("Relu", ["x y\tz"], ['{"name": "out", "é": 1}'])], [value("x y\tz", [2])], [value('{"name": "out", "é": 1}', [2])])


def reference(name, target, kind):
    attribute = AttributeProto(name=name, ref_attr_name=target, type=kind)
    return attribute


def functions():
    elu = node("Elu", ["t"], ["b"], name="elu")
    elu.attribute.append(reference("alpha", "slope", AttributeProto.FLOAT))
    twice = helper.make_function("local", "Twice", ["a"], ["b"], [node("Mul", ["a", "a"], ["t"], name="square"), elu],
                                 [helper.make_opsetid("", 18)], attributes=["slope"])
    inner = node("Twice", ["p"], ["q"], domain="local", name="first")
    inner.attribute.append(reference("slope", "slope", AttributeProto.FLOAT))
    outer = helper.make_function("local", "Outer", ["p", "unused"], ["q", "p"], [inner], [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)],
                                 attribute_protos=[helper.make_attribute("slope", 0.25)])
    return model([node("Outer", ["x"], ["m", "same"], domain="local", name="block"),
                  node("Outer", ["m", "x"], ["y"], domain="local", slope=2.0), node("Relu", ["same"], ["z"])],
                 [value("x", [2])], [value("y", [2]), value("z", [2])], ir=9,
                 opsets=[helper.make_opsetid("", 18), helper.make_opsetid("local", 1)], functions=[twice, outer])


def recursion():
    body = [node("F", ["a"], ["b"], domain="local", name="again")]
    f = helper.make_function("local", "F", ["a"], ["b"], body, [helper.make_opsetid("local", 1)])
    return model([node("F", ["x"], ["y"], domain="local", name="start")], [value("x", [2])], [value("y", [2])], ir=9,
                 opsets=[helper.make_opsetid("", 18), helper.make_opsetid("local", 1)], functions=[f])


def outside(name, shape, location, offset=None, length=None):
    tensor = TensorProto(name=name, data_type=FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
    for key, given in (("location", location), ("offset", offset), ("length", length)):
        if given is not None:
            tensor.external_data.add(key=key, value=str(given))
    return tensor


def external():
    return model([node("MatMul", ["x", "w"], ["h"]), node("MatMul", ["h", "v"], ["y"])], [value("x", [2, 4])],
                 [value("y", [2, 3])], [outside("w", [4, 3], "missing.bin", 0, 48), outside("v", [3, 3], "missing.bin", 64, 40)])


def external_unsafe():
    places = ["../secret.bin", "/etc/passwd", "a/../../b", ""]
    weights = [outside(f"w{i}", [4, 4], place) for i, place in enumerate(places)]
    chain = [node("MatMul", [f"h{i}" if i else "x", f"w{i}"], [f"h{i + 1}"]) for i in range(len(places))]
    return model(chain, [value("x", [2, 4])], [value("h4", [2, 4])], weights)


def typed_data():
    """Small tensors in the typed field of each type; tests read the same values back from raw_data."""
    made = []
    values = {"FLOAT": [0.5, -2], "DOUBLE": [0.5, -2], "INT64": [7, -3], "INT32": [7, -3], "INT16": [7, -3], "INT8": [7, -3],
              "UINT8": [7, 253], "UINT16": [7, 65533], "UINT32": [7, 4294967293], "UINT64": [7, 3], "BOOL": [1, 0],
              "FLOAT16": [0.5, -2], "BFLOAT16": [0.5, -2], "FLOAT8E4M3FN": [0.5, -2], "FLOAT8E5M2": [0.5, -2], "INT4": [7, -3, 1],
              "UINT4": [7, 13, 1], "FLOAT4E2M1": [0.5, -2, 6]}
    for name, numbers in values.items():
        kind = TensorProto.DataType.Value(name)
        typed = helper.make_tensor(name + ".typed", kind, [len(numbers)], numbers)
        raw = numpy_helper.from_array(numpy_helper.to_array(typed), name + ".raw")
        made += [typed, raw]
    return model([node("Relu", ["x"], ["y"])], [value("x", [2])], [value("y", [2])], made, opset=23, ir=11)


def sparse():
    values = numpy_helper.from_array(np.array([1.5, 2.5], dtype=np.float32), "w")
    tensor = helper.make_sparse_tensor(values, ints("", 2, 5), [4, 3])
    return model([node("MatMul", ["x", "w"], ["y"])], [value("x", [2, 4])], [value("y", [2, 3])], sparse_initializer=[tensor])


def future():
    made = model([node("Relu", ["x"], ["y"])], [value("x", [2])], [value("y", [2])], opset=99, ir=40)
    return made.SerializeToString() + b"\xfa\x3f\x05later" + b"\x80\x40\x01"  # unknown fields 1023 and 1024


def unpacked():
    """dims, ints and int64_data as single fields: what proto2 writers before 2015 made."""
    raw = b"\x08\x02" + b"\x08\x01" + b"\x10\x07" + b"\x38\x05" + b"\x38\x06" + b"\x42\x01s"  # dims 2, 1; int64; data 5, 6; name s
    made = model([node("Reshape", ["x", "s0"], ["y"]), node("Transpose", ["y"], ["z"], perm=[1, 0])], [value("x", [2, 3])],
                 [value("z", [3, 2])], [ints("s0", 2, 3)])
    text = made.SerializeToString()
    graph = made.graph.SerializeToString()
    graph = graph + b"\x2a" + bytes([len(raw)]) + raw
    del made.graph.node[:]
    made.ClearField("graph")
    rest = made.SerializeToString()
    assert len(graph) < 16384 and text
    return rest + b"\x3a" + bytes([len(graph) & 127 | 128, len(graph) >> 7]) + graph


def cycle():
    return model([node("Add", ["x", "b"], ["a"], name="first"), node("Relu", ["a"], ["b"], name="second")],
                 [value("x", [2])], [value("b", [2])])


def unsorted():
    return model([node("Relu", ["h"], ["y"]), node("Tanh", ["x"], ["h"])], [value("x", [2])], [value("y", [2])])


def made_twice():
    return model([node("Relu", ["x"], ["y"], name="one"), node("Tanh", ["x"], ["y"], name="two")], [value("x", [2])], [value("y", [2])])


def duplicate_initializer():
    return model([node("Add", ["x", "w"], ["y"])], [value("x", [2])], [value("y", [2])], [array("w", 2), array("w", 1)])


def huge_dims():
    big = 10_000_000_000
    return model([node("MatMul", ["x", "w"], ["y"])], [value("x", [big, big])], [value("y", [big, big])],
                 [TensorProto(name="w", data_type=FLOAT, dims=[big, big])])


def short_payload():
    tensor = array("w", 4, 3)
    tensor.raw_data = tensor.raw_data[:40]
    return model([node("MatMul", ["x", "w"], ["y"])], [value("x", [2, 4])], [value("y", [2, 3])], [tensor])


def shape_flow():
    return model([node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"]), node("Unsqueeze", ["n", "axis"], ["n1"]),
                  node("Concat", ["n1", "rest"], ["to"], axis=0), node("Reshape", ["x", "to"], ["y"])],
                 [value("x", ["batch", 2, 3])], [value("y", ["batch", 6])],
                 [numpy_helper.from_array(np.array(0, dtype=np.int64), "zero"), ints("axis", 0), ints("rest", -1)])


def attention():
    return model([node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]), node("MatMul", ["q", "kt"], ["s"]), node("Mul", ["s", "c"], ["t"]),
                  node("Softmax", ["t"], ["p"], axis=-1), node("MatMul", ["p", "v"], ["y"])],
                 [value(n, [1, 2, 5, 4]) for n in "qkv"], [value("y", [1, 2, 5, 4])],
                 [numpy_helper.from_array(np.array(0.5, dtype=np.float32), "c")])


def types():
    sequence = helper.make_tensor_sequence_value_info("s", FLOAT, ["n", 3])
    optional = helper.make_value_info("o", helper.make_optional_type_proto(helper.make_tensor_type_proto(FLOAT, [2])))
    scalar, unknown = value("c", []), value("u", None)
    return model([node("Identity", ["c"], ["y"])], [sequence, optional, scalar, unknown], [value("y", [])])


FILES = [mlp, conv_bn, ir3_inputs, weights_only_as_inputs, constant_weights, if_weights, loop, duplicate_opset, odd_names, functions,
         recursion, external, external_unsafe, typed_data, sparse, future, unpacked, cycle, unsorted, made_twice,
         duplicate_initializer, huge_dims, short_payload, shape_flow, attention, types]


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for make in FILES:
        made = make()
        data = made if isinstance(made, bytes) else made.SerializeToString(deterministic=True)
        assert len(data) <= 2048, (make.__name__, len(data))
        (OUT / (make.__name__ + ".onnx")).write_bytes(data)


if __name__ == "__main__":
    main()
