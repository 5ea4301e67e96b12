"""What the tests of clients share: releases, the questions asked of them, and the programs that ask."""
