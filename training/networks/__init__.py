"""The networks: sparse rows in, distributions over legal actions out."""
