"""The ensemble: the engine, how it is trained and measured, and what is done with what it finds."""
