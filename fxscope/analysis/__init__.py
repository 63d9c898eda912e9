"""Questions asked of recordings that are complete: selections, statistics, comparisons, checks, explanations."""
