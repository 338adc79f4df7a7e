"""The numerical results of [congenial-dp], made again, with real tables beside them."""
