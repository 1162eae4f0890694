refused: missing at missing_contribution.coll:4
  rank 0 out[0] must hold in[0] of every rank and lacks in[0] of rank 1
  it was last written by rank 0 lane 1 step 0 (`rrcs`, missing_contribution.coll:4)
