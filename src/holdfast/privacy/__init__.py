"""What is promised: guarantees with their evidence, targets, and calibration between them."""
