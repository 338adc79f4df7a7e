"""How a draw is decided: words as numbers, and the floats that may sort out what is clear."""
