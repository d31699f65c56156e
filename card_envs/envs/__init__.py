"""The environments: AEC (aec.py), parallel (parallel.py), one Gymnasium seat (single_seat.py) and a
vector of those (single_seat_vector.py), with their options (options.py)."""
