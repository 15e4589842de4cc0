"""The likelihood of tag sequences under a linear chain, for training with Keras on TensorFlow.

    emissions (n_rows, n_tokens, n_tags)      how well each tag fits each token
    transitions (n_tags, n_tags)              how well a tag follows another, [from, to]
    start, end (n_tags,)                      how well a tag begins and ends a sentence

A row holds one or more whole sentences, one after the other: where one begins, `begins` is 1, and the chain ends there
and starts anew. So the likelihood of a row is the product of the likelihoods of its sentences, and rows of about the
same length can be made of sentences of any length. Lafferty 2001; Ma and Hovy 2016, section 2.3. Keras has no such
loss; TensorFlow Addons, which had one for rows of one sentence, has come to its end.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from keras import ops


def log_partition(emissions: Any, begins: Any, mask: Any, transitions: Any, start: Any, end: Any) -> Any:
    """The logarithm of the summed weight of all tag sequences of each row.

    The sums run over exponentials scaled by the best tag of the token before, which are multiplied as matrices: with
    many tags this is several times faster than a sum over logarithms, and as exact while scores are within about 80.

    :param emissions: of shape `(n_rows, n_tokens, n_tags)`.
    :param begins: 1 where a sentence begins, of shape `(n_rows, n_tokens)`; the first token of a row is one.
    :param mask: 1 for a token and 0 for padding at the end, of shape `(n_rows, n_tokens)`.
    :param transitions: of shape `(n_tags, n_tags)`.
    :param start: of shape `(n_tags,)`.
    :param end: of shape `(n_tags,)`.
    :returns: of shape `(n_rows,)`.
    """
    # (n_tags, 2 * n_tags): the weight of each tag after each tag, within a sentence and from one into the next.
    steps = ops.exp(transitions)
    restarts = ops.outer(ops.exp(end), ops.exp(start))
    both = ops.concatenate([steps, restarts], axis=1)
    n_tags = transitions.shape[0]

    def forward(carry: Any, token: Any) -> Any:
        # (n_rows, n_tags): the logarithm of the summed weight of all sequences up to this token that end in each tag.
        emission, begin, real = token
        best = ops.max(carry, axis=1, keepdims=True)
        sums = ops.matmul(ops.exp(carry - best), both)
        moved = ops.where(begin, sums[:, n_tags:], sums[:, :n_tags])
        score = ops.log(moved) + best + emission
        return ops.where(real, score, carry)

    # (n_tokens - 1, n_rows, n_tags or 1): without the first token, whose sequences are the tags by themselves.
    by_token = (
        ops.transpose(emissions, (1, 0, 2))[1:],
        ops.cast(ops.transpose(begins)[1:, :, None], "bool"),
        ops.cast(ops.transpose(mask)[1:, :, None], "bool"),
    )
    # `keras.ops.scan` needs to know the number of tokens beforehand, and so a graph for each.
    last = tf.foldl(forward, by_token, start + emissions[:, 0], parallel_iterations=1)
    return ops.logsumexp(last + end, axis=1)


def path_score(emissions: Any, tags: Any, begins: Any, mask: Any, transitions: Any, start: Any, end: Any) -> Any:
    """The score of one tag sequence of each row.

    :param tags: integers of shape `(n_rows, n_tokens)`; any tag where the mask is 0. The others are as for
        `log_partition`.
    :returns: of shape `(n_rows,)`.
    """
    n_tags = transitions.shape[0]
    begins, mask = ops.cast(begins, emissions.dtype), ops.cast(mask, emissions.dtype)
    # (n_rows, n_tokens): the score of the gold tag at each token, picked out by one-hot rows.
    fits = ops.sum(emissions * ops.one_hot(tags, n_tags, dtype=emissions.dtype), axis=2)
    # (n_rows, n_tokens - 1): the score of each pair of neighbours, within a sentence or from one into the next.
    before, after = tags[:, :-1], tags[:, 1:]
    follows = ops.take(ops.reshape(transitions, (-1,)), before * n_tags + after)
    restarts = ops.take(end, before) + ops.take(start, after)
    joins = begins[:, 1:] * restarts + (1 - begins[:, 1:]) * follows
    # (n_rows,): padding stands at the end, so the last tag is at the number of tokens, less one.
    n_tokens = ops.cast(ops.sum(mask, axis=1, keepdims=True), "int32")
    last = ops.squeeze(ops.take_along_axis(tags, n_tokens - 1, axis=1), 1)
    inner = ops.sum(fits * mask, axis=1) + ops.sum(joins * mask[:, 1:], axis=1)
    return inner + ops.take(start, tags[:, 0]) + ops.take(end, last)


def negative_log_likelihood(
    emissions: Any, tags: Any, begins: Any, mask: Any, transitions: Any, start: Any, end: Any
) -> Any:
    """What training makes small: `log_partition` minus `path_score`, of shape `(n_rows,)`."""
    total = log_partition(emissions, begins, mask, transitions, start, end)
    return total - path_score(emissions, tags, begins, mask, transitions, start, end)
