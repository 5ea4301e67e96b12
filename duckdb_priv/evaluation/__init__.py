"""What a release answers, beside the truth; and what to expect before publishing."""
