"""Model names -> (module, inputs): torchvision/NAME, timm/NAME, hf/NAME and own/NAME.

    built = build("torchvision/resnet50", mode="train", batch=2)
    built.module, built.args, built.dynamic

A bare name is looked for in torchvision, then own, then hf, then timm.
"""

from __future__ import annotations

import contextlib
import dataclasses

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from . import own_models

# Input sizes that differ from 3x224x224, as the models were published.
SIZES = {
    "efficientnet_b1": (3, 240, 240), "efficientnet_b2": (3, 288, 288), "efficientnet_b3": (3, 300, 300),
    "efficientnet_b4": (3, 380, 380), "efficientnet_b5": (3, 456, 456), "efficientnet_b6": (3, 528, 528),
    "efficientnet_b7": (3, 600, 600), "efficientnet_v2_s": (3, 384, 384), "efficientnet_v2_m": (3, 480, 480),
    "efficientnet_v2_l": (3, 480, 480), "inception_v3": (3, 299, 299), "fcn_resnet50": (3, 480, 480),
    "fcn_resnet101": (3, 480, 480), "deeplabv3_resnet50": (3, 480, 480), "deeplabv3_resnet101": (3, 480, 480),
    "deeplabv3_mobilenet_v3_large": (3, 480, 480), "lraspp_mobilenet_v3_large": (3, 480, 480),
    "r3d_18": (3, 16, 112, 112), "mc3_18": (3, 16, 112, 112), "r2plus1d_18": (3, 16, 112, 112),
    "unet": (3, 256, 256), "detector": (3, 640, 640),
}

# How training scripts weigh the losses of several outputs (main, auxiliary classifiers), where the model has them.
LOSS_WEIGHTS = {"inception_v3": "1,0.4", "googlenet": "1,0.3,0.3"}

OWN = {
    "unet": lambda: own_models.UNet(),
    "detector": lambda: own_models.Detector(),
    "lstm_lm": lambda: own_models.LstmLanguageModel(),
}

# name -> (model class, config class, arguments of the config); published configurations.
HF = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {}),
    "gpt2-medium": ("GPT2LMHeadModel", "GPT2Config", dict(n_embd=1024, n_layer=24, n_head=16)),
    "gpt2-large": ("GPT2LMHeadModel", "GPT2Config", dict(n_embd=1280, n_layer=36, n_head=20)),
    "gpt2-xl": ("GPT2LMHeadModel", "GPT2Config", dict(n_embd=1600, n_layer=48, n_head=25)),
    "bert-base": ("BertModel", "BertConfig", {}),
    "bert-base-classifier": ("BertForSequenceClassification", "BertConfig", {}),
    "bert-base-mlm": ("BertForMaskedLM", "BertConfig", {}),
    "bert-large": ("BertModel", "BertConfig", dict(
        hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)),
    "roberta-base": ("RobertaModel", "RobertaConfig", dict(
        vocab_size=50265, max_position_embeddings=514, type_vocab_size=1)),
    "roberta-large": ("RobertaModel", "RobertaConfig", dict(
        vocab_size=50265, max_position_embeddings=514, type_vocab_size=1, hidden_size=1024, num_hidden_layers=24,
        num_attention_heads=16, intermediate_size=4096)),
    "distilbert": ("DistilBertModel", "DistilBertConfig", {}),
    "t5-small": ("T5ForConditionalGeneration", "T5Config", {}),
    "t5-base": ("T5ForConditionalGeneration", "T5Config", dict(
        d_model=768, d_ff=3072, num_layers=12, num_heads=12)),
    "opt-125m": ("OPTForCausalLM", "OPTConfig", dict(
        hidden_size=768, num_hidden_layers=12, num_attention_heads=12, ffn_dim=3072, word_embed_proj_dim=768)),
    "bloom-560m": ("BloomForCausalLM", "BloomConfig", dict(
        vocab_size=250880, hidden_size=1024, n_layer=24, n_head=16)),
    "pythia-70m": ("GPTNeoXForCausalLM", "GPTNeoXConfig", dict(
        vocab_size=50304, hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048)),
    "pythia-160m": ("GPTNeoXForCausalLM", "GPTNeoXConfig", dict(
        vocab_size=50304, hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072)),
    "pythia-1.4b": ("GPTNeoXForCausalLM", "GPTNeoXConfig", dict(
        vocab_size=50304, hidden_size=2048, num_hidden_layers=24, num_attention_heads=16, intermediate_size=8192)),
    "qwen2-0.5b": ("Qwen2ForCausalLM", "Qwen2Config", dict(
        vocab_size=151936, hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14,
        num_key_value_heads=2, tie_word_embeddings=True)),
    "qwen2-1.5b": ("Qwen2ForCausalLM", "Qwen2Config", dict(
        vocab_size=151936, hidden_size=1536, intermediate_size=8960, num_hidden_layers=28, num_attention_heads=12,
        num_key_value_heads=2, tie_word_embeddings=True)),
    "llama3.2-1b": ("LlamaForCausalLM", "LlamaConfig", dict(
        vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32,
        num_key_value_heads=8, max_position_embeddings=131072, tie_word_embeddings=True)),
    "tinyllama": ("LlamaForCausalLM", "LlamaConfig", dict(
        vocab_size=32000, hidden_size=2048, intermediate_size=5632, num_hidden_layers=22, num_attention_heads=32,
        num_key_value_heads=4, max_position_embeddings=2048)),
    "llama2-7b": ("LlamaForCausalLM", "LlamaConfig", dict(
        vocab_size=32000, hidden_size=4096, intermediate_size=11008, num_hidden_layers=32, num_attention_heads=32,
        num_key_value_heads=32, max_position_embeddings=4096)),
    "llama3-8b": ("LlamaForCausalLM", "LlamaConfig", dict(
        vocab_size=128256, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
        num_key_value_heads=8, max_position_embeddings=8192)),
    "mistral-7b": ("MistralForCausalLM", "MistralConfig", dict(
        vocab_size=32000, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
        num_key_value_heads=8, max_position_embeddings=32768, sliding_window=None)),
}


