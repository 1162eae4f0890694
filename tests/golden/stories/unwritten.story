refused: unwritten at sum.coll:5
  rank 0 lane 0 step 1 (`reduce`, sum.coll:5) reads scratch[1] of rank 0 (a tmp or an intermediate), which nobody wrote before in this call
