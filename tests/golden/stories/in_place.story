refused: in place at pair.coll:4
  rank 1 lane 0 step 1 (`send`, pair.coll:4) reads in[0] of rank 1 after out[0] of rank 1 was written: they are the same memory when called in place
  out[0] of rank 1 was written by rank 1 lane 0 step 0 (`rr`, pair.coll:3)