@dataclasses.dataclass
class Built:
    name: str
    module: torch.nn.Module
    args: tuple
    kwargs: dict
    dynamic: dict
    loss: str | None


def _torchvision(name):
    import torchvision

    sets = (torchvision.models, torchvision.models.segmentation, torchvision.models.video)
    for models in sets:
        if callable(getattr(models, name, None)) and name.islower():
            return models, getattr(models, name)
    return None, None


def _make_torchvision(name, options):
    import torchvision

    models, builder = _torchvision(name)
    options = dict(options)
    if models is torchvision.models.segmentation:
        options = {"weights": None, "weights_backbone": None, **options}
    if name in ("inception_v3", "googlenet"):
        options = {"init_weights": False, "aux_logits": True, **options}
    return builder(**options)


def _make_hf(name, options):
    import transformers
    import transformers.masking_utils as masking

    # Eager mode reads the mask and finds that it can use is_causal; a trace cannot read it and would build the mask.
    masking.is_torchdynamo_exporting = lambda: False
    masking.find_packed_sequence_indices = lambda position_ids: None
    cls, config_cls, arguments = HF[name]
    config = getattr(transformers, config_cls)(**arguments, **options)
    config._attn_implementation = "sdpa"
    config.use_cache = False
    return getattr(transformers, cls)(config)


def _make_timm(name, options):
    import timm

    return timm.create_model(name, pretrained=False, **options)


def resolve(name):
    """(family, bare name) of a model name."""
    family, _, bare = name.partition("/")
    if bare:
        return family, bare
    if _torchvision(name)[1]:
        return "torchvision", name
    if name in OWN:
        return "own", name
    return ("hf", name) if name in HF else ("timm", name)


def default_shape(family, name):
    if name in SIZES:
        return SIZES[name]
    if family == "timm":
        import timm

        config = timm.get_pretrained_cfg(name)
        return tuple(config.input_size) if config else (3, 224, 224)
    return (3, 224, 224)


@contextlib.contextmanager
def _without_init():
    """Initialisation only costs time here: nobody reads the values."""
    init = torch.nn.init
    names = [n for n in dir(init) if n.endswith("_") and not n.startswith("_") and callable(getattr(init, n))]
    kept = {n: getattr(init, n) for n in names}
    for n in names:
        setattr(init, n, lambda tensor, *a, **k: tensor)
    try:
        yield
    finally:
        for n, f in kept.items():
            setattr(init, n, f)


def build(name, *, mode="train", batch=None, shape=None, seq=128, options=None, inplace=True):
    """The module with example inputs, fake tensors where the model allows it; batch None means dynamic."""
    family, bare = resolve(name)
    make = {
        "torchvision": _make_torchvision, "timm": _make_timm, "hf": _make_hf, "own": lambda n, o: OWN[n](**o),
    }[family]
    with _without_init():
        try:
            fake = FakeTensorMode(allow_non_fake_inputs=True)
            with fake:
                module = make(bare, options or {})
        except Exception:  # noqa: BLE001: some constructors read tensor values
            fake = contextlib.nullcontext()
            module = make(bare, options or {})
    if not inplace:
        for sub in module.modules():
            if hasattr(sub, "inplace"):
                sub.inplace = False
    module.train(mode == "train")
    count = batch or 2
    dynamic, args, kwargs = {}, (), {}
    with fake:
        if family == "hf":
            kwargs = {"input_ids": torch.zeros(count, seq, dtype=torch.int64)}
            if bare.startswith("t5"):
                kwargs["decoder_input_ids"] = torch.zeros(count, seq, dtype=torch.int64)
            dynamic = {k: {0: "batch", 1: "sequence" if k == "input_ids" else "target"} for k in kwargs}
        elif bare == "lstm_lm":
            args = (torch.zeros(count, seq, dtype=torch.int64),)
            dynamic = {0: {0: "batch", 1: "sequence"}}
        else:
            args = (torch.zeros(count, *(shape or default_shape(family, bare))),)
            dynamic = {0: {0: "batch"}}
    if batch:
        dynamic = {}
    weights = LOSS_WEIGHTS.get(bare) if mode == "train" else None
    if mode == "train" and (options or {}).get("aux_loss"):
        weights = "1,0.5"
    return Built(f"{family}/{bare}", module, args, kwargs, dynamic, weights)
