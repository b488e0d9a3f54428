"""What a simulation says beside what was measured."""
