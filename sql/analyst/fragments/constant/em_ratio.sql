-- What is shown says nothing.
shown
