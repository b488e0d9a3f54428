"""What the site has besides pages of `docs/`: reference made from the sources, files from elsewhere."""
