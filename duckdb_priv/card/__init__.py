"""The card of a release: an HTML page that describes it."""
