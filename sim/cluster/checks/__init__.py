"""What must hold in every simulation, checked while it runs: a file a family of rules, `watch` joins them.

Rules only look. Each keeps books of its own, from what the parts tell each other, and compares them with the
parts' own: at every change where that is cheap, else now and then and at the end.
"""
