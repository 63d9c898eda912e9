"""Turns a plan into a recording: what each kernel uses per SM of the simulated GPU, and everything that was assumed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from fxscope import gpus
from fxscope._torch.target import kernels as fake_kernels
from fxscope.model import Assumption, KernelCall, KernelConfig, Problem, Recording, Resources, SourceText, replace

if TYPE_CHECKING:
    from fxscope._torch.target.simulate import Plan
    from fxscope.model import Environment

_FACTS = ("graphs", "calls", "links", "sources", "schedules", "rewrites", "near_misses", "problems")
_KEPT: tuple[Literal["ptx", "sass"], ...] = ("ptx", "sass")


def recording_of(facts: Recording, here: Environment, gpu: gpus.Gpu, plan: Plan) -> Recording:
    """The recording of a plan, without what the kernels take."""
    return replace(
        facts,
        environment=replace(here, target=gpu.name),
        compiles=tuple(
            replace(
                item,
                runs=plan.runs.get(item.compile_id),
                cudagraphs=plan.cudagraphs,
                cudagraph_skip=plan.cudagraph_skips.get(item.compile_id),
            )
            for item in facts.compiles
        ),
        **{name: getattr(facts, name) for name in _FACTS},
        assumptions=tuple(
            Assumption(subject=subject, assumed=assumed, because=because)
            for subject, assumed, because in plan.assumptions
        ),
        choices=tuple(replace(choice, calls=calls_of(node, facts)) for node, choice in plan.choices),
    )


def calls_of(node: str, facts: Recording) -> tuple[str, ...]:
    """The ids of the calls that a post-grad node ran in, where one graph has a node of that name."""
    holding = [
        graph.id for graph in facts.graphs if graph.stage == "post_grad" and node in {n.name for n in graph.nodes}
    ]
    return tuple(call.id for call in facts.calls if call.graph in holding and node in call.nodes) if node else ()


def with_resources(recording: Recording, gpu: gpus.Gpu, plan: Plan, *, keep: tuple[str, ...]) -> Recording:
    """Compile the Triton kernels and add registers, spills, shared memory and occupancy to their calls."""
    calls: list[KernelCall] = list(recording.calls)
    sources: list[SourceText] = list(recording.sources)
    problems: list[Problem] = list(recording.problems)
    tuned: list[str] = []
    for text in recording.sources:
        if text.kind != "output_code" or text.graph is None:
            continue
        found = fake_kernels.triton_resources(text.text, plan, keep=keep)
        for name, kernel in found.items():
            for key, config in kernel["configs"].items():
                if config.get("error"):
                    problems.append(Problem(where=f"{name} {key}", message=config["error"]))
                for kind in _KEPT:
                    if kind in keep and config.get(kind):
                        source_id = f"{text.graph}:{name}:{key}:{kind}"
                        sources.append(SourceText(id=source_id, kind=kind, text=config[kind], graph=text.graph))
            if len(kernel["configs"]) > 1:
                tuned.append(name)
        for position, call in enumerate(calls):
            if call.graph == text.graph and call.kernel in found:
                calls[position] = replace(call, resources=resources(found[call.kernel], gpu, call.resources))
    return replace(
        recording,
        calls=tuple(calls),
        sources=tuple(sources),
        problems=tuple(problems),
        assumptions=(*recording.assumptions, *_tools(tuned)),
    )


def resources(kernel: dict[str, Any], gpu: gpus.Gpu, known: Resources | None) -> Resources:
    """Return what a kernel takes; single numbers only where all configurations agree."""
    configs: list[KernelConfig] = []
    for config in kernel["configs"].values():
        taken = {name: config[name] for name in ("registers", "shared_bytes", "num_warps")}
        found = None if None in taken.values() else gpus.occupancy(gpu, **taken)
        taken |= {name: config[name] for name in ("kwargs", "num_stages", "spill_bytes")}
        share = found.share if found else None
        configs.append(KernelConfig(**taken, occupancy=share, chosen=True if len(kernel["configs"]) == 1 else None))

    def common(name: str) -> Any:
        values = {getattr(config, name) for config in configs}
        return values.pop() if len(values) == 1 else None

    author = "user_autotune" in kernel["heuristic"].lower()
    same = {name: common(name) for name in ("registers", "spill_bytes", "shared_bytes", "occupancy")}
    chosen_by = "autotuner" if len(configs) != 1 else "author" if author else "heuristic"
    return replace(known or Resources(), **same, chosen_by=chosen_by, configs=tuple(configs))


def _tools(tuned: list[str]) -> tuple[Assumption, ...]:
    import triton  # pyright: ignore[reportMissingTypeStubs]

    ptxas = fake_kernels.ptxas_version() or "of unknown version"
    compiler = Assumption(
        subject="compiler",
        assumed=f"kernels are compiled by Triton {triton.__version__} with ptxas {ptxas}",
        because="registers and spills depend on the compiler's version; the other machine may have another",
    )
    configuration = Assumption(
        subject="launch configuration",
        assumed=f"every candidate is listed with what it takes for {', '.join(dict.fromkeys(tuned))}",
        because="Triton times the candidates when the kernel first runs on the device",
    )
    return (compiler, configuration) if tuned else (compiler,)


def early_decompositions(recording: Recording) -> tuple[Assumption, ...]:
    """An assumption where a CUDA build would hand a function to Inductor whole: it has a kernel of its own there."""
    targets = [node.target for graph in recording.graphs if graph.stage == "pre_grad" for node in graph.nodes]
    assumed = Assumption(
        subject="early decomposition",
        assumed="rms_norm is decomposed before Inductor sees it",
        because="this is a CPU build of torch, without CUDA's _fused_rms_norm; a CUDA build names the kernel after that op, "
        "and may order its arithmetic differently",
    )
    return (assumed,) if any("rms_norm" in target for target in targets) else ()
