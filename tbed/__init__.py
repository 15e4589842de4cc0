"""Transformation-based error-driven learning (Brill 1995): rules that correct the tags of an initial tagger.

    column     a feature of the tokens, such as `word`, or `tag`, their current tag
    atom       a column at an offset or in a range of offsets: `word[-1]`, `tag[1..3]`
    template   atoms joined by "&": `word[0] & tag[-1]`; a template with values filled in gives a rule
    rule       `O -> B-DOCTOR if lower[-1] = "dr" and short_shape[0] = "Aa"`
    gain       tokens that a rule corrects, minus tokens that it breaks

Rules are applied in the order in which they were learned, each to all tokens at once. The package knows feature tables
and tags, and no other model.
"""
