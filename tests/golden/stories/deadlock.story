refused: deadlock at swap.coll:3
  rank 0 lane 0 step 0 (`recv`, swap.coll:3) waits for message 1 from rank 1 lane 0 on channel 0, not sent yet
  rank 1 lane 0 step 0 (`recv`, swap.coll:3) waits for message 1 from rank 0 lane 0 on channel 0, not sent yet
  it stops with any number of slots
