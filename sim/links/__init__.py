"""Wires between GPUs, hosts and nodes, and who shares them."""
