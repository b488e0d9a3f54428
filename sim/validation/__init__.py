"""What the simulator predicts of a measured run, beside what was measured."""
