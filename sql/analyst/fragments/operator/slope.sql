-- How much the variance grows when one more of the records truly has the value.
@slope_number@
