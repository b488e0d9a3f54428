"""Profiles of coding-agent sessions: recorded sessions, the fit, and what is generated beside them."""
