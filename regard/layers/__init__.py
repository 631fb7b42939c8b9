"""What networks are made of: embedders, positions, recurrent layers and blocks."""
