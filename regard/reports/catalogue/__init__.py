"""The page of every mechanism, made from the parts themselves."""
