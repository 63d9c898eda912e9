"""Which ops really ran in a call."""
