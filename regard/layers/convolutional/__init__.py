"""Convolutional layers and blocks; none reads a source, so a language model can stack them."""
