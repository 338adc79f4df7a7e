"""What published tables say together: exact, rounded, coarsened and suppressed numbers as one system of sums."""
