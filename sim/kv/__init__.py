"""What an engine keeps: block identities, the GPU block pool and its cache groups, the tiers below."""
