"""What every room stands on: errors, units, settings, numbers in words, files that are whole or not there."""
