"""A torch module -> an ONNX model without weights, with the facts of eager mode that ONNX has no place for.

    model = export_module(module, (x,), dynamic={0: {0: "batch"}})
    onnx.save(model, "resnet50.onnx")

It builds under a fake tensor mode where it can, so the size of the model costs no memory. It does not run a model.
What is recorded is listed in tools/export_onnx.py.
"""

from __future__ import annotations

import ast
import contextlib
import re
import warnings

import onnx
import onnx_ir as ir
import onnx_ir.passes.common as passes
import torch

from . import translations

INLINE_LIMIT = 1024  # bytes; a constant up to this size may be needed for shapes
ALIGNMENT = 64
WEIGHTS_FILE = "weights.bin"
OPSET = 23


def _allocation_order(module):
    """Parameters and buffers in the order in which module.cuda() moves (allocates) them: children first."""
    for child in module.children():
        yield from _allocation_order(child)
    prefix = module._ullage_prefix
    for kind, table in (("parameter", module._parameters), ("buffer", module._buffers)):
        for name, tensor in table.items():
            if tensor is not None:
                yield kind, prefix + name, tensor


def tensors_of(module):
    """(allocation order [(kind, name, tensor)], {name: name of the tensor it is tied to}); tied tensors once."""
    for name, sub in module.named_modules():
        sub._ullage_prefix = name + "." if name else ""
    names = {}
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        names.setdefault(id(tensor), name)
    order, seen = [], set()
    for kind, _, tensor in _allocation_order(module):
        if id(tensor) not in seen:
            seen.add(id(tensor))
            order.append((kind, names[id(tensor)], tensor))
    for sub in module.modules():
        del sub._ullage_prefix
    every = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    return order, {name: names[id(tensor)] for name, tensor in every if name != names[id(tensor)]}


