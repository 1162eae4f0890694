refused: missing at short_ring.coll:11
  rank 0 out[0] must hold in[0] of every rank and lacks in[0] of ranks 0 to 2
  it was last written by rank 0 lane 0 step 4 (`rcs`, short_ring.coll:11)
