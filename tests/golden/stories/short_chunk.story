refused: does not fit at short_chunk.coll:14
  rank 0 lane 0 step 2 (`copy`, short_chunk.coll:14) moves scratch[0] of rank 0 (a tmp or an intermediate) as part 1 of its block, and it is part 0: for some counts it is cut off
  scratch[0] of rank 0 was written by rank 0 lane 0 step 1 (`copy`, short_chunk.coll:13)
