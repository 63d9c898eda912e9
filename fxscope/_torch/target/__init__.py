"""The simulated device: Inductor plans for a GPU that is not here."""
