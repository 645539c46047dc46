"""The making of one layer from the one before: by threads of this process, or by hosts that keep ranges."""
