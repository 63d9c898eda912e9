"""The zoo: small programs of transformers, torchvision, timm, diffusers, torchaudio, torch_geometric; random weights.

What Inductor compiles for them on a real GPU is recorded by `tools/zoo.py record`, planned without one by `tools/zoo.py
plan`, and the two are compared to the letter by `tools/zoo.py compare`. Nothing is downloaded. A program is a function of
a device that returns (module, inputs).

A third of the programs is set aside, by a rule that looks at nothing but the name (`set_aside`): planning is not mended
by looking at those.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Callable

HALF = torch.bfloat16


@dataclass(frozen=True)
class Program:
    """How one program is made and compiled.

    Attributes:
        make: device → (module, inputs).
        library: where the model comes from.
        train: run the backward too.
        compile: arguments of `torch.compile`.
        autocast: run under `torch.autocast(device_type, bfloat16)`.
    """

    make: Callable[[str], tuple[Any, tuple[Any, ...]]]
    library: str
    train: bool = False
    compile: dict[str, Any] = field(default_factory=dict)
    autocast: bool = False


PROGRAMS: dict[str, Program] = {}


def set_aside(name: str) -> bool:
    """Whether a program belongs to the third that is not looked at while planning is mended."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 3 == 0


class Call(nn.Module):
    """Calls a model by keyword and returns its first output; its own flag stays in training mode, as users' wrappers do."""

    def __init__(self, model: nn.Module, names: tuple[str, ...], fixed: dict[str, Any]) -> None:
        super().__init__()
        self.model, self.names, self.fixed = model, names, fixed

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        result = self.model(**dict(zip(self.names, inputs, strict=True)), **self.fixed)
        if isinstance(result, torch.Tensor):
            return result
        if isinstance(result, dict):  # a ModelOutput too
            return next(value for value in result.values() if isinstance(value, torch.Tensor))
        return result[0]


def tokens(device: str, batch: int, length: int, vocabulary: int = 1000) -> torch.Tensor:
    return torch.randint(1, vocabulary, (batch, length), generator=torch.Generator().manual_seed(0)).to(device)


def noise(device: str, *shape: int, dtype: torch.dtype = HALF) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0)).to(device=device, dtype=dtype)


def add(
    name: str,
    library: str,
    build: Callable[[Any], nn.Module],
    inputs: Callable[[str], Any],
    *,
    dtype: torch.dtype = HALF,
    fixed: dict[str, Any] | None = None,
    **options: Any,
) -> None:
    """Add the program of a model that `build` makes of a module of its library.

    Args:
        inputs: device → the model's inputs; by name where it is called by keyword, with `fixed` besides.
        options: of `Program`.
    """

    def make(device: str) -> tuple[nn.Module, tuple[Any, ...]]:
        torch.manual_seed(0)
        model = build(importlib.import_module(library)).to(device=device, dtype=dtype)
        model.train(options.get("train", False))
        given = inputs(device)
        if isinstance(given, tuple):
            return model, given
        return Call(model, tuple(given), fixed or {}), tuple(given.values())

    assert name not in PROGRAMS, name
    PROGRAMS[name] = Program(make=make, library=library.split(".")[0], **options)


# ------------------------------------------------------------------------------------------------ transformers
def of(text: str) -> dict[str, Any]:
    """Parse settings: "layers=2 sizes=[2,3]"."""
    return {name: ast.literal_eval(value) for name, _, value in (word.partition("=") for word in text.split())}


SMALL = of("hidden_size=256 intermediate_size=704 num_hidden_layers=2 num_attention_heads=4 vocab_size=1000")
GROUPED = {**SMALL, "num_key_value_heads": 2}
GPT2 = of("n_embd=256 n_layer=2 n_head=4 vocab_size=1000")
T5 = of("d_model=256 d_ff=704 num_layers=2 num_heads=4 d_kv=64 vocab_size=1000 decoder_start_token_id=0")
SWIN = of("image_size=64 patch_size=4 embed_dim=48 depths=[2,2] num_heads=[3,6] window_size=4")
ENCODER = {**SMALL, "intermediate_size": 1024}


