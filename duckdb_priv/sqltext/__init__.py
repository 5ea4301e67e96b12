"""Text as SQL: quoting, literals, and the files of the folder sql/ with their places filled."""
