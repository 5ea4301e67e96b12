-- How much the variance grows when one more of the records truly has the value.
[@kept_slope@ * @slope_number@ FOR s IN [{total: count(*), rows: @rows@, k: 1 - @own@ + @other@}]][1]
