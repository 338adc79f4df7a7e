"""What opened measurements say: intervals, whole counts, and the likelihood of posteriors."""
