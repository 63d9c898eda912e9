"""Programs of 39 kinds that the zoo has not; torch alone, random weights."""
from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

BF16, F32 = torch.bfloat16, torch.float32


@dataclass(frozen=True)
class Program:
    make: Any
    library: str = "torch"
    train: bool = False
    compile: dict = field(default_factory=dict)
    autocast: bool = False
    kind: str = ""


PROGRAMS: dict[str, Program] = {}




def rnd(device, *shape, dtype=BF16):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1)).to(device=device, dtype=dtype)


def ids(device, *shape, high=1000):
    return torch.randint(0, high, shape, generator=torch.Generator().manual_seed(2)).to(device)


def add(kind, build, inputs, *, dtype=BF16, train=True, infer=True, autocast=False, name=None, **settings):
    def make_for(training):
        def make(device):
            torch.manual_seed(0)
            module = build(**settings).to(device)
            module = module.to(dtype) if dtype is not None else module
            return (module.train() if training else module.eval()), inputs(device)
        return make
    name = name or kind
    if infer:
        PROGRAMS[name] = Program(make_for(False), kind=kind, autocast=autocast)
    if train:
        PROGRAMS[name + "_train"] = Program(make_for(True), kind=kind, train=True, autocast=autocast)


# ---------------------------------------------------------------- helpers
class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Parameter(torch.ones(d))

    def forward(self, x):
        v = x.float()
        return (v * torch.rsqrt(v.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * self.w


def rotary(x, base=10000.0):
    t, d = x.shape[-2], x.shape[-1]
    inv = 1.0 / (base ** (torch.arange(0, d, 2, device=x.device).float() / d))
    angle = torch.outer(torch.arange(t, device=x.device).float(), inv)
    cos, sin = torch.cat([angle.cos()] * 2, -1).to(x.dtype), torch.cat([angle.sin()] * 2, -1).to(x.dtype)
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


class FFN(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.a, self.b = nn.Linear(d, h), nn.Linear(h, d)

    def forward(self, x):
        return self.b(F.gelu(self.a(x)))


class Attn(nn.Module):
    def __init__(self, d, heads, causal=False):
        super().__init__()
        self.qkv, self.o, self.h, self.c = nn.Linear(d, 3 * d), nn.Linear(d, d), heads, causal

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        return self.o(F.scaled_dot_product_attention(q, k, v, is_causal=self.c).transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self, d, heads, causal=False, drop=0.0):
        super().__init__()
        self.n1, self.n2, self.a, self.f = nn.LayerNorm(d), nn.LayerNorm(d), Attn(d, heads, causal), FFN(d, 4 * d)
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        x = x + self.drop(self.a(self.n1(x)))
        return x + self.drop(self.f(self.n2(x)))


# ---------------------------------------------------------------- kinds
class Falcon(nn.Module):
    """Parallel attention and MLP, one key head, rotary."""

    def __init__(self, d=768, heads=12, layers=3, vocab=8000):
        super().__init__()
        self.e, self.h, self.w = nn.Embedding(vocab, d), heads, d // heads
        self.n = nn.ModuleList(nn.LayerNorm(d) for _ in range(layers))
        self.qkv = nn.ModuleList(nn.Linear(d, d + 2 * self.w, bias=False) for _ in range(layers))
        self.o = nn.ModuleList(nn.Linear(d, d, bias=False) for _ in range(layers))
        self.f = nn.ModuleList(FFN(d, 4 * d) for _ in range(layers))
        self.last = nn.LayerNorm(d)

    def forward(self, i):
        x = self.e(i)
        b, t, d = x.shape
        for n, qkv, o, f in zip(self.n, self.qkv, self.o, self.f):
            y = n(x)
            q, k, v = qkv(y).split([d, self.w, self.w], -1)
            q = rotary(q.view(b, t, self.h, self.w).transpose(1, 2))
            k, v = rotary(k[:, None]).expand(b, self.h, t, self.w), v[:, None].expand(b, self.h, t, self.w)
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d)
            x = x + o(a) + f(y)
        return F.linear(self.last(x), self.e.weight)


add("parallel decoder", Falcon, lambda v: (ids(v, 2, 512, high=8000),), name="falcon")


class MoE(nn.Module):
    """Top-2 routing: tokens sorted by expert, grouped GEMMs, weighted sum back."""

    def __init__(self, d=512, h=1024, experts=8, layers=2):
        super().__init__()
        self.r = nn.ModuleList(nn.Linear(d, experts, bias=False) for _ in range(layers))
        self.up = nn.ParameterList(nn.Parameter(torch.randn(experts, d, h) * 0.02) for _ in range(layers))
        self.down = nn.ParameterList(nn.Parameter(torch.randn(experts, h, d) * 0.02) for _ in range(layers))
        self.n = nn.ModuleList(Norm(d) for _ in range(layers))
        self.experts = experts

    def forward(self, x):
        b, t, d = x.shape
        for r, up, down, n in zip(self.r, self.up, self.down, self.n):
            y = n(x).view(-1, d)
            weight, chosen = torch.topk(torch.softmax(r(y).float(), -1), 2)
            flat = chosen.flatten()
            order = torch.argsort(flat, stable=True)
            ends = torch.cumsum(F.one_hot(flat, self.experts).sum(0), 0).to(torch.int32)
            rows = y[order // 2]
            z = torch._grouped_mm(F.silu(torch._grouped_mm(rows, up, offs=ends)), down, offs=ends)
            z = z * weight.flatten()[order, None].to(z.dtype)
            x = x + torch.zeros_like(y).index_add(0, order // 2, z).view(b, t, d)
        return x


class DenseMoE(nn.Module):
    """Every expert over every token with a mask, as small models do."""

    def __init__(self, d=256, h=512, experts=8):
        super().__init__()
        self.r = nn.Linear(d, experts)
        self.up = nn.Parameter(torch.randn(experts, d, h) * 0.02)
        self.down = nn.Parameter(torch.randn(experts, h, d) * 0.02)

    def forward(self, x):
        p = torch.softmax(self.r(x).float(), -1)
        w, i = p.topk(2, -1)
        gate = torch.zeros_like(p).scatter(-1, i, w / w.sum(-1, keepdim=True)).to(x.dtype)
        z = torch.einsum("ehd,neh->end", self.down, F.silu(torch.einsum("edh,nd->neh", self.up, x)))
        return x + torch.einsum("end,ne->nd", z, gate)


add("mixture of experts", MoE, lambda v: (rnd(v, 4, 256, 512),), name="moe_grouped")
add("mixture of experts", DenseMoE, lambda v: (rnd(v, 1024, 256),), name="moe_dense")


class Mamba2(nn.Module):
    """The state-space dual form in chunks: segment sums, decays, chunk states."""

    def __init__(self, d=512, heads=16, width=64, state=64, chunk=64, layers=2):
        super().__init__()
        self.h, self.p, self.n, self.c = heads, width, state, chunk
        inner = heads * width
        self.norm = nn.ModuleList(Norm(d) for _ in range(layers))
        self.inp = nn.ModuleList(nn.Linear(d, 2 * inner + 2 * state + heads, bias=False) for _ in range(layers))
        self.conv = nn.ModuleList(
            nn.Conv1d(inner + 2 * state, inner + 2 * state, 4, groups=inner + 2 * state, padding=3) for _ in range(layers))
        self.a = nn.ParameterList(nn.Parameter(torch.zeros(heads)) for _ in range(layers))
        self.out = nn.ModuleList(nn.Linear(inner, d, bias=False) for _ in range(layers))
        self.last = nn.ModuleList(Norm(inner) for _ in range(layers))

    def segsum(self, x):
        t = x.shape[-1]
        y = x[..., None].expand(*x.shape, t)
        mask = torch.tril(torch.ones(t, t, dtype=torch.bool, device=x.device), -1)
        s = torch.cumsum(y.masked_fill(~mask, 0), -2)
        return s.masked_fill(~torch.tril(torch.ones(t, t, dtype=torch.bool, device=x.device)), -torch.inf)

    def forward(self, u):
        for norm, inp, conv, a, out, last in zip(self.norm, self.inp, self.conv, self.a, self.out, self.last):
            b, t, _ = u.shape
            z, xbc, dt = inp(norm(u)).split([self.h * self.p, self.h * self.p + 2 * self.n, self.h], -1)
            xbc = F.silu(conv(xbc.transpose(1, 2))[..., :t].transpose(1, 2))
            x, bb, cc = xbc.split([self.h * self.p, self.n, self.n], -1)
            dt = F.softplus(dt.float())
            x = x.reshape(b, t // self.c, self.c, self.h, self.p).float() * dt.view(b, -1, self.c, self.h, 1)
            decay = (-torch.exp(a.float()) * dt).view(b, -1, self.c, self.h).permute(0, 3, 1, 2)
            bb, cc = (i.reshape(b, -1, self.c, self.n).float() for i in (bb, cc))
            total = torch.cumsum(decay, -1)
            el = torch.exp(self.segsum(decay))
            diag = torch.einsum("bcln,bcsn,bhcls,bcshp->bclhp", cc, bb, el, x)
            states = torch.einsum("bcln,bhcl,bclhp->bchpn", bb, torch.exp(total[..., -1:] - total), x)
            states = torch.cat([torch.zeros_like(states[:, :1]), states], 1)
            chunk = torch.exp(self.segsum(F.pad(total[..., -1], (1, 0))))
            states = torch.einsum("bhzc,bchpn->bzhpn", chunk, states)[:, :-1]
            off = torch.einsum("bcln,bchpn,bhcl->bclhp", cc, states, torch.exp(total))
            y = (diag + off).reshape(b, t, self.h * self.p).to(u.dtype)
            u = u + out(last(y * F.silu(z)))
        return u


add("state space dual", Mamba2, lambda v: (rnd(v, 2, 512, 512),), name="mamba2")


class Latent(nn.Module):
    """Latent attention: compressed keys and values, a rotary part of its own."""

    def __init__(self, d=512, heads=8, q_rank=256, kv_rank=128, nope=64, rope=32, layers=2):
        super().__init__()
        self.h, self.nope, self.rope = heads, nope, rope
        self.layers = nn.ModuleList()
        for _ in range(layers):
            self.layers.append(nn.ModuleDict({
                "n": Norm(d), "qa": nn.Linear(d, q_rank, bias=False), "qn": Norm(q_rank),
                "qb": nn.Linear(q_rank, heads * (nope + rope), bias=False),
                "kva": nn.Linear(d, kv_rank + rope, bias=False), "kvn": Norm(kv_rank),
                "kvb": nn.Linear(kv_rank, heads * 2 * nope, bias=False), "o": nn.Linear(heads * nope, d, bias=False),
                "n2": Norm(d), "up": nn.Linear(d, 2816, bias=False), "down": nn.Linear(1408, d, bias=False)}))
        self.kv_rank = kv_rank

    def forward(self, x):
        b, t, _ = x.shape
        for m in self.layers:
            y = m["n"](x)
            q = m["qb"](m["qn"](m["qa"](y))).view(b, t, self.h, -1).transpose(1, 2)
            q = torch.cat([q[..., : self.nope], rotary(q[..., self.nope:])], -1)
            c, kr = m["kva"](y).split([self.kv_rank, self.rope], -1)
            k, v = m["kvb"](m["kvn"](c)).view(b, t, self.h, 2 * self.nope).transpose(1, 2).split(self.nope, -1)
            k = torch.cat([k, rotary(kr[:, None]).expand(b, self.h, t, self.rope)], -1)
            p = torch.softmax((q @ k.transpose(-1, -2)).float() * (self.nope + self.rope) ** -0.5
                              + torch.full((t, t), -torch.inf, device=x.device).triu(1), -1).to(x.dtype)
            x = x + m["o"]((p @ v).transpose(1, 2).reshape(b, t, -1))
            g, u = m["up"](m["n2"](x)).chunk(2, -1)
            x = x + m["down"](F.silu(g) * u)
        return x


add("latent attention", Latent, lambda v: (rnd(v, 2, 384, 512),), name="mla")


class PatchTST(nn.Module):
    def __init__(self, length=512, patch=16, stride=8, d=128, heads=8, layers=3, ahead=96):
        super().__init__()
        self.patch, self.stride, n = patch, stride, (length - patch) // stride + 2
        self.embed, self.pos = nn.Linear(patch, d), nn.Parameter(torch.randn(n, d) * 0.02)
        self.attn = nn.ModuleList(Attn(d, heads) for _ in range(layers))
        self.ff = nn.ModuleList(FFN(d, 256) for _ in range(layers))
        self.bn = nn.ModuleList(nn.BatchNorm1d(d) for _ in range(2 * layers))
        self.head, self.drop = nn.Linear(n * d, ahead), nn.Dropout(0.2)

    def forward(self, x):
        mean, std = x.mean(1, keepdim=True), x.std(1, keepdim=True) + 1e-5
        x = ((x - mean) / std).transpose(1, 2)
        b, c, _ = x.shape
        x = F.pad(x, (0, self.stride), mode="replicate").unfold(-1, self.patch, self.stride)
        x = self.drop(self.embed(x) + self.pos).reshape(b * c, x.shape[2], -1)
        for i, (a, f) in enumerate(zip(self.attn, self.ff)):
            x = self.bn[2 * i]((x + self.drop(a(x))).transpose(1, 2)).transpose(1, 2)
            x = self.bn[2 * i + 1]((x + self.drop(f(x))).transpose(1, 2)).transpose(1, 2)
        return self.head(x.reshape(b, c, -1)).transpose(1, 2) * std + mean


add("time series patches", PatchTST, lambda v: (rnd(v, 16, 512, 7),), name="patchtst")
add("time series patches", PatchTST, lambda v: (rnd(v, 32, 512, 7, dtype=F32),), dtype=F32, name="patchtst_float32")


class Hubert(nn.Module):
    def __init__(self, c=256, d=512, layers=3):
        super().__init__()
        spec = [(10, 5)] + [(3, 2)] * 4 + [(2, 2)] * 2
        self.convs = nn.ModuleList(nn.Conv1d(1 if i == 0 else c, c, k, s, bias=False) for i, (k, s) in enumerate(spec))
        self.gn, self.proj = nn.GroupNorm(c, c), nn.Linear(c, d)
        self.ln = nn.LayerNorm(c)
        self.pos = nn.utils.parametrizations.weight_norm(nn.Conv1d(d, d, 64, padding=32, groups=8), dim=2)
        self.blocks = nn.ModuleList(Block(d, 8, drop=0.1) for _ in range(layers))

    def forward(self, x):
        x = x[:, None]
        for i, conv in enumerate(self.convs):
            x = conv(x)
            x = F.gelu(self.gn(x) if i == 0 else x)
        x = self.proj(self.ln(x.transpose(1, 2)))
        x = x + F.gelu(self.pos(x.transpose(1, 2))[..., :-1]).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        return x


add("speech encoder", Hubert, lambda v: (rnd(v, 4, 16000),), name="hubert")


class Dlrm(nn.Module):
    def __init__(self, tables=12, rows=50000, d=64, mode="sum"):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, d, mode=mode) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(13, 256), nn.ReLU(), nn.Linear(256, d), nn.ReLU())
        n = tables + 1
        self.top = nn.Sequential(nn.Linear(d + n * (n - 1) // 2, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1))
        self.register_buffer("tri", torch.tril_indices(n, n, -1), persistent=False)

    def forward(self, dense, index):
        x = self.bottom(dense)
        e = torch.stack([x, *(bag(index[i]) for i, bag in enumerate(self.bags))], 1)
        z = torch.bmm(e, e.transpose(1, 2))[:, self.tri[0], self.tri[1]]
        return self.top(torch.cat([x, z], 1))


add("recommender", Dlrm, lambda v: (rnd(v, 2048, 13, dtype=F32), ids(v, 12, 2048, 8, high=50000)), dtype=F32, name="dlrm")


class TwoTower(nn.Module):
    """Sequential recommender: embeddings of a history, target attention, sampled softmax."""

    def __init__(self, items=100000, d=64):
        super().__init__()
        self.item, self.cat = nn.Embedding(items, d), nn.Embedding(500, d)
        self.a = nn.Sequential(nn.Linear(8 * d, 80), nn.Sigmoid(), nn.Linear(80, 40), nn.Sigmoid(), nn.Linear(40, 1))
        self.top = nn.Sequential(nn.Linear(4 * d, 200), nn.PReLU(), nn.Linear(200, 80), nn.PReLU(), nn.Linear(80, 2))

    def forward(self, item, cat, hist, hist_cat):
        q = torch.cat([self.item(item), self.cat(cat)], -1)
        h = torch.cat([self.item(hist), self.cat(hist_cat)], -1)
        qq = q[:, None].expand_as(h)
        w = self.a(torch.cat([qq, h, qq - h, qq * h], -1)).transpose(1, 2) / h.shape[-1] ** 0.5
        return torch.log_softmax(self.top(torch.cat([torch.softmax(w, -1).bmm(h)[:, 0], q], -1)), -1)


add("recommender", TwoTower, lambda v: (ids(v, 512, high=100000), ids(v, 512, high=500), ids(v, 512, 50, high=100000),
    ids(v, 512, 50, high=500)), dtype=F32, name="din")


class Nerf(nn.Module):
    def __init__(self, w=256, depth=8):
        super().__init__()
        self.a = nn.ModuleList(nn.Linear(63 if i == 0 else w + 63 if i == 5 else w, w) for i in range(depth))
        self.sigma, self.feature, self.view, self.rgb = nn.Linear(w, 1), nn.Linear(w, w), nn.Linear(w + 27, w // 2), nn.Linear(w // 2, 3)

    def code(self, x, n):
        f = 2.0 ** torch.arange(n, device=x.device, dtype=x.dtype)
        y = (x[..., None] * f).flatten(-2)
        return torch.cat([x, y.sin(), y.cos()], -1)

    def forward(self, o, d):
        t = torch.linspace(2, 6, 64, device=o.device, dtype=o.dtype)
        p = self.code(o[:, None] + d[:, None] * t[:, None], 10)
        h = p
        for i, layer in enumerate(self.a):
            h = F.relu(layer(torch.cat([h, p], -1) if i == 5 else h))
        v = self.code(d / d.norm(dim=-1, keepdim=True), 4)[:, None].expand(-1, 64, -1)
        rgb = torch.sigmoid(self.rgb(F.relu(self.view(torch.cat([self.feature(h), v], -1)))))
        alpha = 1 - torch.exp(-F.relu(self.sigma(h))[..., 0] * (4 / 64))
        w = alpha * torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha[:, :-1] + 1e-10], -1), -1)
        return (w[..., None] * rgb).sum(1)


add("radiance field", Nerf, lambda v: (rnd(v, 1024, 3, dtype=F32), rnd(v, 1024, 3, dtype=F32)), dtype=F32, name="nerf")
add("radiance field", Nerf, lambda v: (rnd(v, 2048, 3), rnd(v, 2048, 3)), name="nerf_bfloat16")


class Fno(nn.Module):
    def __init__(self, width=32, modes=12, layers=3):
        super().__init__()
        self.lift, self.m = nn.Conv2d(3, width, 1), modes
        self.w = nn.ParameterList(nn.Parameter(torch.randn(2, width, width, modes, modes, 2) * 0.02) for _ in range(layers))
        self.skip = nn.ModuleList(nn.Conv2d(width, width, 1) for _ in range(layers))
        self.head = nn.Sequential(nn.Conv2d(width, 128, 1), nn.GELU(), nn.Conv2d(128, 1, 1))

    def forward(self, x):
        x = self.lift(x)
        for w, skip in zip(self.w, self.skip):
            f = torch.fft.rfft2(x)
            out = torch.zeros_like(f)
            c = torch.view_as_complex(w)
            out[:, :, : self.m, : self.m] = torch.einsum("bixy,ioxy->boxy", f[:, :, : self.m, : self.m], c[0])
            out[:, :, -self.m:, : self.m] = torch.einsum("bixy,ioxy->boxy", f[:, :, -self.m:, : self.m], c[1])
            x = F.gelu(torch.fft.irfft2(out, s=x.shape[-2:]) + skip(x))
        return self.head(x)


add("fourier operator", Fno, lambda v: (rnd(v, 8, 3, 64, 64, dtype=F32),), dtype=F32, name="fno")


class Hyena(nn.Module):
    """Long convolutions by FFT with gating."""

    def __init__(self, d=256, length=1024, layers=2):
        super().__init__()
        self.i = nn.ModuleList(nn.Linear(d, 3 * d) for _ in range(layers))
        self.o = nn.ModuleList(nn.Linear(d, d) for _ in range(layers))
        self.k = nn.ParameterList(nn.Parameter(torch.randn(d, length) * 0.02) for _ in range(layers))
        self.s = nn.ModuleList(nn.Conv1d(3 * d, 3 * d, 3, padding=2, groups=3 * d) for _ in range(layers))

    def forward(self, x):
        t = x.shape[1]
        for i, o, k, s in zip(self.i, self.o, self.k, self.s):
            a, b, v = s(i(x).transpose(1, 2))[..., :t].chunk(3, 1)
            y = torch.fft.rfft((a * v).float(), n=2 * t) * torch.fft.rfft(k.float(), n=2 * t)
            x = x + o((torch.fft.irfft(y, n=2 * t)[..., :t] * b).transpose(1, 2).to(x.dtype))
        return x


add("fourier operator", Hyena, lambda v: (rnd(v, 4, 1024, 256, dtype=F32),), dtype=F32, name="hyena")


class PointNet(nn.Module):
    def __init__(self, classes=40):
        super().__init__()
        def mlp(*sizes):
            return nn.Sequential(*(layer for a, b in zip(sizes, sizes[1:]) for layer in (nn.Conv1d(a, b, 1), nn.BatchNorm1d(b), nn.ReLU())))
        self.t, self.tf = mlp(3, 64, 128, 1024), nn.Sequential(nn.Linear(1024, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Linear(512, 9))
        self.a, self.b = mlp(3, 64, 64), mlp(64, 64, 128, 1024)
        self.head = nn.Sequential(nn.Linear(1024, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Dropout(0.3), nn.Linear(512, classes))

    def forward(self, x):
        m = self.tf(self.t(x).amax(-1)).view(-1, 3, 3) + torch.eye(3, device=x.device, dtype=x.dtype)
        x = torch.bmm(x.transpose(1, 2), m).transpose(1, 2)
        return torch.log_softmax(self.head(self.b(self.a(x)).amax(-1)), -1)


add("point cloud", PointNet, lambda v: (rnd(v, 16, 3, 1024),), name="pointnet")
add("point cloud", PointNet, lambda v: (rnd(v, 16, 3, 1024, dtype=F32),), dtype=F32, name="pointnet_float32")


class Dgcnn(nn.Module):
    """Dynamic graph of points: distances, top-k neighbours, edge convolutions."""

    def __init__(self, k=16):
        super().__init__()
        self.k = k
        self.c = nn.ModuleList(nn.Sequential(nn.Conv2d(a, b, 1, bias=False), nn.BatchNorm2d(b), nn.LeakyReLU(0.2))
                               for a, b in ((6, 64), (128, 64), (128, 128)))
        self.last = nn.Conv1d(256, 256, 1)

    def forward(self, x):
        found = []
        for conv in self.c:
            b, c, n = x.shape
            d = (x * x).sum(1)
            i = (2 * x.transpose(1, 2) @ x - d[:, None] - d[:, :, None]).topk(self.k, -1)[1]
            near = x.transpose(1, 2).reshape(b * n, c)[(i + torch.arange(b, device=x.device)[:, None, None] * n).flatten()].view(b, n, self.k, c)
            mine = x.transpose(1, 2)[:, :, None].expand_as(near)
            x = conv(torch.cat([near - mine, mine], -1).permute(0, 3, 1, 2)).amax(-1)
            found.append(x)
        return self.last(torch.cat(found, 1)).amax(-1)


add("point cloud", Dgcnn, lambda v: (rnd(v, 8, 3, 512, dtype=F32),), dtype=F32, name="dgcnn")


class VqVae(nn.Module):
    def __init__(self, h=128, codes=512, d=64):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, h // 2, 4, 2, 1), nn.ReLU(), nn.Conv2d(h // 2, h, 4, 2, 1), nn.ReLU(), nn.Conv2d(h, h, 3, 1, 1), nn.Conv2d(h, d, 1))
        self.book = nn.Parameter(torch.randn(codes, d) * 0.1)
        self.dec = nn.Sequential(nn.Conv2d(d, h, 3, 1, 1), nn.ReLU(), nn.ConvTranspose2d(h, h // 2, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(h // 2, 3, 4, 2, 1))

    def forward(self, x):
        z = self.enc(x)
        flat = z.permute(0, 2, 3, 1).reshape(-1, z.shape[1])
        d = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.book.t() + self.book.pow(2).sum(1)
        q = self.book[d.argmin(1)].view(z.shape[0], z.shape[2], z.shape[3], -1).permute(0, 3, 1, 2)
        return self.dec(z + (q - z).detach()).float().pow(2).mean() + F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())


add("vector quantization", VqVae, lambda v: (rnd(v, 16, 3, 64, 64),), name="vqvae")


class Flex(nn.Module):
    def __init__(self, d=512, heads=8, layers=2):
        super().__init__()
        self.h = heads
        self.qkv = nn.ModuleList(nn.Linear(d, 3 * d) for _ in range(layers))
        self.o = nn.ModuleList(nn.Linear(d, d) for _ in range(layers))

    def forward(self, x):
        from torch.nn.attention.flex_attention import flex_attention
        b, t, d = x.shape
        h = self.h
        def score(s, b, head, q, k):
            return torch.where(q >= k, s - (q - k) * torch.exp2(-(head + 1.0)), -float("inf"))
        for qkv, o in zip(self.qkv, self.o):
            q, k, v = qkv(x).view(b, t, 3, h, d // h).permute(2, 0, 3, 1, 4)
            x = x + o(flex_attention(q, k, v, score_mod=score).transpose(1, 2).reshape(b, t, d))
        return x


add("flexible attention", Flex, lambda v: (rnd(v, 2, 1024, 512),), name="flex_alibi")


class Int8Linear(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.register_buffer("w", torch.randint(-127, 127, (b, a), dtype=torch.int8))
        self.register_buffer("s", torch.rand(b) * 0.01)

    def forward(self, x):
        return F.linear(x, self.w.to(x.dtype)) * self.s


class Int8Lm(nn.Module):
    def __init__(self, d=1024, layers=3):
        super().__init__()
        self.n = nn.ModuleList(Norm(d) for _ in range(layers))
        self.up = nn.ModuleList(Int8Linear(d, 2 * 2816) for _ in range(layers))
        self.down = nn.ModuleList(Int8Linear(2816, d) for _ in range(layers))
        self.a = nn.ModuleList(Int8Linear(d, 3 * d) for _ in range(layers))
        self.o = nn.ModuleList(Int8Linear(d, d) for _ in range(layers))

    def forward(self, x):
        for n, up, down, a, o in zip(self.n, self.up, self.down, self.a, self.o):
            b, t, d = x.shape
            q, k, v = a(n(x)).view(b, t, 3, 16, d // 16).permute(2, 0, 3, 1, 4)
            x = x + o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d))
            g, u = up(n(x)).chunk(2, -1)
            x = x + down(F.silu(g) * u)
        return x


class Int8Dynamic(nn.Module):
    """Activations quantized per row, integer products."""

    def __init__(self, sizes=(1024, 4096, 1024, 1024)):
        super().__init__()
        for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
            self.register_buffer(f"w{i}", torch.randint(-127, 127, (a, b), dtype=torch.int8))
        self.n = len(sizes) - 1

    def forward(self, x):
        for i in range(self.n):
            s = x.abs().amax(-1, keepdim=True).float() / 127
            q = torch.round(x / s).clamp(-127, 127).to(torch.int8)
            x = F.relu(torch._int_mm(q, getattr(self, f"w{i}")).float() * s * 0.001).to(torch.bfloat16)
        return x


add("quantized", Int8Lm, lambda v: (rnd(v, 2, 64, 1024),), train=False, name="int8_weights")
add("quantized", Int8Dynamic, lambda v: (rnd(v, 512, 1024),), train=False, name="int8_dynamic")


class Unet3d(nn.Module):
    def __init__(self, c=16, norm=nn.InstanceNorm3d):
        super().__init__()
        def block(a, b):
            return nn.Sequential(nn.Conv3d(a, b, 3, padding=1), norm(b), nn.LeakyReLU(), nn.Conv3d(b, b, 3, padding=1), norm(b), nn.LeakyReLU())
        self.d = nn.ModuleList([block(1, c), block(c, 2 * c), block(2 * c, 4 * c)])
        self.up = nn.ModuleList([nn.ConvTranspose3d(4 * c, 2 * c, 2, 2), nn.ConvTranspose3d(2 * c, c, 2, 2)])
        self.u = nn.ModuleList([block(4 * c, 2 * c), block(2 * c, c)])
        self.head = nn.Conv3d(c, 3, 1)

    def forward(self, x):
        a = self.d[0](x)
        b = self.d[1](F.max_pool3d(a, 2))
        c = self.d[2](F.max_pool3d(b, 2))
        b = self.u[0](torch.cat([b, self.up[0](c)], 1))
        return self.head(self.u[1](torch.cat([a, self.up[1](b)], 1)))


add("volumes", Unet3d, lambda v: (rnd(v, 1, 1, 48, 48, 48),), name="unet3d")
add("volumes", Unet3d, lambda v: (rnd(v, 2, 1, 32, 32, 32, dtype=F32),), dtype=F32, norm=nn.BatchNorm3d, name="unet3d_float32")


class Gnn(nn.Module):
    """Attention over edges with a softmax by scatter."""

    def __init__(self, d=128, layers=2, heads=4):
        super().__init__()
        self.w = nn.ModuleList(nn.Linear(d, d) for _ in range(layers))
        self.a = nn.ParameterList(nn.Parameter(torch.randn(heads, 2 * d // heads) * 0.1) for _ in range(layers))
        self.h = heads

    def forward(self, x, src, dst):
        n, d = x.shape
        for w, a in zip(self.w, self.a):
            h = w(x).view(n, self.h, -1)
            e = F.leaky_relu((torch.cat([h[src], h[dst]], -1) * a).sum(-1), 0.2)
            top = torch.full((n, self.h), -1e9, device=x.device, dtype=x.dtype).scatter_reduce(0, dst[:, None].expand_as(e), e, "amax")
            e = torch.exp(e - top[dst])
            s = torch.zeros(n, self.h, device=x.device, dtype=x.dtype).index_add(0, dst, e)
            x = x + F.elu(torch.zeros_like(h).index_add(0, dst, h[src] * (e / (s[dst] + 1e-6))[..., None])).reshape(n, d)
        return x


add("graph attention", Gnn, lambda v: (rnd(v, 3000, 128, dtype=F32), ids(v, 30000, high=3000), ids(v, 30000, high=2999)), dtype=F32, name="gnn")


class Schnet(nn.Module):
    """Continuous filters over distances."""

    def __init__(self, d=128, rbf=50, layers=3):
        super().__init__()
        self.e = nn.Embedding(100, d)
        self.f = nn.ModuleList(nn.Sequential(nn.Linear(rbf, d), nn.Softplus(), nn.Linear(d, d)) for _ in range(layers))
        self.i = nn.ModuleList(nn.Linear(d, d, bias=False) for _ in range(layers))
        self.o = nn.ModuleList(nn.Sequential(nn.Linear(d, d), nn.Softplus(), nn.Linear(d, d)) for _ in range(layers))
        self.head = nn.Linear(d, 1)
        self.rbf = rbf

    def forward(self, pos, z, src, dst, mol):
        x = self.e(z)
        r = (pos[src] - pos[dst]).norm(dim=-1)
        c = torch.linspace(0, 5, self.rbf, device=pos.device)
        g = torch.exp(-10 * (r[:, None] - c) ** 2)
        for f, i, o in zip(self.f, self.i, self.o):
            x = x + o(torch.zeros_like(x).index_add(0, dst, i(x)[src] * f(g)))
        return torch.zeros(128, 1, device=pos.device).index_add(0, mol, self.head(x))


add("molecules", Schnet, lambda v: (rnd(v, 2304, 3, dtype=F32), ids(v, 2304, high=100), ids(v, 40000, high=2304), ids(v, 40000, high=2303),
    torch.arange(2304, device=v) // 18), dtype=F32, name="schnet")


class Gru(nn.Module):
    def __init__(self, d=256, layers=1):
        super().__init__()
        self.i, self.h = nn.Linear(d, 3 * d), nn.Linear(d, 3 * d)

    def forward(self, x):
        g = self.i(x)
        s = torch.zeros_like(x[:, 0])
        out = []
        for t in range(x.shape[1]):
            r, z, n = g[:, t].chunk(3, -1)
            hr, hz, hn = self.h(s).chunk(3, -1)
            z = torch.sigmoid(z + hz)
            s = (1 - z) * torch.tanh(n + torch.sigmoid(r + hr) * hn) + z * s
            out.append(s)
        return torch.stack(out, 1)


add("recurrent cells", Gru, lambda v: (rnd(v, 32, 12, 256),), name="gru_cells")


class LstmCells(nn.Module):
    def __init__(self, d=512):
        super().__init__()
        self.i, self.h = nn.Linear(d, 4 * d), nn.Linear(d, 4 * d)

    def forward(self, x):
        g = self.i(x)
        s = c = torch.zeros_like(x[:, 0])
        for t in range(x.shape[1]):
            i, f, n, o = (g[:, t] + self.h(s)).chunk(4, -1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(n)
            s = torch.sigmoid(o) * torch.tanh(c)
        return s


add("recurrent cells", LstmCells, lambda v: (rnd(v, 64, 8, 512, dtype=F32),), dtype=F32, name="lstm_cells")


class Perceiver(nn.Module):
    def __init__(self, d=256, n=128, inp=64, blocks=3):
        super().__init__()
        self.l = nn.Parameter(torch.randn(n, d) * 0.02)
        self.q, self.kv, self.o = nn.Linear(d, d), nn.Linear(inp, 2 * d), nn.Linear(d, d)
        self.n, self.m, self.f = nn.LayerNorm(d), nn.LayerNorm(inp), FFN(d, 4 * d)
        self.b = nn.ModuleList(Block(d, 8) for _ in range(blocks))

    def forward(self, x):
        b = x.shape[0]
        l = self.l.expand(b, *self.l.shape)
        k, v = self.kv(self.m(x)).chunk(2, -1)
        a = F.scaled_dot_product_attention(self.q(self.n(l))[:, None], k[:, None], v[:, None])[:, 0]
        l = l + self.o(a)
        l = l + self.f(l)
        for block in self.b:
            l = block(l)
        return l.mean(1)


add("latent bottleneck", Perceiver, lambda v: (rnd(v, 4, 4096, 64),), name="perceiver")


class NextBlock(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w, self.n, self.a, self.b = nn.Conv2d(d, d, 7, padding=3, groups=d), nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.g, self.s = nn.Parameter(torch.zeros(4 * d)), nn.Parameter(torch.zeros(4 * d))

    def forward(self, x):
        y = F.gelu(self.a(self.n(self.w(x).permute(0, 2, 3, 1))))
        r = y.float().pow(2).sum((1, 2), keepdim=True).sqrt()
        y = self.g * (y * (r / (r.mean(-1, keepdim=True) + 1e-6)).to(y.dtype)) + self.s + y
        return x + self.b(y).permute(0, 3, 1, 2)


class NextV2(nn.Module):
    def __init__(self):
        super().__init__()
        d = (64, 128, 256)
        self.stem = nn.Conv2d(3, d[0], 4, 4)
        self.s = nn.ModuleList(nn.Sequential(NextBlock(i), NextBlock(i)) for i in d)
        self.down = nn.ModuleList(nn.Conv2d(a, b, 2, 2) for a, b in zip(d, d[1:]))

    def forward(self, x):
        x = self.stem(x)
        for i, s in enumerate(self.s):
            x = s(x)
            if i < 2:
                x = self.down[i](x)
        return x.mean((2, 3))


add("convolutional transformer", NextV2, lambda v: (rnd(v, 8, 3, 160, 160),), name="convnext_v2")


class Windows(nn.Module):
    def __init__(self, d=96, w=8, depth=4):
        super().__init__()
        self.w, self.e = w, nn.Conv2d(3, d, 4, 4)
        self.qkv = nn.ModuleList(nn.Linear(d, 3 * d) for _ in range(depth))
        self.o = nn.ModuleList(nn.Linear(d, d) for _ in range(depth))
        self.n = nn.ModuleList(nn.LayerNorm(d) for _ in range(depth))
        self.f = nn.ModuleList(FFN(d, 4 * d) for _ in range(depth))
        self.table = nn.ParameterList(nn.Parameter(torch.zeros((2 * w - 1) ** 2, 3)) for _ in range(depth))
        c = torch.stack(torch.meshgrid(torch.arange(w), torch.arange(w), indexing="ij")).flatten(1)
        r = c[:, :, None] - c[:, None] + w - 1
        self.register_buffer("i", r[0] * (2 * w - 1) + r[1], persistent=False)

    def forward(self, x):
        x = self.e(x).permute(0, 2, 3, 1)
        b, h, w, d = x.shape
        s = self.w
        for k, (qkv, o, n, f, table) in enumerate(zip(self.qkv, self.o, self.n, self.f, self.table)):
            y = torch.roll(n(x), (-s // 2, -s // 2), (1, 2)) if k % 2 else n(x)
            y = y.view(b, h // s, s, w // s, s, d).transpose(2, 3).reshape(-1, s * s, d)
            q, kk, v = qkv(y).view(-1, s * s, 3, 3, d // 3).permute(2, 0, 3, 1, 4)
            a = F.cosine_similarity(q[..., :, None, :].float(), kk[..., None, :, :].float(), -1) if k == 0 else (q @ kk.transpose(-1, -2)).float() * 0.18
            a = torch.softmax(a + table[self.i.flatten()].view(s * s, s * s, 3).permute(2, 0, 1), -1).to(x.dtype)
            y = o((a @ v).transpose(1, 2).reshape(-1, s * s, d)).view(b, h // s, w // s, s, s, d).transpose(2, 3).reshape(b, h, w, d)
            x = x + (torch.roll(y, (s // 2, s // 2), (1, 2)) if k % 2 else y)
            x = x + f(n(x))
        return x.mean((1, 2))


add("window attention", Windows, lambda v: (rnd(v, 4, 3, 128, 128),), name="windows")


class Deformable(nn.Module):
    """Deformable attention over two levels, by grid_sample."""

    def __init__(self, d=256, heads=8, points=4):
        super().__init__()
        self.h, self.p = heads, points
        self.v, self.off, self.w, self.o = nn.Linear(d, d), nn.Linear(d, heads * 2 * points * 2), nn.Linear(d, heads * 2 * points), nn.Linear(d, d)
        self.n, self.f = nn.LayerNorm(d), FFN(d, 1024)

    def forward(self, q, a, b, ref):
        n, t, d = q.shape
        off = self.off(q).view(n, t, self.h, 2, self.p, 2)
        w = torch.softmax(self.w(q).view(n, t, self.h, 2 * self.p), -1).view(n, t, self.h, 2, self.p)
        total = []
        for level, x in enumerate((a, b)):
            hh, ww = x.shape[-2:]
            v = self.v(x.flatten(2).transpose(1, 2)).view(n, hh * ww, self.h, d // self.h).permute(0, 2, 3, 1).reshape(n * self.h, d // self.h, hh, ww)
            grid = 2 * (ref[:, :, None, None] + off[:, :, :, level] / hh) - 1
            s = F.grid_sample(v, grid.transpose(1, 2).flatten(0, 1), align_corners=False)
            total.append(s * w[:, :, :, level].transpose(1, 2).reshape(n * self.h, 1, t, self.p))
        y = sum(total).sum(-1).view(n, d, t).transpose(1, 2)
        q = self.n(q + self.o(y))
        return q + self.f(q)


add("deformable sampling", Deformable, lambda v: (rnd(v, 2, 900, 256, dtype=F32), rnd(v, 2, 256, 48, 48, dtype=F32), rnd(v, 2, 256, 24, 24, dtype=F32),
    torch.rand(2, 900, 2, generator=torch.Generator().manual_seed(3)).to(v)), dtype=F32, name="deformable")


class Flow(nn.Module):
    """Correlation volume, look-up by grid_sample, warping, a convolutional GRU."""

    def __init__(self, c=64):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(3, 32, 7, 2, 3), nn.ReLU(), nn.Conv2d(32, c, 3, 2, 1), nn.InstanceNorm2d(c), nn.ReLU(), nn.Conv2d(c, c, 3, 2, 1))
        self.z, self.r, self.q = (nn.Conv2d(c + 83, c, 3, padding=1) for _ in range(3))
        self.d = nn.Conv2d(c, 2, 3, padding=1)

    def forward(self, a, b):
        x, y = self.f(a), self.f(b)
        n, c, h, w = x.shape
        corr = (x.flatten(2).transpose(1, 2) @ y.flatten(2) / c ** 0.5).view(n * h * w, 1, h, w)
        gy, gx = torch.meshgrid(torch.arange(h, device=a.device), torch.arange(w, device=a.device), indexing="ij")
        base = torch.stack([gx, gy], -1).to(x.dtype)
        dd = torch.arange(-4, 5, device=a.device).to(x.dtype)
        win = torch.stack(torch.meshgrid(dd, dd, indexing="ij"), -1)
        flow, state = torch.zeros(n, h, w, 2, device=a.device, dtype=x.dtype), torch.tanh(x)
        for _ in range(3):
            at = (base + flow).view(-1, 1, 1, 2) + win
            s = F.grid_sample(corr, 2 * at / torch.tensor([w - 1.0, h - 1.0], device=a.device).to(x.dtype) - 1, align_corners=True).view(n, h, w, 81).permute(0, 3, 1, 2)
            i = torch.cat([state, s, flow.permute(0, 3, 1, 2)], 1)
            z, r = torch.sigmoid(self.z(i)), torch.sigmoid(self.r(i))
            q = torch.tanh(self.q(torch.cat([r * state, i[:, state.shape[1]:]], 1)))
            state = (1 - z) * state + z * q
            flow = flow + self.d(state).permute(0, 2, 3, 1)
        return flow


add("deformable sampling", Flow, lambda v: (rnd(v, 2, 3, 192, 256, dtype=F32), rnd(v, 2, 3, 192, 256, dtype=F32) * 0.9), dtype=F32, name="flow")


class Transducer(nn.Module):
    def __init__(self, d=320, vocab=512):
        super().__init__()
        self.a, self.e, self.p = nn.Linear(80, d), nn.Embedding(vocab, d), nn.Linear(d, d)
        self.c = nn.Conv1d(d, d, 3, padding=2)
        self.j, self.o = nn.Linear(d, d), nn.Linear(d, vocab)

    def forward(self, x, y):
        t = self.a(x)
        u = self.e(y)
        u = self.p(F.relu(self.c(u.transpose(1, 2))[..., : u.shape[1]]).transpose(1, 2))
        z = self.o(torch.tanh(self.j(t[:, :, None] + u[:, None])))
        p = torch.log_softmax(z.float(), -1)
        blank = p[..., 0]
        emit = p[:, :, :-1].gather(-1, y[:, None, 1:, None].expand(-1, p.shape[1], -1, 1))[..., 0]
        return blank.sum() + torch.logcumsumexp(emit.sum(-1), 1).sum()


add("transducer", Transducer, lambda v: (rnd(v, 4, 100, 80), ids(v, 4, 24, high=512)), name="transducer")


class Wavenet(nn.Module):
    def __init__(self, c=64, skip=128, blocks=2, depth=5):
        super().__init__()
        self.i = nn.Conv1d(1, c, 1)
        self.d = nn.ModuleList(nn.Conv1d(c, 2 * c, 2, dilation=2 ** (i % depth)) for i in range(blocks * depth))
        self.r = nn.ModuleList(nn.Conv1d(c, c, 1) for _ in range(blocks * depth))
        self.s = nn.ModuleList(nn.Conv1d(c, skip, 1) for _ in range(blocks * depth))
        self.o = nn.Conv1d(skip, 256, 1)

    def forward(self, x):
        x = self.i(x)
        total = 0
        for d, r, s in zip(self.d, self.r, self.s):
            a, b = d(F.pad(x, (d.dilation[0], 0))).chunk(2, 1)
            y = torch.tanh(a) * torch.sigmoid(b)
            total = total + s(y)
            x = x + r(y)
        return self.o(F.relu(total))


add("dilated audio", Wavenet, lambda v: (rnd(v, 4, 1, 4000),), name="wavenet")


class LinearAttention(nn.Module):
    """Gated linear attention with running sums of outer products, in chunks."""

    def __init__(self, d=512, heads=8, chunk=32, layers=2):
        super().__init__()
        self.h, self.c = heads, chunk
        self.qkvg = nn.ModuleList(nn.Linear(d, 4 * d, bias=False) for _ in range(layers))
        self.o = nn.ModuleList(nn.Linear(d, d, bias=False) for _ in range(layers))
        self.n = nn.ModuleList(nn.GroupNorm(heads, d) for _ in range(layers))

    def forward(self, x):
        b, t, d = x.shape
        decay = 1 - torch.exp2(-5.0 - torch.arange(self.h, device=x.device))
        i = torch.arange(self.c, device=x.device)
        m = torch.where(i[:, None] >= i, decay[:, None, None] ** (i[:, None] - i).clamp(min=0), 0.0)
        for w, o, n in zip(self.qkvg, self.o, self.n):
            q, k, v, g = (z.view(b, t // self.c, self.c, self.h, -1).permute(0, 3, 1, 2, 4) for z in w(x).chunk(4, -1))
            inner = ((q @ k.transpose(-1, -2)) * m[:, None].to(x.dtype)) @ v
            kv = torch.cumsum((k * (decay[:, None, None, None] ** (self.c - i[:, None])).to(x.dtype)).transpose(-1, -2) @ v, 2)
            kv = F.pad(kv, (0, 0, 0, 0, 1, 0))[:, :, :-1]
            y = (inner + q @ kv).permute(0, 2, 3, 1, 4).reshape(b * t, d)
            x = x + o(n(y).view(b, t, d) * F.silu(g.permute(0, 2, 3, 1, 4).reshape(b, t, d)))
        return x


add("linear attention", LinearAttention, lambda v: (rnd(v, 4, 512, 512),), name="retention")


class Style(nn.Module):
    def __init__(self, c=32):
        super().__init__()
        def conv(a, b, k, s):
            return nn.Sequential(nn.ReflectionPad2d(k // 2), nn.Conv2d(a, b, k, s), nn.InstanceNorm2d(b, affine=True))
        self.a, self.b, self.c = conv(3, c, 9, 1), conv(c, 2 * c, 3, 2), conv(2 * c, 4 * c, 3, 2)
        self.r = nn.ModuleList(nn.Sequential(conv(4 * c, 4 * c, 3, 1), nn.ReLU(), conv(4 * c, 4 * c, 3, 1)) for _ in range(3))
        self.u, self.v, self.w = conv(4 * c, 2 * c, 3, 1), conv(2 * c, c, 3, 1), nn.Sequential(nn.ReflectionPad2d(4), nn.Conv2d(c, 3, 9))

    def forward(self, x):
        x = F.relu(self.c(F.relu(self.b(F.relu(self.a(x))))))
        for r in self.r:
            x = x + r(x)
        x = F.relu(self.u(F.interpolate(x, scale_factor=2)))
        return self.w(F.relu(self.v(F.interpolate(x, scale_factor=2))))


add("style transfer", Style, lambda v: (rnd(v, 4, 3, 128, 128),), name="style")


class SuperRes(nn.Module):
    def __init__(self, c=64, blocks=4):
        super().__init__()
        self.i = nn.Conv2d(3, c, 3, padding=1)
        self.b = nn.ModuleList(nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1)) for _ in range(blocks))
        self.u, self.o = nn.Conv2d(c, 4 * c, 3, padding=1), nn.Conv2d(c, 3, 3, padding=1)

    def forward(self, x):
        x = self.i(x)
        for b in self.b:
            x = x + 0.1 * b(x)
        return self.o(F.pixel_shuffle(self.u(x), 2))


add("super-resolution", SuperRes, lambda v: (rnd(v, 4, 3, 96, 96),), name="super_resolution")


class Gan(nn.Module):
    def __init__(self, z=100, c=64):
        super().__init__()
        g = [nn.ConvTranspose2d(z, 8 * c, 4, 1, 0, bias=False), nn.BatchNorm2d(8 * c), nn.ReLU()]
        for i in (8, 4, 2):
            g += [nn.ConvTranspose2d(i * c, i * c // 2, 4, 2, 1, bias=False), nn.BatchNorm2d(i * c // 2), nn.ReLU()]
        self.g = nn.Sequential(*g, nn.ConvTranspose2d(c, 3, 4, 2, 1, bias=False), nn.Tanh())
        d = [nn.Conv2d(3, c, 4, 2, 1, bias=False), nn.LeakyReLU(0.2)]
        for i in (1, 2, 4):
            d += [nn.Conv2d(i * c, 2 * i * c, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * i * c), nn.LeakyReLU(0.2)]
        self.d = nn.Sequential(*d, nn.Conv2d(8 * c, 1, 4, 1, 0, bias=False))

    def forward(self, z):
        return F.softplus(-self.d(self.g(z))).mean()


add("adversarial", Gan, lambda v: (rnd(v, 32, 100, 1, 1, dtype=F32),), dtype=F32, name="gan")


class Siren(nn.Module):
    def __init__(self, d=256, layers=4):
        super().__init__()
        self.l = nn.ModuleList(nn.Linear(2 if i == 0 else d, d) for i in range(layers))
        self.o = nn.Linear(d, 3)

    def forward(self, x):
        for l in self.l:
            x = torch.sin(30 * l(x))
        return self.o(x)


add("implicit image", Siren, lambda v: (rnd(v, 65536, 2, dtype=F32),), dtype=F32, name="siren")


class Kan(nn.Module):
    """Splines on edges."""

    def __init__(self, sizes=(64, 128, 64, 10), grid=5, order=3):
        super().__init__()
        self.order = order
        self.register_buffer("knots", torch.linspace(-2.2, 2.2, grid + 2 * order + 1), persistent=False)
        self.c = nn.ParameterList(nn.Parameter(torch.randn(b, a * (grid + order)) * 0.1) for a, b in zip(sizes, sizes[1:]))
        self.w = nn.ParameterList(nn.Parameter(torch.randn(b, a) * 0.1) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x):
        g = self.knots
        for c, w in zip(self.c, self.w):
            y = x[..., None]
            s = ((y >= g[:-1]) & (y < g[1:])).to(x.dtype)
            for k in range(1, self.order + 1):
                s = (y - g[: -(k + 1)]) / (g[k:-1] - g[: -(k + 1)]) * s[..., :-1] + (g[k + 1:] - y) / (g[k + 1:] - g[1:-k]) * s[..., 1:]
            x = F.linear(F.silu(x), w) + F.linear(s.flatten(1), c)
        return x


add("splines", Kan, lambda v: (rnd(v, 4096, 64, dtype=F32),), dtype=F32, name="kan")


class Decode(nn.Module):
    """One token with a cache that is written in place: GEMVs and index_put."""

    def __init__(self, d=1024, heads=16, layers=4, length=1024, vocab=32000, batch=4):
        super().__init__()
        self.h = heads
        self.e = nn.Embedding(vocab, d)
        self.n = nn.ModuleList(Norm(d) for _ in range(2 * layers))
        self.qkv = nn.ModuleList(nn.Linear(d, 3 * d, bias=False) for _ in range(layers))
        self.o = nn.ModuleList(nn.Linear(d, d, bias=False) for _ in range(layers))
        self.up = nn.ModuleList(nn.Linear(d, 2 * 2816, bias=False) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(2816, d, bias=False) for _ in range(layers))
        self.register_buffer("k", torch.zeros(layers, batch, heads, length, d // heads))
        self.register_buffer("v", torch.zeros(layers, batch, heads, length, d // heads))

    def forward(self, i, at):
        x = self.e(i)
        b, t, d = x.shape
        mask = (torch.arange(self.k.shape[3], device=x.device) <= at)[None, None, None]
        for j, (qkv, o, up, down) in enumerate(zip(self.qkv, self.o, self.up, self.down)):
            q, k, v = qkv(self.n[2 * j](x)).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
            self.k[j].index_copy_(2, at, k)
            self.v[j].index_copy_(2, at, v)
            a = F.scaled_dot_product_attention(q, self.k[j], self.v[j], attn_mask=mask)
            x = x + o(a.transpose(1, 2).reshape(b, t, d))
            g, u = up(self.n[2 * j + 1](x)).chunk(2, -1)
            x = x + down(F.silu(g) * u)
        return F.linear(x, self.e.weight)


add("decoding", Decode, lambda v: (ids(v, 4, 1), torch.tensor([700], device=v)), train=False, name="decode")


class Evoformer(nn.Module):
    def __init__(self, d=64, heads=4):
        super().__init__()
        self.n = nn.ModuleList(nn.LayerNorm(d) for _ in range(4))
        self.ab, self.g, self.o = nn.Linear(d, 4 * d), nn.Linear(d, d), nn.Linear(d, d)
        self.qkv, self.bias, self.ag, self.ao = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, heads, bias=False), nn.Linear(d, d), nn.Linear(d, d)
        self.t, self.h = FFN(d, 4 * d), heads

    def forward(self, z):
        y = self.n[0](z)
        a, ag, b, bg = self.ab(y).chunk(4, -1)
        a, b = a * torch.sigmoid(ag), b * torch.sigmoid(bg)
        z = z + torch.sigmoid(self.g(y)) * self.o(self.n[1](torch.einsum("bikc,bjkc->bijc", a, b)))
        y = self.n[2](z)
        n, i, j, d = y.shape
        q, k, v = self.qkv(y).view(n, i, j, 3, self.h, -1).permute(3, 0, 1, 4, 2, 5)
        s = torch.softmax((q @ k.transpose(-1, -2)).float() * 0.25 + self.bias(y).permute(0, 3, 1, 2)[:, None].float(), -1).to(z.dtype)
        z = z + self.ao(torch.sigmoid(self.ag(y)) * (s @ v).transpose(2, 3).reshape(n, i, j, d))
        return z + self.t(self.n[3](z))


add("pair representation", Evoformer, lambda v: (rnd(v, 1, 128, 128, 64),), name="evoformer")


class Ranking(nn.Module):
    """Sorting, listwise losses and differentiable ranks."""

    def __init__(self, d=136):
        super().__init__()
        self.m = nn.Sequential(nn.Linear(d, 256), nn.LayerNorm(256), nn.SELU(), nn.Linear(256, 1))

    def forward(self, x, y):
        s = self.m(x)[..., 0]
        order = torch.argsort(y, -1, descending=True)
        s = s.gather(1, order)
        plackett = (torch.logcumsumexp(s.flip(-1), -1).flip(-1) - s).mean()
        ranks = 1 + torch.sigmoid(10 * (s[:, None] - s[:, :, None])).sum(-1)
        gains = (torch.exp2(y.gather(1, order)) - 1) / torch.log2(1 + ranks)
        return plackett - (gains.sum(-1) / (torch.exp2(y.sort(-1, descending=True)[0]) - 1).cumsum(-1)[:, -1].clamp(min=1)).mean()


add("ranking", Ranking, lambda v: (rnd(v, 256, 128, 136, dtype=F32), ids(v, 256, 128, high=5).float()), dtype=F32, name="ranking")


class Contrastive(nn.Module):
    """Two towers, memory bank, temperature, cross entropy."""

    def __init__(self, d=512):
        super().__init__()
        self.a = nn.Sequential(nn.Linear(1024, 2048), nn.BatchNorm1d(2048), nn.ReLU(), nn.Linear(2048, d))
        self.b = nn.Sequential(nn.Linear(768, 2048), nn.BatchNorm1d(2048), nn.ReLU(), nn.Linear(2048, d))
        self.register_buffer("bank", torch.randn(d, 16384))

    def forward(self, x, y):
        x, y = F.normalize(self.a(x), dim=-1), F.normalize(self.b(y), dim=-1)
        z = torch.cat([(x * y).sum(-1, keepdim=True), x @ self.bank], 1) / 0.07
        e = x @ y.t() / 0.07
        i = torch.arange(x.shape[0], device=x.device)
        return F.cross_entropy(z, torch.zeros_like(i)) + F.cross_entropy(e, i) + F.cross_entropy(e.t(), i)


add("contrastive", Contrastive, lambda v: (rnd(v, 512, 1024), rnd(v, 512, 768)), name="contrastive")
add("contrastive", Contrastive, lambda v: (rnd(v, 512, 1024, dtype=F32), rnd(v, 512, 768, dtype=F32)), dtype=F32, autocast=True, infer=False, name="contrastive_autocast")


class Diffusion(nn.Module):
    """A pixel U-Net with group norm, attention, time embeddings, nearest upsampling."""

    def __init__(self, c=64):
        super().__init__()
        self.t = nn.Sequential(nn.Linear(c, 4 * c), nn.SiLU(), nn.Linear(4 * c, 4 * c))
        def res(a, b):
            return nn.ModuleDict({"n1": nn.GroupNorm(8, a), "c1": nn.Conv2d(a, b, 3, padding=1), "t": nn.Linear(4 * c, b), "n2": nn.GroupNorm(8, b),
                                  "c2": nn.Conv2d(b, b, 3, padding=1), "s": nn.Conv2d(a, b, 1) if a != b else nn.Identity()})
        self.i, self.d1, self.d2, self.m = nn.Conv2d(3, c, 3, padding=1), res(c, c), res(c, 2 * c), res(2 * c, 2 * c)
        self.down = nn.Conv2d(c, c, 3, 2, 1)
        self.n, self.qkv, self.p = nn.GroupNorm(8, 2 * c), nn.Conv2d(2 * c, 6 * c, 1), nn.Conv2d(2 * c, 2 * c, 1)
        self.u = res(3 * c, c)
        self.o = nn.Conv2d(c, 3, 3, padding=1)

    def res(self, m, x, t):
        h = m["c1"](F.silu(m["n1"](x))) + m["t"](F.silu(t))[:, :, None, None]
        return m["c2"](F.silu(m["n2"](h))) + m["s"](x)

    def forward(self, x, t):
        f = torch.exp(torch.arange(32, device=x.device) * (-math.log(10000) / 32))
        a = t[:, None].float() * f
        t = self.t(torch.cat([a.sin(), a.cos()], -1).to(x.dtype))
        x = self.i(x)
        a = self.res(self.d1, x, t)
        b = self.res(self.d2, self.down(a), t)
        n, c, h, w = b.shape
        q, k, v = self.qkv(self.n(b)).view(n, 3, 4, c // 4, h * w).unbind(1)
        y = F.scaled_dot_product_attention(*(z.transpose(-1, -2) for z in (q, k, v))).transpose(-1, -2).reshape(n, c, h, w)
        b = self.res(self.m, b + self.p(y), t)
        return self.o(self.res(self.u, torch.cat([a, F.interpolate(b, scale_factor=2)], 1), t))


add("pixel diffusion", Diffusion, lambda v: (rnd(v, 8, 3, 64, 64), ids(v, 8)), name="diffusion")


class Optimizer(nn.Module):
    """AdamW and a clipped norm over many tensors, written with foreach ops."""

    def __init__(self):
        super().__init__()
        shapes = [(768, 768)] * 8 + [(3072, 768)] * 4 + [(768,)] * 24 + [(8000, 768)]
        self.p = nn.ParameterList(nn.Parameter(torch.randn(s) * 0.02, requires_grad=False) for s in shapes)
        self.n = len(shapes)
        for i, s in enumerate(shapes):
            for k in "gmv":
                self.register_buffer(f"{k}{i}", torch.rand(s))

    def forward(self, lr):
        p = list(self.p)
        g, m, v = ([getattr(self, f"{k}{i}") for i in range(self.n)] for k in "gmv")
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(g)))
        g = torch._foreach_mul(g, (1.0 / (norm + 1e-6)).clamp(max=1.0))
        torch._foreach_mul_(p, 1 - 1e-4)
        torch._foreach_lerp_(m, g, 0.1)
        torch._foreach_mul_(v, 0.999)
        torch._foreach_addcmul_(v, g, g, 0.001)
        d = torch._foreach_add(torch._foreach_sqrt(v), 1e-8)
        torch._foreach_add_(p, torch._foreach_mul(torch._foreach_div(m, d), -lr))
        return norm


add("optimizer", Optimizer, lambda v: (torch.tensor(1e-3, device=v),), dtype=F32, train=False, name="adamw_foreach")


class Capsules(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(1, 128, 9), nn.Conv2d(128, 256, 9, 2)
        self.w = nn.Parameter(torch.randn(10, 1152, 8, 16) * 0.01)

    def squash(self, x):
        s = x.pow(2).sum(-1, keepdim=True)
        return x * s / (1 + s) / torch.sqrt(s + 1e-8)

    def forward(self, x):
        u = self.squash(self.b(F.relu(self.a(x))).view(x.shape[0], 1152, 8))
        h = torch.einsum("bni,cnij->bcnj", u, self.w)
        r = torch.zeros_like(h[..., 0])
        for _ in range(3):
            v = self.squash((torch.softmax(r, 1)[..., None] * h).sum(2))
            r = r + (h * v[:, :, None]).sum(-1)
        return v.norm(dim=-1)


add("routing", Capsules, lambda v: (rnd(v, 32, 1, 28, 28, dtype=F32),), dtype=F32, name="capsules")


class Video(nn.Module):
    """Factorized 3-D convolutions (R(2+1)D), batch norm."""

    def __init__(self, c=32):
        super().__init__()
        def block(a, b, s):
            return nn.Sequential(nn.Conv3d(a, b, (1, 3, 3), (1, s, s), (0, 1, 1), bias=False), nn.BatchNorm3d(b), nn.ReLU(),
                                 nn.Conv3d(b, b, (3, 1, 1), 1, (1, 0, 0), bias=False), nn.BatchNorm3d(b), nn.ReLU())
        self.s = nn.Sequential(block(3, c, 2), block(c, c, 1), block(c, 2 * c, 2), block(2 * c, 4 * c, 2))
        self.o = nn.Linear(4 * c, 100)

    def forward(self, x):
        return self.o(self.s(x).mean((2, 3, 4)))


add("video", Video, lambda v: (rnd(v, 4, 3, 8, 96, 96),), name="video")


class Neural(nn.Module):
    """An ODE by Runge-Kutta steps over a small vector field."""

    def __init__(self, d=128):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, d), nn.Tanh(), nn.Linear(d, d))

    def forward(self, x):
        h = 0.1
        for _ in range(5):
            a = self.f(x)
            b = self.f(x + h / 2 * a)
            c = self.f(x + h / 2 * b)
            d = self.f(x + h * c)
            x = x + h / 6 * (a + 2 * b + 2 * c + d)
        return x


add("differential equation", Neural, lambda v: (rnd(v, 512, 128, dtype=F32),), dtype=F32, name="neural_ode")


class Longformer(nn.Module):
    """Sliding chunks of keys, band masks."""

    def __init__(self, d=512, heads=8, w=128):
        super().__init__()
        self.h, self.w, self.qkv, self.o, self.n = heads, w, nn.Linear(d, 3 * d), nn.Linear(d, d), nn.LayerNorm(d)

    def forward(self, x):
        b, t, d = x.shape
        w = self.w
        q, k, v = self.qkv(self.n(x)).view(b, t, 3, self.h, -1).permute(2, 0, 3, 1, 4)
        k, v = (F.pad(z, (0, 0, w, w)).unfold(2, 3 * w, w) for z in (k, v))
        q = q.reshape(b, self.h, t // w, w, -1)
        s = torch.einsum("bhcqd,bhcdk->bhcqk", q, k).float() * 0.125
        i, j = torch.arange(w, device=x.device)[:, None], torch.arange(3 * w, device=x.device)
        s = s.masked_fill((j - i < 0) | (j - i > 2 * w), -1e4)
        y = torch.einsum("bhcqk,bhcdk->bhcqd", torch.softmax(s, -1).to(x.dtype), v)
        return x + self.o(y.reshape(b, self.h, t, -1).transpose(1, 2).reshape(b, t, d))


add("sliding windows", Longformer, lambda v: (rnd(v, 2, 2048, 512),), name="longformer")

KINDS = {name: program.kind for name, program in PROGRAMS.items()}


def _hash(kind):
    return hashlib.sha256(("absent " + kind).encode()).hexdigest()


ASIDE = set(sorted(set(KINDS.values()), key=_hash)[: len(set(KINDS.values())) // 2])  # looked at once, at the end