def hf(
    name: str, model: str, settings: dict[str, Any], inputs: Any, *, fixed: dict[str, Any] | None = None, **options: Any
) -> None:
    def build(library: Any) -> nn.Module:
        kind = getattr(library, model)
        return kind(kind.config_class(**settings))

    add(name, "transformers", build, inputs, fixed={"return_dict": True, **(fixed or {})}, **options)


def text(batch: int = 4, length: int = 128) -> Any:
    return lambda device: {"input_ids": tokens(device, batch, length)}


def masked(batch: int = 4, length: int = 128) -> Any:
    def make(device: str) -> dict[str, torch.Tensor]:
        mask = torch.ones(batch, length, dtype=torch.long)
        mask[0, -17:] = 0
        return {"input_ids": tokens(device, batch, length), "attention_mask": mask.to(device)}

    return make


def pair(batch: int = 4, length: int = 64, other: int = 32) -> Any:
    return lambda device: {
        "input_ids": tokens(device, batch, length),
        "decoder_input_ids": tokens(device, batch, other),
    }


def image(batch: int = 4, size: int = 64) -> Any:
    return lambda device: {"pixel_values": noise(device, batch, 3, size, size)}


NO_CACHE = {"use_cache": False}
hf("gpt2", "GPT2LMHeadModel", GPT2, text(), fixed=NO_CACHE)
hf("gpt2_train", "GPT2LMHeadModel", GPT2, text(), fixed=NO_CACHE, train=True)
hf("gpt2_dynamic", "GPT2LMHeadModel", GPT2, text(), fixed=NO_CACHE, compile={"dynamic": True})
hf("llama", "LlamaForCausalLM", GROUPED, text(), fixed=NO_CACHE)
hf("llama_train", "LlamaForCausalLM", GROUPED, text(), fixed=NO_CACHE, train=True)
hf("llama_masked", "LlamaForCausalLM", GROUPED, masked(), fixed=NO_CACHE)
hf("llama_cache", "LlamaForCausalLM", GROUPED, text(2, 32))
hf("llama_autocast", "LlamaForCausalLM", GROUPED, text(), fixed=NO_CACHE, dtype=torch.float32, autocast=True)
hf("mistral", "MistralForCausalLM", GROUPED | of("sliding_window=64"), text(), fixed=NO_CACHE)
hf("qwen2", "Qwen2ForCausalLM", GROUPED, text(), fixed=NO_CACHE)
hf("qwen3", "Qwen3ForCausalLM", GROUPED | of("head_dim=64"), text(), fixed=NO_CACHE)
hf("qwen3_train", "Qwen3ForCausalLM", GROUPED | of("head_dim=64"), text(), fixed=NO_CACHE, train=True)
hf("gemma2", "Gemma2ForCausalLM", GROUPED | of("head_dim=64"), text(), fixed=NO_CACHE)
hf("phi3", "Phi3ForCausalLM", GROUPED | of("pad_token_id=0"), text(), fixed=NO_CACHE)
hf("gpt_neox", "GPTNeoXForCausalLM", SMALL, text(), fixed=NO_CACHE)
OPT = of(
    "hidden_size=256 ffn_dim=1024 num_hidden_layers=2 num_attention_heads=4 vocab_size=1000 word_embed_proj_dim=256"
)
hf("opt", "OPTForCausalLM", OPT, text(), fixed=NO_CACHE)
hf("bloom", "BloomForCausalLM", of("hidden_size=256 n_layer=2 n_head=4 vocab_size=1000"), text(), fixed=NO_CACHE)
hf("mixtral", "MixtralForCausalLM", GROUPED | of("num_local_experts=4"), text(2, 64), fixed=NO_CACHE)
EXPERTS = of("num_experts=4 num_experts_per_tok=2 moe_intermediate_size=256 shared_expert_intermediate_size=256")
hf("qwen2_moe", "Qwen2MoeForCausalLM", GROUPED | EXPERTS, text(2, 64), fixed=NO_CACHE)
MAMBA = of("hidden_size=128 num_hidden_layers=2 vocab_size=1000 state_size=8")
hf("mamba", "MambaForCausalLM", MAMBA, text(2, 32), fixed=NO_CACHE)
hf("bert", "BertModel", ENCODER, masked())
hf("bert_train", "BertForMaskedLM", ENCODER, text(), train=True)
hf("roberta", "RobertaForSequenceClassification", ENCODER, masked())
hf("distilbert", "DistilBertModel", of("dim=256 hidden_dim=1024 n_layers=2 n_heads=4 vocab_size=1000"), masked())
hf("albert", "AlbertModel", ENCODER | of("embedding_size=64"), text())
hf("electra", "ElectraModel", ENCODER | of("embedding_size=64"), text())
RELATIVE = of("relative_attention=True position_buckets=32 pos_att_type=['p2c','c2p']")
hf("deberta", "DebertaV2Model", ENCODER | RELATIVE, text(2, 64))
MARKS = of("pad_token_id=0 cls_token_id=1 sep_token_id=2 bos_token_id=1 eos_token_id=2")
hf("modernbert", "ModernBertModel", SMALL | MARKS, masked())
hf("t5", "T5ForConditionalGeneration", T5, pair(), fixed=NO_CACHE)
hf("t5_train", "T5ForConditionalGeneration", T5, pair(), fixed=NO_CACHE, train=True)
BART = of(
    "d_model=256 encoder_layers=2 decoder_layers=2 encoder_ffn_dim=1024 decoder_ffn_dim=1024 "
    "encoder_attention_heads=4 decoder_attention_heads=4 vocab_size=1000"
)
hf("bart", "BartModel", BART, pair(), fixed=NO_CACHE)
WHISPER = of(
    "d_model=128 encoder_layers=2 decoder_layers=2 encoder_attention_heads=4 decoder_attention_heads=4 encoder_ffn_dim=512 "
    "decoder_ffn_dim=512 vocab_size=1000 pad_token_id=0 num_mel_bins=80 max_source_positions=100 decoder_start_token_id=1"
)
hf(
    "whisper",
    "WhisperModel",
    WHISPER,
    lambda device: {"input_features": noise(device, 2, 80, 200), "decoder_input_ids": tokens(device, 2, 16)},
    fixed=NO_CACHE,
)
hf("vit", "ViTModel", ENCODER | of("image_size=64 patch_size=8"), image())
hf("vit_train", "ViTForImageClassification", ENCODER | of("image_size=64 patch_size=8"), image(), train=True)
DINO = of("hidden_size=256 num_hidden_layers=2 num_attention_heads=4 image_size=56 patch_size=14")
hf("dinov2", "Dinov2Model", DINO, image(4, 56))
hf("swin", "SwinModel", SWIN, image())
hf("swin_train", "SwinModel", SWIN, image(), train=True)
hf("clip_text", "CLIPTextModel", ENCODER | of("max_position_embeddings=77"), text(4, 77))
hf("convnext", "ConvNextModel", of("hidden_sizes=[32,64] depths=[2,2] num_stages=2"), image())
SEGFORMER = of(
    "hidden_sizes=[32,64] depths=[1,1] num_attention_heads=[1,2] num_encoder_blocks=2 "
    "sr_ratios=[8,4] patch_sizes=[7,3] strides=[4,2] mlp_ratios=[4,4] decoder_hidden_size=64"
)
hf("segformer", "SegformerForSemanticSegmentation", SEGFORMER, image())
WAVE = of("num_conv_pos_embeddings=16 num_conv_pos_embedding_groups=4 apply_spec_augment=False")
hf("wav2vec2", "Wav2Vec2Model", ENCODER | WAVE, lambda device: {"input_values": noise(device, 2, 8000)})


