"""A forecast of the scores that phrases, networks and both will reach, before anything long is trained."""
