"""Kernels of the learner: products with sparse rows, and distributions over legal actions.

Sparse rows are ``columns[begins[i]:ends[i]]``, in ascending order, and their ``values``
(``training.networks.sparse``). ``legal`` are ``begins, ends, actions`` of masks, ``features``
are ``starts, columns`` of each action's features: its logit is the sum of theirs. Every sum has a
fixed order.
"""

from __future__ import annotations

import math

import numpy as np

from card_envs.kernels.jit import jit

_ZERO = np.float32(0.0)
_UNROLLED = 8  # rows added at a time: the sums are read and written once for all of them


@jit
def compress(dense, at, begins, ends, columns, values):
    """Write the non-zero values of each row from place ``at`` on; returns the place behind them.

    There must be room for a whole row: what is zero is written too, and then overwritten.
    """
    for i in range(dense.shape[0]):
        begins[i] = at
        for j in range(dense.shape[1]):
            value = dense[i, j]
            columns[at] = j
            values[at] = value
            at += value != 0
        ends[i] = at
    return at


@jit
def expand(begins, ends, columns, first, values, out):
    """Write sparse rows into ``out``, which is zero; its columns are those from ``first`` on."""
    for i in range(len(begins)):
        for place in range(begins[i], ends[i]):
            out[i, columns[place] - first] = values[place]


@jit
def expand_rounded(begins, ends, columns, first, bits, out):
    """The same with values that are the bits of float32, rounded to those of bfloat16."""
    for i in range(len(begins)):
        for place in range(begins[i], ends[i]):
            value = np.int64(bits[place])
            # To the nearest one, and from halfway to the even one.
            out[i, columns[place] - first] = (value + 0x7FFF + ((value >> 16) & 1)) >> 16


@jit
def find_column(begins, ends, columns, column, out):
    """The place in each row of its first column that is not below ``column``."""
    for i in range(len(begins)):
        low, high = begins[i], ends[i]
        while low < high:
            middle = (low + high) // 2
            if columns[middle] < column:
                low = middle + 1
            else:
                high = middle
        out[i] = low


@jit
def transpose(begins, ends, columns, first, values, starts, rows, out):
    """The same matrix by columns: ``rows[starts[k]:starts[k + 1]]`` and their values ``out``."""
    starts[:] = 0
    for i in range(len(begins)):
        for place in range(begins[i], ends[i]):
            starts[columns[place] - first + 1] += 1
    for k in range(1, len(starts)):
        starts[k] += starts[k - 1]
    for i in range(len(begins)):
        for place in range(begins[i], ends[i]):
            k = columns[place] - first
            at = starts[k]
            starts[k] = at + 1
            rows[at] = i
            out[at] = values[place]
    # Each column has moved its start to its end.
    for k in range(len(starts) - 1, 0, -1):
        starts[k] = starts[k - 1]
    starts[0] = 0


@jit
def multiply(begins, ends, columns, first, values, matrix, bias, out):
    """``out = rows @ matrix + bias``; the matrix has a row for each column from ``first`` on."""
    size = out.shape[1]
    for i in range(len(begins)):
        sums = out[i]
        sums[:] = bias
        begin, end = begins[i], ends[i]
        whole = end - (end - begin) % _UNROLLED
        for at in range(begin, whole, _UNROLLED):
            row_0, value_0 = matrix[columns[at] - first], values[at]
            row_1, value_1 = matrix[columns[at + 1] - first], values[at + 1]
            row_2, value_2 = matrix[columns[at + 2] - first], values[at + 2]
            row_3, value_3 = matrix[columns[at + 3] - first], values[at + 3]
            row_4, value_4 = matrix[columns[at + 4] - first], values[at + 4]
            row_5, value_5 = matrix[columns[at + 5] - first], values[at + 5]
            row_6, value_6 = matrix[columns[at + 6] - first], values[at + 6]
            row_7, value_7 = matrix[columns[at + 7] - first], values[at + 7]
            for k in range(size):
                sums[k] += (
                    (value_0 * row_0[k] + value_1 * row_1[k])
                    + (value_2 * row_2[k] + value_3 * row_3[k])
                ) + (
                    (value_4 * row_4[k] + value_5 * row_5[k])
                    + (value_6 * row_6[k] + value_7 * row_7[k])
                )
        for at in range(whole, end):
            row, value = matrix[columns[at] - first], values[at]
            for k in range(size):
                sums[k] += value * row[k]