# ------------------------------------------------------------------------------------------------- torchvision
def vision(
    name: str,
    model: str,
    batch: int = 4,
    size: int = 96,
    *,
    dtype: torch.dtype = HALF,
    memory_format: torch.memory_format = torch.contiguous_format,
    settings: dict[str, Any] | None = None,
    **options: Any,
) -> None:
    add(
        name,
        "torchvision.models",
        lambda models: models.get_model(model, weights=None, **(settings or {})).to(memory_format=memory_format),
        lambda device: (noise(device, batch, 3, size, size, dtype=dtype).contiguous(memory_format=memory_format),),
        dtype=dtype,
        **options,
    )


vision("resnet18", "resnet18")
vision("resnet18_train", "resnet18", train=True)
vision("resnet18_channels_last_train", "resnet18", memory_format=torch.channels_last, train=True)
vision("resnet18_float32", "resnet18", dtype=torch.float32)
vision("mobilenet_v3", "mobilenet_v3_small")
vision("mobilenet_v3_train", "mobilenet_v3_small", train=True)
vision("efficientnet", "efficientnet_b0", memory_format=torch.channels_last)
vision("shufflenet", "shufflenet_v2_x0_5")
vision("squeezenet", "squeezenet1_1")
vision("vgg11", "vgg11", settings={"num_classes": 100})
vision("convnext_tiny", "convnext_tiny", 2)
vision("swin_t", "swin_t", 2)
vision("vision_transformer", "vit_b_16", 2, 224)


