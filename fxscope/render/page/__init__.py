"""The HTML page: what it carries, and its assets."""
