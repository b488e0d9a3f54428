"""What is asked of the cluster: traces from files or a generator, and the ways to replay them."""
