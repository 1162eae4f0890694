refused: race at sum.coll:3
  rank 0 lane 1 step 0 (`reduce`, sum.coll:5) reads scratch[0] of rank 0
  rank 0 lane 0 step 0 (`recv`, sum.coll:3) writes scratch[0] of rank 0, and nothing says which comes first
