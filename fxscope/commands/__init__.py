"""One verb per file: `configure(parser)` adds its options, `run(arguments)` does it and returns the exit code."""
