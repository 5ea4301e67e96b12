"""The figures and tables of the four papers, redrawn on our data."""
