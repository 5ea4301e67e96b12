"""The report page of a release."""