def detection(name: str, build: str) -> None:
    """Backbone and heads of a detector, without the data-dependent post-processing."""

    class Heads(nn.Module):
        def __init__(self, detector: nn.Module) -> None:
            super().__init__()
            self.backbone, self.head = detector.backbone, detector.head

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            found = self.head(list(self.backbone(x).values()))
            return torch.cat([value.flatten(1) for value in found.values()], 1)

    def build_heads(models: Any) -> nn.Module:
        return Heads(getattr(models, build)(weights=None, weights_backbone=None, num_classes=10))

    add(name, "torchvision.models.detection", build_heads, lambda device: (noise(device, 1, 3, 160, 160),))


detection("retinanet_heads", "retinanet_resnet50_fpn")
detection("ssdlite_heads", "ssdlite320_mobilenet_v3_large")


# -------------------------------------------------------------------------------------------------------- timm
def pytorch_image_model(name: str, model: str, size: int = 64, batch: int = 4, **options: Any) -> None:
    def inputs(device: str) -> tuple[torch.Tensor]:
        return (noise(device, batch, 3, size, size),)

    add(name, "timm", lambda timm: timm.create_model(model, pretrained=False), inputs, **options)


pytorch_image_model("mixer", "mixer_s32_224", 224, 2)
pytorch_image_model("resmlp", "resmlp_12_224", 224, 1)
pytorch_image_model("deit_train", "deit_tiny_patch16_224", 224, 2, train=True)
pytorch_image_model("nfnet", "dm_nfnet_f0", 64, 1)
pytorch_image_model("regnet", "regnety_002")
pytorch_image_model("ghostnet", "ghostnet_050")


# --------------------------------------------------------------------------------------------------- diffusers
def diffusion(name: str, model: str, settings: dict[str, Any], inputs: Any, **options: Any) -> None:
    def build(library: Any) -> nn.Module:
        return getattr(library, model)(**settings)

    add(name, "diffusers", build, inputs, fixed={"return_dict": False}, **options)


UNET = of(
    "block_out_channels=(32,64) norm_num_groups=8 layers_per_block=1 sample_size=32 "
    "down_block_types=('CrossAttnDownBlock2D','DownBlock2D') up_block_types=('UpBlock2D','CrossAttnUpBlock2D') "
    "cross_attention_dim=64 attention_head_dim=8"
)
VAE = of(
    "block_out_channels=(32,64) norm_num_groups=8 "
    "down_block_types=('DownEncoderBlock2D','DownEncoderBlock2D') up_block_types=('UpDecoderBlock2D','UpDecoderBlock2D')"
)
DIT = of(
    "num_attention_heads=4 attention_head_dim=32 num_layers=2 sample_size=16 in_channels=4 out_channels=4 "
    "num_embeds_ada_norm=10"
)