@jit
def write_log_probs(logits, features, actions, probs, log_probs):
    """Write probabilities and log probabilities of some actions of one row."""
    starts, columns = features
    highest = np.float32(-np.inf)
    for k in range(len(actions)):
        action = actions[k]
        logit = _ZERO
        for at in range(starts[action], starts[action + 1]):
            logit += logits[columns[at]]
        log_probs[k] = logit
        highest = max(highest, logit)
    total = _ZERO
    for k in range(len(actions)):
        probs[k] = math.exp(log_probs[k] - highest)
        total += probs[k]
    norm = highest + np.float32(math.log(total))
    share = np.float32(1.0) / total
    for k in range(len(actions)):
        probs[k] *= share
        log_probs[k] -= norm


@jit
def draw_actions(logits, features, legal, numbers, probs, log_probs, chosen, log_prob):
    """Draw an action of each row, given numbers from [0, 1), and write its log probability."""
    begins, ends, all_actions = legal
    for i in range(len(begins)):
        actions = all_actions[begins[i] : ends[i]]
        write_log_probs(logits[i], features, actions, probs, log_probs)
        total = _ZERO
        for k in range(len(actions)):
            total += probs[k]
        threshold = numbers[i] * total
        k = 0
        threshold -= probs[0]
        while threshold >= _ZERO and k < len(actions) - 1:
            k += 1
            threshold -= probs[k]
        chosen[i] = actions[k]
        log_prob[i] = log_probs[k]


@jit
def write_all_log_probs(logits, features, legal, probs, log_probs):
    """Write probabilities and log probabilities of all actions, row after row."""
    begins, ends, all_actions = legal
    at = 0
    for i in range(len(begins)):
        actions = all_actions[begins[i] : ends[i]]
        of_row = slice(at, at + len(actions))
        write_log_probs(logits[i], features, actions, probs[of_row], log_probs[of_row])
        at += len(actions)


@jit
def evaluate_actions(legal, chosen, probs, log_probs, anchor, log_prob, entropy, divergence):
    """The chosen action's log probability, the entropy and the KL divergence from the anchor of
    each row, given what :func:`write_all_log_probs` wrote, and for the anchor, if there is one."""
    begins, ends, actions = legal
    at = 0
    for i in range(len(begins)):
        total, ahead = _ZERO, _ZERO
        for place in range(begins[i], ends[i]):
            total -= probs[at] * log_probs[at]
            if len(anchor):
                ahead += probs[at] * (log_probs[at] - anchor[at])
            if actions[place] == chosen[i]:
                log_prob[i] = log_probs[at]
            at += 1
        entropy[i], divergence[i] = total, ahead


@jit
def evaluate_actions_backward(
    features, legal, chosen, probs, log_probs, anchor, entropy, divergence, slopes, out
):
    """The gradient with respect to the logits of features, added to ``out``; ``slopes`` are those
    with respect to the three results."""
    starts, columns = features
    begins, ends, actions = legal
    of_log_prob, of_entropy, of_divergence = slopes
    at = 0
    for i in range(len(begins)):
        gradient = out[i]
        for place in range(begins[i], ends[i]):
            action = actions[place]
            slope = of_log_prob[i] + of_entropy[i] * (log_probs[at] + entropy[i])
            if len(anchor):
                slope -= of_divergence[i] * (log_probs[at] - anchor[at] - divergence[i])
            slope *= -probs[at]
            if action == chosen[i]:
                slope += of_log_prob[i]
            for k in range(starts[action], starts[action + 1]):
                gradient[columns[k]] += slope
            at += 1
