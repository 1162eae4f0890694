refused: missing at partial_barrier.coll:5
  rank 1 out[0] must be reached by in[0] of every rank and is not reached by in[0] of ranks 2 and 3
  it was last written by rank 1 lane 0 step 0 (`rrcs`, partial_barrier.coll:5)
