"""Evidence: how likely the data are, as a function of the hyperparameters."""
