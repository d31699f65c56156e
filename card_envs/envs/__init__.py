"""The environments: AEC (aec.py), one Gymnasium seat (seat.py), a vector of seats (vector.py)."""
