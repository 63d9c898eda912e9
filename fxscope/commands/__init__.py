"""One verb per file: `configure(parser)` adds its options, `run(arguments)` does it and returns the exit code."""

import signal

# An interrupt inside the initialisation of msgspec's C module is lost, and what is decoded later is a segmentation fault.
if hasattr(signal, "pthread_sigmask"):
    _mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    import msgspec  # noqa: F401  # pyright: ignore[reportUnusedImport]

    signal.pthread_sigmask(signal.SIG_SETMASK, _mask)
