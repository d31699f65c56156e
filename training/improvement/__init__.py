"""Expert iteration: labels that rollouts find, and the fit to them."""
