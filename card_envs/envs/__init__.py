"""The environments: AEC (aec.py), one Gymnasium seat (single_seat.py), and a vector of those."""
