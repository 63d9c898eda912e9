"""The dispatcher's treatment of an op, as values."""

import msgspec


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """The registration at a key. `kind` is torch's word."""

    where: str  # file:line
    kind: str  # "kernel", "autograd kernel", "math kernel", "default backend kernel", "backend fallback"
    fallthrough: bool = False


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """One dispatch key on the way, and what happens there."""

    key: str
    state: str  # "calls", "calls, then goes on", "falls through", "not reached", "excluded"
    registration: Registration
    why: str  # it is passed, where it dispatches on


class Dispatch(msgspec.Struct, frozen=True, kw_only=True):
    """An op, the keys it passes for tensors on a device, and what compilers make of it."""

    name: str
    schema: str | None = None
    device: str = "cpu"
    torch: str | None = None  # whose tables these are
    keys: tuple[Key, ...] = ()
    composite: str | None = None  # "implicit", "explicit"
    aliases: tuple[str, ...] | None = None
    mutates: tuple[str, ...] = ()
    decomposition: str | None = None
    inductor: str | None = None  # "decomposition", "decomposition or lowering", "lowering", "fallback", "composite", …
    inductor_where: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
