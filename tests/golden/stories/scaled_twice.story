refused: in place at sum.coll:4
  rank 1 lane 0 step 1 (`rr`, sum.coll:4) reads in[0] of rank 1 after out[0] of rank 1 was written: they are the same memory when called in place
  what was written is the same value, but premul would scale it twice
  out[0] of rank 1 was written by rank 1 lane 0 step 0 (`copy`, sum.coll:3)
