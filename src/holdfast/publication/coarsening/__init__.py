"""The least coarsening of confidential tables after which no asked-for cell is known too closely."""
