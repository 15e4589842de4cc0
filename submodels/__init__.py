"""Models that propose PHI candidates, behind one interface."""
