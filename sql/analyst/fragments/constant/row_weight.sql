-- Every row counts alike, whatever it shows.
@own@
