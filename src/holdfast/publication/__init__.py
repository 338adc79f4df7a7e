"""What published tables say together: exact, rounded, coarsened and suppressed numbers are sums of cells."""