def denoise(device: str) -> dict[str, Any]:
    return {
        "sample": noise(device, 2, 4, 32, 32),
        "timestep": torch.tensor([10, 20]).to(device),
        "encoder_hidden_states": noise(device, 2, 16, 64),
    }


diffusion("unet", "UNet2DConditionModel", UNET, denoise)
diffusion("unet_train", "UNet2DConditionModel", UNET, denoise, train=True)
diffusion("vae_decoder", "AutoencoderKL", VAE, lambda device: {"sample": noise(device, 1, 3, 64, 64)})
diffusion(
    "dit",
    "DiTTransformer2DModel",
    DIT,
    lambda device: {
        "hidden_states": noise(device, 2, 4, 16, 16),
        "timestep": torch.tensor([1, 2]).to(device),
        "class_labels": torch.tensor([1, 2]).to(device),
    },
)


# -------------------------------------------------------------------------------------------------- torchaudio
def conformer(device: str) -> tuple[nn.Module, tuple[Any, ...]]:
    import torchaudio

    torch.manual_seed(0)
    made = torchaudio.models.Conformer(80, 4, 256, 2, 31).to(device, HALF).eval()
    return Call(made, ("input",), {"lengths": torch.tensor([100, 90], device=device)}), (noise(device, 2, 100, 80),)


PROGRAMS["conformer"] = Program(make=conformer, library="torchaudio")
SPEECH = "torchaudio.models"
add("wav2letter", SPEECH, lambda models: models.Wav2Letter(40, "mfcc", 13), lambda device: (noise(device, 2, 13, 400),))
add(
    "deepspeech_train",
    SPEECH,
    lambda models: models.DeepSpeech(40, 128),
    lambda device: (noise(device, 2, 1, 50, 40, dtype=torch.float32),),
    dtype=torch.float32,
    train=True,
)


# --------------------------------------------------------------------------------------------- torch_geometric
def graph_network(name: str, model: str, **options: Any) -> None:
    def build(models: Any) -> nn.Module:
        return getattr(models, model)(64, 128, num_layers=2, out_channels=16)

    def inputs(device: str) -> tuple[torch.Tensor, torch.Tensor]:
        edges = torch.randint(0, 500, (2, 4000), generator=torch.Generator().manual_seed(0)).to(device)
        return noise(device, 500, 64, dtype=torch.float32), edges

    add(name, "torch_geometric.nn.models", build, inputs, dtype=torch.float32, **options)


graph_network("gcn", "GCN")
graph_network("graph_sage_train", "GraphSAGE", train=True)
graph_network("gat", "GAT")
graph_network("gin", "GIN")


# -------------------------------------------------------------------------------------------------- plain torch
class Recurrent(nn.Module):
    """A gated recurrence written out, as research code does; nn.LSTM itself is one library call."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.inner, self.gate = nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = torch.zeros_like(x[:, 0])
        for step in range(x.shape[1]):
            gate = torch.sigmoid(self.gate(x[:, step]))
            state = gate * state + (1 - gate) * torch.tanh(self.inner(state))
        return state


class FrozenBackbone(nn.Module):
    """A frozen, evaluated backbone below a head that trains: each has its own mode and its own requires_grad."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(256, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Dropout(0.1))
        self.backbone.requires_grad_(False)
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(256, 32))

    def train(self, mode: bool = True) -> FrozenBackbone:
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.backbone(x))


def autocast_mlp(_: Any) -> nn.Module:
    return nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.LayerNorm(1024), nn.Linear(1024, 256))


def rows(device: str) -> tuple[torch.Tensor]:
    return (noise(device, 128, 256, dtype=torch.float32),)


add("recurrent", "torch", lambda _: Recurrent(128), lambda device: (noise(device, 8, 6, 128),))
add("lstm", "torch", lambda _: nn.LSTM(64, 128, 2, batch_first=True), lambda device: (noise(device, 8, 32, 64),))
add("frozen_backbone_train", "torch", lambda _: FrozenBackbone(), lambda device: (noise(device, 64, 256),), train=True)
add("mlp_autocast_train", "torch", autocast_mlp, rows, dtype=torch.float32, train=True, autocast=True)
