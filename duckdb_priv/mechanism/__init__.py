"""The mathematics: numbers in, numbers out. numpy and scipy only."""