def _lstm_shapes(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    width = params[1].shape[1] * (2 if bidirectional else 1)
    return input.new_empty((*input.shape[:2], width)), torch.empty_like(hx[0]), torch.empty_like(hx[1])


@contextlib.contextmanager
def _whole_lstm():
    """Tracing an LSTM would unroll it to single steps (and fix the length); its shapes are all that is needed."""
    op = torch.ops.aten.lstm.input
    keys = [k for k in (torch._C.DispatchKey.CompositeImplicitAutograd, torch._C.DispatchKey.Autograd) if k in op.py_kernels]
    kept = {k: op.py_kernels[k] for k in keys}
    op._dispatch_cache.clear()
    op.py_kernels.update({k: _lstm_shapes for k in keys})
    try:
        yield
    finally:
        op.py_kernels.update(kept)
        op._dispatch_cache.clear()


def _output_names(program):
    """Keys of a mapping or fields of a named tuple that the model returns; None leaves the exporter's names."""
    spec = program.call_spec.out_spec
    result = torch.utils._pytree.tree_unflatten(list(range(spec.num_leaves)), spec)
    if isinstance(result, dict):
        pairs = result.items()
    elif hasattr(result, "_fields"):
        pairs = zip(result._fields, result)
    else:
        return None
    names = {index: key for key, index in pairs if isinstance(index, int)}
    return [names[i] for i in range(spec.num_leaves)] if len(names) == spec.num_leaves else None


def _trace(module, args, kwargs, dynamic):
    """torch.export; a dimension the model turns out to specialise falls back to fixed, with a warning."""
    shapes = _dynamic_shapes(args, kwargs, dynamic, torch.export.Dim.DYNAMIC)
    try:
        return torch.export.export(module, args, kwargs, dynamic_shapes=shapes, strict=False), []
    except Exception as error:  # noqa: BLE001: the exporter raises many types
        if not dynamic:
            raise
        first = str(error).strip().splitlines()[0][:200]
        warnings.warn(f"a dynamic dimension was refused ({first}); retrying with whatever stays dynamic")
    shapes = _dynamic_shapes(args, kwargs, dynamic, torch.export.Dim.AUTO)
    return torch.export.export(module, args, kwargs, dynamic_shapes=shapes, strict=False), [first]


def _simplify(program):
    """Rewrites in-place calls whose functional form would hide them; returns {node name: the op that was called}.

    dropout_ becomes dropout. A fill of a view (mask[a:b] = 1) allocates nothing and nobody uses its result: it is
    removed, where the functional form would copy the whole tensor.
    """
    aten = torch.ops.aten
    called = {}
    for node in list(program.graph.nodes):
        if node.op != "call_function":
            continue
        called[node.name] = _target_name(node)
        if node.target is aten.dropout_.default:
            node.target = aten.dropout.default
        elif node.target in (aten.fill_.Scalar, aten.fill_.Tensor, aten.zero_.default) and not node.users:
            program.graph.erase_node(node)
    program.graph.eliminate_dead_code(is_impure_node=lambda n: n.op != "call_function" or _mutates(n))
    program.graph_module.recompile()
    return called


def _mutates(node):
    schema = getattr(node.target, "_schema", None)
    return schema is None or schema.is_mutable


def _dynamic_shapes(args, kwargs, dynamic, dim):
    if not dynamic:
        return None
    def spec(key, value):
        return {axis: dim for axis in dynamic.get(key, {})} if torch.is_tensor(value) else None
    positional = tuple(spec(i, a) for i, a in enumerate(args))
    named = {k: spec(k, v) for k, v in kwargs.items()}
    return {**named} if kwargs and not args else positional if not kwargs else None


def _origin(node, known):
    """The node of the program as written (before functionalisation and decomposition) that this one came from."""
    found = None
    queue = list(node.meta.get("from_node") or [])
    while queue:
        source = queue.pop(0)
        if source.name in known:
            found = known[source.name]
        queue.extend(source.from_node or [])
    return found or known.get(node.name)


def _target_name(node):
    target = node.target
    return str(target) if isinstance(target, torch._ops.OpOverload) else None


def _module_path(node):
    stack = node.meta.get("nn_module_stack") or {}
    path = ""
    for entry in stack.values():
        path = entry[0]
    return "" if path.startswith("_empty") else re.sub(r"@\d+$", "", path.replace("L['self'].", ""))


def _annotate(model, program, called, decomposed):
    """Replaces the exporter's metadata of each node by the short facts."""
    known = {n.name: n for n in program.graph.nodes if n.op == "call_function"}
    lowered = {n.name: n for n in decomposed.graph.nodes}
    for node in ir.traversal.RecursiveGraphIterator(model.graph):
        scopes = node.metadata_props.get("pkg.torch.onnx.name_scopes")
        node.metadata_props.clear()
        node.doc_string = None
        if not scopes:
            continue
        fx = lowered.get(ast.literal_eval(scopes)[-1])
        if fx is None:
            continue
        origin = _origin(fx, known) or fx
        target = called.get(origin.name) or _target_name(origin)
        facts = {"ullage.module": _module_path(origin), "ullage.aten": target, "ullage.node": origin.name}
        if origin.target is torch.ops.aten.scaled_dot_product_attention.default:
            probability = origin.args[4] if len(origin.args) > 4 else origin.kwargs.get("dropout_p", 0.0)
            if probability:
                facts["ullage.dropout_p"] = repr(float(probability))
        node.metadata_props.update({k: v for k, v in facts.items() if v})


def _rename_symbols(model, names):
    """Symbols such as s77 -> batch, in every shape, also inside expressions."""
    if not names:
        return
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, names)) + r")\b")
    def renamed(shape):
        return ir.Shape([
            ir.SymbolicDim(pattern.sub(lambda m: names[m.group(1)], d.value))
            if isinstance(d, ir.SymbolicDim) and d.value else d for d in shape
        ])
    values = list(model.graph.inputs)
    for node in ir.traversal.RecursiveGraphIterator(model.graph):
        values.extend(node.outputs)
    for value in values:
        if value.shape is not None:
            value.shape = renamed(value.shape)


def _tidy(model):
    """Static Reshape targets where the shapes allow it (0 keeps a dim, one -1), so that any batch fits."""
    for node in list(ir.traversal.RecursiveGraphIterator(model.graph)):
        if node.op_type == "Split" and len(node.inputs) > 1 and node.inputs[1] is not None:
            node.attributes.pop("num_outputs", None)
        if node.op_type != "Reshape" or node.outputs[0].shape is None or node.inputs[0].shape is None:
            continue
        producer = node.inputs[1].producer()
        if producer is None or producer.op_type == "Constant":
            continue
        before, after, target, free = node.inputs[0].shape, node.outputs[0].shape, [], 0
        for axis, dim in enumerate(after):
            if isinstance(dim, int):
                target.append(dim)
            elif axis < len(before) and before[axis] == dim:
                target.append(0)
            else:
                target.append(-1)
                free += 1
        if free > 1 or 0 in [d for d in after if isinstance(d, int)]:
            continue
        tensor = ir.tensor(target, dtype=ir.DataType.INT64)
        constant = ir.node("Constant", [], attributes={"value": tensor}, num_outputs=1)
        constant.metadata_props.update(node.metadata_props)
        node.graph.insert_before(node, constant)
        node.replace_input_with(1, constant.outputs[0])


