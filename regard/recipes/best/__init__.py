"""The best translator that texts and minutes allow: a table of steps, each of which must gain on the dev text."""
