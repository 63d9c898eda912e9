"""A job of many ranks: each rank's trace → a digest of a few kB → what is uneven about the job, and why.

`digest` needs one trace and nothing else, so it runs wherever the trace lies; `findings` compares digests.
"""
