"""What each mechanism claims, computed anew from its operator and from the source."""
