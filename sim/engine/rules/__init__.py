"""Rules in which releases of vLLM differ, a file a rule: what each release does, and which is chosen."""
