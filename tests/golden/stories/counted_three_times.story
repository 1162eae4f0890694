refused: duplicated at counted_three_times.coll:6
  rank 0 out[0] must hold in[0] of every rank once and holds in[0] of rank 2 (3 times)
  it goes wrong at rank 0 lane 1 step 1 (`rr`, counted_three_times.coll:6), which adds in[0] of rank 2 to in[0] of every rank
  it was last written by rank 0 lane 1 step 2 (`rrcs`, counted_three_times.coll:7)
