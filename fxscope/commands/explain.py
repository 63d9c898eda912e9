"""`fxscope explain RECORDING`: its story, each sentence with its evidence; GEMM, launch and compile tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fxscope.commands import common

if TYPE_CHECKING:
    import argparse

    from fxscope.analysis.story import Story
    from fxscope.model import Recording

TABLES = ("story", "gemm", "launches")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "recording", metavar="RECORDING", help="a recording, a trace, or a folder with a trace and its compile's files"
    )
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="only what is said of this op, kernel, module, …; see docs/names.md"
    )
    parser.add_argument(
        "--against",
        metavar="RECORDING",
        help="the same program otherwise, eager say: was it worth it, and after how many steps; a folder of recordings "
        "is several of one program",
    )
    parser.add_argument("--evidence", action="store_true", help="after each sentence the items that prove it")
    parser.add_argument(
        "--table", choices=TABLES[1:], help="only this table: every GEMM, or every op that launches work"
    )
    parser.add_argument("--json", action="store_true", help="sentences and tables as JSON, with evidence and numbers")


def run(arguments: argparse.Namespace) -> int:
    from fxscope.analysis.explain import explain
    from fxscope.render import story as text

    if arguments.table:
        common.refuse(arguments, f"--table {arguments.table} is all that is shown", "evidence", "json")
    recording, *again = common.read_runs(arguments.recording)
    others = common.read_runs(arguments.against) if arguments.against else []
    told = explain(recording, against=others[0] if others else None, runs=(again, others[1:]))
    if arguments.name is not None:
        told = about(told, recording, arguments.name)
    if arguments.json:
        from fxscope.model import encoded

        print(encoded(told).decode())
    elif arguments.table == "gemm":
        print(
            text.gemm_table(told, width=common.width())
            if told.gemms
            else "no GEMM, convolution or attention reached a device"
        )
    elif arguments.table == "launches":
        print(text.launch_table(told) if told.launches else "nothing was launched on a device")
    elif not told.sentences and arguments.name is not None:
        print(f"Nothing is said of {arguments.name}.")
    elif not told.sentences:
        print("This recording has no launches and no compiled code: there is nothing to explain.")
    else:
        print(text.story(told, width=common.width(), evidence=arguments.evidence))
    return 0


def about(told: Story, recording: Recording, name: str) -> Story:
    """What rests on a named thing: the sentences and rows with one of its items among their evidence.

    Raises:
        PassError: the name is nowhere in the recording.
    """
    from fxscope.analysis import select
    from fxscope.model import replace

    select.require(recording, name)
    units = select.pick(select.units_matching(recording, name), select.parse_selector(name), "kernel")
    proofs = {f"launch:{launch.id}" for unit in units for launch in unit.launches}
    proofs |= {f"call:{unit.call}" for unit in units}
    proofs |= {f"node:{graph}/{node.name}" for graph, node in select.nodes_named(recording, name)}
    proofs |= {f"op:{op.id}" for op in recording.ops if select.op_named(op, name)}
    return replace(
        told,
        sentences=tuple(item for item in told.sentences if proofs & set(item.evidence)),
        gemms=tuple(row for row in told.gemms if proofs & set(row.evidence)),
        launches=tuple(row for row in told.launches if proofs & set(row.evidence)),
    )
