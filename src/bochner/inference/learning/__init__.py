"""Learning: forms with priors, one evidence, one search, one integration."""
