"""Files that others wrote → recordings: traces, compile logs, debug folders, generated code."""
