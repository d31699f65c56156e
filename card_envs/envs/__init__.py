"""The environments: AEC (aec.py) and parallel (parallel.py), one Gymnasium seat (single_seat.py), a
vector of those, and games in words (text.py, text_seat.py)."""
