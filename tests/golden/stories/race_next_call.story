refused: race at oneshot.coll:4
  rank 0 lane 0 step 3 (`reduce`, oneshot.coll:6) of call 1 reads scratch[0] of rank 0
  rank 1 lane 0 step 0 (`put`, oneshot.coll:4) of call 2 writes scratch[0] of rank 0, and nothing says which comes first
  nothing keeps ranks from entering the next call at different times: signal that the memory is free
