-- How many of the rows whose group has the value have groups of n, by n.
map_entries(histogram(len(@list@)) FILTER (@holds@))
