"""What configurations look like: pictures as plain data, for whoever draws them."""
