-- How much the variance grows when one more of the records truly has the value.
(@own@ * (1 - @own@) - @other@ * (1 - @other@)) / @gap@ ** 2
