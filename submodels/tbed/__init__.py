"""The rule learner as a submodel."""
