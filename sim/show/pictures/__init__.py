"""What a person sees in a plot."""
