"""Exact laws of noise on {z : A z = 0}, one way of drawing a file, and the planner that chooses."""