def _external(name, dtype, dims, offset):
    count = 1
    for d in dims:
        count *= d
    length = (count * dtype.bitwidth + 7) // 8
    tensor = ir.ExternalTensor(WEIGHTS_FILE, offset, length, dtype, shape=ir.Shape(dims), name=name)
    return tensor, (offset + length + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def _inline(value):
    """The value of a small integer or bool constant that is really there (not a fake tensor), else None."""
    raw = getattr(value.const_value, "raw", None)
    if not torch.is_tensor(raw) or isinstance(raw, torch._subclasses.FakeTensor) or raw.is_meta:
        return None
    if raw.is_floating_point() and raw.ndim > 0 or raw.numel() * raw.element_size() > INLINE_LIMIT:
        return None
    return ir.tensor(raw.detach().cpu().numpy(), name=value.name)


def _strip_weights(graph, order, tied):
    """Initializers in allocation order, each with dims and a place in a file that does not exist."""
    old = {}
    for name, value in dict(graph.initializers).items():
        first = old.setdefault(tied.get(name, name), value)
        if first is not value:
            value.replace_all_uses_with(first)
    graph.initializers.clear()
    offset = 0
    for _, name, tensor in order:
        value = old.pop(name, None)
        dtype = torch.onnx._internal.exporter._core.torch_dtype_to_onnx_dtype(tensor.dtype)
        external, offset = _external(name, dtype, list(tensor.shape), offset)
        if value is None:  # no op reads it (num_batches_tracked, an unused head): it takes memory all the same
            value = ir.Value(name=name, shape=ir.Shape(list(tensor.shape)), type=ir.TensorType(dtype))
        value.name = name
        value.const_value = external
        graph.initializers[name] = value
    for name, value in old.items():  # constants that the tracing lifted
        inline = _inline(value)
        if inline is None:
            inline, offset = _external(name, value.const_value.dtype, [int(d) for d in value.shape], offset)
        value.const_value = inline
        graph.initializers[name] = value


def _symbol_names(program, args, kwargs, dynamic):
    names = {}
    placeholders = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
    users = [placeholders[i] for i in program.graph_signature.user_inputs if i in placeholders]
    keys = list(range(len(args))) + list(kwargs)
    for key, node in zip(keys, users):
        for axis, name in (dynamic or {}).get(key, {}).items():
            size = node.meta["val"].shape[axis]
            if isinstance(size, torch.SymInt):
                names[str(size.node.expr)] = name
    return names


def export_module(module, args=(), kwargs=None, *, dynamic=None, name="model", facts=None, opset=OPSET,
                  value_info=True):
    """The ONNX model (ModelProto) of one module in its current train/eval mode."""
    kwargs = kwargs or {}
    order, tied = tensors_of(module)
    with warnings.catch_warnings(), _whole_lstm():
        warnings.simplefilter("ignore")
        program, refused = _trace(module, args, kwargs, dynamic)
        called = _simplify(program)
        result = torch.onnx.export(
            program, args, kwargs=kwargs, dynamo=True, opset_version=opset, optimize=False, verbose=False,
            custom_translation_table=translations.TABLE, output_names=_output_names(program),
        )
    model = result.model
    passes.InlinePass()(model)
    _annotate(model, program, called, result.exported_program)
    symbols = _symbol_names(program, args, kwargs, dynamic)
    _rename_symbols(model, symbols)
    _tidy(model)
    passes.RemoveUnusedNodesPass()(model)
    _strip_weights(model.graph, order, tied)
    model.graph.name = name
    model.graph.doc_string = None
    model.graph.metadata_props.clear()
    model.metadata_props.clear()
    model.metadata_props.update(facts or {})
    model.metadata_props["ullage.parameters"] = "\n".join(n for n, _ in module.named_parameters())
    model.metadata_props["ullage.buffers"] = "\n".join(n for kind, n, _ in order if kind == "buffer")
    frozen = [n for n, p in module.named_parameters() if not p.requires_grad]
    if frozen:
        model.metadata_props["ullage.frozen"] = "\n".join(frozen)
    proto = ir.serde.serialize_model(model)
    if not value_info:
        del proto.graph.value_info[:]
    for value in [*proto.graph.input, *proto.graph.output, *proto.graph.value_info, *proto.graph.initializer]:
        del value.metadata_props[:]
        value.doc_string = ""
    return proto
