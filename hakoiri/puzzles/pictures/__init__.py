"""Pictures of configurations as plain data, independent of the program that draws them."""
