"""Lists of Dutch names and places with decision rules, as DEDUCE has them."""
