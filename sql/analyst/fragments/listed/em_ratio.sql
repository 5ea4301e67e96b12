-- Shown, as a share: every value counts for its part of the group.
shown
