"""What knows nothing of statistics: errors, text, files, progress, the machine."""
